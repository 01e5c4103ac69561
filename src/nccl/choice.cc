#include "nccl/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace comm_probe::nccl {
namespace {

// What AllReduce Tree keeps of its bandwidth, per power of two from 64 B to 256 MiB. NCCL 2.28.9
// src/graph/tuning.cc, treeCorrectionFactor.
constexpr float kTreeShare[kProtocols][23] = {
    {1,   1,   1,   1,   .9F, .8F, .7F, .7F, .7F, .7F, .6F, .5F,
     .4F, .4F, .5F, .6F, .7F, .8F, .9F, 1,   1,   1,   1},
    {1,   1,   1,   1,   1,   .9F, .8F, .8F, .8F, .7F, .6F, .6F,
     .6F, .6F, .6F, .6F, .8F, .9F, .9F, .9F, .9F, 1,   1},
    {.9F, .9F, .9F, .9F, .9F, .9F, .9F, .8F, .7F, .6F, .6F, .5F,
     .5F, .5F, .5F, .6F, .7F, .8F, .7F, .7F, .8F, .9F, .9F}};
constexpr float kSteadyRing = 1.4F;         // x latency once every channel of a rank has work
constexpr float kSteadyRingVolta = 1.9F;    // before compute capability 8.0
constexpr float kFp8RingPenalty = 1024.0F;  // Ring reductions of fp8 on more than 8 ranks
constexpr int kFp8Chip = 90;                // compute capability from which fp8 is reduced at all
constexpr int kMostCollnetRanks = 8;        // of a node
constexpr int kMostNvlsRanks = 32;          // of a node, other functions than AllReduce

float tree_share(Protocol protocol, std::uint64_t bytes) {
  const int power = std::bit_width(bytes / 64) - 1;
  if (power < 0 || power >= 23) return 1;
  return kTreeShare[index_of(protocol)][power];
}

bool is_steady_ring(const Tuning& tuning, const Call& call) {
  const Agreement& all = tuning.job.agreement;
  const auto parts = static_cast<std::uint64_t>(std::max(1, tuning.job.channels.coll)) *
                     static_cast<std::uint64_t>(all.ranks);
  return all.nodes > 1 && call.bytes(all.ranks) / parts >= 64;
}

bool is_scaled(Reduction reduction) {
  return reduction == Reduction::kAvg || reduction == Reduction::kMulSum;
}

// Of this call; empty where it may run.
const char* call_refusal(const Tuning& tuning, const Call& call, Algorithm algorithm) {
  const Agreement& all = tuning.job.agreement;
  if (is_collnet(algorithm)) {
    if (!all.is_collnet_usable) return refusal_text(Refusal::kNoCollnet);
    if (all.most_local_ranks > kMostCollnetRanks) return "a node has more than 8 ranks";
  }
  if (is_nvls(algorithm)) {
    if (!all.is_nvls_usable) return "NVLink SHARP is off";
    if (call.function != Function::kAllGather && !is_nvls_reducible(call.type, call.reduction))
      return "NVLink SHARP cannot reduce this type and operation";
    if (call.function != Function::kAllReduce && all.most_local_ranks > kMostNvlsRanks)
      return "a node has more than 32 ranks";
    if (algorithm == Algorithm::kNvls && all.nodes > 1 && !all.is_collnet_usable)
      return refusal_text(Refusal::kNoCollnet);
  }
  if (algorithm == Algorithm::kPat && call.function == Function::kReduceScatter &&
      is_scaled(call.reduction))
    return "PAT does not scale while it reduces";
  return "";
}

Candidate price(const Tuning& tuning, const Call& call, Algorithm algorithm, Protocol protocol) {
  const MethodCost& cost = tuning.cost(call.function, algorithm, protocol);
  const int ranks = tuning.job.agreement.ranks;
  float rate = cost.bandwidth.GBps;
  float latency = cost.latency.us;
  const bool is_all_reduce = call.function == Function::kAllReduce;
  if (is_all_reduce && algorithm == Algorithm::kTree)
    rate *= tree_share(protocol, call.bytes(ranks));
  if (is_all_reduce && algorithm == Algorithm::kRing && protocol == Protocol::kSimple &&
      is_steady_ring(tuning, call))
    latency *= tuning.job.agreement.least_sm < 80 ? kSteadyRingVolta : kSteadyRing;
  const float moving = static_cast<float>(call.bytes(ranks)) / (1000 * rate);
  Candidate candidate{algorithm, protocol, {latency + moving}, {latency}, {moving}};
  if (call.type == DataType::kFloat8 && is_reduction(call.function) &&
      algorithm == Algorithm::kRing && ranks > 8)
    for (NcclTime* part : {&candidate.time, &candidate.latency, &candidate.bandwidth})
      part->us *= kFp8RingPenalty;
  return candidate;
}

// A lone rank copies.
Choice copy_choice() {
  Choice choice;
  choice.launch = {1, 0, 0, 0};
  return choice;
}

// NCCL's own words.
core::Error nothing_left(const Tuning& tuning, const Call& call) {
  const MethodLists& lists = tuning.job.settings.lists;
  // AllGather and Broadcast move bytes whatever the type.
  const DataType type = is_reduction(call.function) ? call.type : DataType::kInt8;
  std::string message =
      fmt::format("Error : no algorithm/protocol available for function {} with datatype {}.",
                  function_name(call.function), nccl_data_type(type));
  std::string set;
  if (!lists.algorithm_text.empty())
    set += fmt::format(" NCCL_ALGO was set to {}.", lists.algorithm_text);
  if (!lists.protocol_text.empty())
    set += fmt::format(" NCCL_PROTO was set to {}.", lists.protocol_text);
  return core::input_error(message + set, set.empty() ? ""
                                                      : "unset it or limit it to a function: "
                                                        "NCCL_ALGO=allreduce:tree");
}

}  // namespace

