#include "diagnose/topo_interface_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/topo_nic_rules.h"
#include "model/rdma_paths.h"

namespace comm_probe::diagnose {

using core::Basis;
using core::Bytes;
using core::Confidence;
using core::Finding;
using core::Severity;
using topology::LinkFacts;
using topology::RdmaPortFacts;
using topology::Survey;

namespace {

using Interfaces = std::vector<const LinkFacts*>;

constexpr double kUsualMtu = 1500;         // interfaces begin with it
constexpr std::size_t kLeastMajority = 4;  // three quarters of fewer are no majority
constexpr std::size_t kLeastSet = 8;       // NICs of a machine for GPUs, one each
constexpr std::size_t kMostEvidence = 8;

bool knows_interfaces(const Survey& survey) {
  return std::any_of(survey.facts.rdma_ports.begin(), survey.facts.rdma_ports.end(),
                     [&](const RdmaPortFacts& port) { return survey.facts.link_of(port); });
}

// "enp26s0f0np0" -> "enp#s#f#np#": interfaces of cards of one kind are named alike.
std::string family_of(const LinkFacts& link) {
  std::string family = link.host + " ";
  for (const char c : link.name) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit || family.back() != '#') family += is_digit ? '#' : c;
  }
  return family;
}

std::map<std::string, Interfaces> families_of(const Survey& survey) {
  std::map<std::string, Interfaces> families;
  for (const LinkFacts& link : survey.facts.links)
    if (link.is_of_card.value_or(false) && !link.is_infiniband && !link.is_bond_port)
      families[family_of(link)].push_back(&link);
  return families;
}

std::string names_of_links(const Interfaces& links) {
  std::string names;
  for (const LinkFacts* link : links)
    names += fmt::format("{}{}{}{}", names.empty() ? "" : ", ", link->host,
                         link->host.empty() ? "" : " ", link->name);
  return names;
}

void add_evidence(const Interfaces& links, Finding& finding) {
  for (const LinkFacts* link : links)
    if (finding.evidence.size() < kMostEvidence) finding.evidence.push_back(link->from);
}

std::string mtu_text(Bytes mtu) { return fmt::format("{} B", mtu.whole()); }

}  // namespace

std::string trouble_of(const LinkFacts& link) {
  if (link.has_carrier) return {};
  return fmt::format("{}: {}", link.name,
                     link.is_switched_on
                         ? "no carrier (cable, transceiver, or the port of the switch)"
                         : "not switched on (ip link set dev " + link.name + " up)");
}

bool is_set_up(const LinkFacts& link) {
  const bool has_own_mtu = link.mtu && link.mtu->count() != kUsualMtu && !link.is_infiniband;
  return link.is_switched_on && (link.has_address || !link.master.empty() || has_own_mtu);
}

// Kernel 6.1, iboe_get_mtu(): the largest step that fits with 96 B of headers.
Bytes roce_payload(Bytes mtu) {
  constexpr double kHeaders = 96;
  double payload = 256;
  while (payload < 4096 && payload * 2 + kHeaders <= mtu.count()) payload *= 2;
  return Bytes::of(payload);
}

RuleAnswer interfaces_linked(const Survey& survey) {
  if (survey.facts.links.empty()) return {.unknown = "it shows no interfaces (ip link)"};
  if (knows_interfaces(survey)) return {.idle = "the interfaces of RDMA ports are known"};
  RuleAnswer answer;
  for (const auto& [name, family] : families_of(survey)) {
    Interfaces dark, lit;
    for (const LinkFacts* link : family)
      if (link->has_carrier)
        lit.push_back(link);
      else if (is_set_up(*link))
        dark.push_back(link);
    if (dark.empty()) continue;
    const auto alike = std::count_if(lit.begin(), lit.end(), [&](const LinkFacts* link) {
      return link->mtu == dark.front()->mtu && link->mtu != Bytes::of(kUsualMtu);
    });
    const bool are_few =
        family.size() >= kLeastMajority && static_cast<std::size_t>(alike) >= dark.size() * 3;
    Finding finding = core::make_finding(
        "topo.interface-dark",
        fmt::format("{} {} set up and {} no carrier{}", names_of_links(dark),
                    dark.size() == 1 ? "is" : "are", dark.size() == 1 ? "has" : "have",
                    are_few ? fmt::format("; the {} others named and set alike have it", alike)
                            : ": whether the job uses it is not shown"));
    if (!are_few) finding.severity = Severity::kInfo;
    finding.confidence = Confidence::kPossible;
    add_evidence(dark, finding);
    finding.next = {"ethtool " + dark.front()->name + " (Link detected, speed)",
                    "ethtool -m " + dark.front()->name + " (optics), then the port of the switch",
                    "rdma link (which RDMA device is of " + dark.front()->name + ")"};
    answer.findings.push_back(std::move(finding));
  }
  return answer;
}

