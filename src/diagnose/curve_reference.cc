#include "diagnose/curve_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/curve_facts.h"

namespace comm_probe::diagnose {
namespace {

using catalog::Fabric;
using catalog::Gpu;
using catalog::Machine;
using core::Bandwidth;

constexpr int kMostNodes = 1000000;
constexpr double kFactorSlack = 0.02;  // of a printed busbw / algbw
constexpr int kFirstReducingNvlink =
    4;  // NVLink SHARP comes with the NVSwitch of NVLink 4 (Hopper)

// Where the host side is older than the GPU, its generation rules.
catalog::PcieLink slowest_pcie(const Machine& machine, const catalog::PcieLink& gpu) {
  if (!machine.host_pcie) return gpu;
  return machine.host_pcie->nominal().value < gpu.nominal().value ? *machine.host_pcie : gpu;
}

void use_pcie(Links& links, const catalog::PcieLink& pcie, const std::string& gpu) {
  links.inside = pcie.nominal().value;
  links.inside_class = PathClass::kPcie;
  links.inside_source = fmt::format("PCIe {} of {} ({} nominal)", pcie.name(), gpu,
                                    core::format_bandwidth(links.inside));
}

void use_nvlink(Links& links, PathClass path, const Machine& machine) {
  const auto rate = catalog::intra_node_one_way(machine);
  if (!rate) return;
  links.inside = rate->value;
  links.inside_class = path;
  links.inside_source =
      fmt::format("{} of NVLink per GPU in {}", core::format_bandwidth(rate->value), machine.name);
}

void fill_inside(Links& links, const Machine& machine, int ranks_per_node) {
  switch (machine.fabric) {
    case Fabric::kNvswitch: {
      const bool reducing =
          machine.gpu.links && machine.gpu.links->generation >= kFirstReducingNvlink;
      use_nvlink(links, reducing ? PathClass::kNvswitchReducing : PathClass::kNvlink, machine);
      return;
    }
    case Fabric::kMesh:  // how wide a part of a mesh is depends on which GPUs
      if (ranks_per_node == machine.gpus) use_nvlink(links, PathClass::kNvlink, machine);
      return;
    case Fabric::kBridge:  // a ring over several pairs crosses PCIe between them
    case Fabric::kPcie:
      if (machine.gpu.pcie && ranks_per_node > 1)
        use_pcie(links, slowest_pcie(machine, *machine.gpu.pcie), machine.gpu.name);
      return;
    case Fabric::kC2c:
      return;
  }
}

// How many GPUs stand in one island of fast links, and how many hosts that takes.
int island_gpus(const Machine& machine) { return std::max(machine.gpus, machine.scale_up_gpus); }

struct PlacedCurve {
  Placement placement = {};
  std::string fault = {};  // why it does not fit
};

PlacedCurve place_on(Placement placement, const curve::Curve& curve, const Reference& reference) {
  const Machine& machine = *reference.machine;
  const int ranks = placement.ranks;
  const int needed = (ranks + machine.gpus - 1) / std::max(machine.gpus, 1);
  const int hosts = reference.nodes.value_or(curve.nodes.value_or(needed));
  const bool one_domain = machine.scale_up_gpus > machine.gpus;
  placement.nodes =
      one_domain ? (ranks + machine.scale_up_gpus - 1) / machine.scale_up_gpus : hosts;
  PlacedCurve placed{placement, {}};
  if (hosts < 1 || ranks % hosts != 0)
    placed.fault = fmt::format("{} ranks do not fill {} nodes evenly", ranks, hosts);
  else if (ranks / hosts > machine.gpus)
    placed.fault = fmt::format("{} ranks on {} node{} are more than the {} GPUs of {}", ranks,
                               hosts, hosts == 1 ? "" : "s", machine.gpus, machine.name);
  return placed;
}

core::Caveat unknown_shape(const curve::Curve& curve, std::string why) {
  return core::make_caveat("curve.shape-unknown", curve.file + ": " + std::move(why),
                           "the curve is not compared with the hardware", true);
}

// Several ranks on one GPU share its memory, not its links.
bool shares_devices(const curve::Curve& curve) {
  // In virtual machines all bus ids can read 0x00, and with one visible GPU per process all devices
  // are 0: only both together name a GPU.
  std::set<std::tuple<std::string, int, std::string>> seen;
  for (const auto& device : curve.devices)
    if (!seen.emplace(device.host, device.device, device.bus_id).second) return true;
  return false;
}

// How the machines of the catalog connect this GPU tells what a header cannot: an SXM board always
// has its NVLinks, a PCIe card may have a bridge or not.
std::optional<Links> links_of_gpu(const Gpu& gpu, int ranks, const catalog::Catalog& catalog) {
  Links links;
  if (!gpu.links) {
    if (gpu.pcie) use_pcie(links, *gpu.pcie, gpu.name);
    return gpu.pcie ? std::optional(links) : std::nullopt;
  }
  bool always = false, reducing = gpu.links->generation >= kFirstReducingNvlink;
  for (const Machine& machine : catalog.machines()) {
    if (machine.gpu.name != gpu.name || island_gpus(machine) < ranks) continue;
    const bool wired = machine.fabric == Fabric::kNvswitch || machine.fabric == Fabric::kMesh;
    if (!wired) return std::nullopt;
    always = true;
    reducing = reducing && machine.fabric == Fabric::kNvswitch;
  }
  if (!always) return std::nullopt;
  links.inside = gpu.links->one_way().value;
  links.inside_class = reducing ? PathClass::kNvswitchReducing : PathClass::kNvlink;
  links.inside_source =
      fmt::format("{} of {} per {} (GPU read from the header)",
                  core::format_bandwidth(links.inside), gpu.links->name, gpu.name);
  return links;
}

// Ranks that the text does not say: all GPUs of every node, if the printed busbw factor allows it.
std::optional<int> ranks_on(const curve::Curve& curve, const Reference& reference) {
  if (curve.ranks) return curve.ranks;
  const auto nodes = reference.nodes ? reference.nodes : curve.nodes;
  if (!nodes || !curve.op || *nodes > kMostNodes) return std::nullopt;
  const int ranks = *nodes * reference.machine->gpus;
  const auto factor = curve::typical_factor(curve);
  const bool fits =
      ranks > 1 &&
      (!factor || std::abs(*factor - model::busbw_factor(*curve.op, ranks)) < kFactorSlack);
  return fits ? std::optional(ranks) : std::nullopt;
}

std::vector<core::Caveat> nodes_differ(const curve::Curve& curve, const Reference& reference) {
  if (!reference.nodes || !curve.nodes || *reference.nodes == *curve.nodes) return {};
  return {core::make_caveat("curve.nodes-differ",
                            fmt::format("{}: the text shows {} nodes, --nodes says {}", curve.file,
                                        *curve.nodes, *reference.nodes),
                            "the number of --nodes is used", false)};
}

ReferenceChoice from_machine(const curve::Curve& curve, const Reference& reference) {
  ReferenceChoice choice;
  const auto ranks = ranks_on(curve, reference);
  if (!curve.op || !ranks) {
    choice.caveats.push_back(unknown_shape(
        curve, name_of(curve) + ": the operation or the number of ranks is not in the text"));
    return choice;
  }
  choice.caveats = nodes_differ(curve, reference);
  const PlacedCurve placed = place_on({*curve.op, *ranks, 1}, curve, reference);
  if (!placed.fault.empty()) {
    choice.caveats.push_back(unknown_shape(curve, placed.fault));
    return choice;
  }
  const int per_island = placed.placement.ranks / std::max(placed.placement.nodes, 1);
  choice.expectation =
      expect_from_links(placed.placement, links_of_machine(*reference.machine, per_island));
  if (!choice.expectation)
    choice.caveats.push_back(
        unknown_shape(curve, fmt::format("{} has no link in the catalog that {} would use",
                                         reference.machine->name, name_of(curve))));
  return choice;
}

ReferenceChoice from_header(const curve::Curve& curve, const Reference& reference) {
  ReferenceChoice choice;
  if (reference.catalog == nullptr || !curve.op || curve.ranks.value_or(0) < 2) return choice;
  const Gpu* gpu = gpu_of(curve, *reference.catalog);
  if (gpu == nullptr || curve.nodes != 1 || shares_devices(curve)) return choice;
  const auto links = links_of_gpu(*gpu, *curve.ranks, *reference.catalog);
  if (links) choice.expectation = expect_from_links({*curve.op, *curve.ranks, 1}, *links);
  return choice;
}

core::Caveat no_reference(const curve::Curve& curve) {
  const bool between = curve.nodes.value_or(1) > 1;
  return core::make_caveat(
      "curve.no-reference",
      fmt::format("{}: {}", curve.file,
                  between ? "the text names no NIC" : "the text names no links that are known"),
      fmt::format("the plateau is not judged; name the hardware with --machine NAME{} (comm-probe "
                  "machines) or --beta BW, or a good run with --baseline",
                  between ? fmt::format(" --nodes {}", *curve.nodes) : " --nodes N"),
      false);
}

// NCCL_ALGO=Tree and CollNet are other ledgers than the ring's; only the ring is priced here.
bool forces_another_algorithm(const curve::Curve& curve) {
  return curve.label.find("ALGO=") != std::string::npos &&
         curve.label.find("Ring") == std::string::npos &&
         curve.label.find("NVLS") == std::string::npos;
}

core::Caveat algorithm_not_priced(const curve::Curve& curve) {
  return core::make_caveat(
      "curve.not-priced",
      fmt::format("{}: {} was forced, and only the ring is priced yet", curve.file, curve.label),
      "the plateau of this curve is not judged", false);
}

core::Caveat not_priced(const curve::Curve& curve) {
  return core::make_caveat(
      "curve.not-priced",
      curve.file + ": NVSwitch with reduction in the switch (NVLS) is not priced yet",
      "a reference band scaled by the NVLink rate stands in; values above it are healthy", false);
}

}  // namespace

const Gpu* gpu_of(const curve::Curve& curve, const catalog::Catalog& catalog) {
  const Gpu* common = nullptr;
  const std::string* found_name = nullptr;
  for (const auto& device : curve.devices) {
    if (found_name != nullptr && device.name == *found_name) continue;
    found_name = &device.name;
    const Gpu* gpu = catalog.find_gpu(device.name);
    if (gpu == nullptr || (common != nullptr && gpu != common)) return nullptr;
    common = gpu;
  }
  return common;
}

Links links_of_machine(const Machine& machine, int ranks_per_node) {
  Links links;
  fill_inside(links, machine, ranks_per_node);
  const int gpus = island_gpus(machine);
  const int hosts = machine.gpus > 0 ? gpus / machine.gpus : 1;
  const int nics = machine.nics * hosts;
  if (nics == 0 || gpus == 0) return links;
  const catalog::NetworkOut out = catalog::network_out(machine, ranks_per_node);
  const int used = out.nics;
  const Bandwidth rate = out.nic;
  links.node_out = out.total;
  links.single_nic = rate * std::max(1, nics / gpus);
  links.node_total = rate * nics;
  links.between_source = fmt::format(
      "{} NIC{} x {} per {} of {}", used, used == 1 ? "" : "s", core::format_bandwidth(rate),
      hosts > 1 ? fmt::format("NVLink domain of {} nodes", hosts) : "node", machine.name);
  return links;
}

ReferenceChoice choose_reference(const curve::Curve& curve, const Reference& reference) {
  ReferenceChoice choice;
  if (curve.ranks == 1 || curve.rows.empty()) return choice;
  if (reference.beta) {
    const Placement placement = {curve.op.value_or(model::Op::kAllReduce), curve.ranks.value_or(2),
                                 reference.nodes.value_or(1)};
    const bool steps_known = curve.op && curve.ranks;
    choice.expectation =
        expect_given(placement, steps_known ? reference.alpha : std::nullopt, *reference.beta);
    return choice;
  }
  if (forces_another_algorithm(curve)) {
    choice.caveats.push_back(algorithm_not_priced(curve));
    return choice;
  }
  const bool has_machine = reference.machine != nullptr;
  choice = has_machine ? from_machine(curve, reference) : from_header(curve, reference);
  if (!choice.expectation && !has_machine) choice.caveats.push_back(no_reference(curve));
  if (choice.expectation && !choice.expectation->is_priced)
    choice.caveats.push_back(not_priced(curve));
  return choice;
}

}  // namespace comm_probe::diagnose
