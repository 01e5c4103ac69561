#include "diagnose/topo_nic_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/units.h"

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

const RdmaPortFacts* port_facts(const Survey& survey, const SurveyDevice& nic) {
  for (const RdmaPortFacts& port : survey.facts.rdma_ports)
    if (port.is_named(nic.name)) return &port;
  return nullptr;
}

PathType nearest_path(const Survey& survey, int from, const std::vector<int>& nics) {
  PathType type = PathType::kDis;
  for (const int nic : nics)
    if (const Road* road = survey.road(from, nic)) type = std::min(type, road->type);
  return type;
}

namespace {

bool is_virtio(const Survey& survey, const SurveyDevice& nic) {
  const topology::PciFunction* function = survey.facts.function(nic.bus_id);
  return function != nullptr &&
         (function->vendor == "0x1af4" || function->name.find("Virtio") != std::string::npos);
}

bool is_far(PathType type) {
  return type > PathType::kPxb && type != PathType::kP2c && type != PathType::kDis;
}

// A matrix that does not show every pair of GPU and NIC.
bool is_cut(const Survey& survey, const std::vector<int>& nics) {
  if (survey.machine) return false;
  for (const int gpu : survey.of(Kind::kGpu))
    for (const int nic : nics)
      if (survey.road(gpu, nic) == nullptr) return true;
  return false;
}

// Why no rule on GPUs and NICs can be applied; nothing where it can.
std::optional<RuleAnswer> not_applicable(const Survey& survey, const std::vector<int>& nics) {
  if (survey.of(Kind::kGpu).empty()) {
    if (survey.is_whole_machine()) return RuleAnswer{.idle = "no GPU"};
    return RuleAnswer{.unknown = "it shows no GPU"};
  }
  if (nics.empty() && !survey.of(Kind::kNic).empty())
    return RuleAnswer{.idle = "no NIC with RDMA: NCCL drives them by sockets, from host memory"};
  if (nics.empty()) return RuleAnswer{.unknown = "it shows no NIC"};
  if (survey.roads.empty() || is_cut(survey, nics))
    return RuleAnswer{.unknown = "pairs of GPU and NIC are missing"};
  return std::nullopt;
}

// It has NVLink to a GPU that is near a NIC.
bool is_relayed(const Survey& survey, int gpu, const std::vector<int>& nics) {
  for (const int other : survey.of(Kind::kGpu)) {
    const Road* road = other == gpu ? nullptr : survey.road(gpu, other);
    if (road != nullptr && road->type == PathType::kNvl &&
        nearest_path(survey, other, nics) <= PathType::kPxb)
      return true;
  }
  return false;
}

bool has_rdma(const Survey& survey, const std::vector<int>& nics) {
  return std::any_of(nics.begin(), nics.end(), [&](int nic) {
    return survey.device(nic).gdr.value_or(true) ||
           port_facts(survey, survey.device(nic)) != nullptr;
  });
}

// What the GPUs without a near NIC get.
std::string consequence(const Survey& survey, const std::vector<int>& far,
                        const std::vector<int>& nics) {
  if (!has_rdma(survey, nics))
    return "NCCL drives these NICs by sockets, through host memory in any case";
  std::vector<int> relayed;
  std::vector<int> left;
  for (const int gpu : far) (is_relayed(survey, gpu, nics) ? relayed : left).push_back(gpu);
  const char* kRelayed =
      "by default only an NVLink neighbour beside a NIC can give {} GPUDirect RDMA "
      "(PXN)";
  const char* kLeft = "NCCL uses no GPUDirect RDMA {} by default";
  if (left.empty()) return fmt::format(fmt::runtime(kRelayed), "them");
  if (relayed.empty()) return fmt::format(fmt::runtime(kLeft), "there");
  return fmt::format(fmt::runtime(kRelayed), names_of(survey, relayed)) + "; " +
         fmt::format(fmt::runtime(kLeft), "on " + names_of(survey, left));
}

std::string have(std::size_t count, std::size_t of) {
  return fmt::format("{} of {} GPU{} {}", count, of, of == 1 ? "" : "s",
                     count == 1 ? "has" : "have");
}

}  // namespace

std::vector<int> usable_nics(const Survey& survey) {
  const std::vector<int> all = survey.of(Kind::kNic);
  const bool knows_rdma = std::any_of(all.begin(), all.end(), [&](int nic) {
    return port_facts(survey, survey.device(nic)) != nullptr;
  });
  std::vector<int> usable;
  for (const int nic : all) {
    const SurveyDevice& device = survey.device(nic);
    const bool is_plain = knows_rdma && port_facts(survey, device) == nullptr;
    if (!is_plain && !is_virtio(survey, device)) usable.push_back(nic);
  }
  return usable;
}

std::map<int, std::vector<int>> nics_beside_gpus(const Survey& survey) {
  std::map<int, std::vector<int>> beside;
  for (const int nic : usable_nics(survey))
    for (const int gpu : survey.of(Kind::kGpu))
      if (const Road* road = survey.road(gpu, nic); road != nullptr && road->type <= PathType::kPxb)
        beside[nic].push_back(gpu);
  return beside;
}

