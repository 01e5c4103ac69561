#include "measure/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "core/crew.h"
#include "core/host.h"
#include "measure/engines/cuda/all_reduce.h"
#include "measure/engines/local/routed.h"
#include "measure/engines/mpi/engine.h"
#include "measure/engines/mpi/routed.h"
#include "measure/engines/nccl/engine.h"
#include "measure/engines/ucx/engine.h"
#include "measure/local_ledger.h"

namespace comm_probe::measure {
namespace {

std::optional<core::Error> always_there() { return std::nullopt; }

int ranks_for_cores() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 8);
}

// Each process of a launcher would measure ranks of its own, all at the same time.
core::Result<bool> check_started_alone(const Plan& plan) {
  if (const auto possible = check_local(plan); !possible) return possible.error();
  const int launched = core::Crew::launched(core::Host::real());
  if (launched <= 1) return true;
  return core::input_error(
      fmt::format("a launcher of MPI started {} processes, and --backend local starts its own "
                  "ranks",
                  launched),
      "--backend mpi measures between them");
}

}  // namespace

const std::vector<Engine>& engines() {
  static const std::vector<Engine> all = {
      {"local",
       "processes of this machine over shared memory",
       always_there,
       ranks_for_cores,
       local_algorithms,
       check_started_alone,
       run_by_ledger,
       {},
       run_local_routed},
      {"mpi",
       "the ranks of mpirun, by the library or --algo over its messages",
       mpi::missing,
       mpi::usual_ranks,
       mpi::algorithms,
       mpi::check,
       mpi::run,
       {.timeout = true},
       mpi::run_routed},
      {"ucx",
       "send_recv as one-sided put or get (--verb) of two processes",
       ucx::missing,
       ucx::usual_ranks,
       ucx::algorithms,
       ucx::check,
       ucx::run,
       {.verb = true, .scattered = true}},
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
