// A schedule bound to the buffers of one call: addresses in the place of spots, made once and run
// many times.
#pragma once

#include <cstddef>
#include <vector>

#include "measure/call.h"
#include "measure/engines/local/kernels.h"
#include "measure/engines/mpi/mpi_plugin.h"
#include "measure/engines/mpi/schedule.h"

namespace comm_probe::measure::mpi {

class Program {
 public:
  Program(const Schedule& schedule, const Call& call, int ranks);
  // One call. 0, or the number with which MPI failed.
  int run(const comm_probe_mpi& calls) const;

 private:
  struct Loop {
    std::byte* to;
    const std::byte* a;
    const std::byte* b;  // null: a copy
    std::size_t count;
    bool is_last;
  };
  struct Step {
    std::vector<comm_probe_mpi_message> sends = {};
    std::vector<comm_probe_mpi_message> receives = {};
    std::vector<Loop> loops = {};
  };
  std::byte* address(const Spot& spot, const Call& call);
  comm_probe_mpi_message message(const Transfer& transfer, const Call& call);
  int transfer(const comm_probe_mpi& calls, const Step& step) const;
  void work(const Loop& loop) const;

  std::vector<std::byte> scratch_;
  std::vector<Step> steps_ = {};
  local::Kernels kernels_ = local::kernels();
  local::ReduceLoop reduce_;
  local::ScaleLoop scale_;  // null where nothing is divided
  std::size_t element_;
  int ranks_;
};

}  // namespace comm_probe::measure::mpi
