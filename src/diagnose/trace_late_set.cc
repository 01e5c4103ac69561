#include "diagnose/trace_late_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/number_ranges.h"
#include "core/units.h"
#include "torch/match_lag.h"

namespace comm_probe::diagnose {
namespace {

using core::Duration;
using torch::AcrossRanks;

constexpr double kApart = 4;                  // waits of the others over those of the set
constexpr double kNearlyAll = 0.8;            // of the waiting
constexpr double kWaitingThatMatters = 0.03;  // of the ranks' time
constexpr std::size_t kLeastRanks = 4;
constexpr int kLeastMeetings = 3;
constexpr double kMostRejected = 0.3;
constexpr double kClearlyMore = 0.02;  // of the compute time of the others

std::string text(std::int64_t ns) {
  return core::format_duration(Duration::from_ns(static_cast<double>(ns)));
}

struct Waiting {
  std::vector<std::int64_t> of_ranks = {};
  std::int64_t all = 0;
  int meetings = 0;
};

// Without meetings whose last rank was late before the window.
Waiting waiting_of(const AcrossRanks& across) {
  Waiting waiting;
  waiting.of_ranks.resize(across.job.ranks.size());
  for (std::size_t i = 0; i < across.waits.meetings.size(); ++i) {
    const torch::MeetingTimes& times = across.waits.meetings[i];
    if (!times.counts() || times.excused) continue;
    ++waiting.meetings;
    waiting.all += times.wait;
    for (const torch::Attendance& one : across.matching.meetings[i].present)
      waiting.of_ranks[static_cast<std::size_t>(one.rank)] += one.duration - times.transfer;
  }
  return waiting;
}

// The ranks below the widest gap of waits, where it is wide enough. Waits below 2 % of the longest
// are alike: chance.
std::vector<int> below_the_gap(const std::vector<std::int64_t>& waits) {
  constexpr double kAlike = 0.02;
  const double least = kAlike * static_cast<double>(*std::max_element(waits.begin(), waits.end()));
  std::vector<int> order;
  for (std::size_t i = 0; i < waits.size(); ++i) order.push_back(static_cast<int>(i));
  const auto wait = [&](int rank) {
    return std::max({1.0, least, static_cast<double>(waits[static_cast<std::size_t>(rank)])});
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int one, int other) { return wait(one) < wait(other); });
  std::size_t size = 0;
  double widest = kApart;
  for (std::size_t k = 1; k <= order.size() / 2; ++k) {
    const double gap = wait(order[k]) / wait(order[k - 1]);
    if (gap < widest) continue;
    widest = gap;
    size = k;
  }
  order.resize(size);
  std::sort(order.begin(), order.end());
  return order;
}

bool holds(const LateSet& set, int rank) {
  return std::binary_search(set.ranks.begin(), set.ranks.end(), rank);
}

std::int64_t median_part(const AcrossRanks& across, const LateSet& set, bool inside,
                         std::int64_t torch::WindowParts::*part) {
  std::vector<std::int64_t> values;
  for (std::size_t rank = 0; rank < across.activities.size(); ++rank) {
    const torch::RankActivity& activity = across.activities[rank];
    if (holds(set, static_cast<int>(rank)) == inside)
      values.push_back(activity.parts(activity.start, activity.end).*part);
  }
  return torch::median_of(std::move(values));
}

bool same_kernels(const AcrossRanks& across, const LateSet& set) {
  const auto own = across.activities[static_cast<std::size_t>(set.ranks.front())].work_in(-1);
  for (std::size_t rank = 0; rank < across.activities.size(); ++rank) {
    const auto theirs = across.activities[rank].work_in(-1);
    if (!holds(set, static_cast<int>(rank)) && theirs.kernels == own.kernels &&
        theirs.names == own.names)
      return true;
  }
  return false;
}

void explain(const AcrossRanks& across, LateSet& set) {
  for (const auto part :
       {&torch::WindowParts::compute, &torch::WindowParts::memory, &torch::WindowParts::idle})
    set.more.*part = median_part(across, set, true, part) - median_part(across, set, false, part);
  const auto usual =
      static_cast<double>(median_part(across, set, false, &torch::WindowParts::compute));
  if (usual > 0) set.compute_share = static_cast<double>(set.more.compute) / usual;
  const std::int64_t most = std::max({set.more.compute, set.more.memory, set.more.idle});
  if (most <= 0) return;
  if (most == set.more.compute && set.compute_share > kClearlyMore)
    set.kind = same_kernels(across, set) ? LateKind::kSlowCompute : LateKind::kMoreWork;
  else if (most == set.more.idle)
    set.kind = LateKind::kHost;
  else if (most == set.more.memory)
    set.kind = LateKind::kMemory;
}

std::string reason(const LateSet& set) {
  switch (set.kind) {
    case LateKind::kSlowCompute:
      return fmt::format("their GPUs compute slower: the same kernels take {} more ({})",
                         text(set.more.compute), core::format_percent(set.compute_share));
    case LateKind::kMoreWork:
      return fmt::format("they compute {} more ({}), other kernels than the others",
                         text(set.more.compute), core::format_percent(set.compute_share));
    case LateKind::kHost:
      return fmt::format("their hosts launch late: their GPUs idle {} more", text(set.more.idle));
    case LateKind::kMemory:
      return fmt::format("they copy {} longer", text(set.more.memory));
    case LateKind::kUpstream:
    case LateKind::kUnknown:
      break;
  }
  return "why is not in their traces";
}

std::vector<std::string> next_of(const LateSet& set, const std::string& ranks) {
  if (set.kind == LateKind::kSlowCompute)
    return {"nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE,POWER  # host of ranks " + ranks};
  if (set.kind == LateKind::kHost)
    return {"comm-probe topo show  # on their host and on another one: cores, NUMA, quota",
            "top; cat /proc/pressure/cpu  # on the host of ranks " + ranks};
  return {"compare the input and the stage of ranks " + ranks + " with the others"};
}

}  // namespace

