#include "model/moe/routing.h"

#include <numeric>
#include <queue>

#include "core/check.h"

namespace comm_probe::model {
namespace {

// What the tokens of one rank send, by destination.
struct Row {
  std::vector<std::uint32_t> pairs = {};     // by rank
  std::vector<std::uint32_t> distinct = {};  // tokens by rank
  std::vector<std::uint32_t> nodes = {};     // tokens by node
};

class Router {
 public:
  Router(const Routing& routing, const ExpertPlacement& placement, const RoutedPlaces& places)
      : routing_(routing), placement_(placement), places_(places) {
    row_.pairs.resize(static_cast<std::size_t>(places.ranks()));
    row_.distinct.resize(row_.pairs.size());
    row_.nodes.resize(static_cast<std::size_t>(places.nodes));
    seen_rank_.assign(row_.pairs.size(), -1);
    seen_node_.assign(row_.nodes.size(), -1);
    node_of_.resize(row_.pairs.size());
    for (std::size_t rank = 0; rank < node_of_.size(); ++rank)
      node_of_[rank] =
          static_cast<std::uint32_t>(rank) / static_cast<std::uint32_t>(places.ranks_per_node);
    traffic_.ranks_per_node = places.ranks_per_node;
    traffic_.ranks.resize(row_.pairs.size());
    traffic_.load.resize(static_cast<std::size_t>(routing.experts));
  }

  RoutedTraffic run(bool with_matrix) {
    const std::int64_t tokens = routing_.tokens();
    const std::int64_t ranks = places_.ranks();
    for (std::int64_t source = 0; source < ranks; ++source) {
      for (std::int64_t token = tokens * source / ranks; token < tokens * (source + 1) / ranks;
           ++token)
        add(token);
      if (with_matrix)
        traffic_.matrix.insert(traffic_.matrix.end(), row_.pairs.begin(), row_.pairs.end());
      flush(static_cast<std::size_t>(source));
    }
    return std::move(traffic_);
  }

 private:
  void add(std::int64_t token) {
    const auto topk = static_cast<std::size_t>(routing_.topk);
    const std::uint16_t* picks = routing_.picks.data() + static_cast<std::size_t>(token) * topk;
    for (std::size_t i = 0; i < topk; ++i) {
      const std::uint16_t expert = picks[i];
      if (expert == kNoExpert) continue;
      ++traffic_.load[expert];
      const auto rank = static_cast<std::size_t>(placement_.rank_of(expert, token));
      ++row_.pairs[rank];
      if (seen_rank_[rank] == token) continue;
      seen_rank_[rank] = token;
      ++row_.distinct[rank];
      const std::size_t node = node_of_[rank];
      if (seen_node_[node] == token) continue;
      seen_node_[node] = token;
      ++row_.nodes[node];
    }
  }

  // What one rank sent, added to both ends.
  void flush(std::size_t source) {
    const std::size_t own_node = node_of_[source];
    const auto per_node = static_cast<std::size_t>(places_.ranks_per_node);
    const std::size_t index = source % per_node;
    RankTraffic& from = traffic_.ranks[source];
    for (std::size_t node = 0; node < row_.nodes.size(); ++node) {
      if (node == own_node) continue;
      from.dedup.nic_out += row_.nodes[node];
      traffic_.ranks[node * per_node + index].dedup.nic_in += row_.nodes[node];
    }
    for (std::size_t rank = 0; rank < row_.pairs.size(); ++rank) {
      if (row_.pairs[rank] == 0) continue;
      RankTraffic& to = traffic_.ranks[rank];
      to.received += row_.pairs[rank];
      if (node_of_[rank] != own_node) {
        from.flat.nic_out += row_.pairs[rank];
        to.flat.nic_in += row_.pairs[rank];
      } else if (rank != source) {
        from.flat.nvlink_out += row_.pairs[rank];
        to.flat.nvlink_in += row_.pairs[rank];
      }
      const std::size_t gate = node_of_[rank] * per_node + index;
      if (rank == gate) continue;
      traffic_.ranks[gate].dedup.nvlink_out += row_.distinct[rank];
      to.dedup.nvlink_in += row_.distinct[rank];
    }
    std::fill(row_.pairs.begin(), row_.pairs.end(), 0);
    std::fill(row_.distinct.begin(), row_.distinct.end(), 0);
    std::fill(row_.nodes.begin(), row_.nodes.end(), 0);
  }

