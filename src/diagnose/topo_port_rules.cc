#include "diagnose/topo_port_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/topo_neighbourhoods.h"
#include "diagnose/topo_nic_rules.h"

namespace comm_probe::diagnose {

using core::Bandwidth;
using core::Basis;
using core::Confidence;
using core::Finding;
using topology::PathType;
using topology::RdmaPortFacts;
using topology::Road;
using topology::Survey;
using topology::SurveyDevice;
using Kind = SurveyDevice::Kind;

namespace {

constexpr std::size_t kLeastMajority = 4;  // three quarters of fewer are no majority

// The reading of the port itself before what a topology file says.
std::optional<Bandwidth> rate_of(const Survey& survey, int nic) {
  const SurveyDevice& device = survey.device(nic);
  const RdmaPortFacts* port = port_facts(survey, device);
  return port != nullptr && port->rate ? port->rate : device.port;
}

struct Port {
  std::string name = {};
  long rate = 0;           // Mb/s
  std::string card = {};   // equal for cards of one kind; empty where not known
  std::optional<int> nic;  // index in the survey
};

// Ports that should be alike; a port that is down has no rate of its own.
struct Group {
  std::string what = {};  // "ports beside GPUs"
  std::vector<Port> ports = {};
};

std::string card_of(const Survey& survey, int nic) {
  const SurveyDevice& device = survey.device(nic);
  const topology::PciFunction* function = survey.facts.function(device.bus_id);
  if (function != nullptr && !function->device.empty())
    return function->vendor + " " + function->device;
  return device.model;
}

bool may_be_alike(const Port& a, const Port& b) {
  return a.card.empty() || b.card.empty() || a.card == b.card;
}

long rate_in_Mbps(Bandwidth rate) { return std::lround(rate.in_Gbps() * 1000); }

Group ports_near_gpus(const Survey& survey, const Beside& beside) {
  Group group{.what = "ports beside GPUs"};
  for (const auto& [nic, gpus] : beside) {
    const auto rate = rate_of(survey, nic);
    if (!rate || survey.device(nic).port_state == "DOWN") continue;
    group.ports.push_back(
        {survey.device(nic).name, rate_in_Mbps(*rate), card_of(survey, nic), nic});
  }
  return group;
}

// Active ports of one card model and link layer, where no GPU says which of them matter.
std::vector<Group> ports_of_models(const Survey& survey) {
  std::map<std::string, Group> groups;
  for (const RdmaPortFacts& port : survey.facts.rdma_ports) {
    if (port.model.empty() || !port.rate || !port.is_active()) continue;
    Group& group = groups[port.model + port.link_layer];
    group.what = fmt::format("active ports of {}", port.model);
    group.ports.push_back({port.device, rate_in_Mbps(*port.rate), port.model, std::nullopt});
  }
  std::vector<Group> all;
  for (auto& [model, group] : groups) all.push_back(std::move(group));
  return all;
}

// The higher of two that are as common.
long most_common_rate(const Group& group) {
  std::map<long, int> counts;
  for (const Port& port : group.ports) ++counts[port.rate];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second <= b.second; })
      ->first;
}

// The GPUs around this NIC have fewer good ones than GPUs elsewhere; with nothing elsewhere, fewer
// than one each.
bool is_missed(const Beside& beside, int nic, const std::set<int>& good) {
  std::vector<double> others;
  double own = 1;
  for (const Neighbourhood& place : neighbourhoods_of(beside)) {
    if (place.nics.contains(nic))
      own = place.ratio(good);
    else
      others.push_back(place.ratio(good));
  }
  if (others.empty()) return own < 1;
  std::nth_element(others.begin(), others.begin() + static_cast<long>(others.size() / 2),
                   others.end());
  return own < others[others.size() / 2];
}

std::string rate_text(long rate) {
  return core::format_number(static_cast<double>(rate) / 1000) + " Gb/s";
}

// The line that shows the rate, with the name of its device, by which the gap of a job is joined.
core::Evidence port_evidence(const Survey& survey, const Port& port) {
  for (const RdmaPortFacts& facts : survey.facts.rdma_ports) {
    if (!facts.is_named(port.name) || !facts.rate) continue;
    core::Evidence evidence = facts.from;
    const bool is_named = evidence.text.find(port.name) != std::string::npos;
    if (evidence.text.empty()) evidence.text = rate_text(port.rate);
    if (!is_named) evidence.text = port.name + ": " + evidence.text;
    return evidence;
  }
  const std::string text = port.name + " " + rate_text(port.rate);
  if (port.nic) return evidence_of(survey, *port.nic, text);
  return {survey.source, {}, text};
}

