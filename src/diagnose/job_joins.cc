#include "diagnose/job_joins.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/job_hosts.h"
#include "diagnose/job_tables.h"
#include "diagnose/job_versions.h"
#include "diagnose/log_rules.h"
#include "diagnose/topo_diff.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using topology::Survey;
using topology::SurveyDevice;
using Kind = SurveyDevice::Kind;

bool has(const std::vector<Finding>& found, std::string_view prefix) {
  return std::any_of(found.begin(), found.end(),
                     [&](const Finding& finding) { return finding.id.starts_with(prefix); });
}

// The machine of a host: the one of its name; the only one where all hosts are built alike.
const JobMachine* machine_of_host(const JobFacts& facts, const std::string& host) {
  for (const JobMachine& machine : facts.machines)
    if (machine.is_host && machine.name == host) return &machine;
  return facts.machines.size() == 1 && !facts.machines.front().is_host ? &facts.machines.front()
                                                                       : nullptr;
}

// "0000:18:00.0" -> 0x18000, as NCCL prints bus ids: domain, bus, device and function as hex
// digits.
std::optional<std::uint64_t> bus_number(const std::string& bus_id) {
  std::uint64_t number = 0;
  for (const char c : bus_id) {
    if (c == ':' || c == '.') continue;
    const bool is_digit = c >= '0' && c <= '9';
    const char low = static_cast<char>(c | 0x20);
    if (!is_digit && (low < 'a' || low > 'f')) return std::nullopt;
    number = number * 16 + static_cast<std::uint64_t>(is_digit ? c - '0' : low - 'a' + 10);
  }
  return bus_id.empty() ? std::nullopt : std::optional(number);
}

// Bus ids of all GPUs that the log shows on each host and of each process, in their order.
struct Buses {
  std::vector<std::set<std::uint64_t>> of_host = {};
  std::vector<std::set<std::uint64_t>> of_process = {};  // with 0 where a rank of it tells none
};
Buses buses_of(const nccl::DebugLog& log) {
  Buses buses{std::vector<std::set<std::uint64_t>>(log.hosts.size()),
              std::vector<std::set<std::uint64_t>>(log.processes.size())};
  for (const nccl::LogRank& rank : log.ranks) {
    const auto process = static_cast<std::size_t>(rank.process);
    const auto host = static_cast<std::size_t>(log.processes[process].host);
    buses.of_process[process].insert(rank.bus_id);
    if (rank.bus_id != 0 && host < buses.of_host.size()) buses.of_host[host].insert(rank.bus_id);
  }
  return buses;
}

// `nvidia-smi topo -m` prints no bus ids but numbers GPUs in their order: where the log shows as
// many GPUs on the host as the matrix has, the smallest bus id is GPU0.
std::optional<int> gpu_by_order(const Survey& survey, const std::set<std::uint64_t>& buses,
                                std::uint64_t bus) {
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  const bool has_bus_ids = std::any_of(gpus.begin(), gpus.end(),
                                       [&](int gpu) { return !survey.device(gpu).bus_id.empty(); });
  const auto at = buses.find(bus);
  if (has_bus_ids || gpus.size() != buses.size() || at == buses.end()) return std::nullopt;
  const std::string name = "GPU" + std::to_string(std::distance(buses.begin(), at));
  for (const int gpu : gpus)
    if (survey.device(gpu).name == name) return gpu;
  return std::nullopt;
}

std::optional<int> gpu_of_bus(const Survey& survey, std::uint64_t bus) {
  for (const int gpu : survey.of(Kind::kGpu))
    if (bus_number(survey.device(gpu).bus_id) == bus) return gpu;
  return std::nullopt;
}

std::optional<int> nic_of_name(const Survey& survey, std::string_view name) {
  for (const int nic : survey.of(Kind::kNic))
    if (survey.device(nic).name == name) return nic;
  return std::nullopt;
}

// The NICs of a host by NCCL's index; null where the log does not list them.
const nccl::LogNicList* list_of_host(const nccl::DebugLog& log, int host) {
  for (const nccl::LogNicList& list : log.nic_lists)
    if (!list.is_socket &&
        std::find(list.hosts.begin(), list.hosts.end(), host) != list.hosts.end())
      return &list;
  return nullptr;
}

struct FarNic {
  std::string host = {};
  std::string gpu = {};
  std::string used = {};
  std::string used_path = {};
  std::string nearest = {};
  std::string nearest_path = {};
  int rank = -1;
  const nccl::LogNicList* list = nullptr;
  const Survey* survey = nullptr;
};

const topology::Road* nearest_road(const Survey& survey, int gpu) {
  const topology::Road* best = nullptr;
  for (const int nic : survey.of(Kind::kNic)) {
    const topology::Road* road = survey.road(gpu, nic);
    if (road != nullptr && (best == nullptr || road->type < best->type)) best = road;
  }
  return best;
}

