// How far should the busbw of a curve reach on the hardware that was named?
//
// ring     busbw of a ring at the rate of the links (model/island.h): NIC total of a node, or the
//          NVLink or PCIe rate of a GPU
// band     ring times the share of the link rate that healthy runs show: a table with the golden
//          lines G6-07 and G6-09..13 as source, never a value by product
// ceiling  what no algorithm can pass (bytes that have to cross, at line rate)
//
// Worked example (tests/unit/diagnose/expectation_test.cc repeats it): 2 nodes of 8 GPUs with 8 x
// 50 GB/s NICs, all_reduce: ring 400, band 320..384, ceiling 750 GB/s.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "model/collective.h"

namespace comm_probe::diagnose {

enum class PathClass { kNic, kNicPeer, kNvswitchReducing, kNvlinkRing, kNvlink, kPcie, kGiven };

// The share of the link rate that healthy runs show.
struct Band {
  PathClass path;
  const char* name;
  double low;
  double high;
  const char* applies_when;
  const char* source;
};
const Band& band_of(PathClass path);
// The reference of nodes that add in the switch (NVLS) was taken on 8 GPUs; a part of a node has
// the ring's band instead. NCCL takes no NVLS on two GPUs.
inline constexpr int kReducingGpus = 8;

// The links that a curve runs over; a rate of zero means there is no such link.
struct Links {
  core::Bandwidth inside = {};  // of one GPU, one direction, to the others of its node
  PathClass inside_class = PathClass::kNvlink;
  std::string inside_source = {};
  core::Bandwidth node_out = {};    // all NICs of a node that the ranks can use
  core::Bandwidth single_nic = {};  // what one rank can send to another node
  core::Bandwidth node_total = {};  // all NICs of a node (for the ceiling)
  std::string between_source = {};
  core::Basis basis = core::Basis::kCatalog;
};

struct Expectation {
  core::Bandwidth ring = {};
  core::Bandwidth low = {};
  core::Bandwidth high = {};
  std::optional<core::Bandwidth> ceiling = {};
  PathClass path = PathClass::kNic;
  std::optional<core::Duration> latency = {};  // of a small operation, where alpha was given
  core::Basis basis = core::Basis::kComputed;
  std::string source = {};  // where the links and the band come from
  bool is_priced = true;    // false: a reference band, NCCL's own model is not there yet
  // A plateau below this share of `low` is far below: a warning.
  double far_below = 0.8;
  // Alpha of a ring step for the size at which the plateau begins: given, or the golden values.
  core::Duration step = {};
  int ranks = 0;  // that it was computed for
  int nodes = 1;
  bool nodes_by_name = false;    // only the name of the file says how many nodes
  bool depends_on_gpus = false;  // the band spans paths of different rates
  // all_reduce over two nodes behind NVSwitch with reduction: NCCL's trees move less than the ring
  // between the nodes, and healthy runs (c01, c03, c07, c93) pass the band of the ring; up to here.
  std::optional<core::Bandwidth> trees_reach = {};
};

struct Placement {
  model::Op op = model::Op::kAllReduce;
  int ranks = 0;
  int nodes = 1;  // islands with fast links inside
};

// From links. Nothing where the ranks do not fill the nodes evenly, or the link that matters is
// absent.
std::optional<Expectation> expect_from_links(const Placement& placement, const Links& links);
// From one of several ways: the band reaches from the slowest to the fastest of them.
std::optional<Expectation> expect_any_of(const Placement& placement,
                                         const std::vector<Links>& ways);
// What stays of a band of NVLS where NCCL's plan or NCCL_ALGO takes a ring or a tree.
void drop_switch_adding(Expectation& expectation);
// From alpha and beta of the user: busbw reaches beta.
Expectation expect_given(const Placement& placement, std::optional<core::Duration> alpha,
                         core::Bandwidth beta);

}  // namespace comm_probe::diagnose
