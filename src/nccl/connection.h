// Connection: how the channels that each node found are joined over the whole job: rings node after
// node, a double binary tree over the nodes with chains inside, NVLS trees over the heads (NCCL
// 2.28.9 src/graph/connect.cc, src/graph/rings.cc, src/graph/trees.cc). A node here is a node as
// NCCL counts: one domain of one host.
//
//   DGX H100, two nodes, channel 0 from rank 0: 0 7 6 5 4 3 2 1 9 10 11 12 13 14 15 8: odd nodes
//   use the order of channel 1, because the ring crosses NICs in pairs
#pragma once

#include <array>
#include <vector>

#include "nccl/graph.h"
#include "nccl/node_tree.h"

namespace comm_probe::nccl {

// Where a channel of the job comes from: a search channel and which of the two trees.
struct ChannelSource {
  int search = 0;
  TreeHalf half = TreeHalf::kFirst;

  bool operator==(const ChannelSource&) const = default;
};

struct TreeLinks {
  int up = -1;
  std::array<int, 3> down = {-1, -1, -1};

  bool operator==(const TreeLinks&) const = default;
};

struct NvlsTreeLinks {
  int rank = 0;
  int up = -1;
  std::array<int, 2> down = {-1, -1};
};

class Connection {
 public:
  // `domains` are the graphs of each domain of a host, `hosts` of which are alike.
  Connection(std::vector<Graphs> domains, int hosts);

  const std::vector<Graphs>& domains() const { return domains_; }
  int nodes() const { return hosts_ * static_cast<int>(domains_.size()); }
  int ranks() const { return hosts_ * ranks_per_host_; }
  int search_channels() const { return search_channels_; }
  int most_local_ranks() const;
  int least_local_ranks() const;

  // All ranks in ring order, beginning with rank 0.
  std::vector<int> ring(int search_channel) const;
  // By rank.
  std::vector<TreeLinks> tree(ChannelSource source) const;
  // NCCL's own estimate of the longest way.
  int tree_depth() const;

  // Every node has as many heads in use.
  int nvls_head_count() const;
  // Of the first host: the first head of each of its domains, then the second ...
  std::vector<int> nvls_heads() const;
  // Among the ranks that are the first head of their node.
  std::vector<NvlsTreeLinks> nvls_tree(TreeHalf half) const;

 private:
  // The ranks of the tree pattern that talk to other nodes.
  struct TreeEnds {
    int to_parent = -1;
    std::array<int, 2> to_child = {-1, -1};
  };
  const Graphs& graphs(int node) const { return domains_[domain_of(node)]; }
  std::size_t domain_of(int node) const { return static_cast<std::size_t>(node) % domains_.size(); }
  int first_rank_of_host(int node) const {
    return node / static_cast<int>(domains_.size()) * ranks_per_host_;
  }
  TreeEnds tree_ends(int node, int search_channel) const;
  void add_chain(int node, int search_channel, std::vector<TreeLinks>& links) const;
  void join_to_nodes(int node, ChannelSource source, std::vector<TreeLinks>& links) const;
  std::vector<int> heads_of(std::size_t domain) const;

  std::vector<Graphs> domains_;
  int hosts_;
  int ranks_per_host_ = 0;
  int search_channels_ = 0;
};

// The channels after doubling: the first half uses the first tree, the second half the second.
std::vector<ChannelSource> doubled(int search_channels);
// Up to `count`, repeating from the first.
void repeat_up_to(std::vector<ChannelSource>& channels, int count);

}  // namespace comm_probe::nccl
