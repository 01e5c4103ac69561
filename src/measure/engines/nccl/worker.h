// One thread of a process with its ranks (nccl-tests' "nGpus"): they join the communicator, call
// every size once and check it, then time every size.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measure/engines/nccl/device_rank.h"
#include "measure/engines/nccl/team.h"

namespace comm_probe::measure::nccl {

class Worker {
 public:
  Worker(Team& team, int thread)
      : team_(team), assignment_(team.assignment()), plan_(team.plan()), thread_(thread) {}

  void run();

 private:
  void doing(const std::string& what);
  std::string name_of(std::size_t size) const;
  void start();
  void note_place(const DeviceRank& rank);
  UniqueId shared_id();
  void join();
  // One thing for each rank of this thread, as one group of NCCL where there are several.
  void grouped(const std::function<core::Result<bool>(DeviceRank&)>& act);
  void call_all(std::size_t size, bool in_place);
  Call call_of(const DeviceRank& rank, std::size_t size, bool in_place) const;
  // Yields while it waits: ranks that share a processor with NCCL's own threads must not starve
  // them.
  void wait();
  void check(std::size_t size, bool in_place);
  local::Samples& samples_of(const DeviceRank& rank, std::size_t size, bool in_place);
  // Only where times mean something, and the library can.
  void stop_logging();
  double timed(const std::function<void()>& calls, int number);
  int agree_on_iterations(std::size_t size, bool in_place);
  std::vector<cuda::Graph> captured(std::size_t size, bool in_place, int iterations);
  void launch(const std::vector<cuda::Graph>& graphs);
  void launch_once(std::size_t size, bool in_place);
  void note_block(std::size_t size, bool in_place, int block, double seconds);
  void measure(std::size_t size, bool in_place);
  void measure_graph(std::size_t size, bool in_place, int iterations);

  Team& team_;
  const Assignment& assignment_;
  const Plan& plan_;
  int thread_;
  std::vector<DeviceRank> ranks_ = {};
};

}  // namespace comm_probe::measure::nccl
