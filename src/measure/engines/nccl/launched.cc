#include "measure/engines/nccl/launched.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "core/number.h"

namespace comm_probe::measure::nccl {
namespace {

using core::Result;

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* local_rank;
};
// torchrun first: it may itself run below srun, once per node.
constexpr std::array kLaunchers = {
    Launcher{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    Launcher{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
             "OMPI_COMM_WORLD_LOCAL_RANK"},
    Launcher{"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

constexpr int kFirstPort = 20000;
constexpr int kPorts = 20000;

// Nothing where it is not set, or no number.
std::optional<int> number(const core::Host& host, const char* name) {
  const auto text = host.environment(name);
  if (!text) return std::nullopt;
  const auto value = core::whole_number<int>(*text);
  return value && *value >= 0 ? value : std::nullopt;
}

// The same in all processes of one job, another one in most other jobs.
int port_of_job(const core::Host& host) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char* name :
       {"SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"})
    for (const char c : host.environment(name).value_or(""))
      hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return kFirstPort + static_cast<int>(hash % kPorts);
}

std::string address_of_first(const core::Host& host, const Launched& launched) {
  if (const auto named = host.environment("MASTER_ADDR"); named && !named->empty()) return *named;
  if (launched.launcher == "srun")
    for (const char* list : {"SLURM_STEP_NODELIST", "SLURM_NODELIST"})
      if (const auto text = host.environment(list)) return first_slurm_host(*text);
  const auto here = number(host, "OMPI_COMM_WORLD_LOCAL_SIZE");
  return here == launched.size ? "127.0.0.1" : "";
}

}  // namespace

Result<Launched> launched_as(const core::Host& host) {
  for (const Launcher& launcher : kLaunchers) {
    const auto size = number(host, launcher.size);
    const auto rank = number(host, launcher.rank);
    if (!size || *size <= 1 || !rank) continue;
    if (*rank >= *size)
      return core::input_error(
          fmt::format("{}={} against {}={}", launcher.rank, *rank, launcher.size, *size),
          "ranks are counted from 0");
    Launched launched = {.rank = *rank, .size = *size, .launcher = launcher.name};
    launched.local_rank = number(host, launcher.local_rank).value_or(*rank);
    launched.address = address_of_first(host, launched);
    const auto port = number(host, "MASTER_PORT");
    launched.port = port ? *port + 1 : port_of_job(host);
    return launched;
  }
  return Launched{};
}

std::string first_slurm_host(const std::string& list) {
  const std::size_t bracket = list.find('[');
  const std::size_t comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const std::size_t end = list.find_first_of("-,]", bracket);
  if (end == std::string::npos) return list.substr(0, bracket);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

}  // namespace comm_probe::measure::nccl
