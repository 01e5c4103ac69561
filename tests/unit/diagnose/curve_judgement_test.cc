#include "diagnose/curve_judgement.h"

#include <gtest/gtest.h>

#include <set>

#include "diagnose/curve_verdict.h"

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

const core::Finding* find(const Judgement& judgement, const char* id) {
  for (const auto& finding : judgement.findings)
    if (finding.id == id) return &finding;
  return nullptr;
}

std::string all_next(const Judgement& judgement) {
  std::string text;
  for (const auto& finding : judgement.findings)
    for (const auto& next : finding.next) text += next + "\n";
  return text;
}

// One size three times as slow as the next larger one is a hump where both timings say so.
TEST(CurveJudgement, ASingleSlowSizeWarnsWhereBothTimingsAgree) {
  Curve curve = curve_with_plateau(45);
  Row& row = curve.rows[21];  // 16 MiB
  row.out_of_place->time = row.out_of_place->time * 6;
  EXPECT_FALSE(ids(judge(curve)).contains("curve.hump"));
  row.in_place->time = row.in_place->time * 6;
  EXPECT_TRUE(ids(judge(curve)).contains("curve.hump"));
}

Curve collapsing_curve(int nodes, model::Op op) {
  Curve curve = curve_with_plateau(45);
  curve.op = op;
  curve.nodes = nodes;
  const double factor = model::busbw_factor(op, 8);
  for (Row& row : curve.rows) {
    const double size = row.bytes.count(), GBps = size > 33554432 ? 5 : 45;
    row.out_of_place = row.in_place = timing_of(size, 40 + size * factor / GBps / 1e3, factor);
  }
  return curve;
}

TEST(CurveJudgement, AFaultInsideANodeIsNotLookedForInTheNetwork) {
  Links nvlink;
  nvlink.inside = 450_GBps;
  Curve slow = curve_with_plateau(45);
  slow.nodes = 1;
  const Judgement low = judge(slow, expect_from_links({model::Op::kAllReduce, 8, 1}, nvlink));
  ASSERT_NE(find(low, "curve.plateau-low"), nullptr);
  EXPECT_EQ(find(low, "curve.plateau-low")->layer, core::Layer::kHardware);
  const Judgement falls = judge(collapsing_curve(1, model::Op::kAllReduce));
  ASSERT_NE(find(falls, "curve.collapse"), nullptr);
  EXPECT_EQ(find(falls, "curve.collapse")->layer, core::Layer::kHardware);
  for (const Judgement* judgement : {&low, &falls}) {
    EXPECT_EQ(all_next(*judgement).find("NIC"), std::string::npos) << all_next(*judgement);
    EXPECT_EQ(all_next(*judgement).find("nodes"), std::string::npos) << all_next(*judgement);
    EXPECT_NE(all_next(*judgement).find("nvidia-smi nvlink -e"), std::string::npos);
  }
}

TEST(CurveJudgement, NoAlgorithmIsForcedOnSendsAndReceives) {
  EXPECT_NE(all_next(judge(collapsing_curve(2, model::Op::kAllReduce))).find("NCCL_ALGO=Ring"),
            std::string::npos);
  for (const model::Op op : {model::Op::kAllToAll, model::Op::kSendRecv})
    EXPECT_EQ(all_next(judge(collapsing_curve(2, op))).find("NCCL_ALGO="), std::string::npos);
}

TEST(CurveJudgement, WhatBeginsWithCommProbeRunsAsItStands) {
  Curve curve = curve_with_plateau(9.45);
  for (std::size_t i = 14; i < 18; ++i)
    for (auto* timing : {&curve.rows[i].out_of_place, &curve.rows[i].in_place})
      (*timing)->time = (*timing)->time * 9;
  const Judgement late =
      judge(curve, expect_given({model::Op::kAllReduce, 8, 2}, Duration::from_us(0.1), 50_GBps));
  EXPECT_TRUE(ids(late).contains("curve.latency-high"));
  for (const auto& finding : late.findings)
    for (const std::string& next : finding.next)
      EXPECT_TRUE(!next.starts_with("comm-probe") || next.find_first_of(",;") == std::string::npos)
          << next;
  EXPECT_EQ(all_next(late).find("FILE"), std::string::npos);
  EXPECT_EQ(all_next(late).find("THIS"), std::string::npos);
}

