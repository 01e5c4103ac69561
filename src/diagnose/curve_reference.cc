#include "diagnose/curve_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/curve_facts.h"
#include "diagnose/machine_links.h"

namespace comm_probe::diagnose {
namespace {

using catalog::Gpu;
using catalog::Machine;

constexpr int kMostNodes = 1000000;
constexpr double kFactorSlack = 0.02;  // of a printed busbw / algbw

struct PlacedCurve {
  Placement placement = {};
  int hosts = 1;
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
  PlacedCurve placed{placement, hosts, {}};
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

// The list of devices is complete: the hosts in it are the nodes, whatever was typed.
bool lists_all_devices(const curve::Curve& curve) {
  return curve.ranks && static_cast<int>(curve.devices.size()) >= *curve.ranks;
}

std::optional<core::Caveat> nodes_differ(const curve::Curve& curve, const Reference& reference) {
  if (!reference.nodes || !curve.nodes || *reference.nodes == *curve.nodes) return std::nullopt;
  const bool certain = lists_all_devices(curve);
  return core::make_caveat(
      "curve.nodes-differ",
      fmt::format("{}: the text shows {} nodes, --nodes says {}", curve.file, *curve.nodes,
                  *reference.nodes),
      certain ? "the plateau is not compared with the hardware" : "the number of --nodes is used",
      certain);
}

// A topology names no GPU, only its compute capability (0: not even that).
bool is_same_gpu(const Gpu& listed, const Gpu& of_machine) {
  if (!of_machine.name.empty()) return gpu_family(listed) == gpu_family(of_machine);
  return of_machine.sm == 0 || listed.sm == 0 || of_machine.sm == listed.sm;
}
std::string gpu_text(const Gpu& gpu) {
  if (!gpu.name.empty()) return gpu.name;
  return fmt::format("compute capability {}.{}", gpu.sm / 10, gpu.sm % 10);
}

// The header names another GPU than the machine has.
std::optional<core::Caveat> hardware_differs(const curve::Curve& curve,
                                             const Reference& reference) {
  const Gpu* gpu = reference.catalog == nullptr ? nullptr : gpu_of(curve, *reference.catalog);
  if (gpu == nullptr || is_same_gpu(*gpu, reference.machine->gpu)) return std::nullopt;
  return core::make_caveat(
      "curve.hardware-differs",
      fmt::format("{}: the header lists {}, {} has {}", curve.file, gpu->name,
                  reference.machine->name, gpu_text(reference.machine->gpu)),
      "the plateau is not compared with the hardware; name the machine that was measured");
}

std::string missing_of(const curve::Curve& curve, bool has_ranks) {
  if (!curve.op && !has_ranks)
    return "neither the operation nor the number of ranks is in the text";
  return curve.op ? "the number of ranks is not in the text"
                  : "the operation is not in the text (put it into the file name: "
                    "all_reduce_x.txt)";
}

core::Caveat path_unknown(const curve::Curve& curve, const Machine& machine,
                          const std::vector<Links>& ways) {
  std::string text;
  for (const Links& way : ways) text += (text.empty() ? "" : ", or ") + way.inside_source;
  return core::make_caveat(
      "curve.path-unknown",
      fmt::format("{}: which GPUs of {} ran{}", curve.file, machine.name,
                  text.empty() ? "" : ": " + text),
      ways.empty() ? "the plateau is not judged: how wide a part of its links is depends on it"
                   : "the band reaches from the slowest to the fastest of them; `nvidia-smi topo "
                     "-m` shows which GPUs are joined",
      ways.empty());
}

core::Caveat no_link(const curve::Curve& curve, const Machine& machine) {
  return unknown_shape(curve, fmt::format("{} has no link in the catalog that {} would use",
                                          machine.name, name_of(curve)));
}

// Inside one node of a machine; several ways where it depends on which GPUs ran.
void add_inside(ReferenceChoice& choice, const curve::Curve& curve, const Machine& machine,
                const Placement& placement) {
  const std::vector<Links> ways = inside_ways(machine, placement.op, placement.ranks);
  choice.expectation = expect_any_of(placement, ways);
  const bool depends =
      ways.size() > 1 || (ways.empty() && machine.fabric == catalog::Fabric::kMesh);
  if (depends) choice.caveats.push_back(path_unknown(curve, machine, ways));
  if (choice.expectation || depends) return;
  choice.caveats.push_back(no_link(curve, machine));
}

// "Tree" of a table below "### ALGO=Tree"; empty where NCCL chose.
std::string forced_algorithm(const curve::Curve& curve) {
  constexpr std::string_view kSetting = "ALGO=";
  const std::size_t start = curve.label.find(kSetting);
  if (start == std::string::npos) return "";
  const std::size_t from = start + kSetting.size();
  return curve.label.substr(from, curve.label.find_first_of(" ,;\t", from) - from);
}

ReferenceChoice from_machine(const curve::Curve& curve, const Reference& reference) {
  ReferenceChoice choice;
  for (const auto& contradiction :
       {hardware_differs(curve, reference), nodes_differ(curve, reference)})
    if (contradiction) choice.caveats.push_back(*contradiction);
  if (std::any_of(choice.caveats.begin(), choice.caveats.end(),
                  [](const core::Caveat& caveat) { return caveat.limits; }))
    return choice;
  const auto ranks = ranks_on(curve, reference);
  if (!curve.op || !ranks) {
    choice.caveats.push_back(
        unknown_shape(curve, name_of(curve) + ": " + missing_of(curve, ranks.has_value())));
    return choice;
  }
  const PlacedCurve placed = place_on({*curve.op, *ranks, 1}, curve, reference);
  if (!placed.fault.empty()) {
    choice.caveats.push_back(unknown_shape(curve, placed.fault));
    return choice;
  }
  choice.job = PlannedJob{*ranks, placed.hosts, {}};
  if (const std::string algorithm = forced_algorithm(curve); !algorithm.empty())
    choice.job->environment["NCCL_ALGO"] = algorithm;
  const Machine& machine = *reference.machine;
  const int per_island = placed.placement.ranks / std::max(placed.placement.nodes, 1);
  if (placed.placement.nodes == 1) {
    add_inside(choice, curve, machine, placed.placement);
    return choice;
  }
  choice.expectation = expect_from_links(placed.placement, links_of_machine(machine, per_island));
  if (!choice.expectation) choice.caveats.push_back(no_link(curve, machine));
  return choice;
}

core::Caveat no_reference(const curve::Curve& curve, const std::string& open) {
  const bool between = curve.nodes.value_or(1) > 1;
  const std::string why = !open.empty() ? open
                                        : (between ? "the text names no NIC"
                                                   : "the text names no links that are known");
  return core::make_caveat(
      "curve.no-reference", fmt::format("{}: {}", curve.file, why),
      fmt::format("the plateau is not judged; name the hardware with --machine NAME{} (comm-probe "
                  "machines) or --beta BW, or a good run with --baseline",
                  between ? fmt::format(" --nodes {}", *curve.nodes) : " --nodes N"),
      false);
}

// The GPU of the header, where the name alone tells the links: all machines of the catalog with it
// give this many GPUs the same rate.
ReferenceChoice from_header(const curve::Curve& curve, const Reference& reference) {
  ReferenceChoice choice;
  const bool shape_known = reference.catalog != nullptr && curve.op && curve.ranks.value_or(0) >= 2;
  const Gpu* gpu = shape_known ? gpu_of(curve, *reference.catalog) : nullptr;
  std::string open;
  if (gpu != nullptr && curve.nodes == 1) {
    const Placement placement = {*curve.op, *curve.ranks, 1};
    const HeaderLinks links = links_of_gpu(*gpu, placement.op, placement.ranks, *reference.catalog);
    open = links.open;
    if (open.empty()) choice.expectation = expect_any_of(placement, links.ways);
  }
  if (!choice.expectation) choice.caveats.push_back(no_reference(curve, open));
  return choice;
}

// NCCL_ALGO=Tree and CollNet are other ledgers than the ring's, which the band is made of.
bool forces_another_algorithm(const curve::Curve& curve) {
  const std::string algorithm = forced_algorithm(curve);
  return !algorithm.empty() && algorithm.find("Ring") == std::string::npos &&
         algorithm.find("NVLS") == std::string::npos;
}

core::Caveat algorithm_not_priced(const curve::Curve& curve) {
  return core::make_caveat(
      "curve.not-priced",
      fmt::format("{}: {} was forced, and the bands are those of a ring", curve.file, curve.label),
      "the plateau of this curve is not judged", false);
}

core::Caveat not_priced(const curve::Curve& curve) {
  return core::make_caveat(
      "curve.not-priced",
      curve.file + ": NVSwitch with reduction in the switch (NVLS), and no machine is named",
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

ReferenceChoice choose_reference(const curve::Curve& curve, const Reference& reference) {
  ReferenceChoice choice;
  if (curve.ranks == 1 || curve.rows.empty() || shared_gpu(curve) != nullptr) return choice;
  if (reference.beta) {
    const Placement placement = {curve.op.value_or(model::Op::kAllReduce), curve.ranks.value_or(2),
                                 reference.nodes.value_or(1)};
    const bool steps_known = curve.op && curve.ranks;
    choice.expectation =
        expect_given(placement, steps_known ? reference.alpha : std::nullopt, *reference.beta);
    return choice;
  }
  const bool has_machine = reference.machine != nullptr;
  choice = has_machine ? from_machine(curve, reference) : from_header(curve, reference);
  if (forces_another_algorithm(curve)) {
    choice.expectation.reset();
    choice.caveats = {algorithm_not_priced(curve)};
    return choice;
  }
  if (choice.expectation)
    choice.expectation->nodes_by_name =
        !reference.nodes && curve.nodes_from == curve::KnownFrom::kFileName;
  // A forced ring or tree adds nothing in the switch.
  const std::string forced = forced_algorithm(curve);
  if (choice.expectation && !forced.empty() && forced.find("NVLS") == std::string::npos)
    drop_switch_adding(*choice.expectation);
  if (choice.expectation && !choice.expectation->is_priced)
    choice.caveats.push_back(not_priced(curve));
  return choice;
}

}  // namespace comm_probe::diagnose
