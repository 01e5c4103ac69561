#include "sim/fabric_loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace comm_probe::sim {
namespace {

using core::Bandwidth;
using core::Duration;

// Nodes whose leaves, pods and groups are all full come in multiples of this.
int full_nodes(const FabricGraph& graph, const FabricShape& shape) {
  using Kind = FabricShape::Kind;
  if (graph.nodes() == 1) return 1;
  if (shape.kind == Kind::kDragonfly) return shape.nodes_per_leaf * shape.switches_per_group;
  const int leaves = std::max(1, shape.leaves_per_pod);
  const bool has_rails = shape.kind == Kind::kRailOptimised;
  return shape.nodes_per_leaf *
         (has_rails ? (leaves + graph.nics_per_node() - 1) / graph.nics_per_node() : leaves);
}

core::Result<bool> check_full(const FabricGraph& graph, const FabricShape& shape, int ranks) {
  const int full = full_nodes(graph, shape) * graph.gpus_per_node();
  if (graph.gpus() == ranks && ranks % full == 0) return true;
  return core::input_error(
      fmt::format("{} ranks are too many to follow every pair, and they leave a leaf, a pod or a "
                  "group of this fabric partly empty",
                  ranks),
      fmt::format("where all are full one rank stands for all: a multiple of {}, like {}", full,
                  (ranks + full - 1) / full * full));
}

struct Sum {
  double bytes = 0;  // over all links of the kind, sent by one rank
  Bandwidth all = {};
};

}  // namespace

core::Result<FabricLoads> all_to_all_loads(const FabricGraph& graph, const FabricShape& shape,
                                           const model::Collective& of) {
  if (auto full = check_full(graph, shape, of.ranks); !full) return full.error();
  std::map<LinkKind, Sum> sums;
  FabricLoads loads;
  std::vector<model::Route> routes;
  const double share = of.bytes.count() / of.ranks;
  for (int to = 1; to < of.ranks; ++to) {
    routes.clear();
    graph.find({.from = 0, .to = to}, routes);
    loads.time += routes.front().alpha;
    for (const model::LinkId link : routes.front().path.links())
      sums[graph.kind(link)].bytes += share;
  }
  for (model::LinkId link = 0; link < graph.links(); ++link)
    if (const auto sum = sums.find(graph.kind(link)); sum != sums.end() && !graph.is_idle(link))
      sum->second.all = sum->second.all + graph.capacities()[link];
  // A port in and a port out are two links of one kind, and a message takes both.
  for (const auto& [kind, sum] : sums)
    loads.by_kind.emplace_back(kind, core::Bytes::of(sum.bytes * of.ranks) / sum.all);
  std::sort(loads.by_kind.begin(), loads.by_kind.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  loads.time += loads.by_kind.front().second;
  return loads;
}

}  // namespace comm_probe::sim
