#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "core/finding_table.h"
#include "diagnose/log_rules.h"
#include "diagnose/log_sockets.h"
#include "nccl/setting_catalog.h"

namespace comm_probe::diagnose {
namespace {

using core::Confidence;
using core::Finding;
using nccl::DebugLog;
using nccl::LogFamily;
using nccl::LogProblem;

// Interfaces that end inside of the host or need a tunnel.
constexpr std::array<std::string_view, 14> kVirtualInterfaces = {
    "veth", "docker",    "br-", "virbr", "cni",    "flannel", "cali",
    "tunl", "tailscale", "lxc", "vnet",  "podman", "weave",   "zt"};
// Machines on which NCCL's "Disabled" is what they can do (data/field/logs: GB10; consumer GPUs).
constexpr std::array<std::string_view, 4> kWithoutGdr = {"GB10", "GeForce", "TITAN", "Orin"};
// libfabric providers that are TCP.
constexpr std::array<std::string_view, 3> kSlowProviders = {"tcp", "sockets", "udp"};

// "mlx5_1" also takes mlx5_10: NCCL_IB_HCA matches by prefix unless it begins with '='.
void judge_hca_prefix(const DebugLog& log, Judgement& judgement) {
  const nccl::LogSetting* setting = log.setting("NCCL_IB_HCA");
  if (setting == nullptr || setting->value.starts_with('^')) return;
  for (const nccl::LogNicList& list : log.nic_lists) {
    if (list.is_socket) continue;
    std::vector<std::string> names;
    for (const nccl::LogNic& nic : list.nics) names.push_back(nic.name);
    const auto matches = nccl::accidental_matches(setting->value, names);
    if (matches.empty()) continue;
    Finding finding = log_finding(log, "log.hca-prefix",
                                  fmt::format("NCCL_IB_HCA={} takes {} too: it matches by prefix",
                                              setting->value, matches.front().others.front()),
                                  setting->first);
    finding.evidence.push_back(log_evidence(log, list.first));
    finding.confidence = Confidence::kCertain;
    finding.next = {fmt::format("NCCL_IB_HCA=={}", setting->value)};
    judgement.findings.push_back(std::move(finding));
    return;
  }
}

void judge_provider(const DebugLog& log, Judgement& judgement) {
  // Each provider is a problem of its own, so that the evidence is the line that names this one.
  for (const LogProblem& provider : log.problems) {
    const std::string& name = provider.key;
    if (provider.family != LogFamily::kOfiProvider || !begins_with_any(name, kSlowProviders))
      continue;
    Finding finding = log_finding(
        log, "log.wrong-provider",
        fmt::format("the libfabric plugin runs over the provider {} (TCP) instead of the fabric's "
                    "own (efa, cxi)",
                    name),
        provider.first);
    finding.confidence = Confidence::kLikely;
    finding.next = {"fi_info -p efa   (inside of the container)", "FI_PROVIDER=efa"};
    judgement.findings.push_back(std::move(finding));
    return;
  }
}

// "GPU Direct RDMA Disabled for HCA": no module, no DMA-BUF.
void judge_hca_gdr(const DebugLog& log, Judgement& judgement) {
  std::uint64_t enabled = 0;
  std::vector<std::string> disabled;
  const nccl::LogHcaGdr* first = nullptr;
  for (const nccl::LogHcaGdr& hca : log.hca_gdr) {
    enabled += hca.enabled;
    if (hca.disabled == 0) continue;
    if (first == nullptr) first = &hca;
    disabled.push_back(hca.hca);
  }
  if (first == nullptr || enabled > 0 || is_without_gdr(log)) return;
  const auto version = log.version();
  Finding finding = log_finding(
      log, "log.gdr-unavailable",
      fmt::format("GPUDirect RDMA is disabled for {} ({}): data between nodes goes through host "
                  "memory",
                  disabled.size() == 1 ? "the HCA" : fmt::format("all {} HCAs", disabled.size()),
                  fmt::join(disabled.begin(),
                            disabled.begin() + static_cast<std::ptrdiff_t>(
                                                   std::min<std::size_t>(4, disabled.size())),
                            ", ")),
      first->first_disabled);
  finding.confidence = Confidence::kLikely;
  finding.next = {"lsmod | grep -e nvidia_peermem -e nv_peer_mem", "modprobe nvidia_peermem"};
  judgement.findings.push_back(std::move(finding));
  const bool looks_for_both = version && *version >= topology::NcclVersion{2, 23, 0};
  judgement.findings.push_back(log_possible(
      log, "log.possible-peermem",
      looks_for_both
          ? "nvidia_peermem is not loaded and DMA-BUF is not available; proof: lsmod, the kernel "
            "(from 5.12 on) and the driver's kind"
          : fmt::format("nvidia_peermem is not loaded, or {} looks for its old name nv_peer_mem "
                        "only; proof: lsmod shows which of them is there",
                        version ? fmt::format("NCCL 2.{}", version->minor)
                                : "this NCCL (2.22.3 or older)")));
}

void judge_pair_gdr(const DebugLog& log, Judgement& judgement) {
  const auto version = log.version();
  const nccl::LogPairGdr* refused = nullptr;
  for (const nccl::LogPairGdr& pair : log.pair_gdr) {
    if (pair.is_enabled) return;  // far pairs are refused in every healthy job
    if (refused == nullptr) refused = &pair;
  }
  std::uint64_t plain = 0, gdr = 0;
  for (const nccl::LogProcess& process : log.processes) {
    plain += process.plain_edges;
    gdr += process.gdr_edges;
  }
  if (refused == nullptr || gdr > 0 || plain == 0) return;
  std::string distance = fmt::format("distance {} > {}", refused->distance, refused->limit);
  if (version)
    distance = fmt::format("{} > {}", nccl::log_path_name(refused->distance, *version),
                           nccl::log_path_name(refused->limit, *version));
  Finding finding =
      log_finding(log, "log.gdr-distance",
                  fmt::format("GPUDirect RDMA is refused for every pair of GPU and NIC, {} ({}): "
                              "data between nodes goes through host memory",
                              refused->example, distance),
                  refused->first);
  finding.confidence = Confidence::kLikely;
  finding.next = {"comm-probe nccl plan --topo FILE --explain"};
  if (const nccl::LogSetting* level = log.setting("NCCL_NET_GDR_LEVEL")) {  // not the topology
    finding.layer = core::Layer::kNccl;
    finding.confidence = Confidence::kCertain;
    finding.summary += fmt::format("; NCCL_NET_GDR_LEVEL={} sets this limit", level->value);
    finding.evidence.insert(finding.evidence.begin(), log_evidence(log, level->first));
    finding.next = {"unset NCCL_NET_GDR_LEVEL"};
  }
  judgement.findings.push_back(std::move(finding));
}

// No line says that the hosts are of one job: what differs between two jobs is no fault.
void weigh_unjoined(Finding& finding) {
  finding.severity = core::Severity::kInfo;
  finding.confidence = Confidence::kPossible;
  finding.summary += " (if they are of one job: no line joins them)";
}

// Hosts whose network connections all have GPUDirect RDMA, beside hosts where none has.
void judge_one_side(const DebugLog& log, const std::vector<int>& sets, Judgement& judgement) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> edges(log.hosts.size());
  for (const nccl::LogProcess& process : log.processes) {
    auto& [gdr, plain] = edges[static_cast<std::size_t>(process.host)];
    gdr += process.gdr_edges;
    plain += process.plain_edges;
  }
  struct Sides {
    std::vector<int> with = {}, without = {};
  };
  std::map<int, Sides> sides_of_set;  // hosts that share no communicator need not be of one job
  for (std::size_t host = 0; host < edges.size(); ++host) {
    const auto [gdr, plain] = edges[host];
    Sides& sides = sides_of_set[sets[host]];
    if (gdr > 0 && plain == 0) sides.with.push_back(static_cast<int>(host));
    if (gdr == 0 && plain > 0) sides.without.push_back(static_cast<int>(host));
  }
  const auto found = std::find_if(sides_of_set.begin(), sides_of_set.end(), [](const auto& each) {
    return !each.second.with.empty() && !each.second.without.empty();
  });
  if (found == sides_of_set.end()) return;
  const auto& [with, without] = found->second;
  Finding finding = log_finding(log, "log.gdr-one-side",
                                fmt::format("GPUDirect RDMA is used on {} and not on {}",
                                            hosts_text(log, with), hosts_text(log, without)),
                                {});
  for (const nccl::LogComm& comm : log.comms) {
    const bool is_accused =
        std::any_of(comm.processes.begin(), comm.processes.end(), [&, &hosts = without](int each) {
          const int host = log.processes[static_cast<std::size_t>(each)].host;
          return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
        });
    for (const nccl::LogEdges& kind : comm.edges)
      if (is_accused && kind.is_net && !kind.gdr && finding.evidence.empty())
        finding.evidence.push_back(log_evidence(log, kind.first));
  }
  finding.confidence = Confidence::kLikely;
  if (found->first < 0) weigh_unjoined(finding);
  finding.next = {"lsmod | grep peermem   (on both)"};
  judgement.findings.push_back(std::move(finding));
}

void judge_plugin_gdr(const DebugLog& log, Judgement& judgement) {
  const LogProblem* plugin = log.problem(LogFamily::kOfiNoGdr);
  if (plugin == nullptr) return;
  judgement.findings.push_back(log_finding(
      log, "log.gdr-plugin", "the network plugin switched GPUDirect RDMA off", plugin->first));
}

// How many named hosts are of the job of the host that prints this line; of the largest job where
// the line names no host.
std::size_t hosts_of_job(const DebugLog& log, const std::vector<int>& sets,
                         const nccl::LogPlace& place) {
  std::map<int, std::size_t> sizes;
  std::optional<int> own;
  for (std::size_t host = 0; host < log.hosts.size(); ++host) {
    if (log.hosts[host].empty()) continue;
    if (place.text.starts_with(log.hosts[host] + ":")) own = sets[host];
    if (sets[host] >= 0) ++sizes[sets[host]];
  }
  if (own) return sizes.contains(*own) ? sizes[*own] : 1;
  std::size_t most = 0;
  for (const auto& [set, size] : sizes) most = std::max(most, size);
  return most;
}

void judge_interfaces(const DebugLog& log, const std::vector<int>& sets, Judgement& judgement) {
  for (const nccl::LogFact& fact : log.bootstraps)
    if (const std::size_t hosts = hosts_of_job(log, sets, fact.first);
        (fact.text.starts_with("lo ") || fact.text.find(" 127.") != std::string::npos) &&
        hosts > 1) {
      judgement.findings.push_back(log_finding(
          log, "log.loopback",
          fmt::format("ranks of {} hosts are to meet at a loopback address ({})", hosts, fact.text),
          fact.first));
      judgement.findings.back().next = {"NCCL_SOCKET_IFNAME=INTERFACE that all hosts share"};
      break;
    }
  for (const nccl::LogFact& fact : log.bootstraps)
    if (const std::size_t hosts = hosts_of_job(log, sets, fact.first);
        begins_with_any(fact.text, kVirtualInterfaces) && hosts > 1) {
      judgement.findings.push_back(
          log_finding(log, "log.virtual-interface",
                      fmt::format("ranks of {} hosts are to meet over {}, which other hosts cannot "
                                  "reach",
                                  hosts, fact.text),
                      fact.first));
      judgement.findings.back().confidence = Confidence::kLikely;
      judgement.findings.back().next = {"NCCL_SOCKET_IFNAME=INTERFACE that all hosts share"};
      return;
    }
  const OnSockets on = on_sockets(log, sets);
  const auto [list, interface] = socket_interface(log, on.hosts, kVirtualInterfaces);
  if (list == nullptr || !on.is_any || network_named(log, "Socket") == nullptr) return;
  Finding finding = log_finding(
      log, "log.virtual-interface",
      fmt::format("NCCL's list of interfaces has {}, which other hosts cannot reach", interface),
      list->first);
  finding.confidence = Confidence::kPossible;
  finding.next = {
      "NCCL_SOCKET_IFNAME=" +
      (list->nics.front().name == interface ? std::string("INTERFACE") : list->nics.front().name)};
  judgement.findings.push_back(std::move(finding));
}

// Are two lists of hosts of one job?
enum class Joined { kNo, kUnknown, kYes };
Joined are_joined(const std::vector<int>& sets, const nccl::LogNicList& a,
                  const nccl::LogNicList& b) {
  Joined best = Joined::kNo;
  for (const int one : a.hosts)
    for (const int other : b.hosts) {
      const int of_one = sets[static_cast<std::size_t>(one)];
      const int of_other = sets[static_cast<std::size_t>(other)];
      const bool is_unknown = of_one < 0 || of_other < 0;
      if (!is_unknown && of_one == of_other) return Joined::kYes;
      if (is_unknown) best = Joined::kUnknown;
    }
  return best;
}

bool share_host(const nccl::LogNicList& a, const nccl::LogNicList& b) {
  const std::set<int> hosts(a.hosts.begin(), a.hosts.end());
  return std::any_of(b.hosts.begin(), b.hosts.end(),
                     [&](int host) { return hosts.count(host) > 0; });
}

// A list of fewer hosts and the one of most hosts that it differs from; those of one job first.
struct DifferingLists {
  const nccl::LogNicList* fewer = nullptr;
  const nccl::LogNicList* most = nullptr;
  Joined joined = Joined::kNo;
};
std::optional<DifferingLists> differing_lists(const DebugLog& log, const std::vector<int>& sets) {
  constexpr std::size_t kMostLists = 64;
  std::vector<const nccl::LogNicList*> lists;
  for (const nccl::LogNicList& list : log.nic_lists)
    if (!list.is_socket && lists.size() < kMostLists) lists.push_back(&list);
  std::stable_sort(lists.begin(), lists.end(),
                   [](const auto* a, const auto* b) { return a->hosts.size() > b->hosts.size(); });
  std::optional<DifferingLists> unknown;
  for (auto most = lists.begin(); most != lists.end(); ++most)
    for (auto fewer = most + 1; fewer != lists.end(); ++fewer) {
      if ((*fewer)->nics.size() == (*most)->nics.size() || share_host(**fewer, **most)) continue;
      const Joined joined = are_joined(sets, **fewer, **most);
      if (joined == Joined::kYes) return DifferingLists{*fewer, *most, joined};
      if (joined == Joined::kUnknown && !unknown) unknown = {*fewer, *most, joined};
    }
  return unknown;
}

void judge_nics(const DebugLog& log, const std::vector<int>& sets, Judgement& judgement) {
  for (const nccl::LogNicList& list : log.nic_lists) {
    if (list.is_socket) continue;
    std::set<std::string> links;
    for (const nccl::LogNic& nic : list.nics) links.insert(nic.link);
    if (links.count("IB") > 0 && links.count("RoCE") > 0 && !judgement.has("log.nics-mixed"))
      judgement.findings.push_back(
          log_finding(log, "log.nics-mixed",
                      fmt::format("NCCL uses InfiniBand and RoCE ports together ({} ports on {})",
                                  list.nics.size(), hosts_text(log, list.hosts)),
                      list.first));
  }
  if (const auto differing = differing_lists(log, sets)) {
    const auto [fewer, most, joined] = *differing;
    Finding finding =
        log_finding(log, "log.nics-differ",
                    fmt::format("{} use{} {} NICs where {} use{} {}", hosts_text(log, fewer->hosts),
                                fewer->hosts.size() == 1 ? "s" : "", fewer->nics.size(),
                                hosts_text(log, most->hosts), most->hosts.size() == 1 ? "s" : "",
                                most->nics.size()),
                    fewer->first);
    finding.evidence.push_back(log_evidence(log, most->first));
    finding.confidence = Confidence::kCertain;
    if (joined == Joined::kUnknown) weigh_unjoined(finding);
    finding.next = {"ibstat   (on both)"};
    judgement.findings.push_back(std::move(finding));
  }
}

void judge_pci(const DebugLog& log, Judgement& judgement) {
  if (const LogProblem* hidden = log.problem(LogFamily::kPciNoSpeed)) {
    judgement.findings.push_back(log_finding(
        log, "log.pci-speed-hidden",
        "the PCI tree has no link speeds (a virtual machine's): NCCL plans with a default of 12 "
        "GB/s and without distances",
        hidden->first));
    judgement.findings.back().next = {"NCCL_TOPO_FILE of the platform", "comm-probe topo check"};
    judgement.findings.push_back(log_possible(
        log, "log.possible-no-mpi",
        "if the figures are those of one GPU the benchmark may have been built without MPI; proof: "
        "every process says Rank 0 and nranks 1"));
  }
  if (const LogProblem* unknown = log.problem(LogFamily::kPciUnknownSpeed))
    judgement.findings.push_back(log_finding(
        log, "log.pci-speed-unknown",
        "this NCCL does not know the speed of a PCIe link and reckons with 12 GB/s for it",
        unknown->first));
}

// Part of the ranks fell back, so that two ends of a segment may disagree.
void judge_host_memory(const DebugLog& log, Judgement& judgement) {
  const LogProblem* fallback = log.problem(LogFamily::kCuMemHost);
  if (fallback == nullptr || fallback->process_count >= log.processes.size()) return;
  judgement.findings.push_back(log_finding(
      log, "log.host-memory-fallback",
      fmt::format("cuMem host memory does not work for {} of {} processes: the ranks disagree",
                  fallback->process_count, log.processes.size()),
      fallback->first));
}

}  // namespace

