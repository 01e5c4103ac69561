#include "diagnose/curve_judgement.h"

#include <gtest/gtest.h>

#include <set>

namespace comm_probe::diagnose {
namespace {

using namespace core::literals;
using core::Bandwidth;
using core::Bytes;
using core::Duration;
using curve::Curve;
using curve::Row;
using curve::Timing;

Timing timing_of(double bytes, double us, double factor) {
  const double algbw = bytes / us / 1e3;
  return {Duration::from_us(us),
          Bandwidth::from_GBps(algbw),
          Bandwidth::from_GBps(algbw * factor),
          0.0,
          {}};
}

// all_reduce on 8 ranks of 2 nodes with this plateau.
Curve curve_with_plateau(double GBps, double largest = 1 << 30) {
  Curve curve;
  curve.file = "run.txt";
  curve.op = model::Op::kAllReduce;
  curve.ranks = 8;
  curve.nodes = 2;
  std::uint64_t line = 10;
  for (double size = 8; size <= largest; size *= 2) {
    Row row;
    row.bytes = Bytes::of(size);
    row.count = static_cast<std::uint64_t>(size / 4);
    row.type = "float";
    row.out_of_place = row.in_place = timing_of(size, 40 + size * 1.75 / GBps / 1e3, 1.75);
    row.line = line++;
    curve.rows.push_back(row);
  }
  return curve;
}

Links two_slingshot_nics() {
  Links links;
  links.node_out = links.node_total = 50_GBps;
  links.single_nic = 25_GBps;
  links.between_source = "2 NICs x 25 GB/s per node";
  return links;
}

Judgement judge(const Curve& curve, std::optional<Expectation> expectation = {}) {
  const curve::Analysis analysis = curve::analyse(curve);
  return judge_curve({curve, analysis, std::move(expectation)});
}
Judgement judge_on_slingshot(const Curve& curve) {
  return judge(curve, expect_from_links({model::Op::kAllReduce, 8, 2}, two_slingshot_nics()));
}
std::set<std::string> ids(const Judgement& judgement) {
  std::set<std::string> found;
  for (const auto& finding : judgement.findings) found.insert(finding.id);
  return found;
}
using Ids = std::set<std::string>;

TEST(CurveJudgement, AHealthyCurveHasNoFinding) {
  EXPECT_EQ(ids(judge(curve_with_plateau(45))), Ids{});
  EXPECT_EQ(ids(judge_on_slingshot(curve_with_plateau(45))), Ids{});
  EXPECT_EQ(ids(judge_on_slingshot(curve_with_plateau(60))), Ids{});  // a tree may pass the ring
}

// The worked example of curve_judgement.h: the plateau of c40.
TEST(CurveJudgement, TcpInsteadOfRdmaIsFarBelow) {
  const Judgement judgement = judge_on_slingshot(curve_with_plateau(9.45));
  ASSERT_EQ(ids(judgement), Ids{"curve.plateau-low"});
  const core::Finding& finding = judgement.findings.front();
  EXPECT_NEAR(finding.expected->value, 40, 1e-9);
  EXPECT_NEAR(finding.observed->value, 9.45, 0.1);
  EXPECT_EQ(finding.expected->basis, core::Basis::kComputed);
  EXPECT_EQ(finding.evidence.front().source, "run.txt");
  EXPECT_EQ(finding.evidence.front().line, 37U);
}

TEST(CurveJudgement, ALittleBelowIsNoWarning) {
  EXPECT_EQ(ids(judge_on_slingshot(curve_with_plateau(36))), Ids{"curve.plateau-below-band"});
}

TEST(CurveJudgement, SmallSizesSayNothingAboutLinks) {
  EXPECT_EQ(ids(judge_on_slingshot(curve_with_plateau(9.45, 65536))), Ids{"curve.not-saturated"});
}

TEST(CurveJudgement, WrongResultsAreAnError) {
  Curve curve = curve_with_plateau(45);
  curve.rows[5].in_place->wrong = 3;
  const Judgement judgement = judge(curve);
  ASSERT_EQ(ids(judgement), Ids{"curve.wrong-results"});
  EXPECT_EQ(judgement.findings.front().severity, core::Severity::kError);
  EXPECT_EQ(judgement.findings.front().evidence.front().line, 15U);
  Curve footer = curve_with_plateau(45);
  footer.printed_out_of_bounds = 108;
  EXPECT_EQ(ids(judge(footer)), Ids{"curve.wrong-results"});
}

TEST(CurveJudgement, AnErrorLineIsAFailedRun) {
  Curve curve = curve_with_plateau(45);
  curve.errors.push_back({"run.txt", 40, "Test NCCL failure common.cu:1012"});
  EXPECT_EQ(ids(judge(curve)), Ids{"curve.failed-run"});
  curve.rows.clear();
  EXPECT_EQ(ids(judge(curve)), Ids{"curve.failed-run"});
}

TEST(CurveJudgement, TwoFactorsInOneTableWereNotMeasured) {
  Curve curve = curve_with_plateau(45);
  curve.rows.back().out_of_place->busbw = curve.rows.back().out_of_place->algbw;
  EXPECT_EQ(ids(judge(curve)), Ids{"curve.impossible"});
}

TEST(CurveJudgement, AFactorOfAnotherOperation) {
  Curve curve = curve_with_plateau(45);
  for (Row& row : curve.rows)
    for (auto* timing : {&row.out_of_place, &row.in_place})
      (*timing)->busbw = (*timing)->algbw * 0.997;
  EXPECT_EQ(ids(judge(curve)), Ids{"curve.impossible"});
  curve.ranks.reset();  // no number of ranks gives all_reduce a factor below one
  EXPECT_EQ(ids(judge(curve)), Ids{"curve.impossible"});
}

TEST(CurveJudgement, AboveWhatTheLinksCarryAtAll) {
  // two nodes, 50 GB/s out of each: 1.75 * 50 = 87.5 GB/s busbw at most
  EXPECT_EQ(ids(judge_on_slingshot(curve_with_plateau(86))), Ids{});
  EXPECT_EQ(ids(judge_on_slingshot(curve_with_plateau(95))), Ids{"curve.impossible"});
}

// The curve of f02 and c41: fast up to a size, then slow. In host memory that is the caches.
TEST(CurveJudgement, ACollapseIsSaidOfNetworksOnly) {
  const auto falling_from = [](double size) {
    Curve curve = curve_with_plateau(45);
    for (Row& row : curve.rows)
      if (row.bytes.count() > size)
        row.out_of_place = row.in_place =
            timing_of(row.bytes.count(), 200 + row.bytes.count() * 1.75 / 5e3, 1.75);
    return curve;
  };
  EXPECT_TRUE(ids(judge(falling_from(33554432))).contains("curve.collapse"));
  Curve local = falling_from(33554432);
  local.label = "comm-probe 0.1.0 local engine";
  EXPECT_FALSE(ids(judge(local)).contains("curve.collapse"));
}

TEST(CurveJudgement, OneRankTalksToNobody) {
  Curve curve = curve_with_plateau(45);
  curve.ranks = 1;
  EXPECT_EQ(ids(judge(curve)), Ids{"curve.single-rank"});
}

TEST(CurveJudgement, EveryFindingHasEvidenceAndANextStep) {
  Curve curve = curve_with_plateau(9.45);
  curve.rows[0].out_of_place->time = curve.rows[0].out_of_place->time * 5;
  for (std::size_t i = 14; i < 18; ++i)
    for (auto* timing : {&curve.rows[i].out_of_place, &curve.rows[i].in_place})
      (*timing)->time = (*timing)->time * 9;
  const Judgement judgement = judge_on_slingshot(curve);
  EXPECT_EQ(ids(judgement), (Ids{"curve.cold-start", "curve.hump", "curve.plateau-low"}));
  for (const auto& finding : judgement.findings) {
    EXPECT_FALSE(finding.evidence.empty()) << finding.id;
    EXPECT_FALSE(finding.next.empty()) << finding.id;
  }
}

TEST(CurveJudgement, SurvivesAnEmptyCurve) {
  EXPECT_EQ(ids(judge(Curve{})), Ids{});
  Curve zeros;
  zeros.op = model::Op::kAllReduce;
  zeros.ranks = 8;
  zeros.rows.resize(4);
  EXPECT_EQ(ids(judge_on_slingshot(zeros)), Ids{});
}

}  // namespace
}  // namespace comm_probe::diagnose
