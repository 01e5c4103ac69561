#include "nccl/tuning.h"

#include <algorithm>

#include "nccl/tuning_model.h"

namespace comm_probe::nccl {
namespace {

constexpr int kMostThreads = 512;
constexpr int kMostLl128Threads = 640;
constexpr int kOffloadThreads = 640;  // CollNet and NVLS

// A ring that carries at most 12 GB/s has enough with 256 threads. The product is a 32-bit float in
// NCCL: 1.2 x 10 counts as 12.
int default_ring_threads(const GraphTraits& ring) {
  const float rate = ring.bw_intra.GBps * static_cast<float>(ring.n_channels);
  return rate <= 12.0F ? 256 : kMostThreads;
}

PerMethod<int> max_threads(const TuningJob& job) {
  const TuningSettings& settings = job.settings;
  const int ll = settings.threads.value_or(kMostThreads);
  const int ll128 = settings.ll128_threads.value_or(kMostLl128Threads);
  const int ring_simple = settings.threads.value_or(default_ring_threads(job.agreement.ring));
  PerMethod<int> threads = {};
  threads[index_of(Algorithm::kTree)] = {ll, ll128, ll};
  threads[index_of(Algorithm::kRing)] = {ll, ll128, ring_simple};
  for (const Algorithm algorithm : {Algorithm::kCollNetDirect, Algorithm::kCollNetChain,
                                    Algorithm::kNvls, Algorithm::kNvlsTree})
    threads[index_of(algorithm)][index_of(Protocol::kSimple)] = kOffloadThreads;
  return threads;
}

PerMethod<std::int64_t> thread_thresholds(const TuningJob& job) {
  PerMethod<std::int64_t> thresholds;
  thresholds.fill({8, 8, 64});
  auto& tree = thresholds[index_of(Algorithm::kTree)];
  auto& ring = thresholds[index_of(Algorithm::kRing)];
  ring[index_of(Protocol::kLl)] *= job.agreement.ranks;
  for (const Algorithm algorithm : {Algorithm::kCollNetDirect, Algorithm::kCollNetChain})
    thresholds[index_of(algorithm)][index_of(Protocol::kSimple)] = 512;
  for (std::size_t i = 0; i < kProtocols; ++i) {
    if (job.settings.thread_thresholds[i] >= 0) tree[i] = job.settings.thread_thresholds[i];
    if (job.settings.thread_thresholds[3 + i] >= 0) ring[i] = job.settings.thread_thresholds[3 + i];
  }
  return thresholds;
}

bool has_form_left(const MethodLists& lists, Function function) {
  if (function == Function::kBroadcast || function == Function::kReduce)
    return lists.of(function, Algorithm::kRing) != Allowed::kNo;
  for (const Algorithm algorithm : kAllAlgorithms) {
    const bool is_reduce_only = algorithm == Algorithm::kTree ||
                                algorithm == Algorithm::kCollNetChain ||
                                algorithm == Algorithm::kNvlsTree;
    if (is_gathering(function) && is_reduce_only) continue;
    if (lists.of(function, algorithm) != Allowed::kNo) return true;
  }
  return false;
}

// Releases before 2.24 take Ring where NCCL_ALGO leaves nothing; up to 2.21 with every protocol
// (NVIDIA/nccl issue 1304).
void fall_back_to_ring(TuningSettings& settings) {
  MethodLists& lists = settings.lists;
  for (const Function function : kAllFunctions) {
    if (has_form_left(lists, function)) continue;
    lists.algorithms[index_of(function)][index_of(Algorithm::kRing)] = Allowed::kYes;
    if (settings.version < topology::NcclVersion{2, 22, 0})
      lists.protocols[index_of(function)] = default_method_lists().protocols[index_of(function)];
  }
}

MethodCost cost_of(const TuningFacts& facts, const Combination& what) {
  MethodCost cost;
  cost.refusal = method_refusal(facts, what);
  if (!is_offered(facts, what)) return cost;
  cost.latency = latency_parts(facts, what).total();
  if (cost.refusal != Refusal::kNone) return cost;
  cost.bandwidth = method_bandwidth(facts, what);
  if (cost.bandwidth.GBps == 0) cost.refusal = Refusal::kNoBandwidth;
  return cost;
}

}  // namespace

TuningFacts::TuningFacts(const TuningJob& of_job, const TuningConstants& with)
    : job(of_job),
      constants(with),
      agreement(of_job.agreement),
      ranks(agreement.ranks),
      nodes(agreement.nodes),
      ranks_per_node(static_cast<float>(ranks) / static_cast<float>(nodes)),
      whole_ranks_per_node(ranks / nodes),
      by_nodes(nodes == 1 ? 0 : (nodes == 2 ? 1 : 2)),
      generation(generation_of(agreement.least_sm)) {}

int ring_steps(Function function, int ranks) {
  if (function == Function::kAllReduce) return 2 * (ranks - 1);
  return is_gathering(function) ? ranks - 1 : ranks;
}

const GraphTraits& graph_of(const Agreement& agreement, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kTree:
    case Algorithm::kPat:
      return agreement.tree;
    case Algorithm::kRing:
      return agreement.ring;
    case Algorithm::kCollNetDirect:
      return agreement.collnet_direct;
    case Algorithm::kCollNetChain:
      return agreement.collnet_chain;
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
      return agreement.nvls;
  }
  return agreement.ring;
}

Tuning tune(const TuningJob& job) {
  Tuning tuning;
  tuning.job = job;
  tuning.max_threads = max_threads(job);
  // NCCL leaves the rest at 0 for a lone rank: every call is a copy.
  if (job.agreement.ranks <= 1 || job.agreement.nodes < 1) return tuning;
  tuning.thread_thresholds = thread_thresholds(job);
  const TuningConstants constants = tuning_constants(job.settings.version);
  tuning.channel_traffic = constants.channel_traffic;
  if (constants.falls_back_to_ring) fall_back_to_ring(tuning.job.settings);
  const TuningFacts facts(tuning.job, constants);
  for (const Function function : kAllFunctions)
    for (const Algorithm algorithm : kAllAlgorithms)
      for (const Protocol protocol : kAllProtocols)
        tuning.costs[index_of(function)][index_of(algorithm)][index_of(protocol)] =
            cost_of(facts, {function, algorithm, protocol});
  return tuning;
}

Tuning tune(const JobPlan& plan, const TuningSettings& settings) {
  TuningJob job;
  job.agreement = plan.agreement;
  job.channels = plan.counts;
  job.settings = settings;
  return tune(job);
}

}  // namespace comm_probe::nccl