std::optional<LateSet> late_set(const AcrossRanks& across) {
  if (across.job.ranks.size() < kLeastRanks || across.activities.empty() ||
      across.matching.rejected_share() > kMostRejected)
    return std::nullopt;
  const Waiting waiting = waiting_of(across);
  if (waiting.meetings < kLeastMeetings) return std::nullopt;
  LateSet set{.ranks = below_the_gap(waiting.of_ranks)};
  if (set.ranks.size() < 2) return std::nullopt;
  set.all_waiting = waiting.all;
  for (const int rank : set.ranks)
    set.blamed += across.waits.ranks[static_cast<std::size_t>(rank)].blamed;
  for (const auto& activity : across.activities) set.rank_time += activity.span();
  const auto all = static_cast<double>(set.all_waiting);
  if (static_cast<double>(set.blamed) < kNearlyAll * all ||
      all < kWaitingThatMatters * static_cast<double>(set.rank_time))
    return std::nullopt;
  explain(across, set);
  return set;
}

Judgement judge_late_set(const AcrossRanks& across, const LateSet& set) {
  std::vector<int> ranks;
  for (const int rank : set.ranks) ranks.push_back(across.rank_number(rank));
  const std::string names = core::number_ranges(ranks);
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return core::format_percent(static_cast<double>(part) / static_cast<double>(whole), 2);
  };
  core::Finding finding = core::make_finding(
      "trace.straggler",
      fmt::format("ranks {} together make the others wait: {} of waiting ({} of all, {} of the "
                  "time of all ranks), whoever of them is last; {}. If they share a host, look "
                  "there first",
                  names, text(set.blamed), share(set.blamed, set.all_waiting),
                  share(set.blamed, set.rank_time), reason(set)));
  finding.ranks = ranks;
  finding.observed = core::figure(Duration::from_ns(static_cast<double>(set.blamed)),
                                  core::Basis::kMeasured, "waiting that they caused");
  std::optional<std::size_t> worst;
  for (std::size_t i = 0; i < across.waits.meetings.size(); ++i)
    if (const auto& times = across.waits.meetings[i];
        times.counts() && !times.excused &&
        (!worst || times.wait > across.waits.meetings[*worst].wait))
      worst = i;
  finding.evidence = {{across.traces[static_cast<std::size_t>(set.ranks.front())]->file,
                       std::nullopt, meeting_line(across, *worst)}};
  if (set.kind == LateKind::kSlowCompute) finding.layer = core::Layer::kHardware;
  finding.next = next_of(set, names);
  return {.findings = {std::move(finding)}};
}

}  // namespace comm_probe::diagnose
