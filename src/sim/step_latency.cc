#include "sim/step_latency.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "model/closed_form.h"

namespace comm_probe::sim {
namespace {

std::int64_t shortest(const StepMeeting& meeting) {
  return *std::min_element(meeting.transfer.begin(), meeting.transfer.end());
}

int size_of(const StepRecord& record, const StepMeeting& meeting) {
  const torch::CommGroup& group = record.groups[static_cast<std::size_t>(meeting.group)];
  return std::max(group.size, static_cast<int>(meeting.calls.size()));
}

std::optional<std::int64_t> of_alpha(const StepRecord& record, const StepMeeting& meeting,
                                     core::Duration alpha) {
  const auto op = torch::op_of(meeting.kind);
  if (!op || !meeting.bytes) return std::nullopt;
  const model::Collective of{*op, size_of(record, meeting), core::Bytes::of(*meeting.bytes)};
  const model::Fabric links{.link = {alpha, core::Bandwidth::from_GBps(1)}};
  const auto ledger = model::price(of, {model::usual_algorithm(of, links)}, links);
  if (!ledger) return std::nullopt;
  return std::llround(ledger->latency().in_seconds() * 1e9);
}

// Transfers by size, of one group and kind.
using Sizes = std::map<std::uint64_t, std::vector<std::int64_t>>;

double median(std::vector<std::int64_t> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(*middle);
}

std::optional<std::int64_t> of_sizes(const Sizes& sizes) {
  constexpr double kFarEnough = 2;  // apart, or noise decides the slope
  if (sizes.size() < 2) return std::nullopt;
  const auto& [small, fast] = *sizes.begin();
  const auto& [large, slow] = *sizes.rbegin();
  if (static_cast<double>(large) < kFarEnough * static_cast<double>(small)) return std::nullopt;
  const double low = median(fast), high = median(slow);
  const double slope = (high - low) / static_cast<double>(large - small);
  return std::llround(std::clamp(low - slope * static_cast<double>(small), 0.0, low));
}

}  // namespace

std::vector<std::optional<std::int64_t>> latencies_of(const StepRecord& record,
                                                      std::optional<core::Duration> alpha) {
  std::map<std::pair<int, int>, Sizes> all;
  const auto key = [](const StepMeeting& one) {
    return std::pair(one.group, static_cast<int>(one.kind));
  };
  for (const StepMeeting& meeting : record.meetings)
    if (meeting.bytes) all[key(meeting)][*meeting.bytes].push_back(shortest(meeting));
  std::vector<std::optional<std::int64_t>> latencies;
  for (const StepMeeting& meeting : record.meetings) {
    auto latency = alpha ? of_alpha(record, meeting, *alpha) : of_sizes(all[key(meeting)]);
    if (latency) latency = std::min(*latency, shortest(meeting));
    latencies.push_back(latency);
  }
  return latencies;
}

}  // namespace comm_probe::sim
