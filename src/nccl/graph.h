// Graph: what one of NCCL's searches found: how many channels, the order of GPUs in each, the NIC
// at each end, and what one channel carries. Every rank searches its own node and domain; Agreement
// is what all ranks go by after they have exchanged their results (fewest channels, least
// bandwidth, farthest types). NCCL 2.28.9 src/include/graph.h, src/graph/search.cc, src/init.cc.
//
//   bandwidths are GB/s of one channel; the ring of a DGX H100 on two nodes: 8 channels at 48/48,
//   NVL inside, PIX to the NIC, crossing NICs in pairs (tests/oracle).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/quantity.h"
#include "topology/machine.h"
#include "topology/path_type.h"

namespace comm_probe::nccl {

// The numbers are NCCL's.
enum class Pattern : std::uint8_t {
  kBalancedTree = 1,  // the NIC's traffic is split over the first two GPUs
  kSplitTree = 2,     // parent on the first GPU, children on the second
  kTree = 3,          // all of the NIC's traffic on the first GPU
  kRing = 4,
  kNvls = 5,           // a channel is a head GPU and its NIC
  kCollnetDirect = 6,  // a head GPU and its NIC, everybody to everybody inside
};
const char* pattern_name(Pattern pattern);  // "BALANCED_TREE"

// What ranks exchange. A graph that was never searched keeps these values: no channels, no
// bandwidth.
struct GraphTraits {
  Pattern pattern = Pattern::kRing;
  int n_channels = 0;
  bool same_channels = false;  // every channel has the same order
  int cross_nic = 0;  // 0 in and out by the same NIC, 1 any, 2 swapped between two channels
  topology::NcclRate bw_intra = {};
  topology::NcclRate bw_inter = {};
  topology::PathType type_intra = topology::PathType::kLoc;  // the farthest that was allowed
  topology::PathType type_inter = topology::PathType::kLoc;
};

struct GraphChannel {
  int net_in = -1;              // index of a net; -1 where the job stays inside the node
  int net_out = -1;             // NVLS and CollNet direct: as net_in
  std::vector<int> ranks = {};  // of node 0, in order; NVLS: the head first
};

// How the result was reached, for people.
struct SearchEffort {
  long steps = 0;                 // of all searches together
  int searches = 0;               // with other speeds, types or permissions
  int searches_cut = 0;           // that spent their step budget, quick first tries left aside
  bool total_budget_cut = false;  // the budget of all searches together ended the relaxations
  bool is_fallback = false;       // nothing was found: one slow channel in index order
  // Where the search began, before it relaxed anything.
  topology::PathType nearest_intra = topology::PathType::kLoc;
  topology::PathType nearest_inter = topology::PathType::kLoc;
  topology::NcclRate first_speed = {};
  // What it found before wide channels were split in two.
  int found_channels = 0;
  topology::NcclRate found_speed = {};

  bool was_cut() const { return searches_cut > 0 || total_budget_cut; }
};

struct Graph {
  GraphTraits traits = {};
  int id = 0;  // 0 ring, 1 tree, 2 CollNet chain, 3 NVLS, 4 CollNet direct
  core::Duration latency_inter = {};
  int n_hops = 0;  // the search's own count, used to choose between equals
  int min_channels = 0;
  int max_channels = 0;
  std::vector<GraphChannel> channels = {};  // traits.n_channels of them
  SearchEffort effort = {};
};

// The searches of one domain of GPUs. Absent: NCCL does not search it for this job.
struct Graphs {
  Graph ring = {};
  Graph tree = {};
  std::optional<Graph> collnet_chain = {};
  std::optional<Graph> collnet_direct = {};
  std::optional<Graph> nvls = {};
};

// What all ranks of the job go by.
struct Agreement {
  // n_channels of ring and tree: the search channels, the smaller of both.
  GraphTraits ring = {};
  GraphTraits tree = {};  // pattern: the largest number of any rank
  GraphTraits nvls = {};
  GraphTraits collnet_chain = {};
  GraphTraits collnet_direct = {};
  // Not exchanged: of rank 0.
  core::Duration latency_ring = {};
  core::Duration latency_tree = {};
  core::Duration latency_nvls = {};
  core::Duration latency_collnet_chain = {};
  core::Duration latency_collnet_direct = {};

  int ranks = 0;
  int nodes = 0;  // as NCCL counts: a host of several domains is several nodes
  int most_local_ranks = 0;
  int least_local_ranks = 0;
  int least_sm = 0;
  int most_sm = 0;
  std::optional<topology::Cpu::Arch> cpu_arch = {};      // absent: ranks differ
  std::optional<topology::Cpu::Vendor> cpu_vendor = {};  // absent: ranks differ
  int nvswitches = 0;                                    // 0 or 1
  bool all_nvlink = false;  // no GPU pair is farther than NVLink by one GPU, or C2C
  bool is_nvls_usable = false;
  bool is_collnet_usable = false;
  int collnet_heads = 0;
  int tree_depth = 0;
};

// How many channels each kind of traffic gets.
struct ChannelCounts {
  int search = 0;  // of ring and tree
  int coll = 0;    // after doubling and limits
  int nvls = 0;
  int p2p = 0;
  int p2p_per_peer = 0;
  int nvls_heads = 0;
};

}  // namespace comm_probe::nccl
