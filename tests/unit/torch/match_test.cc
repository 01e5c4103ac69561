#include "torch/match.h"

#include <gtest/gtest.h>

#include "comm_jobs.h"
#include "torch/match_lag.h"

namespace comm_probe::test {
namespace {

using torch::CommJob;
using torch::Matching;
using torch::MeetingState;

// Ten all_reduces that end together; ranks 1 and 2 start 5 and 20 us later than rank 0.
std::vector<std::vector<Span>> ten_calls() {
  std::vector<std::vector<Span>> spans(3);
  for (std::int64_t k = 0; k < 10; ++k)
    for (std::int64_t rank = 0; rank < 3; ++rank)
      // not evenly spaced, so that a wrong lag shows
      spans[static_cast<std::size_t>(rank)].push_back(
          {1000 * k + 37 * k * k + 5 * rank * rank, 1000 * k + 37 * k * k + 100});
  return spans;
}

TEST(Match, CallsThatEndTogetherMeet) {
  const Matching matching = torch::match(job_of(ten_calls()));
  EXPECT_EQ(matching.accepted, 10u);
  EXPECT_EQ(matching.rejected, 0u);
  for (const auto& meeting : matching.meetings) EXPECT_EQ(meeting.present.size(), 3u);
}

TEST(Match, ARankThatStartedToRecordLaterIsShifted) {
  auto spans = ten_calls();
  spans[2].erase(spans[2].begin(), spans[2].begin() + 3);
  const CommJob job = job_of(spans);
  const Matching matching = torch::match(job);
  EXPECT_EQ(matching.accepted, 10u);
  EXPECT_EQ(matching.clocks[2].meetings, 7u);
  EXPECT_EQ(matching.meetings[2].present.size(), 2u);
  EXPECT_EQ(matching.meetings[3].present.size(), 3u);
  EXPECT_EQ(matching.meetings[3].present[2].call, 0u);
}

TEST(Match, StepsDecideBetweenLagsOfEqualCalls) {
  std::vector<std::vector<Span>> spans(2);
  for (std::int64_t k = 0; k < 8; ++k)
    for (auto& rank : spans) rank.push_back({1000 * k, 1000 * k + 900});
  spans[1].erase(spans[1].begin());
  CommJob job = job_of(spans);
  for (std::size_t k = 0; k < 8; ++k) job.ranks[0].calls[k].step = k < 4 ? 10 : 11;
  for (std::size_t k = 0; k < 7; ++k) job.ranks[1].calls[k].step = k < 3 ? 10 : 11;
  torch::CallList all;
  torch::CallList later;
  for (const auto& call : job.ranks[0].calls) all.push_back(&call);
  for (const auto& call : job.ranks[1].calls) later.push_back(&call);
  EXPECT_EQ(torch::best_lag(all, later, false), 1);
}

TEST(Match, ClocksOfOtherHostsAreFound) {
  auto spans = ten_calls();
  for (Span& span : spans[1]) span = {span.start + 1830, span.end + 1830};
  const Matching matching = torch::match(job_of(spans));
  EXPECT_EQ(matching.accepted, 10u);
  EXPECT_EQ(matching.clocks[1].offset, 1'830'000);
  EXPECT_EQ(matching.clocks[1].residual, 0);
  EXPECT_EQ(matching.clocks[2].offset, 0);
}

// 30 s, 9 ppm: 270 us apart at the end, more than the 50 us that ends may differ.
TEST(Match, ADriftIsFittedInLongWindowsOnly) {
  for (const std::int64_t gap : {1'000'000, 10'000}) {
    std::vector<std::vector<Span>> spans(2);
    for (std::int64_t k = 0; k < 30; ++k) {
      const std::int64_t end = gap * k + 40;
      spans[0].push_back({end - 40, end});
      spans[1].push_back({end - 40 + 500 + end * 9 / 1'000'000, end + 500 + end * 9 / 1'000'000});
    }
    const Matching matching = torch::match(job_of(spans));
    EXPECT_EQ(matching.accepted, 30u);
    EXPECT_NEAR(matching.clocks[1].drift * 1e6, gap == 1'000'000 ? 9 : 0, 0.1);
    EXPECT_NEAR(static_cast<double>(matching.clocks[1].offset), 500e3, 2e3);
  }
}

TEST(Match, ClocksAreChainedThroughSharedGroups) {
  // ranks 0 and 1 meet, ranks 1 and 2 meet, 0 and 2 never
  CommJob job = job_of(ten_calls());
  job.groups = {{{0, 1}, 2, "a", ""}, {{1, 2}, 2, "b", ""}};
  for (std::size_t k = 0; k < 10; ++k) {
    job.ranks[1].calls[k].start += 200'000;
    job.ranks[1].calls[k].end += 200'000;
    job.ranks[2].calls[k].group = 1;
    job.ranks[2].calls[k].start += 500'000;
    job.ranks[2].calls[k].end += 500'000;
  }
  for (std::size_t k = 0; k < 10; ++k) {
    auto call = job.ranks[1].calls[k];
    call.group = 1;
    job.ranks[1].calls.push_back(call);
  }
  const Matching matching = torch::match(job);
  EXPECT_EQ(matching.accepted, 20u);
  EXPECT_EQ(matching.clocks[1].offset, 200'000);
  EXPECT_EQ(matching.clocks[2].offset, 500'000);
  EXPECT_EQ(matching.clocks[2].reference, 0);
}

TEST(Match, CallsThatDoNotEndTogetherAreRejected) {
  auto spans = ten_calls();
  spans[1][4].end += 300;
  const Matching matching = torch::match(job_of(spans));
  EXPECT_EQ(matching.accepted, 9u);
  EXPECT_EQ(matching.rejected, 1u);
  EXPECT_EQ(matching.meetings[4].state, MeetingState::kEndsApart);
  EXPECT_DOUBLE_EQ(matching.rejected_share(), 0.1);
}

TEST(Match, SequenceNumbersGoBeforeOrder) {
  CommJob job = job_of(ten_calls());
  for (auto& rank : job.ranks)
    for (std::size_t k = 0; k < 10; ++k) rank.calls[k].seq = 100 + k;
  job.ranks[1].calls.erase(job.ranks[1].calls.begin() + 2);  // its record was lost
  const Matching matching = torch::match(job);
  EXPECT_EQ(matching.accepted, 10u);
  EXPECT_EQ(matching.meetings[2].present.size(), 2u);
}

TEST(Match, ADifferentSizeUnderOneNumberIsAMismatch) {
  CommJob job = job_of(ten_calls());
  for (auto& rank : job.ranks)
    for (std::size_t k = 0; k < 10; ++k) rank.calls[k].seq = k;
  job.ranks[2].calls[7].bytes = 2'000'000;
  const Matching matching = torch::match(job);
  EXPECT_EQ(matching.accepted, 9u);
  EXPECT_EQ(matching.meetings[7].state, MeetingState::kMismatch);
}

TEST(Match, BroadcastsHaveNoCommonEnd) {
  CommJob job = job_of(ten_calls());
  for (auto& rank : job.ranks) rank.calls[0].kind = torch::CollectiveClass::kBroadcast;
  job.ranks[0].calls[0].end += 700'000;
  const Matching matching = torch::match(job);
  EXPECT_EQ(matching.accepted, 9u);
  EXPECT_EQ(matching.rejected, 0u);
  EXPECT_TRUE(std::any_of(matching.meetings.begin(), matching.meetings.end(),
                          [](const auto& one) { return one.state == MeetingState::kOneSided; }));
}

TEST(Match, NothingAndASingleRankAreNoFault) {
  EXPECT_TRUE(torch::match(CommJob{}).meetings.empty());
  const Matching matching = torch::match(job_of({{{0, 10}, {20, 30}}}));
  EXPECT_EQ(matching.unpaired, 2u);
  EXPECT_EQ(matching.clocks[0].meetings, 0u);
}

}  // namespace
}  // namespace comm_probe::test
