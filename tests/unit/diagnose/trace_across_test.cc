#include "diagnose/trace_across.h"

#include <gtest/gtest.h>

#include "comm_jobs.h"

namespace comm_probe::test {
namespace {

using diagnose::judge_across;
using torch::across_ranks;
using torch::CommJob;

// Four ranks, `calls` all_reduces of 100 us; `late` comes `by` us late to those for which `when`.
template <class When>
CommJob job_with_late(int late, std::int64_t by, When when, std::int64_t calls = 10) {
  std::vector<std::vector<Span>> spans(4);
  for (std::int64_t k = 0; k < calls; ++k)
    for (int rank = 0; rank < 4; ++rank) {
      const std::int64_t delay = when(k) ? by : 0;
      spans[static_cast<std::size_t>(rank)].push_back(
          {2000 * k + (rank == late ? delay : 0), 2000 * k + 100 + delay});
    }
  return job_of(spans);
}

// Without traces (Inspector logs) the share of the time in collectives decides.
TEST(TraceAcross, ARankThatIsAlwaysLateIsTheStraggler) {
  CommJob job = job_with_late(2, 300, [](std::int64_t) { return true; });
  job.has_clock = false;
  const auto judged = judge_across(across_ranks(std::move(job)), {});
  ASSERT_EQ(judged.stragglers.size(), 1u);
  EXPECT_EQ(judged.stragglers[0].rank, 2);
  EXPECT_EQ(judged.stragglers[0].caused, 10 * 900'000);
  EXPECT_EQ(judged.stragglers[0].last_in, 10);
  ASSERT_TRUE(judged.judgement.has("trace.straggler"));
  EXPECT_EQ(judged.judgement.findings[0].ranks, std::vector<int>{2});
}

TEST(TraceAcross, TimeCountsNotLastPlaces) {
  // rank 1 is last by a little in most, rank 3 once by a lot
  std::vector<std::vector<Span>> spans(4);
  for (std::int64_t k = 0; k < 10; ++k)
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      const std::int64_t late = k == 5 ? (rank == 3 ? 900 : 0) : (rank == 1 ? 8 : 0);
      spans[static_cast<std::size_t>(rank)].push_back(
          {2000 * k + late, 2000 * k + 100 + (k == 5 ? 900 : 8)});
    }
  CommJob job = job_of(spans);
  job.has_clock = false;
  const auto judged = judge_across(across_ranks(std::move(job)), {});
  ASSERT_EQ(judged.stragglers.size(), 1u);
  EXPECT_EQ(judged.stragglers[0].rank, 3);
  EXPECT_EQ(judged.stragglers[0].last_in, 1);
}

TEST(TraceAcross, LateBeforeTheWindowIsNobodysFault) {
  CommJob job = job_with_late(2, 3000, [](std::int64_t k) { return k == 0; });
  job.has_clock = false;
  const auto judged = judge_across(across_ranks(std::move(job)), {});
  EXPECT_TRUE(judged.stragglers.empty());
  EXPECT_FALSE(judged.judgement.has("trace.straggler"));
  EXPECT_TRUE(judged.judgement.has("trace.entry-skew"));
}

TEST(TraceAcross, TwoCollectivesAreTooFew) {
  CommJob job = job_with_late(
      2, 300, [](std::int64_t) { return true; }, 2);
  job.has_clock = false;
  EXPECT_TRUE(judge_across(across_ranks(std::move(job)), {}).stragglers.empty());
}

TEST(TraceAcross, NoVerdictWhereATenthOfTheTimeIsNotWaiting) {
  CommJob job = job_with_late(2, 9, [](std::int64_t) { return true; });
  job.has_clock = false;
  EXPECT_TRUE(judge_across(across_ranks(std::move(job)), {}).stragglers.empty());
}

// Two of eight ranks; both wait alike in half of the calls.
TEST(TraceAcross, WaitingAlikePointsOutside) {
  std::vector<std::vector<Span>> spans(2);
  for (std::int64_t k = 0; k < 10; ++k)
    for (auto& rank : spans) rank.push_back({2000 * k, 2000 * k + (k % 2 == 0 ? 100 : 800)});
  CommJob job = job_of(spans);
  job.world = 8;
  job.groups[0].ranks = {0, 1, 2, 3, 4, 5, 6, 7};
  job.groups[0].size = 8;
  const auto judged = judge_across(across_ranks(std::move(job)), {});
  ASSERT_TRUE(judged.judgement.has("trace.late-outside"));
  EXPECT_FALSE(judged.judgement.has("trace.straggler"));
  EXPECT_TRUE(judged.judgement.has("trace.ranks-missing"));
  for (const core::Finding& finding : judged.judgement.findings) {
    if (finding.id != "trace.late-outside") continue;
    EXPECT_NE(finding.summary.find("2-7"), std::string::npos) << finding.summary;
    EXPECT_TRUE(finding.ranks.empty());
  }
}

TEST(TraceAcross, ClocksOfHostsAreToldOnce) {
  std::vector<std::vector<Span>> spans(2);
  for (std::int64_t k = 0; k < 5; ++k) {
    spans[0].push_back({1000 * k, 1000 * k + 100});
    spans[1].push_back({1000 * k + 1830, 1000 * k + 1930});
  }
  const auto judged = judge_across(across_ranks(job_of(spans)), {});
  ASSERT_TRUE(judged.judgement.has("trace.clock-skew"));
  EXPECT_EQ(judged.judgement.findings[0].severity, core::Severity::kInfo);
  EXPECT_NE(judged.judgement.findings[0].summary.find("1.83 ms later on rank 1"), std::string::npos)
      << judged.judgement.findings[0].summary;
}

TEST(TraceAcross, ADifferentTypeIsAMismatch) {
  std::vector<std::vector<Span>> spans(2);
  for (std::int64_t k = 0; k < 5; ++k)
    for (auto& rank : spans) rank.push_back({1000 * k, 1000 * k + 100});
  CommJob job = job_of(spans);
  job.dtypes = {"Float", "BFloat16"};
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (std::size_t k = 0; k < 5; ++k) {
      job.ranks[rank].calls[k].seq = k;
      job.ranks[rank].calls[k].dtype = rank == 1 && k == 3 ? 1 : 0;
    }
  const auto judged = judge_across(across_ranks(std::move(job)), {});
  ASSERT_TRUE(judged.judgement.has("trace.mismatch"));
  const auto& evidence = judged.judgement.findings[0].evidence;
  ASSERT_EQ(evidence.size(), 1u);
  EXPECT_NE(evidence[0].text.find(
                "seq 3: rank 0 all_reduce of 1000000 B Float, rank 1 all_reduce of 1000000 "
                "B BFloat16"),
            std::string::npos)
      << evidence[0].text;
}

// The one that does not call as the others do, and by how many bytes.
TEST(TraceAcross, AMismatchNamesTheOddRank) {
  std::vector<std::vector<Span>> spans(4);
  for (std::int64_t k = 0; k < 5; ++k)
    for (auto& rank : spans) rank.push_back({1000 * k, 1000 * k + 100});
  CommJob job = job_of(spans);
  for (std::size_t rank = 0; rank < 4; ++rank)
    for (std::size_t k = 0; k < 5; ++k) {
      job.ranks[rank].calls[k].seq = k;
      job.ranks[rank].calls[k].bytes = rank == 2 && k == 3 ? 1'000'004 : 1'000'000;
    }
  const auto judged = judge_across(across_ranks(std::move(job)), {});
  ASSERT_TRUE(judged.judgement.has("trace.mismatch"));
  EXPECT_EQ(judged.judgement.findings[0].ranks, std::vector<int>{2});
  EXPECT_NE(judged.judgement.findings[0].evidence[0].text.find("1000004 B"), std::string::npos);
}

TEST(TraceAcross, ManyRejectedMeetingsGiveNoVerdict) {
  std::vector<std::vector<Span>> spans(2);
  for (std::int64_t k = 0; k < 10; ++k) {
    spans[0].push_back({20000 * k, 20000 * k + 900});
    spans[1].push_back({20000 * k + 800, 20000 * k + 900 + (k < 4 ? 1700 * (k + 2) : 0)});
  }
  const auto judged = judge_across(across_ranks(job_of(spans)), {});
  EXPECT_TRUE(judged.stragglers.empty());
  EXPECT_TRUE(judged.judgement.has("trace.unmatched"));
}

TEST(TraceAcross, OneRankSaysWhatItCannotShow) {
  const auto judged = judge_across(across_ranks(job_of({{{0, 100}, {200, 300}}})), {});
  EXPECT_TRUE(judged.judgement.findings.empty());
  EXPECT_FALSE(judged.judgement.has("trace.single-rank"));  // a job of one rank
  CommJob job = job_of({{{0, 100}, {200, 300}}});
  job.world = 8;
  EXPECT_TRUE(judge_across(across_ranks(std::move(job)), {}).judgement.has("trace.single-rank"));
}

}  // namespace
}  // namespace comm_probe::test
