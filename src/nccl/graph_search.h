// GraphSearch: which channels does NCCL find for one pattern? Repeats ChannelSearch with ever more
// permissions (orders that differ by channel, a plain tree, farther types, crossing NICs, a lower
// speed) until a result is good enough, then once more with higher speeds for the same channels
// (NCCL 2.28.9 src/graph/search.cc, ncclTopoCompute).
//
//   DGX H100, one node: the ring is found at 60 GB/s x 6 and doubled to 12 x 30 GB/s
#pragma once

#include <vector>

#include "nccl/channel_search.h"
#include "nccl/search_rules.h"

namespace comm_probe::nccl {

struct GraphRequest {
  int id = 0;
  Pattern pattern = Pattern::kRing;
  bool is_collnet = false;
  int min_channels = 1;
  int max_channels = 32;
};

class GraphSearch {
 public:
  GraphSearch(SearchGround& ground, NetLists& nets, GraphRequest request);

  Graph run();

 private:
  void set_limits();
  void set_pattern();
  void set_first_speed();
  void search();
  bool is_good_enough() const;
  void set_speed(std::size_t index);

  // One more permission for the next search; false where there is none left or none is needed.
  bool relax();
  // AMD CPUs and paths between sockets: NCCL does not search for orders that differ.
  bool keeps_one_order();
  bool differ_by_channel();
  bool use_plain_tree();
  bool go_farther_inside();
  bool go_farther_to_nets();
  bool cross_nics();
  bool slow_down();
  // After the first success.
  void duplicate_channels();
  void restart_from_best();
  bool speed_up();
  void fall_back();
  Graph result() const;

  GraphDraft& trial() { return channels_.trial; }
  const GraphDraft& best() const { return channels_.best; }
  bool has_solution() const { return best().traits.n_channels > 0; }

  SearchGround& ground_;
  GraphRequest request_;
  ChannelSearch channels_;
  std::vector<float> speeds_;  // GB/s, widest first
  SearchRules rules_ = {};
  int least_sm_ = 0;
  float best_path_ = 0;  // GB/s: the widest single path
  float gpu_total_ = 0;  // GB/s: the most that leaves one GPU
  int cross_nic_ = 0;    // as set, 0 where there is nothing to cross
  bool starts_same_ = true;
  topology::PathType nearest_intra_ = topology::PathType::kLoc;
  topology::PathType farthest_intra_ = topology::PathType::kSys;
  topology::PathType nearest_inter_ = topology::PathType::kPix;
  topology::PathType farthest_inter_ = topology::PathType::kSys;
  std::size_t speed_ = 0;  // index
  int budget_left_ = -1;
  int total_budget_ = 0;
  SearchEffort effort_ = {};
};

}  // namespace comm_probe::nccl
