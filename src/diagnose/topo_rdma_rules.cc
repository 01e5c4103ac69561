#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/topo_fact_rules.h"
#include "diagnose/topo_interface_rules.h"
#include "diagnose/topo_nic_rules.h"

namespace comm_probe::diagnose {

using core::Basis;
using core::Confidence;
using core::Finding;
using topology::GidEntry;
using topology::RdmaPortFacts;
using topology::Survey;

namespace {

std::vector<const RdmaPortFacts*> active_roce(const Survey& survey) {
  std::vector<const RdmaPortFacts*> ports;
  for (const RdmaPortFacts& port : survey.facts.rdma_ports)
    if (port.is_active() && port.is_roce()) ports.push_back(&port);
  return ports;
}

std::string names_of_ports(const std::vector<const RdmaPortFacts*>& ports) {
  std::string names;
  for (const RdmaPortFacts* port : ports) names += (names.empty() ? "" : " ") + port->name();
  return names;
}

bool is_link_local(const GidEntry& gid) { return gid.gid.starts_with("fe80"); }

// RoCE v2 and an address that is valid beyond one segment; a source may not say the version.
bool is_usable(const GidEntry& gid) {
  return !is_link_local(gid) && (gid.type.empty() || gid.type.find("v2") != std::string::npos);
}

const GidEntry* gid_at(const RdmaPortFacts& port, int index) {
  for (const GidEntry& gid : port.gids)
    if (gid.index == index) return &gid;
  return nullptr;
}

// Why an index does not do; empty where it does.
std::string fault_of(const RdmaPortFacts& port, int index) {
  const GidEntry* gid = gid_at(port, index);
  if (gid == nullptr) return "empty";
  if (is_link_local(*gid)) return "link-local, " + (gid->type.empty() ? "no version" : gid->type);
  return is_usable(*gid) ? "" : gid->type;
}

Finding gid_finding(const RdmaPortFacts& port, std::string summary) {
  Finding finding = core::make_finding("topo.gid-index", std::move(summary));
  const core::Evidence& from = port.gids_from.source.empty() ? port.from : port.gids_from;
  finding.evidence = {from};
  for (const GidEntry& gid : port.gids)
    if (finding.evidence.size() < 6)
      finding.evidence.push_back(
          {from.source, {}, fmt::format("GID {} {} {}", gid.index, gid.gid, gid.type)});
  finding.next = {"show_gids " + port.device, "ibv_devinfo -v -d " + port.device};
  return finding;
}

std::vector<std::string> names_beside_gpus(const Survey& survey) {
  std::vector<std::string> names;
  for (const auto& [nic, gpus] : nics_beside_gpus(survey)) names.push_back(survey.device(nic).name);
  return names;
}

// A hole in a full set: of eight or more ports of one model, in a power of two, three quarters are
// up, all at one rate. Ports beyond such a set may be spare.
bool is_hole(const std::vector<RdmaPortFacts>& ports, const RdmaPortFacts& down) {
  constexpr std::size_t kLeastSet = 8;
  std::size_t all = 0;
  std::size_t active = 0;
  std::set<double> rates;
  for (const RdmaPortFacts& port : ports) {
    if (down.model.empty() || port.model != down.model) continue;
    ++all;
    if (!port.is_active()) continue;
    ++active;
    if (port.rate) rates.insert(port.rate->in_Gbps());
  }
  return all >= kLeastSet && std::has_single_bit(all) && active * 4 >= all * 3 && rates.size() == 1;
}

// A source may name a port and its interface only (show_gids): then the interface tells.
bool is_down(const Survey& survey, const RdmaPortFacts& port) {
  if (!port.state.empty()) return port.state == "DOWN";
  const topology::LinkFacts* link = survey.facts.link_of(port);
  return link != nullptr && !link->has_carrier;
}

// Somebody set its interface up, as those of the others are that have a carrier.
bool is_missed_by_its_host(const Survey& survey, const RdmaPortFacts& port) {
  const topology::LinkFacts* link = survey.facts.link_of(port);
  if (link == nullptr || link->has_carrier || !is_set_up(*link)) return false;
  return std::any_of(survey.facts.rdma_ports.begin(), survey.facts.rdma_ports.end(),
                     [&](const RdmaPortFacts& other) {
                       const topology::LinkFacts* lit = survey.facts.link_of(other);
                       return lit != nullptr && lit->has_carrier && is_set_up(*lit) &&
                              lit->mtu == link->mtu;
                     });
}

void add_port_evidence(const Survey& survey, const RdmaPortFacts& port, Finding& finding) {
  finding.evidence.push_back(port.from);
  finding.evidence.back().text =
      fmt::format("{} {} {}", port.name(), port.state, port.physical_state);
  const topology::LinkFacts* link = survey.facts.link_of(port);
  if (link == nullptr || link->has_carrier) return;
  finding.evidence.push_back(link->from);
  finding.evidence.back().text = trouble_of(*link) + "; " + link->from.text;
}

}  // namespace

RuleAnswer ports_ready(const Survey& survey) {
  const auto& ports = survey.facts.rdma_ports;
  if (ports.empty()) return {.unknown = "it shows no RDMA port (ibstat, ibv_devinfo)"};
  std::vector<const RdmaPortFacts*> waiting;
  std::vector<const RdmaPortFacts*> down;
  std::vector<const RdmaPortFacts*> missed;  // down, and a GPU stands beside it
  std::vector<const RdmaPortFacts*> holes;
  std::vector<const RdmaPortFacts*> dark;  // set up on this host, without a carrier
  const std::vector<std::string> rails = names_beside_gpus(survey);
  for (const RdmaPortFacts& port : ports) {
    if (port.state == "INIT" || port.state == "ARMED") waiting.push_back(&port);
    if (!is_down(survey, port)) continue;
    const bool is_rail = std::find(rails.begin(), rails.end(), port.name()) != rails.end();
    const bool is_odd = rails.empty() && is_hole(ports, port);
    const bool is_dark = is_missed_by_its_host(survey, port);
    (is_rail ? missed : is_odd ? holes : is_dark ? dark : down).push_back(&port);
  }
  if (missed.empty() && down.size() == ports.size()) std::swap(missed, down);
  RuleAnswer answer;
  for (const auto* list : {&waiting, &missed})
    for (const RdmaPortFacts* port : *list)
      for (const int nic : survey.of(topology::SurveyDevice::Kind::kNic))
        if (survey.device(nic).name == port->name())
          answer.blamed.push_back({nic, Blame::Part::kDevice});
  const auto add = [&](const std::vector<const RdmaPortFacts*>& which, core::Severity severity,
                       const char* why) {
    if (which.empty()) return;
    Finding finding =
        core::make_finding("topo.port-not-active",
                           fmt::format("{} of {} RDMA port{} {}: {}", which.size(), ports.size(),
                                       ports.size() == 1 ? "" : "s", why, names_of_ports(which)));
    finding.severity = severity;
    for (const RdmaPortFacts* port : which)
      if (finding.evidence.size() < 8) add_port_evidence(survey, *port, finding);
    finding.confidence = Confidence::kCertain;
    finding.next = {"ibstat", "ibstatus"};
    answer.findings.push_back(std::move(finding));
  };
  add(waiting, core::Severity::kWarning, "waiting for a subnet manager");
  add(missed, core::Severity::kWarning,
      rails.empty() ? "down, no other is active"
                    : "down that GPUs would use (NCCL takes a farther NIC, or sockets)");
  add(holes, core::Severity::kWarning,
      "down, the others of their model are up at one rate (a cable, a switch port, or one that is "
      "not used here)");
  if (!holes.empty()) answer.findings.back().confidence = Confidence::kPossible;
  add(dark, core::Severity::kWarning,
      "down, though set up as those that have a carrier (a cable, a transceiver, a switch port)");
  if (!dark.empty()) answer.findings.back().confidence = Confidence::kLikely;
  add(down, core::Severity::kInfo, "down");
  return answer;
}

namespace {

// What sysfs and texts of its interface show of a port together; a text that does not name its
// interface is of the only port there is.
topology::LosslessSigns signs_of(const Survey& survey, const RdmaPortFacts& port,
                                 std::size_t ports) {
  topology::LosslessSigns signs = port.signs;
  const auto take = [](std::optional<bool>& known, const std::optional<bool>& more) {
    if (more) known = known.value_or(false) || *more;
  };
  for (const topology::LosslessFacts& text : survey.facts.lossless) {
    const bool is_own = text.interface.empty() ? ports == 1 : text.interface == port.interface;
    if (!is_own) continue;
    take(signs.priority_flow_control, text.signs.priority_flow_control);
    take(signs.congestion_notification, text.signs.congestion_notification);
  }
  return signs;
}

std::string interface_or(const RdmaPortFacts& port) {
  return port.interface.empty() ? "IFACE" : port.interface;
}

}  // namespace

RuleAnswer roce_protected(const Survey& survey) {
  const auto ports = active_roce(survey);
  if (ports.empty()) return {.unknown = "it shows no active RoCE port"};
  std::vector<const RdmaPortFacts*> bare;
  bool is_asked = !survey.facts.lossless.empty();
  bool are_off = true;  // both were read, and both are off
  for (const RdmaPortFacts* port : ports) {
    const auto signs = signs_of(survey, *port, ports.size());
    is_asked = is_asked || port->from.source.starts_with("/sys/") || signs.priority_flow_control ||
               signs.congestion_notification;
    if (signs.priority_flow_control.value_or(false) ||
        signs.congestion_notification.value_or(false))
      continue;
    bare.push_back(port);
    are_off = are_off && signs.priority_flow_control && signs.congestion_notification;
  }
  if (!is_asked)
    return {.unknown =
                "it shows no counters and no settings of RoCE (sysfs of this machine, "
                "ethtool -S, mlnx_qos -i)"};
  if (bare.empty()) return {};
  Finding finding = core::make_finding(
      "topo.roce-unprotected",
      are_off ? fmt::format("flow control (PFC) and congestion marks (ECN) are both off on {}",
                            names_of_ports(bare))
              : fmt::format("nothing shows flow control (PFC) or congestion marks (ECN) on {}",
                            names_of_ports(bare)));
  finding.evidence = {bare.front()->from};
  for (const topology::LosslessFacts& text : survey.facts.lossless)
    if (text.interface == bare.front()->interface) finding.evidence.push_back(text.from);
  finding.confidence = are_off ? Confidence::kLikely : Confidence::kPossible;
  finding.next = {"mlnx_qos -i " + interface_or(*bare.front()),
                  "ethtool -S " + interface_or(*bare.front()) + " | grep -e prio -e discard"};
  return {.findings = {std::move(finding)}};
}

RuleAnswer gid_usable(const Survey& survey) {
  const auto ports = active_roce(survey);
  const auto& index = survey.facts.gid_index;
  if (ports.empty()) return {.unknown = "it shows no active RoCE port"};
  RuleAnswer answer;
  bool is_known = false;
  for (const RdmaPortFacts* port : ports) {
    is_known = is_known || !port->gids.empty();
    if (port->gids.empty()) continue;
    const bool has_usable = std::any_of(port->gids.begin(), port->gids.end(), is_usable);
    const std::string fault = index && index->value >= 0 ? fault_of(*port, index->value) : "";
    if (!has_usable)
      answer.findings.push_back(gid_finding(
          *port, fmt::format("{} has no RoCE v2 GID with a routable address: only hosts of one "
                             "network segment can be reached",
                             port->name())));
    else if (!fault.empty()) {
      answer.findings.push_back(gid_finding(*port, fmt::format("NCCL_IB_GID_INDEX={} is {} on {}",
                                                               index->value, fault, port->name())));
      answer.findings.back().evidence.insert(answer.findings.back().evidence.begin(), index->from);
    }
  }
  if (!is_known && index && index->value == 0) {
    Finding finding = core::make_finding(
        "topo.gid-index",
        fmt::format("NCCL_IB_GID_INDEX=0 on RoCE ({}): index 0 is link-local RoCE v1 nearly "
                    "everywhere",
                    names_of_ports(ports)));
    finding.evidence = {index->from};
    finding.next = {"show_gids"};
    return {.findings = {std::move(finding)}};
  }
  if (!is_known) return {.unknown = "it shows no GIDs (show_gids, ibv_devinfo -v)"};
  return answer;
}

RuleAnswer memory_lockable(const Survey& survey) {
  // A registered buffer is locked: NCCL's own of one communicator with many peers and channels are
  // hundreds of MiB; the usual defaults are 64 KiB and 8 MiB (rdma.md, 5).
  const core::Bytes kEnough = core::Bytes::of(1024.0 * 1024 * 1024);
  const auto& limit = survey.facts.locked_memory;
  if (!limit) return {.unknown = "it shows no limits (sysfs and /proc of this machine)"};
  if (survey.facts.rdma_ports.empty()) return {.unknown = "it shows no RDMA port"};
  if (!limit->value || *limit->value >= kEnough) return {};
  Finding finding = core::make_finding(
      "topo.memlock-low",
      fmt::format("a process may lock {} of memory, RDMA wants no limit: registering fails with "
                  "\"Cannot allocate memory\", except for root",
                  core::format_bytes(*limit->value)));
  finding.observed = core::figure(*limit->value, Basis::kRead, limit->from.source);
  finding.evidence = {limit->from};
  finding.confidence = Confidence::kLikely;
  finding.next = {"ulimit -l", "grep memlock /etc/security/limits.conf /etc/security/limits.d/*"};
  return {.findings = {std::move(finding)}};
}

}  // namespace comm_probe::diagnose