namespace {

// Interfaces that should have one MTU, and what is known of them.
struct Group {
  Interfaces links = {};
  bool is_of_rdma = false;
  bool are_beside_gpus = false;
  std::optional<core::Bandwidth> rate = {};  // of each
};

std::vector<std::string> names_near_gpus(const Survey& survey) {
  std::vector<std::string> names;
  for (const auto& [nic, gpus] : nics_beside_gpus(survey)) names.push_back(survey.device(nic).name);
  return names;
}

Group links_of_rdma(const Survey& survey) {
  const std::vector<std::string> rails = names_near_gpus(survey);
  Group group{.is_of_rdma = true, .are_beside_gpus = !rails.empty()};
  bool are_alike = true;
  for (const RdmaPortFacts& port : survey.facts.rdma_ports) {
    const LinkFacts* link = survey.facts.link_of(port);
    if (link == nullptr || link->is_infiniband || !link->has_carrier || !link->mtu) continue;
    if (!rails.empty() && std::find(rails.begin(), rails.end(), port.name()) == rails.end())
      continue;
    are_alike = are_alike && (group.links.empty() || group.rate == port.rate);
    group.rate = are_alike ? port.rate : std::nullopt;
    group.links.push_back(link);
  }
  return group;
}

// Of a full set of one name: of eight or more, a power of two.
std::vector<Group> full_sets(const Survey& survey) {
  std::vector<Group> groups;
  for (const auto& [name, family] : families_of(survey)) {
    Group group;
    for (const LinkFacts* link : family)
      if (link->has_carrier && link->mtu) group.links.push_back(link);
    if (group.links.size() >= kLeastSet && std::has_single_bit(group.links.size()))
      groups.push_back(std::move(group));
  }
  return groups;
}

// The larger of two that are as common.
Bytes most_common_mtu(const Interfaces& links) {
  std::map<std::uint64_t, int> counts;
  for (const LinkFacts* link : links) ++counts[link->mtu->whole()];
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second <= b.second; });
  return Bytes::of(static_cast<double>(most->first));
}

Interfaces with_less(const Interfaces& links, Bytes usual) {
  Interfaces less;
  for (const LinkFacts* link : links)
    if (roce_payload(*link->mtu) < roce_payload(usual)) less.push_back(link);
  return less;
}

core::Bandwidth payload_rate(core::Bandwidth rate, Bytes mtu) {
  return rate * model::packet_payload_share(model::Transport::kRoce, roce_payload(mtu));
}

std::string cost_text(Bytes usual, Bytes own) {
  const auto share = [](Bytes mtu) {
    return core::format_percent(
        model::packet_payload_share(model::Transport::kRoce, roce_payload(mtu)));
  };
  return fmt::format(
      "a packet of RoCE carries {} B there instead of {}, {} of the line instead of {}",
      roce_payload(own).whole(), roce_payload(usual).whole(), share(own), share(usual));
}

void set_figures(Bytes usual, Bytes own, const std::optional<core::Bandwidth>& rate,
                 Finding& finding) {
  if (rate) {
    finding.expected = core::figure(payload_rate(*rate, usual), Basis::kComputed,
                                    fmt::format("MTU {}, headers of RoCE v2", usual.whole()));
    finding.observed = core::figure(payload_rate(*rate, own), Basis::kComputed,
                                    fmt::format("MTU {}, headers of RoCE v2", own.whole()));
    return;
  }
  finding.expected = core::figure(usual, Basis::kRead, "MTU of the others");
  finding.observed = core::figure(own, Basis::kRead, "MTU of the interface");
}

Finding unlike_mtu(const Group& group, const Interfaces& less, Bytes usual) {
  const Bytes own = *less.front()->mtu;
  const std::size_t all = group.links.size();
  Finding finding = core::make_finding(
      "topo.mtu-differs",
      fmt::format("{} {} MTU {}, {} of {} {} have {}: {}", names_of_links(less),
                  less.size() == 1 ? "has" : "have", mtu_text(own), all - less.size(), all,
                  group.is_of_rdma ? "interfaces of RDMA ports" : "interfaces named alike",
                  mtu_text(usual), cost_text(usual, own)));
  add_evidence(less, finding);
  for (const LinkFacts* link : group.links)
    if (link->mtu == usual) {
      finding.evidence.push_back(link->from);
      break;
    }
  set_figures(usual, own, group.rate, finding);
  finding.next = {"ip link show " + less.front()->name,
                  "ibv_devinfo (active_mtu of each port, on both ends)",
                  "the MTU of the port of the switch, before it is raised here"};
  // Where no GPU says which ports carry the job, those beyond a full set may be of storage.
  const bool are_few = all >= kLeastMajority && less.size() * 4 <= all;
  const bool may_be_others = !group.are_beside_gpus && std::has_single_bit(all - less.size());
  const bool is_sure = group.is_of_rdma && are_few && !may_be_others;
  finding.confidence = is_sure ? Confidence::kLikely : Confidence::kPossible;
  if (!is_sure) finding.severity = Severity::kInfo;
  return finding;
}

