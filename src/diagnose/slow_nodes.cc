#include "diagnose/slow_nodes.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace comm_probe::diagnose {
namespace {

// name, value, applies when, source
constexpr double kOddOnes = 0.2;       // of the partners may be as slow themselves; one always
constexpr double kFasterWith = 1.15;   // 1 / 0.87: with this partner the node is the faster one
constexpr double kSpreads = 4;         // robust deviations, of one share and of a median
constexpr double kMedianError = 1.25;  // of a mean's, for normal noise
constexpr double kSigmaOfMad = 1.4826;
constexpr std::size_t kLeastPartners = 2;
constexpr std::size_t kFewNodes = 8;
constexpr std::size_t kLeastMates = 2;
constexpr std::size_t kMostNodes = 2048;
constexpr std::size_t kMostMates = 64;  // that a node is compared with

double median_of(std::vector<double> figures) {
  const auto middle = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
  std::nth_element(figures.begin(), middle, figures.end());
  if (figures.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(figures.begin(), middle)) / 2;
}

// Every pair's rate; zero where it was not measured.
class Rates {
 public:
  explicit Rates(const PairGraph& graph) {
    for (const auto& [node, partners] : graph.nodes) names_.push_back(node);
    rates_.resize(names_.size() * names_.size());
    for (const auto& [pair, edge] : graph.edges) {
      const std::size_t a = place(pair.first), b = place(pair.second);
      rates_[a * size() + b] = rates_[b * size() + a] = edge.GBps;
    }
  }
  std::size_t size() const { return names_.size(); }
  const std::string& name(std::size_t node) const { return names_[node]; }
  // What `node` reaches of what `mate` reaches, with each partner of both.
  std::vector<double> shares(std::size_t node, std::size_t mate) const {
    std::vector<double> shares;
    for (std::size_t partner = 0; partner < size(); ++partner) {
      const double own = rates_[node * size() + partner], other = rates_[mate * size() + partner];
      if (own > 0 && other > 0) shares.push_back(own / other);
    }
    return shares;
  }

 private:
  std::size_t place(const std::string& name) const {
    return static_cast<std::size_t>(std::lower_bound(names_.begin(), names_.end(), name) -
                                    names_.begin());
  }
  std::vector<std::string> names_ = {};  // sorted
  std::vector<double> rates_ = {};
};

double spread_of(const std::vector<double>& shares) {
  const double median = median_of(shares);
  std::vector<double> off;
  for (const double share : shares) off.push_back(std::abs(share - median) / median);
  return kSigmaOfMad * median_of(off);
}

std::size_t stride_of(std::size_t nodes) { return nodes / kMostMates + 1; }

// What single shares of nodes differ by from noise alone, as a part of 1. Shares of nodes of two
// racks differ by more: the smallest spreads are those of mates.
double noise_of(const Rates& rates) {
  std::vector<double> spreads;
  for (std::size_t node = 0; node < rates.size(); ++node)
    for (std::size_t mate = node + 1; mate < rates.size(); mate += stride_of(rates.size())) {
      const auto shares = rates.shares(node, mate);
      if (shares.size() >= kLeastPartners) spreads.push_back(spread_of(shares));
    }
  if (spreads.empty()) return 0;
  const std::size_t part = rates.size() < kFewNodes ? 4 : 10;
  const auto at = spreads.begin() + static_cast<std::ptrdiff_t>(spreads.size() / part);
  std::nth_element(spreads.begin(), at, spreads.end());
  return *at;
}

// The median share where `node` is slower than `mate` whoever the partner is.
std::optional<double> slower_than(const std::vector<double>& shares, double slow_share,
                                  double noise) {
  if (shares.size() < kLeastPartners) return std::nullopt;
  const double median = median_of(shares), spread = std::max(spread_of(shares), noise);
  const double error = kMedianError * spread / std::sqrt(static_cast<double>(shares.size()));
  if (median >= slow_share || median > 1 - kSpreads * error) return std::nullopt;
  std::size_t slow = 0;
  for (const double share : shares) {
    if (share > std::max(kFasterWith, 1 + kSpreads * noise)) return std::nullopt;
    if (share < slow_share) ++slow;
  }
  const auto all = static_cast<double>(shares.size());
  const double odd = all - static_cast<double>(slow);
  const bool is_nearly_all = odd <= std::max(1.0, kOddOnes * all) && 2 * odd < all;
  return is_nearly_all ? std::optional(median) : std::nullopt;
}

SlowNode judged(const Rates& rates, std::size_t node, double slow_share, double noise) {
  std::vector<double> medians;
  for (std::size_t mate = 0; mate < rates.size(); mate += stride_of(rates.size())) {
    if (mate == node) continue;
    const auto share = slower_than(rates.shares(node, mate), slow_share, noise);
    if (share) medians.push_back(*share);
  }
  if (medians.empty()) return {rates.name(node)};
  return {rates.name(node), median_of(medians), medians.size()};
}

}  // namespace

std::vector<SlowNode> slow_nodes_of(const PairGraph& graph, double slow_share) {
  std::vector<SlowNode> slow;
  if (graph.nodes.size() < 4 || graph.nodes.size() > kMostNodes) return slow;
  const Rates rates(graph);
  const double noise = noise_of(rates);
  for (std::size_t node = 0; node < rates.size(); ++node) {
    SlowNode one = judged(rates, node, slow_share, noise);
    if (one.mates >= kLeastMates) slow.push_back(std::move(one));
  }
  return slow;
}

}  // namespace comm_probe::diagnose
