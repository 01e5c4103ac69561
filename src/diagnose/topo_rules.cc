#include "diagnose/topo_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/finding_table.h"

namespace comm_probe::diagnose {

using core::Basis;
using core::Confidence;
using core::Figure;
using core::Finding;
using topology::PathType;
using topology::Road;
using topology::Survey;
using topology::SurveyDevice;
using Kind = SurveyDevice::Kind;

core::Evidence evidence_of(const Survey& survey, int device, std::string text) {
  return {survey.source, survey.device(device).line, std::move(text)};
}

std::string names_of(const Survey& survey, const std::vector<int>& devices) {
  std::string names;
  for (const int device : devices) names += (names.empty() ? "" : " ") + survey.device(device).name;
  return names;
}

PathType nearest_type(const Survey& survey, int from, Kind kind) {
  PathType nearest = PathType::kDis;
  for (const int to : survey.of(kind))
    if (const Road* road = survey.road(from, to)) nearest = std::min(nearest, road->type);
  return nearest;
}

namespace {

// Per GPU: how many other GPUs it reaches by NVLink; nothing for a GPU of which a pair is unknown.
std::map<int, int> nvlink_peers(const Survey& survey) {
  std::map<int, int> peers;
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  for (const int gpu : gpus) {
    int count = 0;
    bool is_known = true;
    for (const int other : gpus) {
      if (other == gpu) continue;
      const Road* road = survey.road(gpu, other);
      is_known = is_known && road != nullptr;
      if (road != nullptr && road->type == PathType::kNvl) ++count;
    }
    if (is_known) peers[gpu] = count;
  }
  return peers;
}

// The cells of a row as the source prints them.
std::string row_text(const Survey& survey, int gpu) {
  std::string text = survey.device(gpu).name + ":";
  for (const int other : survey.of(Kind::kGpu))
    if (const Road* road = survey.road(gpu, other))
      text += fmt::format(" {} {}", survey.device(other).name, road->printed);
  return text;
}

template <class Value>
Value most_common(const std::map<int, Value>& values) {
  std::map<Value, int> counts;
  for (const auto& [device, value] : values) ++counts[value];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

RuleAnswer elements_present(const Survey& survey) {
  if (!survey.is_template()) return {};
  const bool has_gpus = !survey.of(Kind::kGpu).empty();
  return {
      .caveats = {core::make_caveat(
          "topo.template",
          has_gpus ? "the gpu elements of this topology file (a template): NVLinks, ranks, ports"
                   : "the GPUs and NICs of this topology file (a template without PCI classes)",
          has_gpus ? "only the PCIe tree is judged" : "nothing is judged")},
      .unknown = "it has no gpu elements"};
}

RuleAnswer nvlink_complete(const Survey& survey) {
  if (survey.is_template()) return {.unknown = "it has no gpu elements"};
  const std::map<int, int> peers = nvlink_peers(survey);
  if (peers.size() < 3) return {.idle = "fewer than three GPUs with all their pairs"};
  const int usual = most_common(peers);
  const bool has_any =
      std::any_of(peers.begin(), peers.end(), [](const auto& own) { return own.second > 0; });
  if (!has_any) return {.idle = "no NVLink"};
  RuleAnswer answer;
  for (const auto& [gpu, count] : peers) {
    if (count >= usual) continue;
    const std::size_t others = survey.of(Kind::kGpu).size() - 1;
    Finding finding = core::make_finding(
        "topo.nvlink-incomplete",
        fmt::format("{} has NVLink to {} of {} GPUs, the others have it to {}: NCCL falls back to "
                    "PCIe for the whole node",
                    survey.device(gpu).name, count, others, usual));
    finding.expected =
        Figure{static_cast<double>(usual), "GPUs", Basis::kRead, "the other GPUs of this machine"};
    finding.observed = Figure{static_cast<double>(count), "GPUs", Basis::kRead, survey.source};
    finding.evidence = {evidence_of(survey, gpu, row_text(survey, gpu))};
    finding.confidence = Confidence::kLikely;
    finding.next = {"nvidia-smi nvlink -s", "nvidia-smi -q | grep -A3 Fabric",
                    "dmesg | grep -i -e xid -e nvlink", "systemctl status nvidia-fabricmanager"};
    answer.findings.push_back(std::move(finding));
    answer.blamed.push_back({gpu, Blame::Part::kNvlink});
  }
  return answer;
}

// Only where every pair has NVLink: in a mesh of several kinds of pairs the numbers differ by
// design.
RuleAnswer nvlink_even(const Survey& survey) {
  if (survey.is_template()) return {.unknown = "it has no gpu elements"};
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  std::map<int, int> least;
  for (const int gpu : gpus)
    for (const int other : gpus) {
      const Road* road = other == gpu ? nullptr : survey.road(gpu, other);
      if (other != gpu && (road == nullptr || road->type != PathType::kNvl))
        return {.idle = "not every pair has NVLink"};
      if (road == nullptr) continue;
      const auto known = least.emplace(gpu, road->nvlinks).first;
      known->second = std::max(known->second, road->nvlinks);
    }
  if (least.size() < 3) return {.idle = "fewer than three GPUs"};
  const int usual = most_common(least);
  RuleAnswer answer;
  for (const auto& [gpu, links] : least) {
    if (links >= usual) continue;
    Finding finding = core::make_finding("topo.nvlink-inactive",
                                         fmt::format("{} has {} NVLinks, the others have {}",
                                                     survey.device(gpu).name, links, usual));
    finding.expected =
        Figure{static_cast<double>(usual), "links", Basis::kRead, "the other GPUs of this machine"};
    finding.observed = Figure{static_cast<double>(links), "links", Basis::kRead, survey.source};
    finding.evidence = {evidence_of(survey, gpu, row_text(survey, gpu))};
    finding.next = {"nvidia-smi nvlink -s", "nvidia-smi nvlink -e"};
    answer.findings.push_back(std::move(finding));
    answer.blamed.push_back({gpu, Blame::Part::kNvlink});
  }
  return answer;
}

namespace {

// A matrix that does not show every pair of GPU and NIC.
bool is_cut(const Survey& survey) {
  if (survey.machine) return false;
  for (const int gpu : survey.of(Kind::kGpu))
    for (const int nic : survey.of(Kind::kNic))
      if (survey.road(gpu, nic) == nullptr) return true;
  return false;
}

}  // namespace

RuleAnswer nic_reached(const Survey& survey) {
  if (survey.of(Kind::kNic).empty()) return {.unknown = "it shows no NIC"};
  if (survey.of(Kind::kGpu).empty()) return {.idle = "no GPU"};
  if (is_cut(survey)) return {.unknown = "pairs of GPU and NIC are missing"};
  RuleAnswer answer;
  for (const int gpu : survey.of(Kind::kGpu)) {
    if (nearest_type(survey, gpu, Kind::kNic) != PathType::kDis) continue;
    Finding finding = core::make_finding("topo.gpu-without-nic",
                                         fmt::format("{} reaches no NIC", survey.device(gpu).name));
    finding.evidence = {evidence_of(survey, gpu, survey.device(gpu).bus_id)};
    finding.confidence = Confidence::kCertain;
    finding.next = {"nvidia-smi topo -m", "ibv_devinfo -l"};
    answer.findings.push_back(std::move(finding));
    answer.blamed.push_back({gpu, Blame::Part::kDevice});
  }
  return answer;
}

// Each of them has NVLink to a GPU that is near a NIC.
static bool are_relayed(const Survey& survey, const std::vector<int>& far) {
  return std::all_of(far.begin(), far.end(), [&](int gpu) {
    for (const int other : survey.of(Kind::kGpu)) {
      const Road* road = survey.road(gpu, other);
      if (other != gpu && road != nullptr && road->type == PathType::kNvl &&
          nearest_type(survey, other, Kind::kNic) <= PathType::kPxb)
        return true;
    }
    return false;
  });
}

RuleAnswer nic_near(const Survey& survey) {
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  if (survey.of(Kind::kNic).empty() || gpus.empty()) return {.unknown = "it shows no NIC"};
  if (is_cut(survey)) return {.unknown = "pairs of GPU and NIC are missing"};
  std::vector<int> far;
  for (const int gpu : gpus) {
    const PathType type = nearest_type(survey, gpu, Kind::kNic);
    if (type > PathType::kPxb && type != PathType::kP2c && type != PathType::kDis)
      far.push_back(gpu);
  }
  if (far.empty()) return {};
  int near_nics = 0;
  for (const int nic : survey.of(Kind::kNic))
    if (nearest_type(survey, nic, Kind::kGpu) <= PathType::kPxb) ++near_nics;
  const bool is_misplaced = near_nics >= static_cast<int>(gpus.size());
  Finding finding = core::make_finding(
      is_misplaced ? "topo.nic-misplaced" : "topo.gpu-nic-far",
      is_misplaced
          ? fmt::format(
                "{} of {} GPUs have no NIC at PXB or nearer ({}), although {} NICs are near "
                "other GPUs",
                far.size(), gpus.size(), names_of(survey, far), near_nics)
          : fmt::format("{} of {} GPUs have no NIC at PXB or nearer ({}): {}", far.size(),
                        gpus.size(), names_of(survey, far),
                        are_relayed(survey, far)
                            ? "by default only an NVLink neighbour beside a NIC gives them "
                              "GPUDirect RDMA (PXN)"
                            : "NCCL uses no GPUDirect RDMA there by default"));
  const int example = far.front();
  for (const int nic : survey.of(Kind::kNic))
    if (const Road* road = survey.road(example, nic); road != nullptr && finding.evidence.empty())
      finding.evidence = {evidence_of(survey, example,
                                      fmt::format("{} - {}: {}", survey.device(example).name,
                                                  survey.device(nic).name, road->printed))};
  finding.confidence = Confidence::kCertain;
  finding.next = {"comm-probe explain PXB", "lspci -tv"};
  RuleAnswer answer{.findings = {std::move(finding)}};
  if (is_misplaced)
    for (const int gpu : far) answer.blamed.push_back({gpu, Blame::Part::kDevice});
  return answer;
}

RuleAnswer nic_shared(const Survey& survey) {
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  const std::vector<int> nics = survey.of(Kind::kNic);
  if (nics.empty() || gpus.size() < 2) return {.unknown = "it shows no NIC"};
  if (is_cut(survey)) return {.unknown = "pairs of GPU and NIC are missing"};
  int near_nics = 0;
  for (const int nic : nics)
    if (nearest_type(survey, nic, Kind::kGpu) <= PathType::kPxb) ++near_nics;
  const int usable = near_nics > 0 ? near_nics : static_cast<int>(nics.size());
  if (usable >= static_cast<int>(gpus.size())) return {};
  Finding finding = core::make_finding(
      "topo.nic-shared",
      fmt::format("{} GPUs share {} NIC{}: each GPU has {:.2g} of a NIC when all send", gpus.size(),
                  usable, usable == 1 ? "" : "s", usable / static_cast<double>(gpus.size())));
  finding.evidence = {evidence_of(survey, gpus.front(), names_of(survey, nics))};
  finding.confidence = Confidence::kCertain;
  finding.next = {"comm-probe nccl plan --topo topo.xml --nodes 2"};
  return {.findings = {std::move(finding)}};
}

RuleAnswer nic_fits_slot(const Survey& survey) {
  // All ports of one card go through its slot.
  std::map<std::pair<int, std::string>, std::pair<core::Bandwidth, int>> ports;
  for (const int nic : survey.of(Kind::kNic)) {
    const SurveyDevice& device = survey.device(nic);
    if (!device.port || !device.slot_effective) continue;
    auto& [sum, first] =
        ports.emplace(std::pair{device.host, device.bus_id}, std::pair{core::Bandwidth{}, nic})
            .first->second;
    sum = sum + *device.port;
  }
  if (ports.empty()) return {.unknown = "no slot widths and port rates"};
  RuleAnswer answer;
  for (const auto& [card, port] : ports) {
    const std::string& bus_id = card.second;
    const SurveyDevice& device = survey.device(port.second);
    if (port.first <= *device.slot_effective) continue;
    Finding finding = core::make_finding(
        "topo.nic-wider-than-slot",
        fmt::format("NIC {} ({}) carries {:.4g} GB/s, its slot ({} x{}) {:.4g} GB/s", device.name,
                    bus_id, port.first.in_GBps(), device.slot.speed, device.slot.width,
                    device.slot_effective->in_GBps()));
    finding.expected = core::figure(port.first, Basis::kRead, "port rate of the NIC");
    finding.observed = core::figure(*device.slot_effective, Basis::kComputed,
                                    "PCIe link after packet overhead at MPS 256");
    finding.evidence = {evidence_of(
        survey, port.second,
        fmt::format("link_speed {}, link_width {}", device.slot.speed, device.slot.width))};
    finding.next = {"lspci -vv -s " + bus_id};
    answer.findings.push_back(std::move(finding));
    answer.blamed.push_back({port.second, Blame::Part::kSlot});
  }
  return answer;
}

RuleAnswer slots_alike(const Survey& survey) {
  std::map<int, std::pair<std::string, int>> slots;
  for (const int gpu : survey.of(Kind::kGpu)) {
    const SurveyDevice& device = survey.device(gpu);
    if (device.slot_effective) slots[gpu] = {device.slot.speed, device.slot.width};
  }
  if (slots.size() < 3) return {.unknown = "fewer than three GPUs with known slots"};
  const auto usual = most_common(slots);
  RuleAnswer answer;
  for (const auto& [gpu, slot] : slots) {
    const SurveyDevice& device = survey.device(gpu);
    if (slot == usual) continue;
    Finding finding = core::make_finding(
        "topo.slot-differs",
        fmt::format("{} has a slot {} x{}, most GPUs here have {} x{}", device.name, slot.first,
                    slot.second, usual.first, usual.second));
    finding.evidence = {evidence_of(
        survey, gpu, fmt::format("link_speed {}, link_width {}", slot.first, slot.second))};
    finding.next = {"lspci -vv -s " + device.bus_id};
    answer.findings.push_back(std::move(finding));
    answer.blamed.push_back({gpu, Blame::Part::kSlot});
  }
  return answer;
}

namespace {

// Physical GPUs stand behind a root port, so never on bus 00; and their slot has a width, unless
// the processor itself says that a hypervisor runs below.
bool looks_virtual(const Survey& survey, const SurveyDevice& gpu) {
  const auto& is_virtual = survey.facts.virtual_machine;
  const std::size_t colon = gpu.bus_id.find(':');
  const bool is_on_bus_0 =
      colon != std::string::npos && gpu.bus_id.compare(colon + 1, 3, "00:") == 0;
  return is_on_bus_0 && gpu.is_on_root &&
         (gpu.slot.width == 0 || (is_virtual && is_virtual->value));
}

}  // namespace

RuleAnswer tree_visible(const Survey& survey) {
  if (!survey.machine) return {.unknown = "it shows no tree"};
  std::vector<int> hidden;
  for (const int gpu : survey.of(Kind::kGpu))
    if (looks_virtual(survey, survey.device(gpu))) hidden.push_back(gpu);
  bool knows_numa = true;
  for (const int cpu : survey.of(Kind::kCpu))
    knows_numa = knows_numa && survey.device(cpu).numa.value_or(-1) >= 0;
  if (hidden.empty()) return {};
  Finding finding = core::make_finding(
      "topo.vm-hides-tree",
      fmt::format("a virtual machine hides the PCIe tree of {}: distances in it cannot be trusted",
                  names_of(survey, hidden)));
  for (const int gpu : hidden)
    finding.evidence.push_back(
        evidence_of(survey, gpu,
                    fmt::format("pci {} on bus 00, link_width {}{}", survey.device(gpu).bus_id,
                                survey.device(gpu).slot.width, knows_numa ? "" : ", numaid -1")));
  finding.confidence = Confidence::kLikely;
  finding.next = {"lspci -tv", "systemd-detect-virt"};
  return {.findings = {std::move(finding)},
          .caveats = {core::make_caveat(
              "topo.tree-hidden", "the real PCIe tree and the NUMA nodes of the host",
              "NCCL takes every GPU and NIC for neighbours on one CPU; a topology file of the "
              "cloud (NCCL_TOPO_FILE) would tell it the truth")}};
}

}  // namespace comm_probe::diagnose
