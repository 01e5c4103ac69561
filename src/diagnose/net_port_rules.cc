// Rules on the ports themselves: those that went away, went down or fell to a lower rate, and those
// that are down while their like carry a job.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/net_rules.h"

namespace comm_probe::diagnose {

using core::Confidence;
using core::Finding;
using core::Severity;
using topology::PortChange;
using topology::RdmaPortFacts;

namespace {

const RdmaPortFacts* same_port(const std::vector<RdmaPortFacts>& ports, const RdmaPortFacts& port) {
  for (const RdmaPortFacts& each : ports)
    if (each.device == port.device && each.port == port.port) return &each;
  return nullptr;
}

std::string gigabits(core::Bandwidth rate) { return core::format_number(rate.in_Gbps()) + " Gb/s"; }

std::string state_of(const RdmaPortFacts& port) {
  return port.physical_state.empty() ? port.state
                                     : fmt::format("{}, {}", port.state, port.physical_state);
}

// What happened to ports, one entry each: "mlx5_0 (400 Gb/s -> 200 Gb/s)".
struct Fates {
  std::string ports = {};
  std::string device = {};  // the first
  std::vector<core::Evidence> evidence = {};

  void add(const RdmaPortFacts& port, const std::string& what) {
    if (device.empty()) device = port.device;
    ports += fmt::format("{}{} ({})", ports.empty() ? "" : ", ", port.name(), what);
    core::Evidence from = port.from;
    from.text = fmt::format("{}: {}", port.name(), what);
    if (evidence.size() < 8) evidence.push_back(std::move(from));
  }
};

void add_finding(const char* id, const Fates& fates, const char* what, NetAnswer& answer) {
  if (fates.ports.empty()) return;
  Finding finding = core::make_finding(id, fmt::format("{}: {}", fates.ports, what));
  finding.evidence = fates.evidence;
  finding.confidence = Confidence::kCertain;
  finding.next = {fates.device.starts_with("mlx") ? "mlxlink -d " + fates.device + " -m -c"
                                                  : "ibstat " + fates.device,
                  "dmesg -T | grep -i -e link -e " + fates.device};
  answer.findings.push_back(std::move(finding));
}

}  // namespace

NetAnswer ports_kept(const NetChange& change) {
  NetAnswer answer;
  if (change.ports_before.empty() || change.ports_after.empty()) return answer;
  answer.is_known = true;
  Fates gone, down, slower;
  for (const RdmaPortFacts& before : change.ports_before) {
    const RdmaPortFacts* after = same_port(change.ports_after, before);
    if (after == nullptr) {
      gone.add(before, state_of(before) + " -> not there");
      continue;
    }
    if (before.is_active() && !after->state.empty() && !after->is_active())
      down.add(*after, fmt::format("{} -> {}", before.state, state_of(*after)));
    else if (before.rate && after->rate && before.is_active() && *after->rate < *before.rate)
      slower.add(*after, fmt::format("{} -> {}", gigabits(*before.rate), gigabits(*after->rate)));
  }
  add_finding("topo.net-port-gone", gone, "the device is gone since the first snapshot", answer);
  add_finding("topo.net-port-down", down, "the link went down between the snapshots", answer);
  add_finding("topo.net-rate-fell", slower, "the link came back at a lower rate", answer);
  return answer;
}

namespace {

// Ports of one kind of card of one host.
struct Kind {
  std::vector<const PortChange*> down = {};
  std::vector<const PortChange*> busy = {};
  double sum = 0;
};

void judge_kind(const Kind& kind, NetAnswer& answer) {
  if (kind.down.empty() || kind.down.size() >= kind.busy.size()) return;
  std::string names;
  std::vector<core::Evidence> evidence;
  for (const PortChange* port : kind.down) {
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", port->name, port->state);
    evidence.push_back(port->state_from);
    evidence.back().text = fmt::format("{}: {}", port->name, port->state);
  }
  Finding finding = core::make_finding(
      "topo.net-port-down",
      fmt::format(
          "{}: down all the time, while the {} others like it carried {} each: a cable that "
          "is missing or broken, or a port that is not meant to be used",
          names, kind.busy.size(),
          core::format_bytes(core::Bytes::of(kind.sum / static_cast<double>(kind.busy.size())))));
  finding.severity = Severity::kWarning;
  finding.confidence = Confidence::kLikely;
  finding.evidence = std::move(evidence);
  const std::string& device = kind.down.front()->device;
  finding.next = {
      device.starts_with("mlx") ? "mlxlink -d " + device + " -m -c" : "ibstat " + device,
      "the cable of this port, and the switch port behind it"};
  answer.findings.push_back(std::move(finding));
}

}  // namespace

NetAnswer ports_all_up(const NetChange& change) {
  NetAnswer answer;
  std::map<std::string, Kind> kinds;
  for (const PortChange& port : change.ports) {
    if (port.state.empty()) continue;
    answer.is_known = true;
    Kind& kind = kinds[fmt::format("{} {} {}", port.host, port.link_layer, port.model)];
    if (port.is_down() && !port.went_down) kind.down.push_back(&port);
    if (port.is_down() || !is_busy(port)) continue;
    kind.busy.push_back(&port);
    kind.sum += traffic_of(port);
  }
  for (const auto& [name, kind] : kinds) judge_kind(kind, answer);
  return answer;
}

double traffic_of(const PortChange& port) {
  return bytes_sent(port).value_or(core::Bytes()).count() +
         bytes_received(port).value_or(core::Bytes()).count();
}

bool is_busy(const PortChange& port) {
  constexpr double kMuch = 1e9;  // bytes, where rate or time is not known
  const double bytes = traffic_of(port);
  if (!port.rate || !port.elapsed) return bytes > kMuch;
  return bytes > limit("busy_part") * port.rate->in_bytes_per_second() * port.elapsed->in_seconds();
}

}  // namespace comm_probe::diagnose
