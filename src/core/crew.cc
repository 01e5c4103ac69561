#include "core/crew.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "core/crew_plugin.h"
#include "core/shared_library.h"

namespace comm_probe::core {
namespace {

// Variables by which a launcher of MPI tells a process how many were started, and which one it is.
struct Launcher {
  const char* size;
  const char* rank;
  const char* name;
};
constexpr std::array kLaunchers = {
    Launcher{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's mpirun"},
    Launcher{"PMI_SIZE", "PMI_RANK", "PMI (MPICH, Intel MPI, srun)"},
    Launcher{"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MVAPICH"},
};

constexpr PluginTable kPlugin = {.file = "comm-probe-mpi.so",
                                 .symbol = "comm_probe_crew_functions",
                                 .version = COMM_PROBE_CREW_VERSION,
                                 .install = "",  // no_plugin says more
                                 .is_global = true};

int number_of(const Host& host, const char* variable) {
  const auto text = host.environment(variable);
  return text ? std::atoi(text->c_str()) : 0;
}

// Null: this process was started alone.
const Launcher* launcher_of(const Host& host, int least = 2) {
  for (const Launcher& known : kLaunchers)
    if (number_of(host, known.size) >= least) return &known;
  return nullptr;
}

Error apart(const Launcher& launcher, int size, const std::string& why, const std::string& cure) {
  return missing_error(
      fmt::format("{} started {} processes of comm-probe, which cannot work together: {}",
                  launcher.name, size, why),
      fmt::format("{}, or start one process; where one process is meant, unset {}", cure,
                  launcher.size));
}
Error no_plugin(const Launcher& launcher, int size, const std::string& why) {
  return apart(launcher, size, why, "build it where MPI is installed (libopenmpi-dev)");
}

}  // namespace

struct Crew::Plugin {
  const comm_probe_crew* functions = nullptr;
  int rank = 0;
  int size = 1;

  // A crew of which a process does not answer cannot go on: MPI ends all of them.
  static void require(int status) {
    if (status == 0) return;
    fmt::print(stderr, "comm-probe: MPI failed with status {}\n", status);
    std::exit(static_cast<int>(ErrorCode::kMissing));
  }
};

Crew::Crew(std::unique_ptr<Plugin> plugin) : plugin_(std::move(plugin)) {}
Crew::Crew(Crew&&) noexcept = default;
Crew& Crew::operator=(Crew&&) noexcept = default;
Crew::~Crew() {
  if (plugin_) plugin_->functions->leave();
}

Result<Crew> Crew::join(const Host& host, int least) {
  const Launcher* launcher = launcher_of(host, least);
  if (launcher == nullptr) return Crew(nullptr);
  const int size = number_of(host, launcher->size);
  const auto functions = plugin_functions<comm_probe_crew>(kPlugin);
  if (!functions) return no_plugin(*launcher, size, functions.error().message);
  auto plugin = std::make_unique<Plugin>();
  plugin->functions = *functions;
  if (const int status = plugin->functions->join(&plugin->rank, &plugin->size); status != 0)
    return no_plugin(*launcher, size, fmt::format("MPI_Init failed with status {}", status));
  Crew crew(std::move(plugin));
  if (crew.size() != size)  // each of them is alone in a world of its own
    return apart(*launcher, size,
                 fmt::format("the MPI of {} joined {} of them", kPlugin.file, crew.size()),
                 "start it with the mpirun of that MPI");
  return crew;
}

bool Crew::speaks(const Host& host) {
  const Launcher* launcher = launcher_of(host);
  return launcher == nullptr || number_of(host, launcher->rank) == 0;
}

int Crew::launched(const Host& host) {
  for (const Launcher& known : kLaunchers)
    if (const int size = number_of(host, known.size); size > 0) return size;
  return 0;
}

int Crew::rank() const { return plugin_ ? plugin_->rank : 0; }
int Crew::size() const { return plugin_ ? plugin_->size : 1; }

std::vector<std::string> Crew::gather(const std::string& mine) {
  if (!plugin_) return {mine};
  std::vector<std::string> all;
  Plugin::require(plugin_->functions->gather(
      mine.data(), mine.size(),
      [](void* context, int, const void* bytes, std::uint64_t size) {
        static_cast<std::vector<std::string>*>(context)->emplace_back(
            static_cast<const char*>(bytes), size);
      },
      &all));
  return all;
}

std::string Crew::broadcast(std::string mine) {
  if (!plugin_) return mine;
  std::string same;
  Plugin::require(plugin_->functions->broadcast(
      mine.data(), mine.size(),
      [](void* context, int, const void* bytes, std::uint64_t size) {
        static_cast<std::string*>(context)->assign(static_cast<const char*>(bytes), size);
      },
      &same));
  return same;
}

}  // namespace comm_probe::core
