// Paths: the best way from any device to any GPU, CPU, network port or the NVSwitch, as NCCL finds
// it: breadth first from each base; a node keeps the first shortest way, replaced only by an
// equally short, wider one; GPUs pass nothing on but NVLink to a next GPU (NCCL 2.28.9
// src/graph/paths.cc, ncclTopoSetPaths). A path's bandwidth is its narrowest link in NCCL's
// figures; its type is the farthest kind of step on it.
//
// The table can then be rewritten by policy (nccl/): a pair may go by way of a third node.
//
//   DGX H100: GPU 0 -> GPU 1 is NVL, 370.8 GB/s, 2 hops (NVSwitch); GPU 0 -> NIC 0 is PIX, 48 GB/s,
//   3 hops; GPU 0 -> CPU 1 is SYS, 22 GB/s, 3 hops.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "topology/machine.h"
#include "topology/path_type.h"

namespace comm_probe::topology {

struct Path {
  NcclRate bandwidth = {};
  PathType type = PathType::kDis;
  std::int16_t hops = 0;
};

// One link of a path: from a node over its link number `link`.
struct Hop {
  int node = 0;
  int link = 0;
};

struct PathRules {
  bool nvlink_relay = true;  // NCCL_NVB_DISABLE=1 makes it false
};

class Paths {
 public:
  // Fails where a link has no reverse (a one-sided pcilink).
  static core::Result<Paths> between(const Machine& machine, PathRules rules = {});

  // `from` is any node, `to` a GPU, CPU, NET or NVS; both indices of machine.nodes.
  Path path(int from, int to) const { return entry(from, to).path; }
  // The links of the path in order; empty where there is none.
  std::vector<Hop> hops(const Machine& machine, int from, int to) const;

  // The node after `from` on the path; -1 where there is none.
  int first_stop(const Machine& machine, int from, int to) const;

  // from -> to becomes (from -> via) + (via -> to): hops add, the narrower bandwidth counts.
  void send_by_way_of(int from, int to, int via, PathType type);
  void set_type(int from, int to, PathType type) { entry(from, to).path.type = type; }

 private:
  struct Entry {
    Path path = {};
    std::int16_t link = -1;  // first link of the path
    std::int16_t via = -1;   // node by way of which policy sends; -1: follow the links
  };
  Entry& entry(int from, int to) { return entries_[place(from, to)]; }
  const Entry& entry(int from, int to) const { return entries_[place(from, to)]; }
  std::size_t place(int from, int to) const {
    return static_cast<std::size_t>(base_of_[static_cast<std::size_t>(to)]) * base_of_.size() +
           static_cast<std::size_t>(from);
  }
  core::Result<bool> search_from(const Machine& machine, int base, PathRules rules);

  std::vector<int> base_of_ = {};  // per node its number among the bases, -1 for none
  std::vector<Entry> entries_ = {};
};

// The farther of two, but PHB and C2C together are P2C (NCCL 2.28.9 paths.cc, mergePathType).
PathType merge_types(PathType one, PathType other);

}  // namespace comm_probe::topology
