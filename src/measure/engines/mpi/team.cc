#include "measure/engines/mpi/team.h"

#include <fmt/format.h>

#include "core/host.h"
#include "core/shared_library.h"

namespace comm_probe::measure::mpi {
namespace {

constexpr core::PluginTable kPlugin = {
    .file = "comm-probe-mpi.so",
    .symbol = "comm_probe_mpi_functions",
    .version = COMM_PROBE_MPI_VERSION,
    .install = "install MPI (Debian: openmpi-bin, libopenmpi-dev) and build comm-probe again",
    .is_global = true};

core::Result<const comm_probe_mpi*> functions() {
  return core::plugin_functions<comm_probe_mpi>(kPlugin);
}

}  // namespace

int launched_ranks() { return core::Crew::launched(core::Host::real()); }

std::optional<core::Error> missing() {
  if (const auto found = functions(); !found) return found.error();
  if (launched_ranks() >= 1) return std::nullopt;
  return core::input_error("no launcher of MPI has started its ranks",
                           "start the same command with mpirun: mpirun -np 2 comm-probe ...");
}

core::Result<Team> Team::join() {
  const auto found = functions();
  if (!found) return found.error();
  auto crew = core::Crew::join(core::Host::real(), 1);
  if (!crew) return crew.error();
  return Team(std::move(*crew), *found);
}

std::string Team::library() const {
  const std::string text = calls_->library();
  return text.substr(0, text.find_first_of(",\n"));
}

}  // namespace comm_probe::measure::mpi
