// When does each of many events happen, where every one waits for some others and each way between
// two takes a fixed time? The longest ways through a graph without circles:
//
//   time[to] = max over the ways into it of time[from] + length;  what waits for nothing is at 0
//
// A way that gets shorter makes no event later: this is why a what-if that only takes time away
// never makes a step slower.
//
// Worked example (tests/unit/model/max_plus_test.cc): 0 -3-> 1, 0 -1-> 2, 2 -1-> 1: 0, 3, 1.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace comm_probe::model {

class MaxPlus {
 public:
  using Event = std::uint32_t;
  Event add() { return events_++; }
  std::uint32_t size() const { return events_; }
  // Whole ns; never negative.
  void wait(Event event, Event for_event, std::int64_t length);
  // Nothing where events wait for each other in a circle.
  std::optional<std::vector<std::int64_t>> times() const;

 private:
  struct Way {
    Event from = 0, to = 0;
    std::int64_t length = 0;
  };
  std::uint32_t events_ = 0;
  std::vector<Way> ways_ = {};
};

}  // namespace comm_probe::model
