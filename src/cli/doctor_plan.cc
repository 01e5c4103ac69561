#include "cli/doctor_plan.h"

#include <algorithm>
#include <set>

#include "cli/log_plan_view.h"

namespace comm_probe::cli {
namespace {

using diagnose::JobMachine;

// Planning more ranks than these takes seconds.
constexpr int kMostRanks = 16384;

std::set<std::string> hosts_of(const nccl::DebugLog& log, const nccl::LogComm& comm) {
  std::set<std::string> hosts;
  for (const int process : comm.processes)
    hosts.insert(
        log.hosts[static_cast<std::size_t>(log.processes[static_cast<std::size_t>(process)].host)]);
  return hosts;
}

bool is_graph(const JobMachine& machine) {
  return machine.survey.machine && !machine.survey.is_template() && !machine.is_stranger();
}

// That of a host of the communicator; else the only one of the pile.
const JobMachine* machine_of(const std::set<std::string>& hosts,
                             const std::vector<JobMachine>& machines) {
  const JobMachine* only = nullptr;
  int others = 0;
  for (const JobMachine& machine : machines) {
    if (!is_graph(machine)) continue;
    if (machine.is_host && hosts.contains(machine.name)) return &machine;
    if (!machine.is_host) only = &machine;
    ++others;
  }
  return others == 1 ? only : nullptr;
}

// Of an excerpt the rings say it.
int ranks_of(const nccl::LogComm& comm) {
  if (comm.size > 0 || comm.rings.empty()) return comm.size;
  return static_cast<int>(comm.rings.begin()->second.size());
}

bool has_gpus_of(const JobMachine& machine, const nccl::LogComm& comm) {
  const auto gpus = static_cast<int>(machine.survey.of(topology::SurveyDevice::Kind::kGpu).size());
  const int ranks = ranks_of(comm);
  return ranks > 0 && ranks <= kMostRanks && ranks == gpus * std::max(1, comm.nodes);
}

}  // namespace

std::optional<DoctorPlan> plan_of_pile(const nccl::DebugLog& log,
                                       const std::vector<JobMachine>& machines) {
  const nccl::LogComm* comm = diagnose::comm_to_plan(log);
  if (comm == nullptr) return std::nullopt;
  const JobMachine* machine = machine_of(hosts_of(log, *comm), machines);
  if (machine == nullptr || !has_gpus_of(*machine, *comm)) return std::nullopt;
  core::Document compared;
  if (add_log_plan(compared, log, {.topo = machine->survey.source})) return std::nullopt;
  if (compared.body.empty()) return std::nullopt;  // nothing could be compared
  return DoctorPlan{std::move(compared.findings), std::move(compared.body),
                    std::move(compared.result["plan"])};
}

}  // namespace comm_probe::cli
