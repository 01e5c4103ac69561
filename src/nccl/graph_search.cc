#include "nccl/graph_search.h"

#include <algorithm>
#include <array>

#include "nccl/system_facts.h"

namespace comm_probe::nccl {
namespace {

using topology::Cpu;
using topology::PathType;

// NCCL 2.28.9 src/graph/search.cc; older lists: spec part 9.3.
constexpr std::array kIntra = {40.F, 30.F, 20.F, 18.F, 15.F, 12.F, 10.F,
                               9.F,  7.F,  6.F,  5.F,  4.F,  3.F};
constexpr std::array kInter = {48.F, 30.F, 28.F, 24.F, 20.F, 18.F, 15.F, 12.F,  10.F, 9.F,
                               7.F,  6.F,  5.F,  4.F,  3.F,  2.4F, 1.2F, 0.24F, 0.12F};
constexpr std::array kIntraSm90 = {60.F, 50.F, 40.F, 30.F, 24.F, 20.F, 15.F, 12.F, 11.F, 6.F, 3.F};
constexpr std::array kInterSm90 = {48.F, 45.F, 42.F, 40.F, 30.F, 24.F, 22.F,  20.F, 17.5F,
                                   15.F, 12.F, 6.F,  3.F,  2.4F, 1.2F, 0.24F, 0.12F};
constexpr std::array kIntraSm100 = {90.F, 80.F, 70.F, 60.F, 50.F, 40.F,
                                    30.F, 24.F, 20.F, 19.F, 18.F};
constexpr std::array kInterSm100 = {96.F,  48.F, 45.1F, 42.F, 40.F, 30.F, 24.F, 22.F,  20.F,
                                    17.5F, 15.F, 12.F,  6.F,  3.F,  2.4F, 1.2F, 0.24F, 0.12F};

constexpr int kBudgetSame = 256;  // steps of one search whose channels all have one order
constexpr int kBudget = 16384;
constexpr int kTotalBudget = 1 << 19;  // of all searches for one graph
constexpr double kLeastOfNextSpeed = 0.49;
constexpr int kMostNvlsChannels = 32;
constexpr int kMostDirectChannels = 8;
constexpr float kFallbackSpeed = 0.1F;

PathType next(PathType type) { return static_cast<PathType>(static_cast<int>(type) + 1); }

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

bool is_amd(const Reach& reach) {
  if (reach.cpus() == 0) return false;
  const Cpu& cpu = reach.machine.node(reach.cpu_node(0)).as<Cpu>();
  return cpu.arch == Cpu::Arch::kX86 && cpu.vendor == Cpu::Vendor::kAmd;
}

// The net with plugin index 0 on the first host; -1 where there is none.
int net_of_id_0(const Reach& reach) {
  for (int net = 0; net < reach.nets(); ++net)
    if (reach.net(net).dev == 0 && reach.machine.node(reach.net_node(net)).host == 0) return net;
  return -1;
}

}  // namespace

std::span<const float> search_speeds(int least_sm, bool is_inter) {
  if (least_sm >= 100) return is_inter ? std::span<const float>(kInterSm100) : kIntraSm100;
  if (least_sm >= 90) return is_inter ? std::span<const float>(kInterSm90) : kIntraSm90;
  return is_inter ? std::span<const float>(kInter) : kIntra;
}

GraphSearch::GraphSearch(SearchGround& ground, NetLists& nets, GraphRequest request)
    : ground_(ground),
      request_(request),
      channels_(ground, nets, GraphDraft(request.pattern, ground.gpus(), request.max_channels)),
      least_sm_(least_sm_of(ground.reach())) {
  const SystemFacts facts = system_facts(ground.reach());
  best_path_ = facts.best_path.GBps;
  gpu_total_ = facts.gpu_total.GBps;
  speeds_ = search_speeds(least_sm_, ground.reach().is_inter());
}

void GraphSearch::set_limits() {
  const Reach& reach = ground_.reach();
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

bool GraphSearch::is_good_enough() const {
  const GraphTraits& found = best().traits;
  return budget_left_ == -1 ||
         static_cast<float>(found.n_channels) * found.bw_inter.GBps >= gpu_total_;
}

bool GraphSearch::keeps_one_order() {
  return is_amd(ground_.reach()) && trial().traits.type_intra == PathType::kSys;
}

bool GraphSearch::differ_by_channel() {
  GraphTraits& traits = trial().traits;
  if (!traits.same_channels || keeps_one_order()) return false;
  traits.same_channels = false;
  return true;
}

bool GraphSearch::use_plain_tree() {
  GraphTraits& traits = trial().traits;
  if (least_sm_ >= 90 && traits.pattern == Pattern::kBalancedTree) {
    traits.pattern = Pattern::kTree;
    return true;
  }
  traits.pattern = best().traits.pattern;
  return false;
}

bool GraphSearch::go_farther_inside() {
  GraphTraits& traits = trial().traits;
  const PathType limit = ground_.reach().is_inter() ? traits.type_inter : farthest_intra_;
  if (traits.type_intra < limit &&
      (!has_solution() || traits.type_intra < best().traits.type_intra)) {
    traits.type_intra = next(traits.type_intra);
    if (traits.type_intra < PathType::kDis) return true;
  }
  traits.type_intra = nearest_intra_;
  return false;
}

bool GraphSearch::go_farther_to_nets() {
  GraphTraits& traits = trial().traits;
  if (ground_.reach().is_inter() && traits.type_inter < farthest_inter_ &&
      (!has_solution() || traits.type_inter < best().traits.type_inter ||
       traits.type_inter < PathType::kPxn)) {
    traits.type_inter = next(traits.type_inter);
    if (traits.type_inter < PathType::kDis) return true;
  }
  traits.type_inter = nearest_inter_;
  return false;
}

bool GraphSearch::cross_nics() {
  const Pattern pattern = best().traits.pattern;
  if (cross_nic_ == 2 && trial().traits.cross_nic == 0 &&
      (pattern == Pattern::kRing || pattern == Pattern::kBalancedTree)) {
    trial().traits.cross_nic = 2;
    return true;
  }
  trial().traits.cross_nic = cross_nic_ == 1 ? 1 : 0;
  return false;
}

bool GraphSearch::slow_down() {
  if (speed_ + 1 >= speeds_.size()) return false;
  const float ratio = speeds_[speed_ + 1] / best().traits.bw_inter.GBps;
  if (has_solution() && static_cast<double>(ratio) <= kLeastOfNextSpeed) return false;
  set_speed(speed_ + 1);
  return true;
}

bool GraphSearch::relax() {
  if (is_good_enough()) return false;
  if (differ_by_channel()) return true;
  trial().traits.same_channels = starts_same_;
  total_budget_ += budget_left_;
  if (total_budget_ < 0 && has_solution()) {
    effort_.total_budget_cut = true;
    return false;
  }
  return use_plain_tree() || go_farther_inside() || go_farther_to_nets() || cross_nics() ||
         slow_down();
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

bool GraphSearch::speed_up() {
  if (budget_left_ == 0 || speed_ == 0) return false;
  GraphTraits& traits = trial().traits;
  const GraphTraits& found = best().traits;
  const float faster = speeds_[speed_ - 1];
  if (traits.pattern == Pattern::kRing) {
    traits.bw_intra = traits.bw_inter = {faster};
  } else if (traits.pattern == Pattern::kNvls && traits.bw_inter == found.bw_inter &&
             traits.bw_inter.GBps < 2 * traits.bw_intra.GBps) {
    trial().min_channels = trial().max_channels = found.n_channels;
    traits.bw_inter = {faster};
  } else if (traits.bw_intra == found.bw_intra && traits.bw_intra.GBps < 2 * traits.bw_inter.GBps) {
    traits.bw_intra = {faster};
  } else {
    return false;
  }
  --speed_;
  return true;
}

void GraphSearch::fall_back() {
  GraphDraft& draft = channels_.best;
  GraphTraits& traits = draft.traits;
  if (traits.n_channels > 0 || request_.is_collnet || request_.pattern == Pattern::kNvls) return;
  for (int gpu = 0; gpu < draft.gpu_count(); ++gpu)
    draft.row(0)[gpu] = static_cast<std::int16_t>(gpu);
  draft.net_in(0) = draft.net_out(0) = static_cast<std::int16_t>(net_of_id_0(ground_.reach()));
  traits.bw_intra = traits.bw_inter = {kFallbackSpeed};
  traits.type_intra = traits.type_inter = PathType::kSys;
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
  total_budget_ = kTotalBudget;
  do search();
  while (relax());
  restart_from_best();
  while (speed_up()) search();
  fall_back();
  return result();
}

}  // namespace comm_probe::nccl
