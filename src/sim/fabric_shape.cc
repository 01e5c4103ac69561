#include "sim/fabric_shape.h"

#include <fmt/format.h>

namespace comm_probe::sim {

const char* kind_name(FabricShape::Kind kind) {
  switch (kind) {
    case FabricShape::Kind::kNvlink:
      return "nvlink";
    case FabricShape::Kind::kFatTree:
      return "fat-tree";
    case FabricShape::Kind::kRailOptimised:
      return "rail-optimised";
    case FabricShape::Kind::kDragonfly:
      return "dragonfly";
  }
  COMM_PROBE_CHECK(false, "an unknown kind of fabric");
}

const char* routing_name(FabricShape::Routing routing) {
  return routing == FabricShape::Routing::kEcmp ? "ecmp" : "spread";
}

std::string describe(const FabricShape& shape) {
  using Kind = FabricShape::Kind;
  if (shape.kind == Kind::kNvlink) return "one NVLink domain";
  if (shape.kind == Kind::kDragonfly)
    return fmt::format("dragonfly, {} nodes per switch, {} switches per group, minimal routing",
                       shape.nodes_per_leaf, shape.switches_per_group);
  std::string text = fmt::format("{}, {} nodes per {}", kind_name(shape.kind), shape.nodes_per_leaf,
                                 shape.kind == Kind::kFatTree ? "leaf" : "unit of rails");
  text += shape.uplinks ? fmt::format(", {} uplinks per leaf", *shape.uplinks)
                        : fmt::format(", {}:1", shape.oversubscription);
  if (shape.leaves_per_pod > 0)
    text += fmt::format(", {} leaves per pod, {}:1 above", shape.leaves_per_pod,
                        shape.pod_oversubscription);
  return text + (shape.routing == FabricShape::Routing::kEcmp ? ", ways chosen by hash"
                                                              : ", every message on all ways");
}

}  // namespace comm_probe::sim
