// What a search may give up, in NCCL's order (NCCL 2.28.9 src/graph/search.cc, ncclTopoCompute).
#include "nccl/graph_search.h"

namespace comm_probe::nccl {
namespace {

using topology::Cpu;
using topology::PathType;

constexpr double kLeastOfNextSpeed = 0.49;

PathType next(PathType type) { return static_cast<PathType>(static_cast<int>(type) + 1); }

bool is_amd(const Reach& reach) {
  if (reach.cpus() == 0) return false;
  const Cpu& cpu = reach.machine.node(reach.cpu_node(0)).as<Cpu>();
  return cpu.arch == Cpu::Arch::kX86 && cpu.vendor == Cpu::Vendor::kAmd;
}

}  // namespace

bool GraphSearch::is_good_enough() const {
  const GraphTraits& found = best().traits;
  return budget_left_ == -1 ||
         static_cast<float>(found.n_channels) * found.bw_inter.GBps >= gpu_total_;
}

bool GraphSearch::keeps_one_order() {
  return rules_.keeps_order_on_amd && is_amd(ground_.reach()) &&
         trial().traits.type_intra == PathType::kSys;
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

}  // namespace comm_probe::nccl