// Of one rank: a NIC that it sends over itself and that is farther than another one.
std::optional<FarNic> far_nic(const JobFacts& facts, const Buses& buses,
                              const nccl::LogRank& rank) {
  const nccl::LogProcess& process = facts.log.processes[static_cast<std::size_t>(rank.process)];
  const auto at = static_cast<std::size_t>(process.host);
  if (process.own_devices == 0 || at >= facts.log.hosts.size()) return std::nullopt;
  const std::string& host = facts.log.hosts[at];
  const JobMachine* machine = machine_of_host(facts, host);
  const nccl::LogNicList* list = list_of_host(facts.log, process.host);
  if (machine == nullptr || list == nullptr) return std::nullopt;
  const Survey& survey = machine->survey;
  auto gpu = gpu_of_bus(survey, rank.bus_id);
  if (!gpu) gpu = gpu_by_order(survey, buses.of_host[at], rank.bus_id);
  if (!gpu) return std::nullopt;
  const topology::Road* best = nearest_road(survey, *gpu);
  for (std::size_t i = 0; best != nullptr && i < list->nics.size() && i < 64; ++i) {
    if ((process.own_devices >> i & 1) == 0) continue;
    const auto nic = nic_of_name(survey, list->nics[i].name);
    const topology::Road* road = nic ? survey.road(*gpu, *nic) : nullptr;
    if (road == nullptr || road->type <= best->type) continue;
    const int nearest = best->from == *gpu ? best->to : best->from;
    return FarNic{host,
                  survey.device(*gpu).name,
                  list->nics[i].name,
                  road->printed,
                  survey.device(nearest).name,
                  best->printed,
                  rank.rank,
                  list,
                  &survey};
  }
  return std::nullopt;
}

void judge_far_nics(const JobFacts& facts, Judgement& judgement) {
  constexpr std::size_t kMostRanks = 4096;
  const Buses buses = buses_of(facts.log);
  std::vector<FarNic> far;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < std::min(kMostRanks, facts.log.ranks.size()); ++i) {
    const nccl::LogRank& rank = facts.log.ranks[i];
    // what a process sends is its one GPU's
    const bool has_one_gpu = buses.of_process[static_cast<std::size_t>(rank.process)].size() == 1;
    if (rank.bus_id == 0 || !has_one_gpu) continue;
    if (auto one = far_nic(facts, buses, rank); one && seen.insert(one->host + one->gpu).second)
      far.push_back(std::move(*one));
  }
  if (far.empty()) return;
  const FarNic& first = far.front();
  Finding finding = core::make_finding(
      "job.nic-far",
      fmt::format(
          "the log says NIC {} for {}{}, which is {} by the topology; {} is {}{}", first.used,
          first.gpu, first.host.empty() ? "" : " of " + first.host, first.used_path, first.nearest,
          first.nearest_path,
          far.size() > 1 ? fmt::format(" (and {} more GPUs like it)", far.size() - 1) : ""));
  for (const FarNic& each : far) finding.ranks.push_back(each.rank);
  finding.evidence = {log_evidence(facts.log, first.list->first),
                      {first.survey->source,
                       {},
                       fmt::format("{} - {}: {}, {} - {}: {}", first.gpu, first.used,
                                   first.used_path, first.gpu, first.nearest, first.nearest_path)}};
  finding.confidence = core::Confidence::kLikely;
  finding.next = {"comm-probe nccl plan --topo FILE  (which NIC NCCL would take by itself)",
                  "comm-probe topo check  (whether the topology that NCCL saw is the real one)"};
  judgement.findings.push_back(std::move(finding));
}

bool carries_fast(const topology::RdmaPortFacts& port) {
  return port.is_active() && port.rate && *port.rate >= core::Bandwidth::from_Gbps(25);
}

// The first port of a machine that is up and fast, the machines of hosts of the log first.
std::pair<const JobMachine*, const topology::RdmaPortFacts*> fast_port(const JobFacts& facts) {
  for (const bool is_host : {true, false})
    for (const JobMachine& machine : facts.machines)
      for (const topology::RdmaPortFacts& port : machine.survey.facts.rdma_ports)
        if (machine.is_host == is_host && !machine.is_stranger() && carries_fast(port))
          return {&machine, &port};
  return {nullptr, nullptr};
}

// What sends NCCL over TCP: the log prints it, or a text of the pile states it.
std::optional<StatedSetting> socket_cause(const JobFacts& facts) {
  if (const nccl::LogSetting* setting = socket_setting(facts.log))
    return StatedSetting{setting->name, setting->value, log_evidence(facts.log, setting->first)};
  const auto stated = std::find_if(
      facts.environment.begin(), facts.environment.end(),
      [](const StatedSetting& setting) { return sends_over_sockets(setting.name, setting.value); });
  return stated == facts.environment.end() ? std::nullopt : std::optional(*stated);
}