bool is_without_gdr(const DebugLog& log) {
  return std::any_of(log.gpu_names.begin(), log.gpu_names.end(), [](const nccl::LogFact& gpu) {
    return std::any_of(kWithoutGdr.begin(), kWithoutGdr.end(), [&](std::string_view word) {
      return gpu.text.find(word) != std::string::npos;
    });
  });
}

bool sends_over_sockets(std::string_view name, std::string_view value) {
  return (name == "NCCL_IB_DISABLE" && value == "1") || (name == "NCCL_NET" && value == "Socket");
}

const nccl::LogSetting* socket_setting(const DebugLog& log) {
  for (const nccl::LogSetting& setting : log.settings)
    if (sends_over_sockets(setting.name, setting.value)) return &setting;
  return nullptr;
}

Judgement judge_log_network(const DebugLog& log, const HostGroups& known) {
  Judgement judgement;
  const std::vector<int> sets = host_sets(log, known);
  judge_fallback(log, sets, judgement);
  judge_provider(log, judgement);
  judge_hca_gdr(log, judgement);
  judge_pair_gdr(log, judgement);
  judge_one_side(log, sets, judgement);
  judge_plugin_gdr(log, judgement);
  judge_interfaces(log, sets, judgement);
  judge_nics(log, sets, judgement);
  judge_hca_prefix(log, judgement);
  judge_pci(log, judgement);
  judge_host_memory(log, judgement);
  return judgement;
}

}  // namespace comm_probe::diagnose