// What is estimated from rows is computed; wrong numbers are the program's until a host is shown to
// make them, and never the network's.
TEST(CurveJudgement, ProvenanceAndLayer) {
  const Judgement low = judge_on_slingshot(curve_with_plateau(9.45));
  EXPECT_EQ(low.findings.front().observed->basis, core::Basis::kComputed);
  Curve wrong = curve_with_plateau(45);
  wrong.rows[5].in_place->wrong = 3;
  EXPECT_EQ(judge(wrong).findings.front().layer, core::Layer::kApplication);
}

TEST(CurveJudgement, TheSweepAskedForIsLargerThanTheOneMeasured) {
  Curve curve = curve_with_plateau(45);
  curve.rows.resize(1);
  curve.rows[0].bytes = Bytes::of(17179869184.0);
  curve.rows[0].out_of_place = curve.rows[0].in_place = timing_of(17179869184.0, 7e5, 1.75);
  const Judgement judgement = judge(curve);
  ASSERT_EQ(ids(judgement), Ids{"curve.not-saturated"});
  EXPECT_EQ(judgement.findings.front().next.front(),
            "measure a range of sizes: -b 1M -e 17179869184 -f 2");
}

JudgedCurve judged_on(const Curve& curve, std::optional<Expectation> expectation) {
  JudgedCurve judged;
  judged.curve = &curve;
  judged.analysis = curve::analyse(curve);
  judged.expectation = std::move(expectation);
  return judged;
}

std::string verdict_on(const Curve& curve, std::optional<Expectation> expectation) {
  JudgedReading reading;
  reading.curves.push_back(judged_on(curve, std::move(expectation)));
  return verdict_of(std::vector{reading});
}

// c01, c03, c07 and c93 show 443 to 487 GB/s on two nodes of eight NICs: 330 may have lost 30 %.
TEST(CurveVerdict, TheBandOfTheRingIsNotHealthWhereTreesReachMore) {
  Links links;
  links.inside = 450_GBps;
  links.inside_class = PathClass::kNvswitchReducing;
  links.node_out = links.node_total = 400_GBps;
  const auto expected = expect_from_links({model::Op::kAllReduce, 8, 2}, links);
  const Curve lost = curve_with_plateau(330, 1e10), good = curve_with_plateau(450, 1e10);
  EXPECT_TRUE(verdict_on(lost, expected).starts_with("consistent:")) << verdict_on(lost, expected);
  EXPECT_NE(verdict_on(lost, expected).find("trees"), std::string::npos);
  EXPECT_TRUE(verdict_on(good, expected).starts_with("healthy:")) << verdict_on(good, expected);
  const auto four = expect_from_links({model::Op::kAllReduce, 8, 4}, links);
  Curve of_four = lost;
  of_four.nodes = 4;
  EXPECT_TRUE(verdict_on(of_four, four).starts_with("healthy:"));
}

// 9.3 GB/s fit through 100 Gb/s, 23 through 200 Gb/s, 130 need three ports of 400 Gb/s.
TEST(CurveVerdict, WithoutAReferenceThePlateauIsSaidInPorts) {
  const auto says = [](double GBps, const char* text) {
    const std::string verdict = verdict_on(curve_with_plateau(GBps), {});
    EXPECT_NE(verdict.find(text), std::string::npos) << verdict;
  };
  says(9.3, "one 100 Gb/s port per node");
  says(23, "one 200 Gb/s port per node");
  says(130, "3 ports of 400 Gb/s per node");
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
