#include "measure/engine.h"

#include <algorithm>
#include <thread>

#include "measure/engines/cuda/all_reduce.h"
#include "measure/engines/mpi/engine.h"
#include "measure/engines/nccl/engine.h"
#include "measure/engines/ucx/engine.h"

namespace comm_probe::measure {
namespace {

std::optional<core::Error> always_there() { return std::nullopt; }

int ranks_for_cores() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 8);
}

core::Result<Run> run_local_quietly(const Plan& plan, const Progress&) { return run_local(plan); }

}  // namespace

const std::vector<Engine>& engines() {
  static const std::vector<Engine> all = {
      {"local", "processes of this machine over shared memory", always_there, ranks_for_cores,
       local_algorithms, check_local, run_local_quietly},
      {"mpi",
       "the ranks of mpirun, by the library or --algo over its messages",
       mpi::missing,
       mpi::usual_ranks,
       mpi::algorithms,
       mpi::check,
       mpi::run,
       {.timeout = true}},
      {"ucx",
       "send_recv as one-sided put or get (--verb) of two processes",
       ucx::missing,
       ucx::usual_ranks,
       ucx::algorithms,
       ucx::check,
       ucx::run,
       {.verb = true}},
      {"cuda",
       "our own all_reduce kernels over memory that GPUs map of each other",
       cuda::missing_all_reduce,
       cuda::usual_all_reduce_ranks,
       cuda::all_reduce_algorithms,
       cuda::check_all_reduce,
       cuda::run_all_reduce_plan,
       {.graph = true}},
      nccl::engine(),
  };
  return all;
}

const Engine* find_engine(const std::string& name) {
  for (const Engine& engine : engines())
    if (name == engine.name) return &engine;
  return nullptr;
}

}  // namespace comm_probe::measure