// Whether these nodes have another network than TCP is in no artifact.
bool is_network_unknown(const JobFacts& facts) {
  return std::none_of(facts.machines.begin(), facts.machines.end(), [](const JobMachine& machine) {
    return machine.survey.is_whole_machine() || !machine.survey.facts.rdma_ports.empty();
  });
}

void say_network_unknown(const JobFacts& facts, const nccl::LogFact& socket, Judgement& judgement) {
  const nccl::LogProblem* verbs = facts.log.problem(nccl::LogFamily::kNoVerbs);
  judgement.caveats.push_back(core::make_caveat(
      "job.network-unknown",
      fmt::format("whether these hosts have a faster network: NCCL goes over TCP between them "
                  "({}{})",
                  log_evidence(facts.log, socket.first).text,
                  verbs == nullptr ? "" : "; " + log_evidence(facts.log, verbs->first).text),
      "with InfiniBand or RoCE ports that is the fault, without them it is as it must be: ibstat "
      "or "
      "comm-probe topo record node.tar.gz of a host tells",
      true));
}

// TCP between nodes although ports are up: the log alone may not know it. A setting that says so is
// its cause.
void judge_ignored_network(const JobFacts& facts, const std::vector<Finding>& found,
                           Judgement& judgement) {
  if (has(found, "log.tcp-fallback") || has(found, "log.rdma-devices-missing") ||
      has(found, "log.wrong-provider") || !is_multi_node(facts.log))
    return;
  const auto socket = std::find_if(facts.log.networks.begin(), facts.log.networks.end(),
                                   [](const auto& fact) { return fact.text == "Socket"; });
  const auto [machine, port] = fast_port(facts);
  if (socket == facts.log.networks.end()) return;
  if (machine == nullptr) {
    if (is_network_unknown(facts)) say_network_unknown(facts, *socket, judgement);
    return;
  }
  const std::optional<StatedSetting> setting = socket_cause(facts);
  const nccl::LogProblem* verbs = facts.log.problem(nccl::LogFamily::kNoVerbs);
  const std::string why =
      setting ? fmt::format("{}={} sends NCCL over TCP", setting->name, setting->value)
      : verbs ? "NCCL cannot open libibverbs and goes over TCP (Using network Socket)"
              : "NCCL goes over TCP (Using network Socket)";
  Finding finding = log_finding(facts.log, "job.network-ignored",
                                fmt::format("{} although {} of {} is up with {}", why, port->name(),
                                            machine->name, core::format_bandwidth(*port->rate)),
                                socket->first);
  if (setting) finding.evidence.insert(finding.evidence.begin(), setting->from);
  if (verbs != nullptr)
    finding.evidence.insert(finding.evidence.begin(), log_evidence(facts.log, verbs->first));
  finding.evidence.push_back(port->from);
  finding.confidence = core::Confidence::kLikely;
  if (!machine->is_host && facts.log.named_hosts() > 0) {
    finding.summary += fmt::format(" (if {} is a machine of this job)", machine->name);
    finding.confidence = core::Confidence::kPossible;
  }
  if (setting)
    finding.next = {"unset " + setting->name,
                    "comm-probe nccl env  (in the job's environment: who sets it)"};
  else
    finding.next = {"ls -l /dev/infiniband; ldconfig -p | grep libibverbs  (in the container)",
                    "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET: why NET/IB finds no device",
                    "ulimit -l"};
  judgement.findings.push_back(std::move(finding));
}

// NCCL's list is shorter than the ports of the node.
void judge_unused_nics(const JobFacts& facts, const std::vector<Finding>& found,
                       Judgement& judgement) {
  if (has(found, "log.nics-")) return;
  for (std::size_t host = 0; host < facts.log.hosts.size(); ++host) {
    const nccl::LogNicList* list = list_of_host(facts.log, static_cast<int>(host));
    const JobMachine* machine = machine_of_host(facts, facts.log.hosts[host]);
    if (list == nullptr || machine == nullptr) continue;
    std::vector<const topology::RdmaPortFacts*> ports;
    core::Bandwidth fastest;
    for (const topology::RdmaPortFacts& port : machine->survey.facts.rdma_ports)
      if (carries_fast(port)) fastest = std::max(fastest, *port.rate);
    std::string missing;
    for (const topology::RdmaPortFacts& port : machine->survey.facts.rdma_ports) {
      if (!carries_fast(port) || *port.rate < fastest) continue;
      ports.push_back(&port);
      const bool is_used =
          std::any_of(list->nics.begin(), list->nics.end(),
                      [&](const nccl::LogNic& nic) { return port.device == nic.name; });
      if (!is_used) missing += (missing.empty() ? "" : ", ") + port.name();
    }
    if (missing.empty() || list->nics.empty()) continue;
    Finding finding =
        log_finding(facts.log, "job.nics-unused",
                    fmt::format("NCCL uses {} of the {} ports of {} that are up at {}: {} not",
                                list->nics.size(), ports.size(), machine->name,
                                core::format_bandwidth(fastest), missing),
                    list->first);
    finding.evidence.push_back(ports.front()->from);
    finding.confidence = core::Confidence::kLikely;
    finding.next = {"echo $NCCL_IB_HCA; comm-probe nccl env",
                    "show_gids  (a RoCE port without an address is left out)"};
    judgement.findings.push_back(std::move(finding));
    return;
  }
}

