#include "nccl/graph_search.h"

#include <algorithm>

#include "nccl/system_facts.h"

namespace comm_probe::nccl {
namespace {

using topology::Cpu;
using topology::PathType;

constexpr int kBudgetSame = 256;  // steps of one search whose channels all have one order
constexpr int kBudget = 16384;
constexpr int kMostNvlsChannels = 32;
constexpr int kMostDirectChannels = 8;
constexpr float kFallbackSpeed = 0.1F;

int least_sm_of(const Reach& reach) {
  int least = 1 << 20;
  for (int gpu = 0; gpu < reach.gpus(); ++gpu) least = std::min(least, reach.sm(gpu));
  return least;
}

// The GPUs fall into exactly two NVLink groups of several.
bool is_nvlink_split(const Reach& reach) {
  const int gpus = reach.gpus();
  std::vector<int> group(static_cast<std::size_t>(gpus));
  std::vector<int> members(static_cast<std::size_t>(gpus));
  for (int gpu = 0; gpu < gpus; ++gpu) group[static_cast<std::size_t>(gpu)] = gpu;
  for (int gpu = 0; gpu < gpus; ++gpu)
    for (int peer = gpu + 1; peer < gpus; ++peer)
      if (reach.gpu_to_gpu(gpu, peer).type == PathType::kNvl)
        group[static_cast<std::size_t>(peer)] = group[static_cast<std::size_t>(gpu)];
  for (const int label : group) ++members[static_cast<std::size_t>(label)];
  return std::count_if(members.begin(), members.end(), [](int count) { return count > 1; }) == 2;
}

// The net with plugin index 0 on the first host; -1 where there is none.
int net_of_id_0(const Reach& reach) {
  for (int net = 0; net < reach.nets(); ++net)
    if (reach.net(net).dev == 0 && reach.machine.node(reach.net_node(net)).host == 0) return net;
  return -1;
}

}  // namespace

GraphSearch::GraphSearch(SearchGround& ground, NetLists& nets, GraphRequest request)
    : ground_(ground),
      request_(request),
      channels_(ground, nets, GraphDraft(request.pattern, ground.gpus(), request.max_channels)),
      least_sm_(least_sm_of(ground.reach())) {
  const SystemFacts facts = system_facts(ground.reach());
  best_path_ = facts.best_path.GBps;
  gpu_total_ = facts.gpu_total.GBps;
  const topology::NcclVersion version = ground.reach().settings.version;
  speeds_ = search_speeds(version, least_sm_, ground.reach().is_inter());
  rules_ = search_rules(version);
}

void GraphSearch::set_limits() {
  const Reach& reach = ground_.reach();
  if (!rules_.uses_seen_types) {
    if (reach.gpus() > 1) nearest_intra_ = PathType::kNvl;
    return;
  }
  if (reach.gpus() > 1) {
    nearest_intra_ = PathType::kSys;
    farthest_intra_ = PathType::kLoc;
    for (int a = 0; a < reach.gpus(); ++a)
      for (int b = 0; b < reach.gpus(); ++b) {
        if (a == b) continue;
        nearest_intra_ = std::min(nearest_intra_, reach.gpu_to_gpu(a, b).type);
        farthest_intra_ = std::max(farthest_intra_, reach.gpu_to_gpu(a, b).type);
      }
  }
  if (!reach.is_inter()) return;
  nearest_inter_ = PathType::kSys;
  farthest_inter_ = PathType::kLoc;
  for (int gpu = 0; gpu < reach.gpus(); ++gpu)
    for (int net = 0; net < reach.nets(); ++net) {
      nearest_inter_ = std::min(nearest_inter_, reach.gpu_to_net(gpu, net).type);
      farthest_inter_ = std::max(farthest_inter_, reach.gpu_to_net(gpu, net).type);
    }
  if (rules_.goes_to_sys_before_sm90 && least_sm_ < 90) farthest_inter_ = PathType::kSys;
  farthest_intra_ = farthest_inter_;
}

void GraphSearch::set_pattern() {
  const Reach& reach = ground_.reach();
  GraphDraft& draft = trial();
  draft.is_collnet = request_.is_collnet;
  draft.min_channels = request_.min_channels;
  draft.max_channels = request_.max_channels;
  const Pattern asked = request_.pattern;
  const bool can_cross =
      reach.nets() > 1 &&
      (asked == Pattern::kRing || asked == Pattern::kBalancedTree || asked == Pattern::kSplitTree);
  cross_nic_ = can_cross ? reach.settings.cross_nic : 0;
  draft.traits.cross_nic = cross_nic_ == 1 ? 1 : 0;
  draft.traits.type_intra = nearest_intra_;
  draft.traits.type_inter = nearest_inter_;
  starts_same_ = asked != Pattern::kNvls;
  draft.traits.same_channels = starts_same_;
  if (asked == Pattern::kNvls)
    draft.max_channels = std::min(kMostNvlsChannels, reach.gpus());
  else if (asked == Pattern::kCollnetDirect)
    draft.max_channels = std::min(kMostDirectChannels, reach.gpus());
  if (reach.gpus() == 1 && asked != Pattern::kRing) draft.traits.pattern = Pattern::kTree;
  if (asked == Pattern::kNvls && !reach.is_inter()) draft.min_channels = draft.max_channels;
  if (asked == Pattern::kRing && draft.max_channels >= 2 && draft.min_channels == 1 &&
      is_nvlink_split(reach))
    draft.min_channels = 2;
  channels_.best.copy_from(draft);
}

void GraphSearch::set_speed(std::size_t index) {
  speed_ = index;
  trial().traits.bw_intra = trial().traits.bw_inter = {speeds_[index]};
}

void GraphSearch::set_first_speed() {
  float total = gpu_total_;
  const int gpus = ground_.gpus();
  if (gpus > 1 && trial().traits.pattern != Pattern::kRing)
    total = static_cast<float>(static_cast<double>(total) * (1.0 * gpus / (gpus - 1)));
  const auto is_too_fast = [&](float speed) {
    return speed > best_path_ || speed * static_cast<float>(trial().min_channels) > total;
  };
  std::size_t index = 0;
  while (index + 1 < speeds_.size() && is_too_fast(speeds_[index])) ++index;
  set_speed(index);
  effort_.first_speed = {speeds_[index]};
}

void GraphSearch::search() {
  const int budget = trial().traits.same_channels ? kBudgetSame : kBudget;
  total_budget_ -= budget;
  budget_left_ = channels_.run(budget);
  ++effort_.searches;
  // A search for one order is a quick try; the full one follows where orders may differ.
  if (budget_left_ == 0 && (!trial().traits.same_channels || keeps_one_order()))
    ++effort_.searches_cut;
}

void GraphSearch::duplicate_channels() {
  GraphDraft& draft = channels_.best;
  GraphTraits& traits = draft.traits;
  const int found = traits.n_channels;
  if (found == 0 || traits.pattern == Pattern::kNvls || traits.bw_intra.GBps < 25) return;
  if (least_sm_ > 80 && traits.bw_intra.GBps < 50 && found > 4) return;
  const int wanted = std::min(2 * found, draft.max_channels);
  std::copy_n(draft.row(0), (wanted - found) * draft.gpu_count(), draft.row(found));
  std::copy_n(draft.nets.begin(), 2 * (wanted - found), draft.nets.begin() + 2 * found);
  const auto share = static_cast<float>((wanted + found - 1) / found);
  traits.bw_intra.GBps /= share;
  traits.bw_inter.GBps /= share;
  traits.n_channels = wanted;
}

void GraphSearch::restart_from_best() {
  budget_left_ = -1;
  effort_.found_channels = best().traits.n_channels;
  effort_.found_speed = best().traits.bw_inter;
  duplicate_channels();
  trial().copy_from(best());
  std::size_t index = 0;
  while (index + 1 < speeds_.size() && speeds_[index] > best().traits.bw_inter.GBps) ++index;
  set_speed(index);
  trial().min_channels = best().traits.n_channels;
}

void GraphSearch::fall_back() {
  GraphDraft& draft = channels_.best;
  GraphTraits& traits = draft.traits;
  if (traits.n_channels > 0 || request_.is_collnet || request_.pattern == Pattern::kNvls) return;
  for (int gpu = 0; gpu < draft.gpu_count(); ++gpu)
    draft.row(0)[gpu] = static_cast<std::int16_t>(gpu);
  const Reach& reach = ground_.reach();
  traits.bw_intra = traits.bw_inter = {kFallbackSpeed};
  traits.type_intra = traits.type_inter = PathType::kSys;
  if (rules_.falls_back_without_nic) {
    draft.net_in(0) = draft.net_out(0) = static_cast<std::int16_t>(net_of_id_0(reach));
  } else if (reach.nets() == 0) {
    traits.bw_inter = {0};
    traits.type_inter = PathType::kDis;
  } else {
    NetChoice choice(reach);
    draft.net_in(0) = static_cast<std::int16_t>(choice.net_of(0, 0).value_or(-1));
    draft.net_out(0) = static_cast<std::int16_t>(choice.net_of(reach.gpus() - 1, 0).value_or(-1));
  }
  traits.n_channels = 1;
  effort_.is_fallback = true;
}

Graph GraphSearch::result() const {
  const Reach& reach = ground_.reach();
  const GraphDraft& draft = best();
  Graph graph{.traits = draft.traits,
              .id = request_.id,
              .latency_inter = core::Duration::from_us(draft.latency_us),
              .n_hops = draft.n_hops,
              .min_channels = draft.min_channels,
              .max_channels = draft.max_channels,
              .effort = effort_};
  graph.effort.steps = channels_.steps();
  graph.effort.nearest_intra = nearest_intra_;
  graph.effort.nearest_inter = nearest_inter_;
  for (int channel = 0; channel < draft.traits.n_channels; ++channel) {
    GraphChannel one;
    if (reach.is_inter()) {
      one.net_in = draft.nets[static_cast<std::size_t>(2 * channel)];
      one.net_out = draft.nets[static_cast<std::size_t>(2 * channel + 1)];
    }
    const int listed = draft.traits.pattern == Pattern::kNvls ? 1 : draft.gpu_count();
    for (int position = 0; position < listed; ++position)
      one.ranks.push_back(reach.rank(draft.row(channel)[position]));
    graph.channels.push_back(std::move(one));
  }
  return graph;
}

Graph GraphSearch::run() {
  set_limits();
  set_pattern();
  const bool needs_nvswitch = request_.pattern == Pattern::kNvls;
  if (needs_nvswitch && (!ground_.has_nvswitch() || least_sm_ < 90)) return result();
  set_first_speed();
  total_budget_ = rules_.total_budget;
  do search();
  while (relax());
  restart_from_best();
  while (speed_up()) search();
  fall_back();
  return result();
}

}  // namespace comm_probe::nccl