// Interfaces of one name on several hosts.
std::vector<Finding> unlike_on_hosts(const std::vector<LinkFacts>& links) {
  std::map<std::string, Group> groups;
  for (const LinkFacts& link : links) {
    if (link.host.empty() || link.is_of_card == false || link.is_infiniband) continue;
    if (link.has_carrier && link.mtu) groups[link.name].links.push_back(&link);
  }
  std::vector<Finding> findings;
  for (const auto& [name, group] : groups) {
    if (group.links.size() < kLeastMajority) continue;
    const Bytes usual = most_common_mtu(group.links);
    const Interfaces less = with_less(group.links, usual);
    if (less.empty() || less.size() * 4 > group.links.size()) continue;
    Finding finding = unlike_mtu(group, less, usual);
    finding.summary =
        fmt::format("{} {} MTU {}, {} of {} hosts have {} on {}: {}", names_of_links(less),
                    less.size() == 1 ? "has" : "have", mtu_text(*less.front()->mtu),
                    group.links.size() - less.size(), group.links.size(), mtu_text(usual), name,
                    cost_text(usual, *less.front()->mtu));
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

RuleAnswer mtus_alike(const Survey& survey) {
  if (survey.facts.links.empty()) return {.unknown = "it shows no interfaces (ip link)"};
  std::vector<Group> groups = {links_of_rdma(survey)};
  if (groups.front().links.empty()) groups = full_sets(survey);
  RuleAnswer answer{.findings = unlike_on_hosts(survey.facts.links)};
  bool is_known = !survey.facts.links.front().host.empty();
  for (const Group& group : groups) {
    is_known = is_known || group.links.size() >= 2;
    if (group.links.size() < 2) continue;
    const Bytes usual = most_common_mtu(group.links);
    const Interfaces less = with_less(group.links, usual);
    if (!less.empty()) answer.findings.push_back(unlike_mtu(group, less, usual));
  }
  if (!is_known)
    return {.unknown = "fewer than two interfaces that should be alike (rdma link beside ip link)"};
  return answer;
}

namespace {

// RDMA goes over the bond: its own device is named so, or one of its ports is of a device.
bool is_of_rdma(const Survey& survey, const std::string& bond, const Interfaces& ports) {
  return std::any_of(survey.facts.rdma_ports.begin(), survey.facts.rdma_ports.end(),
                     [&](const RdmaPortFacts& port) {
                       if (port.interface == bond) return true;
                       return std::any_of(ports.begin(), ports.end(), [&](const LinkFacts* link) {
                         return !port.interface.empty() && link->name == port.interface;
                       });
                     });
}

Finding short_bond(const std::string& bond, const Interfaces& ports, const Interfaces& dark,
                   bool is_rdma) {
  Finding finding = core::make_finding(
      "topo.bond-short",
      fmt::format("{} runs on {} of its {} links, {} {} no carrier{}", bond,
                  ports.size() - dark.size(), ports.size(), names_of_links(dark),
                  dark.size() == 1 ? "has" : "have",
                  is_rdma ? ": RDMA goes over this bond"
                          : "; whether the job goes over it is not shown, and one of active-backup "
                            "loses no rate"));
  if (!is_rdma) finding.severity = Severity::kInfo;
  finding.confidence = is_rdma ? Confidence::kLikely : Confidence::kPossible;
  add_evidence(dark, finding);
  finding.next = {"cat /proc/net/bonding/" + bond, "ethtool -m " + dark.front()->name};
  return finding;
}

}  // namespace

RuleAnswer bonds_whole(const Survey& survey) {
  std::map<std::string, Interfaces> bonds;
  for (const LinkFacts& link : survey.facts.links)
    if (link.is_bond_port && !link.master.empty())
      bonds[link.host + " " + link.master].push_back(&link);
  if (survey.facts.links.empty()) return {.unknown = "it shows no interfaces (ip link)"};
  if (bonds.empty()) return {.idle = "it shows no bond"};
  RuleAnswer answer;
  for (const auto& [name, ports] : bonds) {
    Interfaces dark;
    for (const LinkFacts* link : ports)
      if (!link->has_carrier) dark.push_back(link);
    if (dark.empty() || dark.size() == ports.size()) continue;
    const std::string& bond = ports.front()->master;
    answer.findings.push_back(short_bond(bond, ports, dark, is_of_rdma(survey, bond, ports)));
  }
  return answer;
}

std::vector<Finding> mtus_alike_across(const std::vector<JobMachine>& machines) {
  std::vector<LinkFacts> links;
  for (const JobMachine& machine : machines)
    for (const LinkFacts& link : machine.survey.facts.links) {
      if (!link.host.empty() || machine.is_stranger()) continue;
      links.push_back(link);
      links.back().host = machine.name;
    }
  return unlike_on_hosts(links);
}

}  // namespace comm_probe::diagnose
