#include "model/moe/skew.h"

#include <cmath>
#include <numeric>

namespace comm_probe::model {
namespace {

// splitmix64: small, and the same everywhere (std distributions are not).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // Below `bound`; off by less than bound / 2^32.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }
  double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// Draws with given weights in constant time (Walker's alias method).
class AliasTable {
 public:
  explicit AliasTable(const std::vector<double>& weights)
      : keep_(weights.size()), other_(weights.size()) {
    const double mean =
        std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
    std::vector<double> rest(weights);
    std::vector<std::uint32_t> small, large;
    for (std::uint32_t i = 0; i < rest.size(); ++i) (rest[i] < mean ? small : large).push_back(i);
    while (!small.empty() && !large.empty()) {
      const std::uint32_t less = small.back(), more = large.back();
      small.pop_back();
      keep_[less] = rest[less] / mean;
      other_[less] = more;
      rest[more] -= mean - rest[less];
      if (rest[more] >= mean) continue;
      large.pop_back();
      small.push_back(more);
    }
    for (const auto* left : {&small, &large})
      for (const std::uint32_t i : *left) keep_[i] = 1, other_[i] = i;
  }
  std::uint32_t draw(Random& random) const {
    const std::uint32_t at = random.below(static_cast<std::uint32_t>(keep_.size()));
    return random.fraction() < keep_[at] ? at : other_[at];
  }

 private:
  std::vector<double> keep_;
  std::vector<std::uint32_t> other_;
};

class Drawer {
 public:
  explicit Drawer(const RoutingDraw& draw)
      : draw_(draw), random_(draw.seed), weights_(shuffled_weights()), table_(weights_) {
    const auto experts = static_cast<std::size_t>(draw.experts);
    picked_.assign(experts, -1);
    allowed_.assign(static_cast<std::size_t>(draw.nodes), -1);
    nodes_.resize(allowed_.size());
    std::iota(nodes_.begin(), nodes_.end(), 0);
  }

  Routing run() {
    Routing routing{.topk = draw_.topk, .experts = draw_.experts};
    routing.picks.reserve(static_cast<std::size_t>(draw_.tokens * draw_.topk));
    for (std::int64_t token = 0; token < draw_.tokens; ++token) {
      if (is_limited()) draw_nodes(token);
      for (int i = 0; i < draw_.topk; ++i) {
        const std::uint32_t expert = pick(token);
        picked_[expert] = token;
        routing.picks.push_back(static_cast<std::uint16_t>(expert));
      }
    }
    return routing;
  }

 private:
  bool is_limited() const { return draw_.group_limit > 0 && draw_.group_limit < draw_.nodes; }

  std::vector<double> shuffled_weights() {
    std::vector<double> weights(static_cast<std::size_t>(draw_.experts));
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = std::pow(static_cast<double>(i + 1), -draw_.skew);
    for (std::size_t i = weights.size(); i > 1; --i)
      std::swap(weights[i - 1], weights[random_.below(static_cast<std::uint32_t>(i))]);
    return weights;
  }

  void draw_nodes(std::int64_t token) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(draw_.group_limit); ++i) {
      const std::size_t left = nodes_.size() - i;
      std::swap(nodes_[i], nodes_[i + random_.below(static_cast<std::uint32_t>(left))]);
      allowed_[static_cast<std::size_t>(nodes_[i])] = token;
    }
  }

  bool is_open(std::uint32_t expert, std::int64_t token) const {
    if (picked_[expert] == token) return false;
    const auto node =
        static_cast<std::size_t>(expert) / static_cast<std::size_t>(draw_.experts / draw_.nodes);
    return !is_limited() || allowed_[node] == token;
  }

  // A draw that meets a closed expert is made again, which leaves the weights of the open ones in
  // proportion. Where nearly all the weight is closed, the open ones are gone through instead.
  std::uint32_t pick(std::int64_t token) {
    constexpr int kTries = 64;
    for (int i = 0; i < kTries; ++i)
      if (const std::uint32_t expert = table_.draw(random_); is_open(expert, token)) return expert;
    return pick_by_sum(token);
  }

  std::uint32_t pick_by_sum(std::int64_t token) {
    double sum = 0;
    for (std::uint32_t i = 0; i < weights_.size(); ++i)
      if (is_open(i, token)) sum += weights_[i];
    double left = random_.fraction() * sum;
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < weights_.size(); ++i) {
      if (!is_open(i, token)) continue;
      last = i;
      if ((left -= weights_[i]) < 0) break;
    }
    return last;
  }

  const RoutingDraw& draw_;
  Random random_;
  std::vector<double> weights_;
  AliasTable table_;
  std::vector<std::int64_t> picked_ = {};   // by expert: the last token that picked it
  std::vector<std::int64_t> allowed_ = {};  // by node: likewise
  std::vector<int> nodes_ = {};
};

}  // namespace

Routing draw_routing(const RoutingDraw& draw) { return Drawer(draw).run(); }

}  // namespace comm_probe::model
