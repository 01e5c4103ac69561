#include "diagnose/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/units.h"
#include "model/fit.h"
#include "model/island.h"

namespace comm_probe::diagnose {
namespace {

using namespace core::literals;
using core::Bandwidth;

constexpr std::array kBands = {
    Band{PathClass::kNic, "network", 0.80, 0.96, "between nodes, RDMA",
         "40-48 of 50 GB/s, 20-24 of 25 GB/s"},
    Band{PathClass::kNicPeer, "network, peer to peer", 0.45, 0.96,
         "send_recv and all_to_all between nodes, RDMA: few channels per peer",
         "public curves of healthy pairs: send_recv 0.50-0.79, all_to_all 0.76-0.90 of the NIC"},
    Band{PathClass::kNvswitchReducing, "NVSwitch, NVLS", 350.0 / 450, 480.0 / 450,
         "8 GPUs and more, NVLink 4 and later behind NVSwitch, which adds in the switch (NVLS)",
         "8 GPUs with NVLS: 350-480 GB/s of 450 GB/s"},
    Band{PathClass::kNvlinkRing, "NVLink, ring", 280.0 / 450, 396.0 / 450,
         "NVLink 4 and later, two GPUs, or NVLS is off",
         "two H200: NCCL's ring 287-331 GB/s from 128 MiB to 1 GiB, one copy 396 GB/s, of 450"},
    Band{PathClass::kNvlink, "NVLink", 220.0 / 300, 280.0 / 300,
         "NVLink 3 and older, meshes, a part of a node, operations that add nothing",
         "healthy nodes reach 220-280 GB/s of 300 GB/s"},
    Band{PathClass::kPcie, "PCIe", 10.0 / 32, 25.0 / 32, "no GPU links", "10-25 GB/s of 32 GB/s"},
    Band{PathClass::kGiven, "given link", 0.80, 1.0, "beta given on the command line",
         "40 of 50 GB/s is the lower edge for NICs"},
};

// Below the lower edge of a band there is a grey zone: plugins with a lower efficiency (c08 TCPX
// 0.71 of the links, c42 libfabric 0.72, f18 MTU 1500 0.76). What is known to be broken is far
// below: TCP instead of RDMA 0.19 (c40), 0.06 (c41). The golden lines are for two nodes; public
// curves of 8 to 16 nodes lie in the band too (c15, c06), those of 256 and 540 nodes at 0.56-0.6 of
// the links (c50, c52), on a fabric that is shared and tapered.
constexpr double kFarBelow = 0.8;
constexpr double kFarBelowManyNodes = 0.5;
constexpr int kManyNodes = 16;
constexpr double kSameRate = 0.01;
// name, value, applies when, source
const core::Duration kStepInside = 3_us;    // golden G6-01, 8 GPUs behind NVSwitch
const core::Duration kStepBetween = 10_us;  // golden G6-03, ring across nodes

std::string band_text(const Band& band) {
  return fmt::format("{}-{} of it in healthy runs ({})", core::format_percent(band.low, 2),
                     core::format_percent(band.high, 2), band.source);
}

Expectation with_band(PathClass path, Bandwidth ring, const std::string& links) {
  const Band& band = band_of(path);
  Expectation expectation;
  expectation.path = path;
  expectation.ring = ring;
  expectation.low = ring * band.low;
  expectation.high = ring * band.high;
  expectation.source = links + ", " + band_text(band);
  expectation.is_priced = path != PathClass::kNvswitchReducing;
  return expectation;
}

constexpr int kMostWithoutNvls = 2;  // NCCL offers NVLS to more GPUs of a node than these

bool may_add_in_the_switch(const Links& links) {
  return links.inside_class == PathClass::kNvswitchReducing;
}

// The band of reductions in the switch is known for all_reduce on whole nodes only (golden G6-07).
PathClass class_inside(model::Op op, int in_node, const Links& links) {
  if (!may_add_in_the_switch(links)) return links.inside_class;
  if (in_node <= kMostWithoutNvls) return PathClass::kNvlinkRing;
  if (in_node < kReducingGpus) return PathClass::kNvlink;
  return op == model::Op::kAllReduce ? links.inside_class : PathClass::kNvlink;
}

std::optional<Expectation> inside_a_node(const Placement& at, const Links& links) {
  if (links.inside <= Bandwidth()) return std::nullopt;
  const auto bound = model::island_bound(at.op, at.ranks, at.ranks, links.inside);
  if (!bound) return std::nullopt;
  const int in_node = at.ranks / std::max(at.nodes, 1);
  const PathClass path = class_inside(at.op, in_node, links);
  Expectation expectation = with_band(path, bound->ring, links.inside_source);
  expectation.is_priced = !may_add_in_the_switch(links) || in_node <= kMostWithoutNvls;
  // A part of a node may add in the switch, but no reference says how far it gets.
  if (in_node < kReducingGpus && !expectation.is_priced && at.op == model::Op::kAllReduce)
    expectation.high = bound->ring * band_of(PathClass::kNvswitchReducing).high;
  expectation.ceiling = bound->least;
  expectation.step = kStepInside;
  return expectation;
}

std::optional<Expectation> between_nodes(const Placement& at, const Links& links) {
  const bool one_sender = at.op == model::Op::kSendRecv;
  const bool peer_to_peer = one_sender || at.op == model::Op::kAllToAll;
  const Bandwidth out = one_sender ? links.single_nic : links.node_out;
  if (out <= Bandwidth()) return std::nullopt;
  const auto bound = model::island_bound(at.op, at.ranks, at.nodes, out);
  const auto most = model::island_bound(at.op, at.ranks, at.nodes, links.node_total);
  if (!bound || !most) return std::nullopt;
  Expectation expectation = with_band(peer_to_peer ? PathClass::kNicPeer : PathClass::kNic,
                                      bound->ring, links.between_source);
  expectation.far_below = at.nodes > kManyNodes ? kFarBelowManyNodes : kFarBelow;
  expectation.ceiling = most->least;
  expectation.step = kStepBetween;
  return expectation;
}

}  // namespace

const Band& band_of(PathClass path) {
  const auto* band = std::find_if(kBands.begin(), kBands.end(),
                                  [&](const Band& entry) { return entry.path == path; });
  COMM_PROBE_CHECK(band != kBands.end(), "a path class has no band");
  return *band;
}

std::optional<Expectation> expect_from_links(const Placement& at, const Links& links) {
  auto expectation = at.nodes > 1 ? between_nodes(at, links) : inside_a_node(at, links);
  if (!expectation) return std::nullopt;
  // Between nodes the NVLinks can be the narrower part; then the GPU's own link is the band.
  const auto inside = at.nodes > 1 ? inside_a_node(at, links) : std::optional<Expectation>();
  if (inside && at.ranks > at.nodes && inside->low < expectation->low) {
    expectation->low = inside->low;
    expectation->high = std::min(inside->high, expectation->high);
    expectation->ring = std::min(inside->ring, expectation->ring);
    expectation->source =
        fmt::format("{}; NVLink is narrower than {}", inside->source, links.between_source);
  }
  const bool reducing = may_add_in_the_switch(links) && at.ranks > at.nodes * kMostWithoutNvls;
  if (inside && at.op == model::Op::kAllReduce && at.nodes == 2 && reducing &&
      inside->high > expectation->high)
    expectation->trees_reach = std::min(*expectation->ceiling, inside->high);
  expectation->nodes = at.nodes;
  expectation->basis = core::Basis::kComputed;
  expectation->ranks = at.ranks;
  return expectation;
}

std::optional<Expectation> expect_any_of(const Placement& at, const std::vector<Links>& ways) {
  std::optional<Expectation> any;
  for (const Links& way : ways) {
    const auto next = expect_from_links(at, way);
    if (!next) continue;
    if (!any) {
      any = next;
      continue;
    }
    any->depends_on_gpus =
        any->depends_on_gpus || std::abs(next->ring / any->ring - 1) >= kSameRate;
    any->low = std::min(any->low, next->low);
    any->high = std::max(any->high, next->high);
    any->ring = std::max(any->ring, next->ring);
    any->ceiling = std::max(any->ceiling, next->ceiling);
    any->is_priced = any->is_priced && next->is_priced;
    any->source += ", or " + next->source;
  }
  return any;
}

void drop_switch_adding(Expectation& expectation) {
  if (expectation.path != PathClass::kNvswitchReducing || expectation.nodes > 1) return;
  const Band& nvls = band_of(PathClass::kNvswitchReducing);
  const Band& ring = band_of(PathClass::kNvlinkRing);
  expectation.path = ring.path;
  expectation.low = expectation.low * (ring.low / nvls.low);
  expectation.high = expectation.high * (ring.high / nvls.high);
  expectation.source += "; without NVLS " + band_text(ring);
  expectation.is_priced = true;
}

Expectation expect_given(const Placement& at, std::optional<core::Duration> alpha, Bandwidth beta) {
  Expectation expectation = with_band(PathClass::kGiven, beta,
                                      fmt::format("beta {} given", core::format_bandwidth(beta)));
  expectation.step = alpha.value_or(kStepBetween);
  expectation.ranks = at.ranks;
  if (alpha) expectation.latency = *alpha * model::ring_shape(at.op, at.ranks).steps;
  return expectation;
}

}  // namespace comm_probe::diagnose
