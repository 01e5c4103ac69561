// Bandwidth of a combination. NCCL stores 32-bit floats but multiplies by double literals; the code
// keeps both, so that equal candidates stay equal.
#include <algorithm>

#include "nccl/tuning_model.h"

namespace comm_probe::nccl {
namespace {

using topology::NcclRate;

float single(double value) { return static_cast<float>(value); }

struct Context {
  const TuningFacts& facts;
  const Combination& what;
  const GraphTraits& graph;

  bool is_all_reduce() const { return what.function == Function::kAllReduce; }
  float intra() const { return graph.bw_intra.GBps; }
  float inter() const { return graph.bw_inter.GBps; }
  float limit(const ByGeneration& table) const {
    return facts.of_generation(table)[facts.by_nodes];
  }
};

// The efficiency model of 2.28: what the switch loses inside, the network outside.
float nvls_efficiency_rate(const Context& c) {
  const bool is_tree = c.what.algorithm == Algorithm::kNvlsTree;
  const int channels = c.graph.n_channels;
  const float ppn = c.facts.ranks_per_node;
  float intra = single(c.intra() * c.facts.constants.nvls_share[index_of(c.facts.generation)] *
                       (channels - 1) / channels);
  intra = c.is_all_reduce() ? intra * 2.0F : intra * (ppn - 1) / ppn;
  const float inter = c.inter() * (c.facts.nodes <= 2 && is_tree ? 2.0F : 1.0F);
  const float narrower = std::min(intra, inter);
  return is_tree ? std::min(narrower, c.limit(c.facts.constants.nvls_tree_most)) : narrower;
}

// The forms before 2.28.
float nvls_older_rate(const Context& c) {
  using Rule = TuningConstants::NvlsRule;
  const Rule rule = c.facts.constants.nvls_rule;
  const double share = c.facts.constants.nvls_fixed_share;
  const float ppn = c.facts.ranks_per_node;
  if (c.what.algorithm == Algorithm::kNvlsTree) {
    if (rule == Rule::kIntra)
      return single(c.intra() * 0.70 * c.facts.nodes / (2.0 * (c.facts.nodes - 1)));
    return single(std::min(c.intra(), c.facts.nodes <= 2 ? c.inter() : c.inter() / 2) * share);
  }
  if (rule == Rule::kIntra) return single(c.intra() * share);
  if (rule == Rule::kShared && !c.is_all_reduce())
    return std::min(c.intra() * (ppn - 1) / ppn, c.inter() * 0.9F);
  return single(std::min(c.intra(), c.inter()) * share);
}

// One channel.
float channel_rate(const Context& c) {
  if (is_nvls(c.what.algorithm)) {
    if (c.facts.constants.nvls_rule == TuningConstants::NvlsRule::kEfficiency)
      return nvls_efficiency_rate(c);
    return c.facts.nodes == 1 && c.what.algorithm == Algorithm::kNvlsTree ? 0 : nvls_older_rate(c);
  }
  return c.facts.nodes <= 2 || is_collnet(c.what.algorithm) ? c.intra() : c.inter();
}

// All channels together: on one node the chip counts, else the CPU (absent: ranks differ).
float ll_most(const Context& c) {
  const std::optional<topology::Cpu::Vendor> vendor = c.facts.agreement.cpu_vendor;
  const bool is_amd = !vendor || *vendor == topology::Cpu::Vendor::kAmd;
  const std::size_t row = c.facts.nodes == 1 ? index_of(c.facts.generation) : (is_amd ? 1 : 0);
  return c.facts.constants.ll_most[row][c.facts.by_nodes];
}

float ring_rate(const Context& c, float rate) {
  const TuningConstants& k = c.facts.constants;
  if (c.what.protocol == Protocol::kLl) {
    const bool one_way = c.facts.nodes == 1 && c.what.function != Function::kAllReduce &&
                         c.what.function != Function::kReduce;
    return single(
        std::min<double>(ll_most(c), rate * (one_way ? k.ring_ll_share_one_way : k.ring_ll_share)));
  }
  if (c.what.protocol == Protocol::kLl128)
    return single(std::min<double>(
        rate * (c.facts.ranks_per_node < 2 ? k.ring_ll128_share_alone : k.ring_ll128_share),
        c.graph.n_channels * c.limit(k.ring_ll128_most)));
  return rate;
}

float tree_rate(const Context& c, float rate) {
  const TuningConstants& k = c.facts.constants;
  const int channels = c.graph.n_channels;
  if (c.is_all_reduce())
    rate = single(std::min<double>(rate * k.tree_share, channels * c.limit(k.tree_most)));
  if (c.what.protocol == Protocol::kLl) {
    rate = single(std::min<double>(rate * 1.0 / k.tree_ll_divisor, ll_most(c)));
  }
  if (c.what.protocol == Protocol::kLl128)
    rate = single(std::min<double>(
        rate * (c.facts.nodes == 1 ? k.tree_ll128_share_one_node : k.tree_ll128_share),
        channels * c.limit(k.tree_ll128_most)));
  if (c.graph.pattern == Pattern::kTree) rate = single(rate * k.tree_pattern_share);
  return rate;
}

float collnet_direct_rate(const Context& c, float rate) {
  const float ppn = c.facts.ranks_per_node;
  if (is_gathering(c.what.function)) return ppn * std::min(c.intra(), c.inter() * 0.9F);
  if (c.graph.n_channels == 0) return 0;
  float share = single(ppn / (1.0 * c.graph.n_channels));  // GPUs per NIC
  share -= (share - 1) / 2;
  rate /= share;
  return c.facts.agreement.least_sm >= 90 ? single(rate * c.facts.constants.collnet_hopper_share)
                                          : rate;
}

// From the bus to the bytes of the call.
float per_call(const Context& c, float rate) {
  const Algorithm algorithm = c.what.algorithm;
  if (algorithm != Algorithm::kRing && is_gathering(c.what.function)) return rate;
  if (algorithm == Algorithm::kRing || is_nvls(algorithm))
    return single(rate * (1.0 * c.facts.ranks / ring_steps(c.what.function, c.facts.ranks)));
  return single(rate * 0.5);
}

}  // namespace

NcclRate method_bandwidth(const TuningFacts& facts, const Combination& what) {
  const Context c{facts, what, graph_of(facts.agreement, what.algorithm)};
  if (is_nvls(what.algorithm) && c.graph.n_channels < 2) return {};
  float rate = static_cast<float>(c.graph.n_channels) * channel_rate(c);
  switch (what.algorithm) {
    case Algorithm::kRing:
      rate = ring_rate(c, rate);
      break;
    case Algorithm::kTree:
      rate = tree_rate(c, rate);
      break;
    case Algorithm::kPat:
      rate = single(rate * facts.constants.pat_share);
      break;
    case Algorithm::kCollNetDirect:
    case Algorithm::kCollNetChain:
      if (what.protocol != Protocol::kSimple) return {};
      if (what.algorithm == Algorithm::kCollNetDirect) rate = collnet_direct_rate(c, rate);
      break;
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
      break;
  }
  return {per_call(c, rate)};
}

}  // namespace comm_probe::nccl
