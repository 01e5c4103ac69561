#include "model/max_plus.h"

#include <algorithm>

#include "core/check.h"

namespace comm_probe::model {

void MaxPlus::wait(Event event, Event for_event, std::int64_t length) {
  COMM_PROBE_CHECK(event < events_ && for_event < events_ && length >= 0, "no way of a graph");
  ways_.push_back({for_event, event, length});
}

std::optional<std::vector<std::int64_t>> MaxPlus::times() const {
  std::vector<std::size_t> first(events_ + 1U, 0);
  std::vector<std::uint32_t> open(events_, 0);
  for (const Way& way : ways_) {
    ++first[way.from + 1U];
    ++open[way.to];
  }
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<std::uint32_t> order(ways_.size());
  std::vector<std::size_t> at = first;
  for (std::uint32_t i = 0; i < ways_.size(); ++i) order[at[ways_[i].from]++] = i;
  std::vector<std::int64_t> times(events_, 0);
  std::vector<Event> done;
  for (Event event = 0; event < events_; ++event)
    if (open[event] == 0) done.push_back(event);
  for (std::size_t i = 0; i < done.size(); ++i)
    for (std::size_t j = first[done[i]]; j < first[done[i] + 1U]; ++j) {
      const Way& way = ways_[order[j]];
      times[way.to] = std::max(times[way.to], times[done[i]] + way.length);
      if (--open[way.to] == 0) done.push_back(way.to);
    }
  if (done.size() < events_) return std::nullopt;
  return times;
}

}  // namespace comm_probe::model
