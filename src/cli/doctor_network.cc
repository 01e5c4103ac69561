#include "cli/doctor_network.h"

#include <algorithm>
#include <filesystem>

#include "diagnose/host_state.h"
#include "diagnose/job_machines.h"
#include "diagnose/net_state.h"
#include "topology/net_change.h"

namespace comm_probe::cli {

using topology::NetSnapshot;
namespace fs = std::filesystem;

namespace {

// Two snapshots are there and cannot be judged: that is not fine.
bool is_of_order(const core::Caveat& caveat) {
  return caveat.id == "topo.counters-unordered" || caveat.id == "topo.counters-went-back";
}

// Of which no counter went back.
std::size_t judged_ports(const topology::NetChange& change) {
  using Kind = topology::CounterChange::Kind;
  return static_cast<std::size_t>(
      std::count_if(change.ports.begin(), change.ports.end(), [](const auto& port) {
        return std::none_of(port.counters.begin(), port.counters.end(), [](const auto& counter) {
          return counter.second.kind == Kind::kWentBack;
        });
      }));
}

}  // namespace

NetworkJudgement judge_pile_counters(topology::NetReading counters,
                                     const std::vector<diagnose::JobMachine>& machines,
                                     const std::vector<std::string>& hosts) {
  NetworkJudgement judgement;
  if (counters.snapshots.empty()) return judgement;
  judgement.said.caveats = std::move(counters.caveats);
  for (NetSnapshot& snapshot : counters.snapshots) {
    const std::string host = diagnose::host_of_path(snapshot.source, hosts);
    for (topology::PortCounters& port : snapshot.ports)
      if (port.host.empty()) port.host = host;
  }
  std::vector<topology::RdmaPortFacts> known;
  for (const diagnose::JobMachine& machine : machines)
    for (const topology::RdmaPortFacts& port : machine.survey.facts.rdma_ports)
      known.push_back(port);
  const topology::NetEnds ends =
      topology::ends_of(counters.snapshots, topology::GivenOrder::kMeansNothing);
  diagnose::NetJudgement net;
  if (ends.first.ports.empty() && !ends.unordered.empty()) {
    net.caveats = diagnose::caveats_of(ends);
  } else if (ends.first.ports.empty()) {
    net.caveats = diagnose::judge_network(ends.last).caveats;
  } else {
    const topology::NetChange change = topology::change_between(ends.first, ends.last, known);
    judgement.watched_ports = judged_ports(change);
    net = diagnose::judge_network(change);
    for (core::Caveat& caveat : diagnose::caveats_of(ends))
      net.caveats.push_back(std::move(caveat));
  }
  for (core::Caveat& caveat : net.caveats)
    if (!is_of_order(caveat)) caveat.limits = false;  // the rest of the pile stands
  judgement.said.add({std::move(net.findings), std::move(net.caveats)});
  return judgement;
}

std::vector<core::Finding> judge_pile_hosts(const std::vector<RecordedState>& hosts) {
  std::vector<core::Finding> findings;
  for (const RecordedState& host : hosts)
    for (core::Finding& finding : diagnose::judge_host_state(host.state).findings) {
      if (finding.severity == core::Severity::kInfo) continue;
      const fs::path place(host.path);
      const bool is_of_bundle = place.filename() == "machine.tar";  // in the folder of its host
      const fs::path named = is_of_bundle ? place.parent_path() : place;
      finding.summary = named.filename().string() + ": " + finding.summary;
      findings.push_back(std::move(finding));
    }
  return findings;
}

}  // namespace comm_probe::cli
