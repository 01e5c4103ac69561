#include "nccl/gpu_order.h"

#include <algorithm>
#include <tuple>

namespace comm_probe::nccl {

using topology::Path;

GpuOrder::GpuOrder(SearchGround& ground)
    : ground_(ground),
      used_(static_cast<std::size_t>(ground.gpus())),
      places_(static_cast<std::size_t>(ground.gpus()) *
              (ground.has_nvswitch() ? 0 : static_cast<std::size_t>(ground.nets()) + 1)) {}

void GpuOrder::append(const NextGpu& next, std::vector<std::int16_t>& list) {
  if (ground_.has_nvswitch()) return append_neighbours(next, list);
  if (next.sort != NetSort::kNone) return append_by_net(next, list);
  for (const Place& place : places(next.gpu, -1))
    if (is_free(place.gpu, next.channel_bit)) list.push_back(place.gpu);
}

void GpuOrder::append_neighbours(const NextGpu& next, std::vector<std::int16_t>& list) {
  const int count = ground_.gpus();
  const int above = (next.gpu + 1) % count;
  const int below = (next.gpu + count - 1) % count;
  const auto add = [&](int other) {
    if (other != next.gpu && is_free(other, next.channel_bit) &&
        ground_.way(next.gpu, other).hops > 0)
      list.push_back(static_cast<std::int16_t>(other));
  };
  const bool is_split =
      next.pattern == Pattern::kBalancedTree || next.pattern == Pattern::kSplitTree;
  if (next.pattern == Pattern::kRing) add(below);
  if (next.pattern != Pattern::kRing || above != below) add(above);
  if (is_split && above != below) add(below);
}

void GpuOrder::append_by_net(const NextGpu& next, std::vector<std::int16_t>& list) {
  choices_.clear();
  bool are_equal = true;
  for (const Place& place : places(next.gpu, next.net)) {
    if (!is_free(place.gpu, next.channel_bit)) continue;
    const Choice choice{
        .score = static_cast<std::int64_t>(place.net_rate) * (std::int64_t{1} << 32) +
                 ground_.pci_left(place.gpu),
        .place = &place};
    if (!choices_.empty())
      are_equal = are_equal && place.rate == choices_.front().place->rate &&
                  place.hops == choices_.front().place->hops;
    choices_.push_back(choice);
  }
  sort_by_score();
  if (next.sort == NetSort::kNearLast && are_equal) std::reverse(choices_.begin(), choices_.end());
  for (const Choice& choice : choices_) list.push_back(choice.place->gpu);
}

// Highest first, equal ones as they stand; usually they are in order already.
void GpuOrder::sort_by_score() {
  constexpr std::size_t kFew = 32;
  const auto is_higher = [](const Choice& a, const Choice& b) { return a.score > b.score; };
  if (choices_.size() > kFew) {
    std::stable_sort(choices_.begin(), choices_.end(), is_higher);
    return;
  }
  for (std::size_t i = 1; i < choices_.size(); ++i)
    for (std::size_t at = i; at > 0 && is_higher(choices_[at], choices_[at - 1]); --at)
      std::swap(choices_[at], choices_[at - 1]);
}

const std::vector<GpuOrder::Place>& GpuOrder::places(int gpu, int net) {
  auto& known =
      places_[static_cast<std::size_t>(net + 1) * static_cast<std::size_t>(ground_.gpus()) +
              static_cast<std::size_t>(gpu)];
  if (known.empty()) known = make_places(gpu, net);
  return known;
}

std::vector<GpuOrder::Place> GpuOrder::make_places(int gpu, int net) {
  struct Scored {
    Place place;
    int net_hops = 0;
  };
  const Reach& reach = ground_.reach();
  std::vector<Scored> scored;
  for (int i = 1; i < ground_.gpus(); ++i) {
    const int other = (gpu + i) % ground_.gpus();
    const Path path = reach.gpu_to_gpu(gpu, other);
    if (path.hops == 0) continue;
    Scored one{.place = {.gpu = static_cast<std::int16_t>(other),
                         .rate = static_cast<std::int32_t>(path.bandwidth.GBps),
                         .hops = path.hops}};
    if (net >= 0) {
      const Path from_net = reach.net_to_gpu(net, other);
      one.place.net_rate = static_cast<std::int32_t>(from_net.bandwidth.GBps);
      one.net_hops = from_net.hops;
    }
    scored.push_back(one);
  }
  const auto key = [](const Scored& s) {
    return std::tuple(-s.place.net_rate, s.net_hops, -s.place.rate, s.place.hops);
  };
  std::stable_sort(scored.begin(), scored.end(),
                   [&](const Scored& a, const Scored& b) { return key(a) < key(b); });
  std::vector<Place> places;
  for (const Scored& one : scored) places.push_back(one.place);
  return places;
}

}  // namespace comm_probe::nccl
