#include "model/network.h"

#include <algorithm>

#include "model/tree_edges.h"

namespace comm_probe::model {
namespace {

std::uint64_t key(int a, int b) {
  return static_cast<std::uint64_t>(std::min(a, b)) << 32 |
         static_cast<std::uint64_t>(std::max(a, b));
}

// What one message between nodes may take.
core::Bandwidth across_of(const Placement& at, const Fabric& fabric, Crossing crossing) {
  switch (crossing) {
    case Crossing::kAllRails:
      return fabric.rail.value_or(at.inter.beta) * fabric.rails;
    case Crossing::kTree:
      return crossing_rate(at, tree_edges(at.ranks, at.ranks_per_node));
    case Crossing::kOwnShare:
      return at.inter.beta;
  }
  COMM_PROBE_CHECK(false, "an unknown crossing");
}

}  // namespace

Crossing crossing_of(Algorithm algorithm) {
  if (algorithm == Algorithm::kTree) return Crossing::kTree;
  const bool is_narrow = algorithm == Algorithm::kRing || algorithm == Algorithm::kNcclTree;
  return is_narrow ? Crossing::kAllRails : Crossing::kOwnShare;
}

Network::Network(int ranks, const Fabric& fabric, Crossing crossing,
                 const std::vector<SlowLink>& slow)
    : at_(place(ranks, fabric)), crossing_(crossing), inside_(at_.intra), across_(at_.inter) {
  if (at_.nodes > 1) across_.beta = across_of(at_, fabric, crossing);
  for (const SlowLink& link : slow) {
    if (link.b != kAnyRank) {
      pairs_[key(link.a, link.b)] = link.factor;
      continue;
    }
    const auto [nic, is_new] = nics_.try_emplace(nic_of(link.a), link.factor);
    if (!is_new) nic->second = std::min(nic->second, link.factor);
  }
}

int Network::nic_of(int rank) const {
  const bool is_own = crossing_ == Crossing::kTree && at_.has_own_nics;
  const bool is_shared = at_.nodes > 1 && crossing_ != Crossing::kOwnShare && !is_own;
  return is_shared ? rank / at_.ranks_per_node : rank;
}

double Network::nic_factor(int rank) const {
  const auto found = nics_.find(nic_of(rank));
  return found == nics_.end() ? 1 : found->second;
}

// A link that is named itself is not slowed again by its NICs.
double Network::factor(int from, int to, bool is_inside) const {
  if (!pairs_.empty())
    if (const auto found = pairs_.find(key(from, to)); found != pairs_.end()) return found->second;
  if (is_inside && at_.nodes > 1) return 1;
  return std::min(nic_factor(from), nic_factor(to));
}

Link Network::between(int from, int to) const {
  const bool is_inside = shares_node(from, to);
  Link link = is_inside ? inside_ : across_;
  if (!pairs_.empty() || !nics_.empty()) link.beta = link.beta * factor(from, to, is_inside);
  return link;
}

core::Bandwidth Network::most_of(int rank) const {
  const double factor = nic_factor(rank);
  if (at_.nodes == 1) return inside_.beta * factor;
  const core::Bandwidth out = across_.beta * factor;
  return at_.ranks_per_node == 1 ? out : inside_.beta + out;
}

core::Duration Network::smallest_alpha() const {
  if (at_.nodes == 1) return inside_.alpha;
  return at_.ranks_per_node == 1 ? across_.alpha : std::min(inside_.alpha, across_.alpha);
}

}  // namespace comm_probe::model
