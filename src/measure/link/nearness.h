// Keeps the calling thread on some CPUs while it measures a GPU, and puts it back afterwards:
// pinned memory comes from their NUMA node, and a call costs the same every time.
#pragma once

#include <sched.h>

#include <functional>
#include <vector>

namespace comm_probe::measure {

class Nearness {
 public:
  Nearness();
  ~Nearness();
  Nearness(const Nearness&) = delete;
  Nearness& operator=(const Nearness&) = delete;

  // A wish: where it is refused, the thread stays where it may run. No CPUs: where it was before.
  void move_to(const std::vector<int>& cpus);
  // To the one of the CPUs that it may use now on which `seconds` (some calls of what is measured,
  // timed) is least: a virtual CPU may share its core with somebody's work and be half as fast.
  void move_to_fastest(const std::function<double()>& seconds);

 private:
  cpu_set_t before_ = {};
  bool is_known_ = false;
};

}  // namespace comm_probe::measure
