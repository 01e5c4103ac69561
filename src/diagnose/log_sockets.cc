#include "diagnose/log_sockets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/finding_table.h"
#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {
namespace {

using core::Confidence;
using core::Finding;
using nccl::DebugLog;
using nccl::LogFamily;
using nccl::LogProblem;

// Interfaces of a fabric that has a faster way than TCP: Slingshot, InfiniBand's IP.
constexpr std::array<std::string_view, 2> kFabricInterfaces = {"hsn", "ib"};

bool is_of_any(const nccl::LogNicList& list, const std::set<int>& hosts) {
  return list.hosts.empty() || std::any_of(list.hosts.begin(), list.hosts.end(),
                                           [&](int host) { return hosts.contains(host); });
}

bool is_between_nodes(const DebugLog& log, const nccl::LogComm& comm) {
  std::set<int> hosts;
  for (const int process : comm.processes)
    hosts.insert(log.processes[static_cast<std::size_t>(process)].host);
  return comm.nodes > 1 || (comm.size > 1 && hosts.size() > 1) ||
         std::any_of(comm.edges.begin(), comm.edges.end(),
                     [](const nccl::LogEdges& edges) { return edges.is_net; });
}

bool uses_sockets(const DebugLog& log, int process) {
  const int network = log.processes[static_cast<std::size_t>(process)].network;
  return network >= 0 && log.networks[static_cast<std::size_t>(network)].text == "Socket";
}

// Ranks of communicators of several nodes: a job inside of one node prints the network that it does
// not use. Ranks of which no communicator is known count where some communicator is of several.
void add_socket_ranks(const DebugLog& log, OnSockets& on) {
  std::set<int> placed;
  for (const nccl::LogComm& comm : log.comms) {
    placed.insert(comm.processes.begin(), comm.processes.end());
    const bool has_sockets = std::any_of(comm.processes.begin(), comm.processes.end(),
                                         [&](int process) { return uses_sockets(log, process); });
    if (has_sockets && is_between_nodes(log, comm))
      on.processes.insert(comm.processes.begin(), comm.processes.end());
  }
  for (int process = 0; process < static_cast<int>(log.processes.size()); ++process)
    if (uses_sockets(log, process) && !placed.contains(process) && is_multi_node(log))
      on.processes.insert(process);
}

// A host of ranks on sockets says it.
bool is_of(const DebugLog& log, const OnSockets& on, const LogProblem& problem) {
  return std::any_of(problem.processes.begin(), problem.processes.end(), [&](int process) {
    return on.hosts.contains(log.processes[static_cast<std::size_t>(process)].host);
  });
}

// One that was installed for a fabric; NCCL's own "IB" fails on every host without NICs.
const LogProblem* failed_plugin(const DebugLog& log, const OnSockets& on) {
  for (const LogProblem& failed : log.problems) {
    if (failed.family != LogFamily::kPluginFailed || !is_of(log, on, failed)) continue;
    if (std::any_of(failed.named.begin(), failed.named.end(),
                    [](const auto& name) { return name.first != "IB" && name.first != "Socket"; }))
      return &failed;
  }
  return nullptr;
}

// The network of other ranks of the job, or of ranks on its hosts of which no communicator is
// known; empty where there is none.
std::string network_of_others(const DebugLog& log, const OnSockets& on) {
  std::set<int> placed;
  for (const nccl::LogComm& comm : log.comms)
    placed.insert(comm.processes.begin(), comm.processes.end());
  for (int process = 0; process < static_cast<int>(log.processes.size()); ++process) {
    const nccl::LogProcess& own = log.processes[static_cast<std::size_t>(process)];
    const bool is_of_job =
        on.processes.contains(process) ||
        (on.hosts.contains(own.host) && (on.processes.empty() || !placed.contains(process)));
    if (is_of_job && own.network >= 0 && !uses_sockets(log, process))
      return log.networks[static_cast<std::size_t>(own.network)].text;
  }
  return "";
}

// What shows that something faster was there; empty where nothing does.
std::string faster_network(const DebugLog& log, const OnSockets& on) {
  if (const std::string others = network_of_others(log, on); !others.empty())
    return fmt::format("other ranks use {}", others);
  if (const auto [list, interface] = socket_interface(log, on.hosts, kFabricInterfaces);
      list != nullptr)
    return fmt::format("the hosts have the fabric of {}", interface);
  if (failed_plugin(log, on) != nullptr) return "a network plugin was loaded";
  for (const nccl::LogNicList& list : log.nic_lists)
    if (!list.is_socket && is_of_any(list, on.hosts))
      return fmt::format("the RDMA NIC {} was found", list.nics.front().name);
  return "";
}

// The line that says why; nothing where none does.
std::pair<std::string, const nccl::LogPlace*> reason_for_sockets(const DebugLog& log,
                                                                 const OnSockets& on) {
  if (const nccl::LogSetting* setting = socket_setting(log))
    return {fmt::format("{}={}", setting->name, setting->value), &setting->first};
  if (const LogProblem* failed = failed_plugin(log, on); failed != nullptr)
    return {"the network plugin could not be initialised", &failed->first};
  if (const LogProblem* missing = log.problem(LogFamily::kPluginMissing))
    return {"the network plugin libnccl-net.so was not found", &missing->first};
  return {"no faster network could be used", nullptr};
}

}  // namespace

