// Collectives played as flows on shared links, event by event. A message waits for its alpha, then
// its bytes flow, at the rate that max-min sharing gives them (flow_sharing.h); it has arrived when
// the last byte is there. This is SimGrid's order too (its CM02 model).
//
// Where no link is shared and all are alike the times are those of the closed form. Worked example
// (tests/unit/model/flow_play_test.cc): two ranks on one link of 1 GB/s in each direction, alpha
// 1 us, all_reduce of 2 MB around a ring: 2 rounds of 1 MB, 2.002 ms.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/flow_schedule.h"
#include "model/flow_sharing.h"

namespace comm_probe::model {

// The ways of one message: each carries the same share of it.
struct Route {
  Path path = {};
  core::Duration alpha = {};
};
class Routes {
 public:
  Routes() = default;
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;
  virtual ~Routes() = default;
  virtual std::span<const core::Bandwidth> capacities() const = 0;
  // `at_once`: the message may be spread over all ways out of its node. `flow` tells messages of
  // different communicators apart, where a hash chooses the way.
  struct Ask {
    int from = 0;
    int to = 0;
    bool at_once = false;
    std::uint64_t flow = 0;
  };
  virtual void find(const Ask& ask, std::vector<Route>& routes) const = 0;
};

struct FlowJob {
  FlowSchedule* schedule = nullptr;
  std::vector<int> places = {};             // of its ranks among the ranks of the fabric
  std::vector<core::Duration> begins = {};  // empty: all at 0
  bool at_once = false;
};

struct FlowTimes {
  struct Job {
    core::Duration first = {}, last = {};  // the first, the last rank has finished
  };
  std::vector<Job> jobs = {};
  std::vector<FlowSharing::Use> uses = {};  // by link
  double messages = 0;
};

FlowTimes play_flows(const Routes& routes, std::span<const FlowJob> jobs);

}  // namespace comm_probe::model