std::optional<Candidate> candidate_of(const Tuning& tuning, const Call& call, Algorithm algorithm,
                                      Protocol protocol) {
  if (tuning.cost(call.function, algorithm, protocol).bandwidth.GBps <= 0) return std::nullopt;
  if (*call_refusal(tuning, call, algorithm) != '\0') return std::nullopt;
  return price(tuning, call, algorithm, protocol);
}

const char* type_refusal(const Tuning& tuning, const Call& call) {
  const bool is_refused = call.type == DataType::kFloat8 && is_reduction(call.function) &&
                          tuning.job.agreement.ranks > 1 &&
                          tuning.job.agreement.least_sm < kFp8Chip;
  return is_refused ? "FP8 reduction support begins with sm90 capable devices." : "";
}

core::Result<Choice> choose(const Tuning& tuning, const Call& call) {
  if (tuning.job.agreement.ranks <= 1) return copy_choice();
  if (const char* words = type_refusal(tuning, call); *words != '\0')
    return core::input_error(words);
  Choice choice;
  for (const Algorithm algorithm : kAllAlgorithms)
    for (const Protocol protocol : kAllProtocols) {
      const MethodCost& cost = tuning.cost(call.function, algorithm, protocol);
      if (const auto candidate = candidate_of(tuning, call, algorithm, protocol))
        choice.others.push_back(*candidate);
      else if (cost.refusal != Refusal::kNotOffered)
        choice.declined.push_back({algorithm, protocol,
                                   cost.refusal != Refusal::kNone
                                       ? refusal_text(cost.refusal)
                                       : call_refusal(tuning, call, algorithm)});
    }
  if (choice.others.empty()) return nothing_left(tuning, call);
  // Equal times stay in NCCL's order.
  std::stable_sort(choice.others.begin(), choice.others.end(),
                   [](const Candidate& a, const Candidate& b) { return a.time < b.time; });
  choice.taken = choice.others.front();
  choice.others.erase(choice.others.begin());
  choice.launch = launch_of(tuning, call, choice.taken.algorithm, choice.taken.protocol);
  return choice;
}

}  // namespace comm_probe::nccl
