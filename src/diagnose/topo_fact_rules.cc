#include "diagnose/topo_fact_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "core/units.h"

namespace comm_probe::diagnose {

using core::Basis;
using core::Confidence;
using core::Figure;
using core::Finding;
using topology::HostFacts;
using topology::PciFunction;
using topology::PciLink;
using topology::Survey;
using topology::SurveyDevice;
using Kind = SurveyDevice::Kind;

namespace {

bool is_device(const PciFunction& function) {
  return function.kind == PciFunction::Kind::kGpu || function.kind == PciFunction::Kind::kNic;
}

double transfers(const PciLink& link) { return std::atof(link.speed.c_str()); }

std::string link_text(const PciLink& link) {
  const std::string speed = link.speed.substr(0, link.speed.find(" PCIe"));
  return fmt::format("{}{}x{}", speed, speed.empty() ? "" : " ", link.width.value_or(0));
}

// What both ends of the link above a function can do.
PciLink possible(const PciFunction& function, const PciFunction* above) {
  PciLink link = function.maximum;
  if (above == nullptr) return link;
  if (above->maximum.width && link.width) link.width = std::min(*link.width, *above->maximum.width);
  if (!above->maximum.speed.empty() && transfers(above->maximum) < transfers(link))
    link.speed = above->maximum.speed;
  return link;
}

// Functions that have a link above them, on the way to a GPU or NIC: devices and the upstream ports
// of switches, which is every second function of the way.
std::vector<const PciFunction*> ends_of_links(const HostFacts& facts) {
  std::set<std::string> seen;
  std::vector<const PciFunction*> ends;
  for (const PciFunction& device : facts.functions) {
    if (!is_device(device)) continue;
    const PciFunction* at = &device;
    for (int place = 0; at != nullptr && place < 64; ++place) {
      const PciFunction* above = at->above ? facts.function(*at->above) : nullptr;
      const bool is_end = place == 0 || (place % 2 == 0 && above != nullptr);
      if (is_end && seen.insert(at->bus_id).second) ends.push_back(at);
      at = above;
    }
  }
  return ends;
}

std::optional<int> device_at(const Survey& survey, const std::string& bus_id) {
  for (std::size_t i = 0; i < survey.devices.size(); ++i)
    if (!bus_id.empty() && survey.devices[i].bus_id == bus_id) return static_cast<int>(i);
  return std::nullopt;
}

std::string name_of(const Survey& survey, const PciFunction& function) {
  if (const auto device = device_at(survey, function.bus_id))
    return fmt::format("{} ({})", survey.device(*device).name, function.bus_id);
  const char* what = function.kind == PciFunction::Kind::kGpu   ? "GPU "
                     : function.kind == PciFunction::Kind::kNic ? "NIC "
                                                                : "switch ";
  return what + function.bus_id;
}

// Three quarters of the devices that can do the same do run at it.
bool others_run_full(const HostFacts& facts, const PciFunction& function) {
  int alike = 0;
  int full = 0;
  for (const PciFunction& other : facts.functions) {
    const bool is_alike = other.kind == function.kind &&
                          other.maximum.width == function.maximum.width &&
                          other.maximum.speed == function.maximum.speed;
    alike += is_alike ? 1 : 0;
    full += is_alike && other.current.width == other.maximum.width &&
                    other.current.speed == other.maximum.speed
                ? 1
                : 0;
  }
  return full >= 3 && full * 4 >= alike * 3;
}

// A slot may have fewer lanes than the card: where it is not shown, nobody can say.
Finding degraded_link(const Survey& survey, const PciFunction& function, const PciLink& can,
                      bool knows_both) {
  Finding finding = core::make_finding(
      "topo.link-degraded", fmt::format("the PCIe link of {} runs at {}, {} {}",
                                        name_of(survey, function), link_text(function.current),
                                        knows_both ? "both ends can do"
                                        : others_run_full(survey.facts, function)
                                            ? "the others of its kind run at"
                                            : "what the slot can do is not shown, the "
                                              "card can do",
                                        link_text(can)));
  const bool is_narrow = function.current.width < can.width;
  const auto size = [&](const PciLink& link) {
    return is_narrow ? static_cast<double>(link.width.value_or(0)) : transfers(link);
  };
  const char* unit = is_narrow ? "lanes" : "GT/s";
  finding.expected = Figure{size(can), unit, Basis::kRead,
                            knows_both ? "maximum of both ends" : "maximum of this end"};
  finding.observed = Figure{size(function.current), unit, Basis::kRead, function.from.source};
  if (!knows_both && !others_run_full(survey.facts, function)) {
    finding.severity = core::Severity::kInfo;
    finding.confidence = Confidence::kPossible;
  }
  finding.evidence = {function.from};
  if (finding.evidence[0].text.empty())
    finding.evidence[0].text =
        fmt::format("current {}, max {}", link_text(function.current), link_text(function.maximum));
  finding.next = {"sudo lspci -vv -s " + function.bus_id, "dmesg | grep -i -e aer -e pcie"};
  return finding;
}

}  // namespace

RuleAnswer links_at_full(const Survey& survey) {
  RuleAnswer answer;
  int judged = 0;
  for (const PciFunction* function : ends_of_links(survey.facts)) {
    const PciFunction* above = function->above ? survey.facts.function(*function->above) : nullptr;
    const PciLink can = possible(*function, above);
    if (!function->current.width || !can.width) continue;
    ++judged;
    const bool is_narrow = *function->current.width < *can.width;
    const bool is_slow = function->kind != PciFunction::Kind::kGpu &&
                         !function->current.speed.empty() &&
                         transfers(function->current) < transfers(can);
    if (!is_narrow && !is_slow) continue;
    const bool knows_both = above != nullptr && above->maximum.width.has_value();
    answer.findings.push_back(degraded_link(survey, *function, can, knows_both));
    if (const auto device = knows_both ? device_at(survey, function->bus_id) : std::nullopt)
      answer.blamed.push_back({*device, Blame::Part::kSlot});
  }
  if (judged == 0)
    return {.unknown = "it shows no trained widths (sysfs of this machine, lspci -vv)"};
  return answer;
}

namespace {

// Two of its GPUs and NICs may talk inside a switch. NVLink hides what PCIe there is below it,
// which GPUDirect RDMA needs all the same. Nothing where PCIe paths are not shown.
std::optional<bool> some_share_a_switch(const Survey& survey) {
  bool knows_any = false;
  for (const topology::Road& road : survey.roads) {
    const bool is_between = survey.device(road.from).kind != SurveyDevice::Kind::kCpu &&
                            survey.device(road.to).kind != SurveyDevice::Kind::kCpu;
    if (!is_between || road.type == topology::PathType::kNvl) continue;
    knows_any = true;
    if (road.type == topology::PathType::kPix || road.type == topology::PathType::kPxb) return true;
  }
  return knows_any ? std::optional(false) : std::nullopt;
}

}  // namespace

RuleAnswer switches_pass_peers(const Survey& survey) {
  topology::Redirects redirects = redirects_of(survey.facts);
  if (redirects.read == 0)
    return {.unknown =
                "it shows no ACS; as root: lspci -vvv | grep ACSCtl, or this command itself"};
  const bool is_certain = !redirects.in_switches.empty();
  std::vector<core::Evidence>& evidence = is_certain ? redirects.in_switches : redirects.unplaced;
  if (evidence.empty()) return {};
  if (!is_certain && some_share_a_switch(survey) == false)
    return {.idle =
                "no two GPUs or NICs share a switch (PIX, PXB): what passes between them meets "
                "the root complex in any case"};
  const bool is_one = evidence.size() == 1;
  Finding finding = core::make_finding(
      "topo.acs-redirects",
      fmt::format("{} bridge{} {} peer traffic up to the root complex (ACS redirect): GPUs and "
                  "NICs below one switch do not talk directly",
                  evidence.size(), is_one ? "" : "s", is_one ? "sends" : "send"));
  // A list that does not say where its ports stand may be of ports that lead to no GPU.
  finding.confidence = is_certain ? Confidence::kCertain : Confidence::kPossible;
  if (evidence.size() > 8) evidence.resize(8);
  finding.evidence = std::move(evidence);
  finding.next = {"sudo lspci -vvv | grep -e '^[0-9a-f]' -e Bus: -e ACSCtl", "cat /proc/cmdline"};
  return {.findings = {std::move(finding)}};
}

RuleAnswer iommu_passes(const Survey& survey) {
  const auto& iommu = survey.facts.iommu;
  if (!iommu) return {.unknown = "it shows no IOMMU groups (/sys/kernel/iommu_groups)"};
  const std::size_t gpus = survey.of(Kind::kGpu).size();
  const std::size_t nics = survey.of(Kind::kNic).size();
  if (iommu->value != topology::IommuMode::kTranslated || gpus == 0 || gpus + nics < 2) return {};
  Finding finding = core::make_finding(
      "topo.iommu-translates",
      "the IOMMU translates addresses of GPUs or NICs: P2P and GPUDirect RDMA are slow, wrong or "
      "hang there");
  finding.evidence = {iommu->from};
  finding.confidence = Confidence::kLikely;
  finding.next = {"cat /proc/cmdline", "cat /sys/kernel/iommu_groups/*/type | sort | uniq -c"};
  return {.findings = {std::move(finding)}};
}

namespace {

// Consumer GPUs refuse P2P by design.
bool is_consumer(const HostFacts& facts, int gpu) {
  const topology::GpuFacts* known = facts.gpu(gpu);
  return known != nullptr && known->name.find("GeForce") != std::string::npos;
}

// GPUs are told by their index: "GPU3".
const topology::Road* road_between(const Survey& survey, int from, int to) {
  std::optional<int> a, b;
  for (const int gpu : survey.of(Kind::kGpu)) {
    if (survey.device(gpu).name == fmt::format("GPU{}", from)) a = gpu;
    if (survey.device(gpu).name == fmt::format("GPU{}", to)) b = gpu;
  }
  return a && b ? survey.road(*a, *b) : nullptr;
}

}  // namespace

RuleAnswer driver_allows_peers(const Survey& survey) {
  const HostFacts& facts = survey.facts;
  std::map<std::pair<std::string, core::Severity>, std::vector<const topology::PeerStatus*>>
      refused;
  int asked = 0;
  int unnamed_on_nvlink = 0;
  for (const topology::PeerStatus& peer : facts.peers) {
    const bool is_known = peer.capability == 'r' || peer.capability == 'w';
    if (!is_known && peer.capability != 'u') continue;
    ++asked;
    if (peer.status == "OK") continue;
    const topology::Road* road = road_between(survey, peer.from, peer.to);
    core::Severity severity = core::Severity::kWarning;
    if (road != nullptr && road->type == topology::PathType::kNvl && is_known)
      severity = core::Severity::kError;
    if (!is_known || (is_consumer(facts, peer.from) && is_consumer(facts, peer.to)))
      severity = core::Severity::kInfo;
    unnamed_on_nvlink += !is_known && road != nullptr && road->type == topology::PathType::kNvl;
    refused[{peer.status, severity}].push_back(&peer);
  }
  if (asked == 0) return {.unknown = "it shows no P2P status (nvidia-smi topo -p2p r)"};
  RuleAnswer answer;
  if (unnamed_on_nvlink > 0)
    answer.caveats = {core::make_caveat(
        "topo.p2p-unnamed",
        "the line above the matrix of `nvidia-smi topo -p2p` (`$ nvidia-smi topo -p2p r`)",
        "GPUs with NVLink are refused something; reading and writing would be a fault, atomics "
        "not")};
  for (const auto& [key, peers] : refused) {
    std::set<std::pair<int, int>> pairs;
    for (const topology::PeerStatus* peer : peers)
      pairs.emplace(std::min(peer->from, peer->to), std::max(peer->from, peer->to));
    Finding finding = core::make_finding(
        "topo.p2p-refused",
        fmt::format("the driver refuses P2P ({}) between {} pair{} of GPUs, for instance GPU{} and "
                    "GPU{}",
                    key.first, pairs.size(), pairs.size() == 1 ? "" : "s", pairs.begin()->first,
                    pairs.begin()->second));
    finding.severity = key.second;
    finding.evidence = {peers.front()->evidence};
    finding.confidence =
        peers.front()->capability == 'u' ? Confidence::kPossible : Confidence::kCertain;
    finding.next = {"nvidia-smi topo -p2p r", "nvidia-smi topo -p2p w", "nvidia-smi topo -m"};
    answer.findings.push_back(std::move(finding));
  }
  return answer;
}

RuleAnswer nvlinks_active(const Survey& survey) {
  std::map<int, std::vector<const topology::NvlinkState*>> inactive;
  std::map<int, int> active;
  for (const topology::NvlinkState& link : survey.facts.nvlinks) {
    inactive[link.gpu];
    active[link.gpu] += link.is_active ? 1 : 0;
    if (!link.is_active) inactive[link.gpu].push_back(&link);
  }
  if (inactive.empty()) return {.unknown = "it shows no NVLink (nvidia-smi nvlink -s)"};
  std::set<std::size_t> counts;
  for (const auto& [gpu, links] : inactive) counts.insert(links.size());
  const bool is_design = inactive.size() > 1 && counts.size() == 1;
  RuleAnswer answer;
  for (const auto& [gpu, links] : inactive) {
    const bool has_bridge = active[gpu] > 0 || !is_design;
    if (links.empty() || is_design || !has_bridge) continue;
    if (inactive.size() == 1 && active[gpu] == 0) continue;  // a lone GPU without a bridge
    Finding finding =
        core::make_finding("topo.nvlink-inactive",
                           fmt::format("{} of {} NVLinks of GPU{} are inactive", links.size(),
                                       links.size() + static_cast<std::size_t>(active[gpu]), gpu));
    finding.expected = Figure{0, "inactive links", Basis::kRead, "all links of this GPU"};
    finding.observed = Figure{static_cast<double>(links.size()), "inactive links", Basis::kRead,
                              links[0]->from.source};
    for (const topology::NvlinkState* link : links)
      if (finding.evidence.size() < 8) finding.evidence.push_back(link->from);
    finding.confidence = Confidence::kCertain;
    finding.next = {"nvidia-smi nvlink -e", "dmesg | grep -i -e xid -e nvlink"};
    answer.findings.push_back(std::move(finding));
    for (const int device : survey.of(Kind::kGpu))
      if (survey.device(device).name == fmt::format("GPU{}", gpu))
        answer.blamed.push_back({device, Blame::Part::kNvlink});
  }
  return answer;
}

}  // namespace comm_probe::diagnose
