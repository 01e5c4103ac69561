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

void ChannelSearch::step(const At& at) {
  if (budget_ <= 0) return;
  --budget_;
  ++steps_;
  if (at.position == count_) return complete();
  trial.row(channel())[at.position] = at.gpu;
  if (at.position == at.to_net) return return_to_net(at);
  if (trial.traits.pattern == Pattern::kNvls) return spread_from_switch(at);
  if (trial.traits.pattern == Pattern::kCollnetDirect) return spread_from_head(at);
  if (at.position < count_ - 1) return go_on(at);
  if (at.position == at.to_first) return return_to_first(at);
  step({.gpu = at.gpu, .position = static_cast<std::int16_t>(count_), .order = at.order});
}

bool ChannelSearch::is_better() const {
  const GraphTraits& now = trial.traits;
  const GraphTraits& then = best.traits;
  if (now.n_channels < trial.min_channels) return false;
  const auto total = [](const GraphTraits& traits, topology::NcclRate rate) {
    return static_cast<float>(traits.n_channels) * rate.GBps;
  };
  if (now.pattern == Pattern::kNvls)
    return (now.n_channels > then.n_channels && now.n_channels <= count_) ||
           total(now, now.bw_inter) > total(then, then.bw_inter);
  const float total_now = total(now, now.bw_intra);
  const float total_then = total(then, then.bw_intra);
  if (total_now != total_then) return total_now > total_then;
  return now.pattern == then.pattern && now.cross_nic == then.cross_nic &&
         trial.n_hops < best.n_hops;
}

void ChannelSearch::complete() {
  ++trial.traits.n_channels;
  if (is_better()) {
    best.copy_from(trial);
    if (channel() == trial.max_channels) budget_ = -1;
  }
  if (channel() < trial.max_channels) next_channel();
  --trial.traits.n_channels;
}

bool ChannelSearch::may_return(int net, const At& at) const {
  const GraphTraits& traits = trial.traits;
  const auto end = [this](int channel, int side) {
    return static_cast<int>(trial.nets[static_cast<std::size_t>(2 * channel + side)]);
  };
  const int start = end(channel(), 0);
  if (traits.pattern == Pattern::kTree) return net == start;
  if (traits.pattern == Pattern::kRing && traits.cross_nic == 2)
    return (channel() & 1) == 0 || net == end(channel() - 1, 0);
  if (traits.cross_nic == 0) {
    const topology::Net& one = ground_.reach().net(net);
    const topology::Net& other = ground_.reach().net(start);
    if (one.asic != other.asic || one.port != other.port) return false;
  }
  return traits.pattern != Pattern::kBalancedTree || at.position == 0 || net == end(channel(), 1);
}

void ChannelSearch::return_to_net(const At& at) {
  const bool is_balanced = trial.traits.pattern == Pattern::kBalancedTree;
  At next = at;
  next.to_net = is_balanced && at.position == 0 ? 1 : -1;
  float& rate = trial.traits.bw_inter.GBps;
  for (const int net : nets_.of_gpu(at.gpu, trial.traits.type_inter)) {
    if (!may_return(net, at)) continue;
    const int to = ground_.end_of_net(net);
    // The two GPUs of a balanced tree share the NIC.
    const float whole = rate;
    if (is_balanced) rate /= 2;
    const bool is_taken = take(at.gpu, to, 1);
    rate = whole;
    if (!is_taken) continue;
    trial.net_out(channel()) = static_cast<std::int16_t>(net);
    step(next);
    if (is_balanced) rate /= 2;
    give(at.gpu, to, 1);
    rate = whole;
  }
}

void ChannelSearch::return_to_first(const At& at) {
  const int first = first_gpu(channel());
  if (!take(at.gpu, first, 1)) return;
  step({.gpu = static_cast<std::int16_t>(first),
        .position = static_cast<std::int16_t>(at.position + 1),
        .to_net = at.to_net,
        .order = at.order});
  give(at.gpu, first, 1);
}

void ChannelSearch::spread_from_switch(const At& at) {
  const int fabric = ground_.end_of_nvswitch();
  const auto share = [&](int gpu) { return gpu == at.gpu ? 2.0F : 1.0F; };
  int out = 0;
  while (out < count_ && take(fabric, out, share(out))) ++out;
  int in = 0;
  if (out == count_) {
    while (in < count_ && take(in, fabric, share(in))) ++in;
    if (in == count_) step({.position = static_cast<std::int16_t>(count_), .order = at.order});
  }
  while (in > 0) {
    --in;
    give(in, fabric, share(in));
  }
  while (out > 0) {
    --out;
    give(fabric, out, share(out));
  }
}

void ChannelSearch::spread_from_head(const At& at) {
  const float share = 1.0F / static_cast<float>(count_ - 1);
  int out = 0;
  while (out < count_ && take(at.gpu, out, share)) ++out;
  int in = 0;
  if (out == count_) {
    while (in < count_ && take(in, at.gpu, share)) ++in;
    if (in == count_) {
      std::int16_t* const row = trial.row(channel());
      for (std::int16_t gpu = 0, position = 1; gpu < count_; ++gpu)
        if (gpu != at.gpu) row[position++] = gpu;
      step({.position = static_cast<std::int16_t>(count_), .order = at.order});
    }
  }
  while (in > 0) {
    --in;
    give(in, at.gpu, share);
  }
  while (out > 0) {
    --out;
    give(at.gpu, out, share);
  }
}

void ChannelSearch::go_on(const At& at) {
  At next = at;
  ++next.position;
  if (at.order == Order::kIndex) {
    next.gpu = static_cast<std::int16_t>(at.position + 1);
    return go(at.gpu, next);
  }
  if (at.order == Order::kAsBefore) {
    next.gpu = trial.row(channel() - 1)[next.position];
    return go(at.gpu, next);
  }
  NetSort sort = NetSort::kNone;
  if (at.to_net >= 0) sort = next.position == at.to_net ? NetSort::kNearFirst : NetSort::kNearLast;
  const std::size_t begin = candidates_.size();
  gpu_order_.append({.gpu = at.gpu,
                     .sort = sort,
                     .net = trial.nets[static_cast<std::size_t>(2 * channel())],
                     .pattern = trial.traits.pattern,
                     .channel_bit = std::uint64_t{1} << channel()},
                    candidates_);
  const std::size_t end = candidates_.size();
  for (std::size_t i = begin; i < end; ++i) {
    next.gpu = candidates_[i];
    go(at.gpu, next);
  }
  candidates_.resize(begin);
}

}  // namespace comm_probe::nccl
