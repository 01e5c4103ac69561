#include "diagnose/deepep_timeouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "core/number_ranges.h"

namespace comm_probe::diagnose {
namespace {

using serving::DeepEpTimeout;

struct Waits {
  std::map<int, int> named = {};  // how often a rank was waited for
  std::set<int> waiters = {}, without_counts = {};
  std::set<std::pair<int, int>> pairs = {};  // who waited for whom
  int all_named = 0;
};

Waits waits_of(std::span<const DeepEpTimeout> timeouts) {
  Waits waits;
  for (const DeepEpTimeout& timeout : timeouts) {
    if (timeout.rank) waits.waiters.insert(*timeout.rank);
    if (timeout.counts_missing && timeout.rank) waits.without_counts.insert(*timeout.rank);
    if (!timeout.peer) continue;
    ++waits.named[*timeout.peer];
    ++waits.all_named;
    if (timeout.rank) waits.pairs.insert({*timeout.rank, *timeout.peer});
  }
  return waits;
}

// More than half of the lines that name a rank name it.
std::optional<int> named_by_most(const Waits& waits) {
  for (const auto& [rank, count] : waits.named)
    if (count * 2 > waits.all_named) return rank;
  return std::nullopt;
}

// Two ranks that wait for each other.
std::vector<int> mutual_waiters(const Waits& waits) {
  for (const auto& [rank, peer] : waits.pairs)
    if (rank < peer && waits.pairs.count({peer, rank}) > 0) return {rank, peer};
  return {};
}

std::string ranks_text(const std::set<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s",
                     core::number_ranges({ranks.begin(), ranks.end()}));
}

std::string nobody_named(const Waits& waits, std::size_t all) {
  if (!waits.without_counts.empty())
    return fmt::format(
        "{} waited in vain for the counts of dispatch; look for the rank that is not among them: "
        "it did not enter",
        ranks_text(waits.without_counts));
  return fmt::format(
      "{} time-out{} of DeepEP, which name{} no rank that was waited for{}", all,
      all == 1 ? "" : "s", all == 1 ? "s" : "",
      waits.waiters.empty() ? "" : fmt::format("; {} waited", ranks_text(waits.waiters)));
}

// Several are named, none by most.
std::string several_named(const Waits& waits) {
  std::set<int> named;
  for (const auto& [rank, count] : waits.named) named.insert(rank);
  return fmt::format("{} time-outs of DeepEP wait for {}, none of them by most", waits.all_named,
                     ranks_text(named));
}

std::string what_happened(const Waits& waits, std::optional<int> most,
                          const std::vector<int>& mutual, std::size_t all) {
  if (most) {
    std::string text =
        fmt::format("rank {} is waited for: {} of {} time-outs of DeepEP that name a rank name it",
                    *most, waits.named.at(*most), waits.all_named);
    if (waits.waiters.count(*most) > 0)
      text += "; it waits itself, so it did enter: too late, or its messages do not arrive";
    return text;
  }
  if (!mutual.empty())
    return fmt::format(
        "ranks {} and {} wait for each other: both are inside a call of DeepEP; the path between "
        "them, or one entered too late",
        mutual[0], mutual[1]);
  return waits.named.size() > 1 ? several_named(waits) : nobody_named(waits, all);
}

std::vector<std::string> next_steps(bool is_inside, bool is_one) {
  std::vector<std::string> steps;
  if (is_inside)
    steps = {
        "the times of these lines: the rank that gave up last entered last; then its log "
        "before the call",
        "alike times: ib_write_bw between the nodes of these ranks, comm-probe topo check "
        "--net --watch 60s on both"};
  else if (is_one)
    steps = {"the log and the stack of that rank: did it enter dispatch? (py-spy dump)"};
  else
    steps = {"the log and the stack of the rank that no line is of (py-spy dump)"};
  steps.emplace_back("comm-probe hang DUMPS   (Flight Recorder: which collective is it in?)");
  return steps;
}

}  // namespace

std::optional<core::Finding> judge_deepep_timeouts(std::span<const DeepEpTimeout> timeouts) {
  if (timeouts.empty()) return std::nullopt;
  const Waits waits = waits_of(timeouts);
  const std::optional<int> most = named_by_most(waits);
  const std::vector<int> mutual = most ? std::vector<int>() : mutual_waiters(waits);
  const bool is_inside = !mutual.empty() || (most && waits.waiters.count(*most) > 0);
  core::Finding finding =
      core::make_finding("moe.peer-missing", what_happened(waits, most, mutual, timeouts.size()));
  if (most) finding.ranks = {*most};
  if (!mutual.empty()) finding.ranks = mutual;
  finding.confidence = most && !is_inside ? core::Confidence::kLikely : core::Confidence::kPossible;
  constexpr std::size_t kShown = 5;
  for (const DeepEpTimeout& timeout : timeouts) {
    const bool tells = !most || timeout.peer == *most || timeout.rank == *most;
    if (tells && finding.evidence.size() < kShown)
      finding.evidence.push_back({timeout.place.file, timeout.place.line, timeout.place.text});
  }
  finding.next = next_steps(is_inside, most.has_value());
  return finding;
}

}  // namespace comm_probe::diagnose