std::vector<int> rdma_nics(const Survey& survey) {
  std::vector<int> found;
  for (const int nic : usable_nics(survey)) {
    const SurveyDevice& device = survey.device(nic);
    const bool is_port = port_facts(survey, device) != nullptr;
    const bool is_interface = device.name.starts_with("eth") || device.name.starts_with("en");
    if (is_port || (!survey.is_whole_machine() && !is_interface)) found.push_back(nic);
  }
  return found;
}

RuleAnswer nic_reached(const Survey& survey) {
  const std::vector<int> nics = survey.of(Kind::kNic);
  if (auto answer = not_applicable(survey, nics)) return *answer;
  RuleAnswer answer;
  for (const int gpu : survey.of(Kind::kGpu)) {
    if (nearest_path(survey, gpu, nics) != PathType::kDis) continue;
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

// Far GPUs are a fault where NICs enough for all GPUs are near others, or where three quarters of
// the GPUs have a near NIC of their own; else the box is built so.
RuleAnswer nic_near(const Survey& survey) {
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  const std::vector<int> nics = usable_nics(survey);
  if (auto answer = not_applicable(survey, nics)) return *answer;
  std::vector<int> far;
  for (const int gpu : gpus)
    if (is_far(nearest_path(survey, gpu, nics))) far.push_back(gpu);
  if (far.empty()) return {};
  const std::size_t beside = nics_beside_gpus(survey).size();
  const std::size_t near = gpus.size() - far.size();
  const bool is_lone = near >= 3 && near * 4 >= gpus.size() * 3 && beside >= near;
  const bool is_misplaced = beside >= gpus.size() || is_lone;
  const std::string who = fmt::format("{} no NIC at PXB or nearer ({})",
                                      have(far.size(), gpus.size()), names_of(survey, far));
  const std::string text =
      !is_misplaced ? who + ": " + consequence(survey, far, nics)
      : is_lone     ? fmt::format("{}, each of the other {} has one of its own", who, near)
                    : fmt::format("{}, although {} NICs are near other GPUs", who, beside);
  Finding finding =
      core::make_finding(is_misplaced ? "topo.nic-misplaced" : "topo.gpu-nic-far", text);
  const int example = far.front();
  for (const int nic : nics)
    if (const Road* road = survey.road(example, nic); road != nullptr && finding.evidence.empty())
      finding.evidence = {evidence_of(survey, example,
                                      fmt::format("{} - {}: {}", survey.device(example).name,
                                                  survey.device(nic).name, road->printed))};
  finding.confidence = Confidence::kCertain;
  finding.next = {"comm-probe explain PXB", "lspci -tv"};
  if (is_lone)
    finding.next.push_back("dmesg | grep -i -e mlx5 -e pcieport -e aer (a card that is gone)");
  RuleAnswer answer{.findings = {std::move(finding)}};
  if (is_misplaced)
    for (const int gpu : far) answer.blamed.push_back({gpu, Blame::Part::kDevice});
  return answer;
}

RuleAnswer nic_shared(const Survey& survey) {
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  const std::vector<int> nics = usable_nics(survey);
  if (auto answer = not_applicable(survey, nics)) return *answer;
  if (gpus.size() < 2) return {.idle = "one GPU"};
  std::vector<int> shared;
  for (const auto& [nic, near] : nics_beside_gpus(survey)) shared.push_back(nic);
  const bool are_near = !shared.empty();
  if (!are_near) shared = nics;
  if (shared.size() >= gpus.size()) return {};
  Finding finding = core::make_finding(
      "topo.nic-shared",
      fmt::format("{} GPUs share {} NIC{}{}: each GPU has {} of a NIC when all send", gpus.size(),
                  shared.size(), shared.size() == 1 ? "" : "s",
                  are_near && shared.size() < nics.size() ? " at PXB or nearer" : "",
                  core::format_number(static_cast<double>(shared.size()) /
                                      static_cast<double>(gpus.size()))));
  finding.evidence = {evidence_of(survey, gpus.front(), names_of(survey, shared))};
  finding.confidence = Confidence::kCertain;
  if (survey.machine && survey.kind == "nccl-topology")
    finding.next = {"comm-probe nccl plan --topo " + survey.source + " --nodes 2"};
  return {.findings = {std::move(finding)}};
}

RuleAnswer nic_fits_slot(const Survey& survey) {
  // All ports of one card go through its slot.
  std::map<std::pair<int, std::string>, std::pair<Bandwidth, int>> ports;
  bool knows_slot = false;
  bool knows_rate = false;
  for (const int nic : survey.of(Kind::kNic)) {
    const SurveyDevice& device = survey.device(nic);
    knows_slot = knows_slot || device.slot_effective;
    knows_rate = knows_rate || device.port;
    if (!device.port || !device.slot_effective) continue;
    auto& [sum, first] =
        ports.emplace(std::pair{device.host, device.bus_id}, std::pair{Bandwidth{}, nic})
            .first->second;
    sum = sum + *device.port;
  }
  if (ports.empty())
    return {.unknown = knows_slot   ? "it shows no port rates"
                       : knows_rate ? "it shows no slot widths"
                                    : "it shows no slot widths and no port rates"};
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

}  // namespace comm_probe::diagnose
