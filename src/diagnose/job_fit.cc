#include "diagnose/job_fit.h"

#include <algorithm>
#include <set>

#include "diagnose/job_machines.h"
#include "diagnose/job_rdma_joins.h"
#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;

// What the completion errors of the log name.
struct ErrorEnds {
  std::set<std::string> hcas = {};
  std::set<std::string> reporters = {};  // hosts
  std::set<std::string> peers = {};      // hosts whose address an error names
  bool are_peers_known = true;           // every address that is named is that of a known host
  std::set<std::string> local_gids = {};
};

ErrorEnds ends_of_errors(const nccl::DebugLog& log, bool is_no_answer) {
  ErrorEnds ends;
  for (const nccl::LogProblem& problem : log.problems) {
    if (problem.family != nccl::LogFamily::kIbCompletion) continue;
    const auto status = problem.fields.find("status");
    if (is_no_answer && (status == problem.fields.end() || status->second != "12")) continue;
    for (const auto& [named, count] : problem.named) {
      if (named.starts_with("hca ")) ends.hcas.insert(named.substr(4));
      if (!named.starts_with("peer ")) continue;
      const std::string host = log.host_at(named.substr(5));
      host.empty() ? void(ends.are_peers_known = false) : void(ends.peers.insert(host));
    }
    if (const auto local = problem.fields.find("local"); local != problem.fields.end())
      ends.local_gids.insert(local->second);
    for (const int process : problem.processes) {
      const int host = log.processes[static_cast<std::size_t>(process)].host;
      ends.reporters.insert(log.hosts[static_cast<std::size_t>(host)]);
    }
  }
  return ends;
}

// A channel may leave over one NIC and arrive at another one.
bool crosses_rails(const nccl::DebugLog& log) {
  const nccl::LogSetting* setting = log.setting("NCCL_CROSS_NIC");
  if (setting != nullptr && setting->value == "1") return true;
  for (const nccl::LogComm& comm : log.comms)
    for (const nccl::LogGraph& graph : comm.graphs)
      if (graph.cross_nic > 0) return true;
  return false;
}

// Every host lists the device: the other end of its rail is the device of the same name.
bool is_on_every_host(const nccl::DebugLog& log, const std::string& hca) {
  bool is_listed = false;
  for (const nccl::LogNicList& list : log.nic_lists) {
    if (list.is_socket) continue;
    is_listed = std::any_of(list.nics.begin(), list.nics.end(),
                            [&](const nccl::LogNic& nic) { return nic.name == hca; });
    if (!is_listed) return false;
  }
  return is_listed;
}

Fit fit_of_port(const JobFacts& facts, const ErrorEnds& ends, const PortOfMachine& at) {
  using Membership = JobMachine::Membership;
  if (at.machine->membership == Membership::kStranger) return Fit::kNo;
  const auto has_gid = [&](const topology::GidEntry& gid) {
    return std::any_of(ends.local_gids.begin(), ends.local_gids.end(),
                       [&](const std::string& local) { return is_same_gid(local, gid.gid); });
  };
  if (std::any_of(at.port->gids.begin(), at.port->gids.end(), has_gid)) return Fit::kYes;
  const bool is_sure = at.machine->membership == Membership::kMember;
  if (ends.hcas.empty()) return Fit::kPossible;
  const bool is_named = std::any_of(ends.hcas.begin(), ends.hcas.end(),
                                    [&](const auto& hca) { return at.port->is_named(hca); });
  const bool is_reporter = ends.reporters.contains(at.machine->name);
  if (is_named) {
    if (!is_sure) return Fit::kPossible;
    const bool is_end = is_reporter || ends.peers.contains(at.machine->name);
    if (!is_end && !ends.peers.empty() && ends.are_peers_known) return Fit::kNo;
    return is_end || facts.log.named_hosts() <= 2 ? Fit::kYes : Fit::kLikely;
  }
  const bool is_rail_known = !crosses_rails(facts.log) &&
                             std::all_of(ends.hcas.begin(), ends.hcas.end(), [&](const auto& hca) {
                               return is_on_every_host(facts.log, hca);
                             });
  return is_reporter || is_rail_known ? Fit::kNo : Fit::kPossible;
}

// Host memory against GPU memory explains what GPU memory reaches, not what host memory does.
bool are_of_one_test(const Finding& cause, const Finding& effect) {
  return !cause.evidence.empty() && !effect.evidence.empty() &&
         cause.evidence.front().source == effect.evidence.front().source &&
         cause.evidence.front().line == effect.evidence.front().line;
}

bool is_of_port(std::string_view id) {
  return id.starts_with("topo.port-") || id.starts_with("topo.net-") || id == "topo.gid-index";
}

}  // namespace

std::vector<PortOfMachine> ports_of_finding(const JobFacts& facts, const Finding& finding) {
  std::vector<PortOfMachine> ports;
  for (const JobMachine& machine : facts.machines)
    for (const topology::RdmaPortFacts& port : machine.survey.facts.rdma_ports)
      for (const core::Evidence& evidence : finding.evidence)
        if (evidence.source == port.from.source && has_word(evidence.text, port.device, "_")) {
          ports.push_back({&machine, &port});
          break;
        }
  return ports;
}

Fit fit_of(const JobFacts& facts, const Finding& cause, const Finding& effect) {
  if (cause.id == "curve.gpu-memory-slow")
    return are_of_one_test(cause, effect) ? Fit::kYes : Fit::kNo;
  if (!is_of_port(cause.id)) return Fit::kYes;
  const bool is_no_answer = effect.id == "log.ib-no-answer";
  if (!is_no_answer && effect.id != "log.possible-link") return Fit::kYes;
  const std::vector<PortOfMachine> ports = ports_of_finding(facts, cause);
  const ErrorEnds ends = ends_of_errors(facts.log, is_no_answer);
  if (ports.empty()) return Fit::kYes;
  Fit best = Fit::kNo;
  for (const PortOfMachine& port : ports) best = std::max(best, fit_of_port(facts, ends, port));
  return best;
}

bool goes_over_sockets(const nccl::DebugLog& log) {
  return is_multi_node(log) && !log.networks.empty() &&
         std::all_of(log.networks.begin(), log.networks.end(),
                     [](const nccl::LogFact& fact) { return fact.text == "Socket"; });
}

}  // namespace comm_probe::diagnose
