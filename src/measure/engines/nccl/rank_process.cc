#include "measure/engines/nccl/rank_process.h"

#include <fmt/format.h>

#include <thread>

#include "measure/engines/nccl/watch.h"
#include "measure/engines/nccl/worker.h"

namespace comm_probe::measure::nccl {
namespace {

using core::Result;

// Where the launcher is MPI's and our plug-in is there, MPI; else TCP to the first process.
Result<std::unique_ptr<Meeting>> meet(const Assignment& assignment) {
  const Launched& launched = assignment.layout.launched;
  if (launched.launcher == "mpirun") {
    auto crew = core::Crew::join(core::Host::real());
    if (crew) return Meeting::over_mpi(std::move(*crew));
  }
  if (assignment.meeting.size > 1 && assignment.meeting.address.empty())
    return core::missing_error(
        fmt::format("{} does not tell where rank 0 runs", launched.launcher),
        "set MASTER_ADDR to its host for all ranks, or build comm-probe where MPI is installed");
  return Meeting::over_tcp(assignment.meeting);
}

void run_threads(Team& team, int threads) {
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread)
    others.emplace_back([&team, thread] { Worker(team, thread).run(); });
  Worker(team, 0).run();
  for (std::thread& other : others) other.join();
}

}  // namespace

void run_process(const Assignment& assignment) {
  assignment.capture.set_environment(assignment.process);
  Watch watch(assignment.board.note(assignment.note), assignment.plan.patience);
  watch.doing("the meeting of all ranks");
  auto meeting = meet(assignment);
  if (!meeting) watch.fail(meeting.error());
  Team team(assignment, watch, **meeting);
  run_threads(team, assignment.layout.threads);
}

}  // namespace comm_probe::measure::nccl
