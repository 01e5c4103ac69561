// From one GPU of a channel to the next, back to the NIC or the first GPU, and on to the next
// channel.
#include <algorithm>

#include "nccl/channel_search.h"

namespace comm_probe::nccl {

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