Finding slow_port(const Survey& survey, const Group& group, const Port& port, long usual) {
  Finding finding = core::make_finding(
      "topo.port-slow", fmt::format("{} runs at {}, the other {} at {}", port.name,
                                    rate_text(port.rate), group.what, rate_text(usual)));
  finding.expected = core::figure(Bandwidth::from_Gbps(static_cast<double>(usual) / 1000),
                                  Basis::kRead, "the other " + group.what);
  finding.observed = core::figure(Bandwidth::from_Gbps(static_cast<double>(port.rate) / 1000),
                                  Basis::kRead, "rate of the port");
  finding.evidence = {port_evidence(survey, port)};
  finding.confidence = Confidence::kLikely;
  finding.next = {"mlxlink -d " + port.name, "ibstat " + port.name};
  return finding;
}

// Two or three are no majority: that they differ is said, not which is right.
Finding unlike_ports(const Survey& survey, const Group& group, const Port& port, long usual) {
  Finding finding = slow_port(survey, group, port, usual);
  finding.summary += "; so few do not say whether its link trained down or is meant to be slower";
  finding.severity = core::Severity::kInfo;
  finding.confidence = Confidence::kPossible;
  return finding;
}

std::set<int> nics_at(const Group& group, long usual) {
  std::set<int> nics;
  for (const Port& port : group.ports)
    if (port.nic && port.rate >= usual) nics.insert(*port.nic);
  return nics;
}

bool is_unlike_all(const Group& group, const Port& port, long usual) {
  return std::none_of(group.ports.begin(), group.ports.end(), [&](const Port& other) {
    return other.rate == usual && may_be_alike(port, other);
  });
}

using Ports = std::vector<Port>;

// Half or less of what most of the group run at.
Ports ports_below(const Group& group, const Beside& beside, long usual) {
  const std::set<int> good = nics_at(group, usual);
  Ports below;
  for (const Port& port : group.ports) {
    if (port.rate * 2 > usual || is_unlike_all(group, port, usual)) continue;
    if (!port.nic || is_missed(beside, *port.nic, good)) below.push_back(port);
  }
  return below;
}

// The topology file of the job shows the port at twice its rate of now or more.
bool is_shown_faster(const Survey& survey, const Port& port) {
  const auto shown = port.nic ? survey.device(*port.nic).port : std::nullopt;
  return shown && rate_in_Mbps(*shown) >= port.rate * 2;
}

// A machine has its ports for the GPUs in powers of two: where the full ones are such a set, the
// slower ones may be of storage. Beside GPUs is_missed() tells.
bool may_be_of_storage(const Group& group, const Ports& slow) {
  const std::size_t full = group.ports.size() - slow.size();
  return !slow.front().nic && std::has_single_bit(full);
}

std::string names_of_ports(const Ports& ports) {
  std::string names;
  for (const Port& port : ports) names += (names.empty() ? "" : " ") + port.name;
  return names;
}

// So many, or such ones, that the machine may be built so: one finding of all.
Finding ports_of_two_kinds(const Survey& survey, const Group& group, const Ports& slow,
                           long usual) {
  const bool is_one = slow.size() == 1;
  Finding finding = slow_port(survey, group, slow.front(), usual);
  finding.summary = fmt::format(
      "{} of {} {} ({}) run{} at {}, the others at {}; whether {} down or {} meant to be slower is "
      "not shown",
      slow.size(), group.ports.size(), group.what, names_of_ports(slow), is_one ? "s" : "",
      rate_text(slow.front().rate), rate_text(usual),
      is_one ? "its link trained" : "their links trained", is_one ? "is" : "are");
  finding.evidence.clear();
  for (const Port& port : slow) finding.evidence.push_back(port_evidence(survey, port));
  finding.confidence = Confidence::kPossible;
  const bool is_half = slow.size() * 2 >= group.ports.size();
  if (is_half || may_be_of_storage(group, slow)) finding.severity = core::Severity::kInfo;
  return finding;
}

struct SlowPorts {
  std::vector<Finding> findings = {};
  std::vector<int> blamed = {};

  void add(Finding finding, const Port& port) {
    findings.push_back(std::move(finding));
    if (port.nic) blamed.push_back(*port.nic);
  }
};

