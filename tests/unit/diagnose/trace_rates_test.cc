#include "diagnose/trace_rates.h"

#include <gtest/gtest.h>

#include "comm_jobs.h"
#include "diagnose/trace_across.h"

namespace comm_probe::test {
namespace {

using namespace core::literals;  // NOLINT
using diagnose::RateBasis;
using diagnose::RateReference;

// `ranks` ranks, three calls of each size; a call takes `us(bytes)`.
template <class Time>
torch::AcrossRanks job_with(int ranks, const std::vector<std::uint64_t>& sizes, Time us) {
  std::vector<std::vector<Span>> spans(static_cast<std::size_t>(ranks));
  std::int64_t now = 0;
  std::vector<std::uint64_t> bytes;
  for (int round = 0; round < 3; ++round)
    for (const std::uint64_t size : sizes) {
      bytes.push_back(size);
      for (auto& rank : spans) rank.push_back({now, now + us(size)});
      now += us(size) + 1000;
    }
  torch::CommJob job = job_of(spans);
  for (auto& rank : job.ranks)
    for (std::size_t k = 0; k < bytes.size(); ++k) rank.calls[k].bytes = bytes[k];
  return torch::across_ranks(std::move(job));
}

RateReference given(core::Duration alpha, core::Bandwidth beta) {
  auto model = model::ClosedForm::create({.link = {alpha, beta}});
  EXPECT_TRUE(model.ok());
  RateReference reference;
  reference.given = *model;
  return reference;
}

// Golden G5-01, G5-02 and G5-03: a bucket of 25 MB on 8 ranks, over NVLink and over NDR.
TEST(TraceRates, ABucketIsPricedAsInTheGoldenTable) {
  const auto across = job_with(8, {25'000'000}, [](std::uint64_t) { return 120; });
  const auto nvlink = diagnose::price_rates(across, given(0_us, 450_GBps));
  ASSERT_EQ(nvlink.size(), 1u);
  ASSERT_TRUE(nvlink[0].ledger);
  EXPECT_EQ(nvlink[0].basis, RateBasis::kGiven);
  EXPECT_NEAR(nvlink[0].ledger->bytes_per_rank.count(), 43.75e6, 1);
  EXPECT_NEAR(nvlink[0].ledger->bandwidth().in_us(), 97.2222222, 1e-6);
  EXPECT_NEAR(*nvlink[0].efficiency(), 97.2222222 / 120, 1e-6);
  const auto ndr = diagnose::price_rates(across, given(0_us, 50_GBps));
  EXPECT_NEAR(ndr[0].ledger->bandwidth().in_us(), 875, 1e-6);
}

TEST(TraceRates, ALineThroughTheFastestOfEachSize) {
  // 8 ranks: 140 us + 1.75 S / 25 GB/s
  const auto across =
      job_with(8, {1'000'000, 4'000'000, 16'000'000, 64'000'000}, [](std::uint64_t size) {
        return 140 + static_cast<std::int64_t>(static_cast<double>(size) * 1.75 / 25e3);
      });
  const auto rates = diagnose::price_rates(across, {});
  ASSERT_EQ(rates.size(), 4u);
  for (const auto& rate : rates) EXPECT_NEAR(*rate.efficiency(), 1, 0.01);
  ASSERT_TRUE(rates[0].fit);
  EXPECT_NEAR(rates[0].fit->alpha.in_us(), 10, 0.3);
  EXPECT_NEAR(rates[0].fit->beta.in_GBps(), 25, 0.3);
  EXPECT_STREQ(rates[0].ledger_side(), "both");       // 1 MB, knee 2 MB
  EXPECT_STREQ(rates[3].ledger_side(), "bandwidth");  // 64 MB
}

TEST(TraceRates, OneSizeShowsNoSlope) {
  const auto across = job_with(4, {1'000'000}, [](std::uint64_t) { return 100; });
  const auto rates = diagnose::price_rates(across, {});
  EXPECT_EQ(rates[0].basis, RateBasis::kNone);
  EXPECT_STREQ(rates[0].ledger_side(), "-");
  EXPECT_FALSE(rates[0].efficiency());
}

TEST(TraceRates, NodesOfAGroupLaidOutNodeByNode) {
  using diagnose::nodes_of;
  const torch::CommGroup all{.ranks = {0, 1, 2, 3, 4, 5, 6, 7}, .size = 8};
  EXPECT_EQ(nodes_of(all, 8, 2), 2);
  EXPECT_EQ(nodes_of({.ranks = {0, 1, 2, 3}, .size = 4}, 8, 2), 1);
  EXPECT_EQ(nodes_of({.ranks = {0, 4}, .size = 2}, 8, 2), 2);
  EXPECT_FALSE(nodes_of({.ranks = {0, 1, 4}, .size = 3}, 8, 2));
  EXPECT_FALSE(nodes_of(all, 8, 3));
  EXPECT_EQ(nodes_of(all, 8, 1), 1);
}

// The same call in two groups of two ranks; the second group takes three times as long.
TEST(TraceRates, AGroupWithASlowWayIsNamed) {
  std::vector<std::vector<Span>> spans(4);
  for (std::int64_t k = 0; k < 10; ++k)
    for (std::size_t rank = 0; rank < 4; ++rank)
      spans[rank].push_back({1000 * k, 1000 * k + (rank < 2 ? 100 : 300)});
  torch::CommJob job = job_of(spans);
  job.groups = {{{0, 1}, 2, "a", ""}, {{2, 3}, 2, "b", ""}};
  for (const std::size_t rank : {2, 3})
    for (auto& call : job.ranks[rank].calls) call.group = 1;
  const auto across = torch::across_ranks(std::move(job));
  const auto judged = diagnose::judge_across(across, {});
  ASSERT_EQ(judged.judgement.findings.size(), 1u);
  const core::Finding& finding = judged.judgement.findings[0];
  EXPECT_EQ(finding.id, "trace.slow-link");
  EXPECT_EQ(finding.ranks, (std::vector<int>{2, 3}));
  EXPECT_EQ(finding.observed->value, 300);
  EXPECT_EQ(finding.expected->value, 100);
}

TEST(TraceRates, ALinkFarBelowWhatWasGivenIsSlow) {
  const auto across = job_with(8, {25'000'000}, [](std::uint64_t) { return 3000; });
  const auto slow = diagnose::judge_across(across, given(10_us, 50_GBps));  // 1015 us
  EXPECT_TRUE(slow.judgement.has("trace.slow-link"));
  const auto fair = diagnose::judge_across(across, given(10_us, 20_GBps));
  EXPECT_FALSE(fair.judgement.has("trace.slow-link"));
}

// Where members are missing, nobody can say that the others were not late.
TEST(TraceRates, WithMissingMembersTheLinkIsNotAccused) {
  torch::CommJob job = job_with(4, {25'000'000}, [](std::uint64_t) { return 3000; }).job;
  job.groups[0].ranks = {0, 1, 2, 3, 4, 5};
  job.groups[0].size = 6;
  job.world = 6;
  const auto judged =
      diagnose::judge_across(torch::across_ranks(std::move(job)), given(10_us, 50_GBps));
  EXPECT_FALSE(judged.judgement.has("trace.slow-link"));
  ASSERT_TRUE(judged.judgement.has("trace.late-outside"));
  EXPECT_NE(
      judged.judgement.findings[0].summary.find("one of ranks 4, 5 is late, or the link is slow"),
      std::string::npos)
      << judged.judgement.findings[0].summary;
}

}  // namespace
}  // namespace comm_probe::test
