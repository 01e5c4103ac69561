#include "nccl/channel_search.h"

#include <algorithm>

namespace comm_probe::nccl {
namespace {

using topology::PathType;

constexpr int kIndexOrderBudget = 1024;

bool is_tree(Pattern pattern) {
  switch (pattern) {
    case Pattern::kBalancedTree:
    case Pattern::kSplitTree:
    case Pattern::kTree:
      return true;
    case Pattern::kRing:
    case Pattern::kNvls:
    case Pattern::kCollnetDirect:
      return false;
  }
  return false;
}

bool has_heads(Pattern pattern) {
  return pattern == Pattern::kNvls || pattern == Pattern::kCollnetDirect;
}

// The position from which a channel returns to its NIC.
std::int16_t last_before_net(Pattern pattern, int gpus) {
  switch (pattern) {
    case Pattern::kRing:
      return static_cast<std::int16_t>(gpus - 1);
    case Pattern::kSplitTree:
      return 1;
    case Pattern::kBalancedTree:
    case Pattern::kTree:
    case Pattern::kNvls:
    case Pattern::kCollnetDirect:
      return 0;
  }
  return 0;
}

}  // namespace

GraphDraft::GraphDraft(Pattern pattern, int gpu_count, int most_channels)
    : max_channels(most_channels),
      gpus(static_cast<std::size_t>(gpu_count * most_channels), -1),
      nets(static_cast<std::size_t>(2 * most_channels), -1),
      gpu_count_(gpu_count) {
  traits.pattern = pattern;
}

void GraphDraft::copy_from(const GraphDraft& other) {
  traits = other.traits;
  is_collnet = other.is_collnet;
  min_channels = other.min_channels;
  max_channels = other.max_channels;
  n_hops = other.n_hops;
  latency_us = other.latency_us;
  std::copy_n(other.gpus.begin(), traits.n_channels * gpu_count_, gpus.begin());
  std::copy_n(other.nets.begin(), 2 * traits.n_channels, nets.begin());
}

ChannelSearch::ChannelSearch(SearchGround& ground, NetLists& nets, const GraphDraft& start)
    : trial(start),
      best(start),
      ground_(ground),
      nets_(nets),
      gpu_order_(ground),
      count_(ground.gpus()),
      is_inter_(ground.reach().is_inter()) {}

int ChannelSearch::run(int budget) {
  budget_ = budget;
  trial.traits.n_channels = 0;
  next_channel();
  return budget_;
}

void ChannelSearch::count_hops(int hops, float share) {
  if (share == 1)
    trial.n_hops += hops;
  else if (share == -1)
    trial.n_hops -= hops;
  else
    trial.n_hops =
        static_cast<int>(static_cast<float>(trial.n_hops) + share * static_cast<float>(hops));
}

bool ChannelSearch::take(int from, int to, float share) {
  const Way& way = ground_.way(from, to);
  if (way.type >= PathType::kDis) return false;
  if (share == 1) {
    const PathType farthest = way.is_inside ? trial.traits.type_intra : trial.traits.type_inter;
    if (way.type > farthest) return false;
    if (is_tree(trial.traits.pattern) && ground_.way(to, from).type > farthest) return false;
  }
  // Laying out the way back may have moved the ways' steps, not the ways.
  const float rate = (way.is_inside ? trial.traits.bw_intra : trial.traits.bw_inter).GBps;
  if (!ground_.take(way, rate * share)) return false;
  count_hops(way.hops, share);
  return true;
}

void ChannelSearch::give(int from, int to, float share) {
  const Way& way = ground_.way(from, to);
  if (way.type >= PathType::kDis) return;
  const float rate = (way.is_inside ? trial.traits.bw_intra : trial.traits.bw_inter).GBps;
  ground_.give(way, rate * share);
  count_hops(way.hops, -share);
}

void ChannelSearch::next_channel() {
  if (is_inter())
    start_from_nets();
  else
    start_inside();
}

void ChannelSearch::start_inside() {
  const Pattern pattern = trial.traits.pattern;
  At start;
  if (pattern == Pattern::kRing) start.to_first = static_cast<std::int16_t>(count_ - 1);
  const auto go_to = [&](int gpu, Order order) {
    start.gpu = static_cast<std::int16_t>(gpu);
    start.order = order;
    go(-1, start);
  };
  if (pattern == Pattern::kNvls) return go_to(channel(), Order::kScored);
  if (channel() == 0)
    go_to(0, Order::kIndex);
  else
    go_to(first_gpu(channel() - 1), Order::kAsBefore);
  if (trial.traits.same_channels && channel() > 0) return;
  for (int gpu = 0; gpu < count_; ++gpu) go_to(gpu, Order::kScored);
}

bool ChannelSearch::may_start(int net) const {
  if (trial.is_collnet && !ground_.offloads(net)) return false;
  if (ground_.net_left(net) < static_cast<float>(static_cast<int>(trial.traits.bw_inter.GBps)))
    return false;
  // The second channel of a pair starts where the first one ended.
  const bool is_second =
      trial.traits.pattern == Pattern::kRing && trial.traits.cross_nic == 2 && (channel() & 1) == 1;
  return !is_second || net == trial.nets[static_cast<std::size_t>(2 * channel() - 1)];
}

void ChannelSearch::start_from_nets() {
  const std::vector<int>& nets = nets_.of_all(trial.traits.type_inter);
  const int count = static_cast<int>(nets.size());
  bool has_tried_head = false;
  for (int i = 0; i < count; ++i) {
    if (has_heads(trial.traits.pattern) && has_tried_head) return;
    const int net = nets[static_cast<std::size_t>((channel() + i) % count)];
    if (may_start(net)) start_from_net(net, has_tried_head);
  }
}

bool ChannelSearch::starts_channel(int gpu) const {
  for (int earlier = 0; earlier < channel(); ++earlier)
    if (first_gpu(earlier) == gpu) return true;
  return false;
}

void ChannelSearch::start_from_net(int net, bool& has_tried_head) {
  const Pattern pattern = trial.traits.pattern;
  const int rate = static_cast<int>(trial.traits.bw_inter.GBps);
  trial.net_in(channel()) = static_cast<std::int16_t>(net);
  trial.latency_us = static_cast<float>(ground_.reach().net(net).latency.in_us());
  ground_.take_net(net, rate);
  At start{.to_net = last_before_net(pattern, count_)};
  if (has_heads(pattern)) {
    const auto head = nets_.start_gpu(net);
    const int nets = static_cast<int>(nets_.of_all(trial.traits.type_inter).size());
    if (channel() < nets && head && !starts_channel(*head)) {
      start.gpu = static_cast<std::int16_t>(*head);
      go(ground_.end_of_net(net), start);
      has_tried_head = true;
    }
  } else if (channel() > 0 && trial.traits.same_channels) {
    start.gpu = first_gpu(channel() - 1);
    start.order = Order::kAsBefore;
    go(ground_.end_of_net(net), start);
  } else {
    start_from_near_gpus(net, start);
    // NCCL does not give the net back where no GPU is connected to it.
    const int nearest = nets_.near_gpus(net).empty() ? -1 : nets_.near_gpus(net).front();
    if (nearest < 0 || ground_.way(ground_.end_of_net(net), nearest).type >= PathType::kDis) return;
  }
  ground_.take_net(net, -rate);
}

void ChannelSearch::start_from_near_gpus(int net, const At& start) {
  const int from = ground_.end_of_net(net);
  At at = start;
  if (channel() == 0 && !ground_.has_nvswitch()) {
    const int whole = budget_;
    budget_ = kIndexOrderBudget;
    at.gpu = 0;
    at.order = Order::kIndex;
    go(from, at);
    budget_ = budget_ == -1 ? -1 : whole;
  }
  at.order = Order::kScored;
  const auto first = nets_.start_gpu(net);
  if (first) {
    at.gpu = static_cast<std::int16_t>(*first);
    go(from, at);
  }
  for (const int gpu : nets_.near_gpus(net)) {
    if (gpu == first) continue;
    at.gpu = static_cast<std::int16_t>(gpu);
    go(from, at);
  }
}

void ChannelSearch::go(int from, const At& at) {
  if (from >= 0 && !take(from, at.gpu, 1)) return;
  const std::uint64_t bit = std::uint64_t{1} << channel();
  gpu_order_.used()[static_cast<std::size_t>(at.gpu)] ^= bit;
  step(at);
  gpu_order_.used()[static_cast<std::size_t>(at.gpu)] ^= bit;
  if (from >= 0) give(from, at.gpu, 1);
}

}  // namespace comm_probe::nccl
