#include "model/network.h"

#include <algorithm>

namespace comm_probe::model {
namespace {

std::uint64_t key(int a, int b) {
  return static_cast<std::uint64_t>(std::min(a, b)) << 32 |
         static_cast<std::uint64_t>(std::max(a, b));
}

}  // namespace

Network::Network(int ranks, const Fabric& fabric, const std::vector<SlowLink>& slow)
    : at_(place(ranks, fabric)), inside_(at_.intra), across_(at_.inter) {
  across_.beta = fabric.rail.value_or(at_.inter.beta) * fabric.rails;
  for (const SlowLink& link : slow) {
    if (link.b == kAnyRank)
      ranks_[link.a] = link.factor;
    else
      pairs_[key(link.a, link.b)] = link.factor;
  }
}

// A link that is named itself is not slowed again by its ranks.
double Network::factor(int from, int to, bool is_inside) const {
  if (!pairs_.empty())
    if (const auto found = pairs_.find(key(from, to)); found != pairs_.end()) return found->second;
  double factor = 1;
  if (is_inside && at_.nodes > 1) return factor;
  for (const int rank : {from, to})
    if (const auto found = ranks_.find(rank); found != ranks_.end())
      factor = std::min(factor, found->second);
  return factor;
}

Link Network::between(int from, int to) const {
  const bool is_inside = from / at_.ranks_per_node == to / at_.ranks_per_node;
  Link link = is_inside ? inside_ : across_;
  if (!pairs_.empty() || !ranks_.empty()) link.beta = link.beta * factor(from, to, is_inside);
  return link;
}

core::Bandwidth Network::fastest_of(int rank) const {
  const auto found = ranks_.find(rank);
  const double factor = found == ranks_.end() ? 1 : found->second;
  if (at_.nodes == 1) return inside_.beta * factor;
  const core::Bandwidth out = across_.beta * factor;
  return at_.ranks_per_node == 1 ? out : std::max(inside_.beta, out);
}

core::Duration Network::smallest_alpha() const {
  if (at_.nodes == 1) return inside_.alpha;
  return at_.ranks_per_node == 1 ? across_.alpha : std::min(inside_.alpha, across_.alpha);
}

}  // namespace comm_probe::model