// A quarter of the group at most, or those of which another source shows more.
SlowPorts slow_ports(const Survey& survey, const Group& group, const Beside& beside) {
  SlowPorts found;
  if (group.ports.size() < 2) return found;
  const long usual = most_common_rate(group);
  Ports slow = ports_below(group, beside, usual);
  const bool is_majority = group.ports.size() >= kLeastMajority;
  const bool are_few = is_majority && slow.size() * 4 <= group.ports.size();
  const bool are_open = !slow.empty() && is_majority && may_be_of_storage(group, slow);
  Ports open;
  for (const Port& port : slow) {
    Finding finding = slow_port(survey, group, port, usual);
    if (!port.nic && !std::has_single_bit(group.ports.size()))
      finding.confidence = Confidence::kPossible;
    if ((are_few && !are_open) || is_shown_faster(survey, port))
      found.add(std::move(finding), port);
    else if (is_majority)
      open.push_back(port);
    else
      found.findings.push_back(unlike_ports(survey, group, port, usual));
  }
  if (!open.empty()) found.findings.push_back(ports_of_two_kinds(survey, group, open, usual));
  return found;
}

std::set<int> nics_with_gdr(const Survey& survey, const Beside& beside) {
  std::set<int> nics;
  for (const auto& [nic, gpus] : beside)
    if (survey.device(nic).gdr.value_or(false)) nics.insert(nic);
  return nics;
}

Finding without_gdr(const Survey& survey, const std::vector<int>& nics, std::size_t others) {
  Finding finding = core::make_finding(
      "topo.nic-without-gdr",
      fmt::format(
          "{} {} no GPUDirect RDMA (gdr=\"0\"), the other {} NICs beside GPUs have it: what "
          "goes over {} takes a copy in host memory",
          names_of(survey, nics), nics.size() == 1 ? "has" : "have", others,
          nics.size() == 1 ? "it" : "them"));
  for (const int nic : nics)
    finding.evidence.push_back(
        evidence_of(survey, nic, fmt::format("{}: gdr=\"0\"", survey.device(nic).name)));
  finding.confidence = Confidence::kLikely;
  finding.next = {
      "lsmod | grep -e nvidia_peermem -e mlx5_ib; ethtool -i of the interface (firmware)",
      "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET: \"GPU Direct RDMA Disabled for HCA\"",
      "ibv_devinfo -d " + survey.device(nics.front()).name};
  return finding;
}

}  // namespace

RuleAnswer ports_alike(const Survey& survey) {
  const Beside beside = nics_near_gpus(survey);
  const Group near = ports_near_gpus(survey, beside);
  std::vector<Group> groups = {near};
  if (near.ports.empty()) groups = ports_of_models(survey);
  RuleAnswer answer;
  bool is_known = false;
  for (const Group& group : groups) {
    is_known = is_known || group.ports.size() >= 2;
    const SlowPorts slow = slow_ports(survey, group, beside);
    answer.findings.insert(answer.findings.end(), slow.findings.begin(), slow.findings.end());
    for (const int nic : slow.blamed) answer.blamed.push_back({nic, Blame::Part::kDevice});
  }
  if (!is_known) return {.unknown = "fewer than two ports with known rates that should be alike"};
  return answer;
}

namespace {

// NCCL's own file says of every NIC that it cannot: there is no odd one, yet every byte pays.
Finding no_gdr_at_all(const Survey& survey, const std::vector<int>& nics) {
  Finding finding = without_gdr(survey, nics, 0);
  finding.summary = fmt::format(
      "none of the {} NICs beside GPUs has GPUDirect RDMA (gdr=\"0\" of each): all that goes over "
      "the network takes a copy in host memory",
      nics.size());
  finding.severity = core::Severity::kInfo;
  return finding;
}

Finding some_without_gdr(const Survey& survey, const std::vector<int>& nics, std::size_t others) {
  Finding finding = without_gdr(survey, nics, others);
  const std::size_t all = nics.size() + others;
  if (all >= kLeastMajority && nics.size() * 4 <= all) return finding;
  finding.confidence = Confidence::kPossible;
  if (all < kLeastMajority || nics.size() >= others) finding.severity = core::Severity::kInfo;
  return finding;
}

}  // namespace

RuleAnswer gdr_alike(const Survey& survey) {
  const Beside beside = nics_near_gpus(survey);
  const std::set<int> good = nics_with_gdr(survey, beside);
  std::vector<int> without;
  for (const auto& [nic, gpus] : beside)
    if (!survey.device(nic).gdr.value_or(true)) without.push_back(nic);
  if (good.empty() && without.empty())
    return {.unknown = "it does not say which NICs can do GPUDirect RDMA"};
  if (good.empty() && survey.kind != "nccl-topology") return {};
  if (good.empty()) return {.findings = {no_gdr_at_all(survey, without)}};
  std::erase_if(without, [&](int nic) { return !is_missed(beside, nic, good); });
  if (without.empty()) return {};
  RuleAnswer answer{.findings = {some_without_gdr(survey, without, good.size())}};
  if (answer.findings.front().severity == core::Severity::kInfo) return answer;
  for (const int nic : without) answer.blamed.push_back({nic, Blame::Part::kDevice});
  return answer;
}

}  // namespace comm_probe::diagnose