  const Routing& routing_;
  const ExpertPlacement& placement_;
  const RoutedPlaces& places_;
  Row row_ = {};
  std::vector<std::int64_t> seen_rank_ = {};  // the last token that went there
  std::vector<std::int64_t> seen_node_ = {};
  std::vector<std::uint32_t> node_of_ = {};
  RoutedTraffic traffic_ = {};
};

// How many copies each expert has: one, and the slots that are left go one by one to the expert
// with the most load per copy. A second copy on one rank would change nothing: at most one per
// rank.
std::vector<int> copies_of(const std::vector<std::uint64_t>& load, int ranks, std::int64_t slots) {
  std::vector<int> copies(load.size(), 1);
  using Entry = std::pair<double, std::size_t>;
  std::priority_queue<Entry> heaviest;
  for (std::size_t expert = 0; expert < load.size(); ++expert)
    heaviest.emplace(static_cast<double>(load[expert]), expert);
  std::int64_t left = slots - static_cast<std::int64_t>(load.size());
  while (left > 0 && !heaviest.empty()) {
    const std::size_t expert = heaviest.top().second;
    heaviest.pop();
    if (copies[expert] >= ranks) continue;
    ++copies[expert];
    --left;
    heaviest.emplace(static_cast<double>(load[expert]) / copies[expert], expert);
  }
  return copies;
}

}  // namespace

ExpertPlacement equal_shares(int experts, int ranks) {
  ExpertPlacement placement;
  placement.first.resize(static_cast<std::size_t>(experts) + 1);
  std::iota(placement.first.begin(), placement.first.end(), 0U);
  for (int expert = 0; expert < experts; ++expert)
    placement.ranks.push_back(expert / (experts / ranks));
  return placement;
}

ExpertPlacement balanced_placement(const std::vector<std::uint64_t>& load, int ranks, int slots) {
  COMM_PROBE_CHECK(std::int64_t{ranks} * slots >= static_cast<std::int64_t>(load.size()),
                   "more experts than slots");
  const std::vector<int> copies = copies_of(load, ranks, std::int64_t{ranks} * slots);
  struct Item {
    double load;
    std::size_t expert;
  };
  std::vector<Item> items;
  for (std::size_t expert = 0; expert < load.size(); ++expert)
    for (int copy = 0; copy < copies[expert]; ++copy)
      items.push_back({static_cast<double>(load[expert]) / copies[expert], expert});
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.load > b.load; });
  using Entry = std::pair<double, int>;  // load, rank: the lightest on top
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> lightest;
  for (int rank = 0; rank < ranks; ++rank) lightest.emplace(0.0, rank);
  std::vector<int> taken(static_cast<std::size_t>(ranks));
  std::vector<std::vector<int>> holders(load.size());
  for (const Item& item : items) {
    std::vector<int>& held = holders[item.expert];
    std::vector<Entry> passed;  // ranks that hold it
    while (!lightest.empty() &&
           std::find(held.begin(), held.end(), lightest.top().second) != held.end()) {
      passed.push_back(lightest.top());
      lightest.pop();
    }
    if (!lightest.empty()) {  // else only ranks that hold it have a slot left
      const auto [sum, rank] = lightest.top();
      lightest.pop();
      held.push_back(rank);
      if (++taken[static_cast<std::size_t>(rank)] < slots) lightest.emplace(sum + item.load, rank);
    }
    for (const Entry& entry : passed) lightest.push(entry);
  }
  ExpertPlacement placement;
  for (const std::vector<int>& held : holders) {
    placement.first.push_back(static_cast<std::uint32_t>(placement.ranks.size()));
    placement.ranks.insert(placement.ranks.end(), held.begin(), held.end());
  }
  placement.first.push_back(static_cast<std::uint32_t>(placement.ranks.size()));
  return placement;
}

RoutedTraffic route(const Routing& routing, const ExpertPlacement& placement,
                    const RoutedPlaces& places, bool with_matrix) {
  return Router(routing, placement, places).run(with_matrix);
}

std::uint64_t RoutedTraffic::pairs() const {
  return std::accumulate(load.begin(), load.end(), std::uint64_t{0});
}

int RoutedTraffic::hottest() const {
  const auto less = [](const RankTraffic& a, const RankTraffic& b) {
    return a.received < b.received;
  };
  return static_cast<int>(std::max_element(ranks.begin(), ranks.end(), less) - ranks.begin());
}

double RoutedTraffic::imbalance() const {
  const auto all = static_cast<double>(pairs());
  if (all <= 0) return 1;
  return static_cast<double>(ranks[static_cast<std::size_t>(hottest())].received) *
         static_cast<double>(ranks.size()) / all;
}

RoutedPrice price_routed(const RoutedTraffic& traffic, const MoeLayer& layer, const MoeLinks& links,
                         MoeScheme scheme) {
  RoutedPrice price;
  std::uint64_t nic = 0, nvlink = 0, out = 0, inside = 0;
  int nic_rank = 0, nvlink_rank = 0;
  for (std::size_t rank = 0; rank < traffic.ranks.size(); ++rank) {
    const LaneCopies& lanes =
        scheme == MoeScheme::kFlat ? traffic.ranks[rank].flat : traffic.ranks[rank].dedup;
    out += lanes.nic_out;
    inside += lanes.nvlink_out;
    if (lanes.most_nic() > nic) nic = lanes.most_nic(), nic_rank = static_cast<int>(rank);
    if (lanes.most_nvlink() > nvlink)
      nvlink = lanes.most_nvlink(), nvlink_rank = static_cast<int>(rank);
  }
  const auto priced = [&](MoeFormat format) {
    const core::Bytes copy = copy_bytes(layer.hidden, format);
    return moe_transfer(copy, copy * static_cast<double>(nic), copy * static_cast<double>(nvlink),
                        links);
  };
  price.dispatch = priced(layer.dispatch);
  price.combine = priced(layer.combine);
  price.slowest = price.dispatch.is_nic_bound() ? nic_rank : nvlink_rank;
  price.nic_most = nic;
  price.nvlink_most = nvlink;
  const auto ranks = static_cast<double>(traffic.ranks.size());
  price.nic_mean = static_cast<double>(out) / ranks;
  price.nvlink_mean = static_cast<double>(inside) / ranks;
  return price;
}

}  // namespace comm_probe::model
