// PCIe links of GPUs, and uplinks of switches of one model, that should be alike.
//
// Links are compared by what they carry, never by the words of the source: "32 GT/s" is "32.0 GT/s
// PCIe", and a speed that could not be read says nothing. Only a link that carries less than the
// others is at fault; where more than a quarter do the machine may be built so, and from half on
// that is only said. A GPU lowers its speed when it is idle, but never its lanes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/finding_table.h"
#include "diagnose/topo_rules.h"
#include "topology/standard_links.h"

namespace comm_probe::diagnose {

using catalog::PcieLink;
using core::Bandwidth;
using core::Confidence;
using core::Finding;
using topology::PciSlot;
using topology::Survey;
using topology::SurveyDevice;
using Kind = SurveyDevice::Kind;

namespace {

constexpr int kIdleGeneration = 1;  // 2.5 GT/s

using Links = std::map<int, PcieLink>;  // by device or node

Bandwidth carried_by(const PcieLink& link) { return link.effective().value; }
bool is_less(const PcieLink& a, const PcieLink& b) { return carried_by(a) < carried_by(b); }

// What most carry; of two that are as common the greater.
PcieLink usual_of(const Links& links) {
  std::map<Bandwidth, std::pair<int, PcieLink>> counts;
  for (const auto& [index, link] : links) {
    auto& [count, first] = counts[carried_by(link)];
    ++count;
    first = link;
  }
  return std::max_element(
             counts.begin(), counts.end(),
             [](const auto& a, const auto& b) { return a.second.first <= b.second.first; })
      ->second.second;
}

PcieLink greatest_of(const Links& links) {
  return std::max_element(links.begin(), links.end(),
                          [](const auto& a, const auto& b) { return is_less(a.second, b.second); })
      ->second;
}

std::vector<int> those_below(const Links& links, const PcieLink& full) {
  std::vector<int> below;
  for (const auto& [index, link] : links)
    if (is_less(link, full)) below.push_back(index);
  return below;
}

std::string text_of(const PcieLink& link) {
  return fmt::format("{} x{}", link.speed_text(), link.lanes);
}
std::string printed(const PciSlot& slot) {
  return fmt::format("link_speed {}, link_width {}", slot.speed, slot.width);
}

void add_figures(Finding& finding, const PcieLink& own, const PcieLink& full,
                 const std::string& likes) {
  finding.expected = core::figure(carried_by(full), core::Basis::kComputed,
                                  full.name() + " after packet overhead at MPS 256, as " + likes);
  finding.observed = core::figure(carried_by(own), core::Basis::kComputed,
                                  own.name() + " after packet overhead at MPS 256");
}

// So many are no odd ones: a machine may be built so. Half of them or more are only said.
Finding two_kinds(std::string summary, std::size_t below, std::size_t all) {
  Finding finding = core::make_finding(
      "topo.slot-differs", summary + "; whether they trained down or are built so is not shown");
  if (below * 2 >= all) finding.severity = core::Severity::kInfo;
  finding.confidence = Confidence::kPossible;
  return finding;
}

bool are_few(std::size_t count, const Links& links) { return count * 4 <= links.size(); }

// Switches of one model right below a CPU: their uplinks.
std::map<std::uint64_t, Links> uplinks_of(const topology::Machine& machine) {
  std::map<std::uint64_t, Links> uplinks;
  for (const int index : machine.of(topology::NodeType::kPci)) {
    const topology::Node& node = machine.node(index);
    const bool is_below_cpu =
        std::any_of(node.links.begin(), node.links.end(), [&](const topology::Link& link) {
          return machine.node(link.remote).type() == topology::NodeType::kCpu;
        });
    const auto link = topology::standard_pcie(node.slot);
    if (is_below_cpu && link) uplinks[node.as<topology::PciSwitch>().device].emplace(index, *link);
  }
  return uplinks;
}

core::Evidence uplink_evidence(const Survey& survey, const topology::Node& node) {
  return {survey.source, node.line, printed(node.slot)};
}

Finding narrow_uplink(const Survey& survey, const topology::Node& node, const PcieLink& own,
                      const PcieLink& usual) {
  Finding finding = core::make_finding(
      "topo.slot-differs",
      fmt::format("the uplink of switch {} is {}, those of the other switches of its kind are {}: "
                  "copies from the host and every path over this CPU share it",
                  node.bus_id, text_of(own), text_of(usual)));
  add_figures(finding, own, usual, "the other switches of its kind");
  finding.evidence = {uplink_evidence(survey, node)};
  finding.next = {"lspci -vv -s " + node.bus_id};
  return finding;
}

Finding uplinks_of_two_kinds(const Survey& survey, const Links& uplinks, const PcieLink& full) {
  const std::vector<int> below = those_below(uplinks, full);
  std::string names;
  for (const int index : below)
    names += (names.empty() ? "" : " ") + survey.machine->node(index).bus_id;
  const PcieLink& own = uplinks.at(below.front());
  Finding finding = two_kinds(
      fmt::format("{} of {} uplinks of switches of one kind ({}) carry less than {}, the first {}",
                  below.size(), uplinks.size(), names, text_of(full), text_of(own)),
      below.size(), uplinks.size());
  add_figures(finding, own, full, "the other switches of its kind");
  for (const int index : below)
    finding.evidence.push_back(uplink_evidence(survey, survey.machine->node(index)));
  finding.next = {"lspci -vv -s " + survey.machine->node(below.front()).bus_id};
  return finding;
}

// Of four switches or more.
void judge_uplinks(const Survey& survey, RuleAnswer& answer) {
  if (!survey.machine) return;
  for (const auto& [model, uplinks] : uplinks_of(*survey.machine)) {
    if (uplinks.size() < 4) continue;
    const PcieLink usual = usual_of(uplinks);
    const PcieLink full = greatest_of(uplinks);
    const std::vector<int> narrow = those_below(uplinks, usual);
    if (!are_few(narrow.size(), uplinks) || is_less(usual, full)) {
      answer.findings.push_back(uplinks_of_two_kinds(survey, uplinks, full));
      continue;
    }
    for (const int node : narrow)
      answer.findings.push_back(
          narrow_uplink(survey, survey.machine->node(node), uplinks.at(node), usual));
  }
}

struct GpuSlots {
  Links links = {};
  std::vector<int> idle = {};  // their lanes are known, what speed they can run at is not
};

GpuSlots slots_of(const Survey& survey) {
  GpuSlots slots;
  int fastest = kIdleGeneration;
  for (const int gpu : survey.of(Kind::kGpu)) {
    const SurveyDevice& device = survey.device(gpu);
    const auto link = topology::standard_pcie(device.slot);
    if (!device.slot_effective || !link) continue;
    slots.links.emplace(gpu, *link);
    if (link->generation == kIdleGeneration) slots.idle.push_back(gpu);
    fastest = std::max(fastest, link->generation);
  }
  if (fastest == kIdleGeneration) slots.idle.clear();  // all alike
  for (const int gpu : slots.idle)
    if (const auto awake = catalog::find_pcie(fastest, slots.links.at(gpu).lanes))
      slots.links.at(gpu) = *awake;
  return slots;
}

Finding narrow_gpu(const Survey& survey, int gpu, const PcieLink& own, const PcieLink& usual,
                   bool is_idle) {
  const SurveyDevice& device = survey.device(gpu);
  Finding finding =
      core::make_finding("topo.slot-differs",
                         is_idle ? fmt::format("{} has a slot of {} lanes, most GPUs here have {}",
                                               device.name, own.lanes, usual.lanes)
                                 : fmt::format("{} has a slot {}, most GPUs here have {}",
                                               device.name, text_of(own), text_of(usual)));
  if (!is_idle) add_figures(finding, own, usual, "most GPUs here");
  finding.evidence = {evidence_of(survey, gpu, printed(device.slot))};
  finding.next = {"lspci -vv -s " + device.bus_id};
  return finding;
}

Finding gpus_of_two_kinds(const Survey& survey, const Links& links, const PcieLink& full) {
  const std::vector<int> below = those_below(links, full);
  Finding finding =
      two_kinds(fmt::format("{} of {} GPUs ({}) have less than a slot {}", below.size(),
                            links.size(), names_of(survey, below), text_of(full)),
                below.size(), links.size());
  for (const int gpu : below)
    finding.evidence.push_back(evidence_of(survey, gpu, printed(survey.device(gpu).slot)));
  finding.next = {"lspci -vv -s " + survey.device(below.front()).bus_id};
  return finding;
}

void judge_gpus(const Survey& survey, const GpuSlots& slots, RuleAnswer& answer) {
  const PcieLink usual = usual_of(slots.links);
  const PcieLink full = greatest_of(slots.links);
  const std::vector<int> narrow = those_below(slots.links, usual);
  // one of three is the odd one, as two agree
  const bool are_odd = narrow.size() == 1 || are_few(narrow.size(), slots.links);
  if (is_less(usual, full) || (!narrow.empty() && !are_odd)) {
    answer.findings.push_back(gpus_of_two_kinds(survey, slots.links, full));
    return;
  }
  for (const int gpu : narrow) {
    const bool is_idle = std::count(slots.idle.begin(), slots.idle.end(), gpu) > 0;
    answer.findings.push_back(narrow_gpu(survey, gpu, slots.links.at(gpu), usual, is_idle));
    answer.blamed.push_back({gpu, Blame::Part::kSlot});
  }
}

}  // namespace

RuleAnswer slots_alike(const Survey& survey) {
  RuleAnswer answer;
  judge_uplinks(survey, answer);
  const GpuSlots slots = slots_of(survey);
  if (slots.links.size() < 3) {
    if (answer.findings.empty()) answer.unknown = "fewer than three GPUs with known slots";
    return answer;
  }
  judge_gpus(survey, slots, answer);
  if (answer.findings.empty() && !slots.idle.empty())
    answer.unknown = fmt::format("{} at 2.5 GT/s, as idle GPUs are: judge the speed under load",
                                 names_of(survey, slots.idle));
  return answer;
}

}  // namespace comm_probe::diagnose
