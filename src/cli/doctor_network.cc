#include "cli/doctor_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>

#include "diagnose/host_state.h"
#include "diagnose/job_machines.h"
#include "diagnose/net_state.h"
#include "topology/net_change.h"

namespace comm_probe::cli {

using topology::NetSnapshot;
namespace fs = std::filesystem;

namespace {

// Two snapshots are there and cannot be judged, or what rose cannot: that is not fine. That there
// is one only, or no time, says nothing against the rest of the pile.
bool limits_a_pile(const core::Caveat& caveat) {
  constexpr std::array<std::string_view, 5> kHarmless = {
      "topo.counters-once", "topo.counters-no-time", "topo.counters-unpaired",
      "topo.counters-unnamed", "topo.counters-full"};
  return std::find(kHarmless.begin(), kHarmless.end(), caveat.id) == kHarmless.end();
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

// The host, the machine, or the folder that a path names; the folder only where that is a stranger.
std::string host_of_snapshot(const std::string& source,
                             const std::vector<diagnose::JobMachine>& machines,
                             const diagnose::JobHosts& hosts) {
  if (std::string host = diagnose::host_of_path(source, hosts.names); !host.empty()) return host;
  std::vector<std::string> strangers;
  for (const diagnose::JobMachine& machine : machines)
    if (machine.is_stranger()) strangers.push_back(machine.name);
  if (std::string name = diagnose::host_of_path(source, strangers); !name.empty()) return name;
  std::string folder = fs::path(source).parent_path().filename().string();
  return diagnose::is_stranger(hosts, folder) ? folder : std::string();
}

bool is_of_stranger(const topology::PortChange& port,
                    const std::vector<diagnose::JobMachine>& machines,
                    const diagnose::JobHosts& hosts) {
  return diagnose::is_stranger(hosts, port.host) ||
         std::any_of(machines.begin(), machines.end(), [&](const diagnose::JobMachine& machine) {
           return machine.is_stranger() && machine.name == port.host;
         });
}

using Ports = std::vector<topology::RdmaPortFacts>;

bool is_same_port(const topology::RdmaPortFacts& a, const topology::RdmaPortFacts& b) {
  return a.device == b.device && a.port == b.port;
}

// A folder each for before and after: `rdma link` says in both which interface is of which device,
// and may say two states or rates, of which neither is taken. Nothing where they show two machines.
std::optional<Ports> agreed_ports(const std::vector<const Ports*>& readings) {
  Ports agreed;
  for (const Ports* ports : readings)
    for (const topology::RdmaPortFacts& port : *ports) {
      const auto known = std::find_if(agreed.begin(), agreed.end(), [&](const auto& other) {
        return is_same_port(other, port) ||
               (!port.interface.empty() && port.interface == other.interface);
      });
      if (known == agreed.end()) {
        agreed.push_back(port);
        continue;
      }
      const auto differ = [](const std::string& a, const std::string& b) {
        return !a.empty() && !b.empty() && a != b;
      };
      if (!is_same_port(*known, port) || differ(known->interface, port.interface) ||
          differ(known->guid, port.guid))
        return std::nullopt;
      if (known->interface.empty()) known->interface = port.interface;
      if (known->rate != port.rate) known->rate.reset();
      if (known->state != port.state) known->state.clear();
    }
  return agreed;
}

// The ports of the machine of this name; of no name, those that all machines without one agree on.
Ports known_ports(const std::string& host, const std::vector<diagnose::JobMachine>& machines) {
  std::vector<const Ports*> nameless;
  for (const diagnose::JobMachine& machine : machines) {
    if (machine.name == host) return machine.survey.facts.rdma_ports;
    if (!machine.is_host && (host.empty() || machines.size() == 1))
      nameless.push_back(&machine.survey.facts.rdma_ports);
  }
  if (machines.size() == 1 && host.empty()) return machines.front().survey.facts.rdma_ports;
  return agreed_ports(nameless).value_or(Ports());
}

NetSnapshot ports_of_host(const NetSnapshot& all, const std::string& host) {
  NetSnapshot some{.source = all.source, .time = all.time, .states = all.states};
  for (const topology::PortCounters& port : all.ports)
    if (port.host == host) some.ports.push_back(port);
  return some;
}

// Each host with what is known of its own ports: mlx5_0 of another one has another rate and state.
topology::NetChange change_of_hosts(const topology::NetEnds& ends,
                                    const std::vector<diagnose::JobMachine>& machines) {
  std::vector<std::string> hosts;
  for (const NetSnapshot* snapshot : {&ends.first, &ends.last})
    for (const topology::PortCounters& port : snapshot->ports)
      if (std::find(hosts.begin(), hosts.end(), port.host) == hosts.end())
        hosts.push_back(port.host);
  topology::NetChange all{.before = ends.first.source, .after = ends.last.source};
  for (const std::string& host : hosts) {
    topology::NetChange one =
        topology::change_between(ports_of_host(ends.first, host), ports_of_host(ends.last, host),
                                 known_ports(host, machines));
    for (topology::PortChange& port : one.ports) all.ports.push_back(std::move(port));
    all.only_before += one.only_before;
    all.only_after += one.only_after;
  }
  return all;
}

// What ports of strangers count is said and weighs nothing.
void add_strangers(topology::NetChange change, diagnose::NetJudgement& net) {
  if (change.ports.empty()) return;
  std::string name = change.ports.front().host;
  for (core::Finding& finding : diagnose::judge_network(change).findings) {
    finding.severity = core::Severity::kInfo;
    finding.summary += fmt::format(" ({} is no host of this job)", name);
    net.findings.push_back(std::move(finding));
  }
}

}  // namespace

NetworkJudgement judge_pile_counters(topology::NetReading counters,
                                     const std::vector<diagnose::JobMachine>& machines,
                                     const diagnose::JobHosts& hosts) {
  NetworkJudgement judgement;
  if (counters.snapshots.empty()) return judgement;
  judgement.said.caveats = std::move(counters.caveats);
  for (NetSnapshot& snapshot : counters.snapshots) {
    const std::string host = host_of_snapshot(snapshot.source, machines, hosts);
    for (topology::PortCounters& port : snapshot.ports)
      if (port.host.empty()) port.host = host;
  }
  const topology::NetEnds ends =
      topology::ends_of(counters.snapshots, topology::GivenOrder::kMeansNothing);
  diagnose::NetJudgement net;
  if (!ends.last.ports.empty() && ends.first.ports.empty())
    net.caveats = diagnose::judge_network(ends.last).caveats;
  if (!ends.first.ports.empty()) {
    topology::NetChange change = change_of_hosts(ends, machines);
    topology::NetChange strangers = change;
    const auto is_stranger = [&](const topology::PortChange& port) {
      return is_of_stranger(port, machines, hosts);
    };
    std::erase_if(change.ports, is_stranger);
    std::erase_if(strangers.ports, std::not_fn(is_stranger));
    judgement.watched_ports = judged_ports(change);
    if (!change.ports.empty()) net = diagnose::judge_network(change);
    add_strangers(std::move(strangers), net);
  }
  for (core::Caveat& caveat : diagnose::caveats_of(ends)) net.caveats.push_back(std::move(caveat));
  for (core::Caveat& caveat : net.caveats)
    if (!limits_a_pile(caveat)) caveat.limits = false;  // the rest of the pile stands
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
