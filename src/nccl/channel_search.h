// ChannelSearch: one recursive search with fixed speeds, types and permissions: places channel
// after channel, GPU after GPU, and keeps the best set of channels seen, until it is perfect or the
// step budget is spent (NCCL 2.28.9 src/graph/search.cc, ncclTopoSearchRec*).
//
//   budget 256 steps where all channels have the order of the first, else 16384; trying the GPUs in
//   index order from each NIC has 1024 of its own
#pragma once

#include <cstdint>
#include <vector>

#include "nccl/gpu_order.h"
#include "nccl/graph.h"
#include "nccl/net_lists.h"
#include "nccl/search_ground.h"

namespace comm_probe::nccl {

// A graph in the making. GPUs and nets are indices.
struct GraphDraft {
  GraphTraits traits = {};
  bool is_collnet = false;
  int min_channels = 0;
  int max_channels = 0;
  int n_hops = 0;
  float latency_us = 0;
  std::vector<std::int16_t> gpus = {};  // a row per channel
  std::vector<std::int16_t> nets = {};  // two per channel: in, out

  GraphDraft() = default;
  GraphDraft(Pattern pattern, int gpu_count, int most_channels);
  std::int16_t* row(int channel) { return gpus.data() + channel * gpu_count_; }
  const std::int16_t* row(int channel) const { return gpus.data() + channel * gpu_count_; }
  std::int16_t& net_in(int channel) { return nets[static_cast<std::size_t>(2 * channel)]; }
  std::int16_t& net_out(int channel) { return nets[static_cast<std::size_t>(2 * channel + 1)]; }
  int gpu_count() const { return gpu_count_; }
  // The channels in use and everything beside them.
  void copy_from(const GraphDraft& other);

 private:
  int gpu_count_ = 0;
};

class ChannelSearch {
 public:
  ChannelSearch(SearchGround& ground, NetLists& nets, const GraphDraft& start);

  // What is tried next, and the best so far.
  GraphDraft trial;
  GraphDraft best;

  // Searches with the traits of `trial`. Returns what is left of the budget: 0 where it was spent,
  // -1 where a perfect result ended it.
  int run(int budget);
  long steps() const { return steps_; }

 private:
  // How the next GPUs are chosen.
  enum class Order : std::int8_t { kScored, kIndex, kAsBefore };
  // `to_net` and `to_first` are the positions from which the channel returns to its NIC or its
  // first GPU; -1: it does not, or did so already.
  struct At {
    std::int16_t gpu = -1;
    std::int16_t position = 0;
    std::int16_t to_net = -1;
    std::int16_t to_first = -1;
    Order order = Order::kScored;
  };

  bool is_inter() const { return is_inter_; }
  std::int16_t first_gpu(int channel) const { return trial.row(channel)[0]; }
  int channel() const { return trial.traits.n_channels; }

  bool take(int from, int to, float share);
  void give(int from, int to, float share);
  void count_hops(int hops, float share);

  void next_channel();
  void start_inside();
  void start_from_nets();
  void start_from_net(int net, bool& has_tried_head);
  void start_from_near_gpus(int net, const At& start);
  bool may_start(int net) const;
  bool starts_channel(int gpu) const;

  // Goes to at.gpu from the end `from` (-1: from nowhere).
  void go(int from, const At& at);
  void step(const At& at);
  void complete();
  bool is_better() const;
  void return_to_net(const At& at);
  bool may_return(int net, const At& at) const;
  void return_to_first(const At& at);
  void spread_from_switch(const At& at);
  void spread_from_head(const At& at);
  void go_on(const At& at);

  SearchGround& ground_;
  NetLists& nets_;
  GpuOrder gpu_order_;
  int count_;  // of GPUs
  bool is_inter_;
  int budget_ = 0;
  long steps_ = 0;
  std::vector<std::int16_t> candidates_ = {};  // of all positions on the way, one after another
};

}  // namespace comm_probe::nccl
