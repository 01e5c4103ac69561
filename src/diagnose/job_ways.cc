#include "diagnose/job_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "core/finding_table.h"
#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using nccl::LogComm;
using nccl::LogEdges;
using Kind = topology::SurveyDevice::Kind;

// A torn line loses the end of its connection: what nearly all say holds.
constexpr double kNearlyAll = 0.9;

bool has_id(const std::vector<Finding>& findings, std::string_view id) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.id == id; });
}

// Hosts by index in the log.
std::set<int> hosts_of(const nccl::DebugLog& log, const LogComm& comm) {
  std::set<int> hosts;
  for (const int process : comm.processes)
    hosts.insert(log.processes[static_cast<std::size_t>(process)].host);
  return hosts;
}

// Connections inside of a node, and those of them that pass host memory.
struct Inside {
  std::uint64_t all = 0;
  std::uint64_t by_host_memory = 0;
  const nccl::LogPlace* first = nullptr;
  bool is_nearly_all() const {
    return all > 0 && static_cast<double>(by_host_memory) >= kNearlyAll * static_cast<double>(all);
  }
};
Inside inside_of(const LogComm& comm) {
  Inside inside;
  for (const LogEdges& edges : comm.edges) {
    if (edges.is_net) continue;
    inside.all += edges.count;
    if (!edges.via.starts_with("SHM")) continue;
    inside.by_host_memory += edges.count;
    if (inside.first == nullptr) inside.first = &edges.first;
  }
  return inside;
}

// The first road between two GPUs where each GPU has one by NVLink to every other; null otherwise.
const topology::Road* nvlink_of_all(const topology::Survey& survey) {
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  const topology::Road* first = nullptr;
  for (const int from : gpus)
    for (const int to : gpus) {
      if (from == to) continue;
      const topology::Road* road = survey.road(from, to);
      if (road == nullptr || road->type != topology::PathType::kNvl) return nullptr;
      if (first == nullptr) first = road;
    }
  return first;
}

struct Nvlinks {
  const JobMachine* machine = nullptr;
  const topology::Road* road = nullptr;
};
// Of a host of these that lies in the pile; of the only machine, where it need not be one of them.
std::optional<Nvlinks> nvlinks_of(const JobFacts& facts, const std::set<int>& hosts) {
  for (const JobMachine& machine : facts.machines) {
    const bool is_named = machine.is_host && std::any_of(hosts.begin(), hosts.end(), [&](int host) {
                            return facts.log.hosts[static_cast<std::size_t>(host)] == machine.name;
                          });
    const bool is_only = facts.machines.size() == 1 && !machine.is_host && !machine.is_stranger();
    if (!is_named && !is_only) continue;
    if (const topology::Road* road = nvlink_of_all(machine.survey)) return Nvlinks{&machine, road};
  }
  return std::nullopt;
}

// NCCL_P2P_DISABLE, NCCL_P2P_LEVEL: what keeps GPUs from talking directly.
const nccl::LogSetting* peer_setting(const nccl::DebugLog& log) {
  for (const nccl::LogSetting& setting : log.settings)
    if (setting.name.starts_with("NCCL_P2P_")) return &setting;
  return nullptr;
}

std::optional<Finding> judge_nvlink(const JobFacts& facts) {
  for (const LogComm& comm : facts.log.comms) {
    const Inside inside = inside_of(comm);
    if (!inside.is_nearly_all()) continue;
    const auto nvlinks = nvlinks_of(facts, hosts_of(facts.log, comm));
    if (!nvlinks) continue;
    const auto& [machine, road] = *nvlinks;
    const std::string pair = fmt::format("{} - {}: {}", machine->survey.device(road->from).name,
                                         machine->survey.device(road->to).name, road->printed);
    const nccl::LogSetting* setting = peer_setting(facts.log);
    Finding finding = log_finding(
        facts.log, "job.nvlink-unused",
        fmt::format("{} of {} connections between GPUs of one node go through host memory (via "
                    "SHM) although {} shows NVLink between all GPUs ({}){}",
                    inside.by_host_memory, inside.all,
                    machine->is_host ? machine->name : machine->survey.source, pair,
                    setting == nullptr ? std::string()
                                       : fmt::format(": {}={}", setting->name, setting->value)),
        *inside.first);
    if (setting != nullptr) finding.evidence.push_back(log_evidence(facts.log, setting->first));
    finding.evidence.push_back({machine->survey.source, {}, pair});
    finding.confidence = core::Confidence::kLikely;
    if (setting != nullptr)
      finding.next = {"unset " + setting->name};
    else
      finding.next = {"nvidia-smi topo -p2p r   (inside of the container)",
                      "one container for all ranks of a node, or --ipc=host and all GPUs visible",
                      "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,P2P,GRAPH: why P2P is refused"};
    return finding;
  }
  return std::nullopt;
}