bool begins_with_any(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.starts_with(word); });
}

const nccl::LogFact* network_named(const DebugLog& log, std::string_view name) {
  const auto found = std::find_if(log.networks.begin(), log.networks.end(),
                                  [&](const nccl::LogFact& fact) { return fact.text == name; });
  return found == log.networks.end() ? nullptr : &*found;
}

// The first interface of the socket lists of these hosts that begins with one of `words`.
std::pair<const nccl::LogNicList*, std::string> socket_interface(
    const DebugLog& log, const std::set<int>& hosts, std::span<const std::string_view> words) {
  for (const nccl::LogNicList& list : log.nic_lists)
    for (const nccl::LogNic& nic : list.nics)
      if (list.is_socket && is_of_any(list, hosts) && begins_with_any(nic.name, words))
        return {&list, nic.name};
  return {nullptr, ""};
}

OnSockets on_sockets(const DebugLog& log, const std::vector<int>& sets) {
  OnSockets on;
  add_socket_ranks(log, on);
  bool is_said = false;  // a line of a rank says who goes over sockets
  for (int process = 0; process < static_cast<int>(log.processes.size()); ++process)
    is_said = is_said || uses_sockets(log, process);
  on.is_any = is_said ? !on.processes.empty() : is_multi_node(log);
  std::set<int> joined;
  for (const int process : on.processes) {
    const int host = log.processes[static_cast<std::size_t>(process)].host;
    on.hosts.insert(host);
    joined.insert(sets[static_cast<std::size_t>(host)]);
  }
  joined.erase(-1);
  for (std::size_t host = 0; host < sets.size(); ++host)
    if (!is_said || joined.contains(sets[host])) on.hosts.insert(static_cast<int>(host));
  return on;
}

void judge_fallback(const DebugLog& log, const std::vector<int>& sets, Judgement& judgement) {
  const nccl::LogFact* socket = network_named(log, "Socket");
  const OnSockets on = on_sockets(log, sets);
  if (socket == nullptr || !on.is_any || log.problem(LogFamily::kOpenDevice) != nullptr) return;
  const std::string faster = faster_network(log, on);
  const auto [why, place] = reason_for_sockets(log, on);
  if (faster.empty()) {
    if (socket_setting(log) == nullptr) return;
    judgement.findings.push_back(log_finding(
        log, "log.tcp-by-setting", fmt::format("NCCL goes over TCP because of {}", why), *place));
    judgement.findings.back().next = {fmt::format("unset {}", socket_setting(log)->name)};
    return;
  }
  Finding finding = log_finding(
      log, "log.tcp-fallback",
      fmt::format("NCCL goes over TCP (Using network Socket) although {}: {}", faster, why),
      socket->first);
  if (place != nullptr) finding.evidence.push_back(log_evidence(log, *place));
  if (const auto [list, interface] = socket_interface(log, on.hosts, kFabricInterfaces);
      list != nullptr)
    finding.evidence.push_back(log_evidence(log, list->first));
  finding.confidence = place != nullptr ? Confidence::kLikely : Confidence::kPossible;
  finding.next = {"ls $(echo $LD_LIBRARY_PATH | tr : ' ') | grep libnccl-net",
                  "NCCL_NET=\"AWS Libfabric\" (or IB): fail instead of falling back"};
  judgement.findings.push_back(std::move(finding));
}

}  // namespace comm_probe::diagnose