// Of two machines none is the rule; which of them comes first is a matter of their names.
void name_both(Finding& finding, const std::string& first) {
  constexpr std::string_view kFirst = "the first machine";
  for (std::size_t at = finding.summary.find(kFirst); at != finding.summary.npos;
       at = finding.summary.find(kFirst, at + first.size()))
    finding.summary.replace(at, kFirst.size(), first);
  finding.summary += " (two machines: which of them is right is not known from this)";
  finding.confidence = std::max(finding.confidence, core::Confidence::kLikely);
}

// Machines of one job or of one kind are compared with each other.
void judge_alike(const JobFacts& facts, Judgement& judgement) {
  const auto sets = comparable_machines(facts.machines);
  std::map<std::string, std::string> first_of_kind;  // of source
  for (const auto& machines : sets) {
    if (machines.front()->is_stranger()) continue;
    const auto [known, is_new] =
        first_of_kind.emplace(machines.front()->survey.kind, machines.front()->name);
    if (!is_new && judgement.caveats.empty())
      judgement.caveats.push_back(core::make_caveat(
          "job.machines-not-compared",
          fmt::format("what {} and {} have in common: no log or table holds both, and they are of "
                      "different runs or kinds ({} has {} GPUs and {} NICs)",
                      known->second, machines.front()->name, machines.front()->name,
                      machines.front()->survey.of(topology::SurveyDevice::Kind::kGpu).size(),
                      machines.front()->survey.of(topology::SurveyDevice::Kind::kNic).size()),
          "they are not compared with each other", false));
    if (machines.size() < 2) continue;
    std::vector<Survey> surveys;
    std::vector<std::string> names;
    for (const JobMachine* machine : machines) {
      surveys.push_back(machine->survey);
      names.push_back(machine->name);
    }
    for (Finding& finding : diff_topologies(surveys, names).findings) {
      if (machines.size() == 2) name_both(finding, names.front());
      judgement.findings.push_back(std::move(finding));
    }
  }
}

// Of each port by its name: the first machine on which it is up.
std::map<std::string, const JobMachine*> ports_that_are_up(const JobFacts& facts) {
  std::map<std::string, const JobMachine*> up;
  for (const JobMachine& machine : facts.machines)
    for (const topology::RdmaPortFacts& port : machine.survey.facts.rdma_ports)
      if (port.is_active() && !machine.is_stranger()) up.try_emplace(port.name(), &machine);
  return up;
}

bool tells_of(const Finding& finding, const topology::RdmaPortFacts& port) {
  return finding.id == "topo.port-not-active" && finding.severity == core::Severity::kInfo &&
         std::any_of(finding.evidence.begin(), finding.evidence.end(), [&](const auto& evidence) {
           return evidence.source == port.from.source &&
                  evidence.text.starts_with(port.name() + " ");
         });
}

}  // namespace

void weigh_down_ports(const JobFacts& facts, std::vector<Finding>& found) {
  const auto up = ports_that_are_up(facts);
  for (const JobMachine& machine : facts.machines)
    for (const topology::RdmaPortFacts& port : machine.survey.facts.rdma_ports) {
      if (port.state != "DOWN" || machine.is_stranger()) continue;
      const auto other = up.find(port.name());
      if (other == up.end()) continue;
      const auto finding = std::find_if(found.begin(), found.end(),
                                        [&](const Finding& each) { return tells_of(each, port); });
      if (finding == found.end()) continue;
      finding->severity = core::Severity::kWarning;
      finding->confidence = core::Confidence::kLikely;
      finding->summary += fmt::format(" ({} is up on {})", port.name(), other->second->name);
      weigh_membership(machine, *finding);
    }
}

Judgement judge_joins(const JobFacts& facts, const std::vector<Finding>& found) {
  Judgement judgement;
  judge_far_nics(facts, judgement);
  judge_ignored_network(facts, found, judgement);
  judge_unused_nics(facts, found, judgement);
  judgement.add(judge_versions(facts));
  judgement.add(judge_tables(facts));
  judge_alike(facts, judgement);
  return judgement;
}

}  // namespace comm_probe::diagnose