// What the ranks of one host send over.
struct NicUse {
  std::set<std::uint64_t> gpus = {};  // by bus id, or by process where none is printed
  std::uint64_t nics = 0;             // bit k: NCCL's index k
};
NicUse nic_use(const nccl::DebugLog& log, int host) {
  NicUse use;
  for (const nccl::LogRank& rank : log.ranks) {
    const nccl::LogProcess& process = log.processes[static_cast<std::size_t>(rank.process)];
    if (process.host != host) continue;
    use.gpus.insert(rank.bus_id != 0 ? rank.bus_id : process.pid);
    use.nics |= process.own_devices;
  }
  return use;
}

// All ranks of the largest communicator are in the log, so that what no rank uses is not used.
bool has_all_ranks(const nccl::DebugLog& log) {
  const auto largest =
      std::max_element(log.comms.begin(), log.comms.end(),
                       [](const LogComm& a, const LogComm& b) { return a.size < b.size; });
  return largest != log.comms.end() && largest->size > 1 && largest->ranks_seen >= largest->size;
}

std::string names_of(const nccl::LogNicList& list, std::uint64_t nics) {
  std::string names;
  for (std::size_t i = 0; i < list.nics.size() && i < 64; ++i)
    if ((nics >> i & 1) != 0) names += (names.empty() ? "" : ", ") + list.nics[i].name;
  return names;
}

// Half or fewer of the NICs that are listed, where as many GPUs send: a healthy search gives them
// nearly all. A warning beside a gap between nodes, else a note.
std::optional<Finding> judge_few_nics(const JobFacts& facts, bool is_slow) {
  if (!has_all_ranks(facts.log)) return std::nullopt;
  for (const nccl::LogNicList& list : facts.log.nic_lists) {
    if (list.is_socket || list.nics.size() < 2 || list.nics.size() > 64) continue;
    for (const int host : list.hosts) {
      const NicUse use = nic_use(facts.log, host);
      const auto used = static_cast<std::size_t>(std::popcount(use.nics));
      const std::size_t could = std::min(list.nics.size(), use.gpus.size());
      if (used == 0 || 2 * used > could) continue;
      Finding finding = log_finding(
          facts.log, "job.nics-unused",
          fmt::format("all connections of {} go over {} of the {} NICs that NCCL lists ({})",
                      hosts_text(facts.log, {host}), used, list.nics.size(),
                      names_of(list, use.nics)),
          list.first);
      for (const LogComm& comm : facts.log.comms)
        for (const LogEdges& edges : comm.edges)
          if (edges.is_net && finding.evidence.size() < 2)
            finding.evidence.push_back(log_evidence(facts.log, edges.first));
      if (!is_slow) finding.severity = core::Severity::kInfo;
      finding.confidence = core::Confidence::kLikely;
      finding.next = {"comm-probe nccl plan --topo FILE  (which NIC NCCL would give each GPU)",
                      "env | grep -e NCCL_TOPO_FILE -e NCCL_IB_HCA -e NCCL_MAX_NCHANNELS"};
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Finding> judge_ways(const JobFacts& facts, const std::optional<JobGap>& gap,
                                const std::vector<Finding>& others) {
  std::vector<Finding> findings;
  if (auto finding = judge_nvlink(facts)) findings.push_back(std::move(*finding));
  const bool is_slow = gap && gap->curve->curve->nodes.value_or(1) > 1;
  if (!has_id(others, "job.nics-unused") && !has_id(others, "log.nics-differ"))
    if (auto finding = judge_few_nics(facts, is_slow)) findings.push_back(std::move(*finding));
  return findings;
}

}  // namespace comm_probe::diagnose
