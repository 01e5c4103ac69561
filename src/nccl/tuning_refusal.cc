// Which combinations NCCL does not take, and why.
#include "nccl/tuning_model.h"

namespace comm_probe::nccl {
namespace {

using topology::PathType;

bool is_pat_on(const TuningFacts& facts) {
  if (!facts.constants.has_pat) return false;
  const int setting = facts.job.settings.pat;
  if (facts.agreement.least_sm < 60 || setting == 0) return false;
  return setting == 1 || (facts.ranks == facts.nodes && !facts.job.net_offload);
}

// 7.0, 8.0, 9.0; 10.0 and 12.0 from 2.25.
bool is_listed_chip(const TuningFacts& facts) {
  const int sm = facts.agreement.least_sm;
  return sm == 70 || sm == 80 || sm == 90 ||
         (facts.job.settings.version >= topology::NcclVersion{2, 25, 0} &&
          (sm == 100 || sm == 120));
}

bool is_ll128_chip(const TuningFacts& facts) {
  const Agreement& all = facts.agreement;
  const bool is_even = all.least_sm == all.most_sm;
  if (!facts.constants.ll128_any_chip) return is_even && is_listed_chip(facts);
  if (facts.constants.ll128_mixed_chips && all.least_sm >= 90) return true;
  return is_even && all.least_sm >= 70;
}

Refusal ll128_refusal(const TuningFacts& facts, const Combination& what) {
  const GraphTraits& graph = graph_of(facts.agreement, what.algorithm);
  const bool is_hopper = facts.agreement.least_sm >= 90;
  const bool pxn = is_hopper && (!facts.constants.ll128_c2c_rule || facts.job.settings.ll128_c2c);
  if (graph.type_inter > (pxn ? PathType::kPxn : PathType::kPxb) ||
      graph.type_intra > PathType::kNvb)
    return Refusal::kLl128Path;
  if (!is_ll128_chip(facts)) return Refusal::kLl128Chip;
  // Wrong results were seen on two Hopper ranks with CUDA 11.8.
  if (facts.agreement.least_sm == 90 && facts.job.cuda_runtime == 11080 &&
      what.function == Function::kAllReduce && what.algorithm == Algorithm::kRing &&
      facts.ranks == 2)
    return Refusal::kLl128Chip;
  return Refusal::kNone;
}

Refusal algorithm_refusal(const TuningFacts& facts, const Combination& what) {
  const bool several = facts.nodes > 1;
  const bool collnet = facts.agreement.is_collnet_usable;
  if (what.algorithm == Algorithm::kNvlsTree && !several) return Refusal::kOneNode;
  if (is_collnet(what.algorithm) && !collnet) return Refusal::kNoCollnet;
  if (what.algorithm == Algorithm::kNvls && several && !collnet) return Refusal::kNoCollnet;
  if (what.algorithm == Algorithm::kCollNetDirect && facts.agreement.nvswitches == 0)
    return Refusal::kNoNvswitch;
  const bool gathers_by_heads =
      (what.algorithm == Algorithm::kNvls || what.algorithm == Algorithm::kCollNetDirect) &&
      is_gathering(what.function) && several;
  if (!gathers_by_heads) return Refusal::kNone;
  const int heads = facts.agreement.is_nvls_usable ? facts.job.channels.nvls_heads
                                                   : facts.agreement.collnet_heads;
  return facts.agreement.most_local_ranks > heads ? Refusal::kTooFewHeads : Refusal::kNone;
}

bool has_form(const TuningFacts& facts, const Combination& what) {
  switch (what.function) {
    case Function::kBroadcast:
    case Function::kReduce:
      return what.algorithm == Algorithm::kRing;
    case Function::kAllGather:
    case Function::kReduceScatter:
      switch (what.algorithm) {
        case Algorithm::kRing:
          return true;
        case Algorithm::kPat:
          return facts.constants.has_pat;
        case Algorithm::kNvls:
          return facts.constants.nvls_gathers;
        case Algorithm::kCollNetDirect:
          return facts.constants.collnet_gathers;
        case Algorithm::kTree:
        case Algorithm::kCollNetChain:
        case Algorithm::kNvlsTree:
          return false;
      }
      return false;
    case Function::kAllReduce:
      return what.algorithm != Algorithm::kPat;
  }
  return false;
}

}  // namespace

bool is_offered(const TuningFacts& facts, const Combination& what) {
  if (!has_form(facts, what)) return false;
  const bool is_simple_only = is_nvls(what.algorithm) || what.algorithm == Algorithm::kPat;
  if (is_simple_only && what.protocol != Protocol::kSimple) return false;
  if (is_nvls(what.algorithm)) return graph_of(facts.agreement, what.algorithm).n_channels >= 2;
  return what.algorithm != Algorithm::kPat || is_pat_on(facts);
}

Refusal method_refusal(const TuningFacts& facts, const Combination& what) {
  const bool is_simple_only =
      is_nvls(what.algorithm) || is_collnet(what.algorithm) || what.algorithm == Algorithm::kPat;
  if (!has_form(facts, what) || (is_simple_only && what.protocol != Protocol::kSimple))
    return Refusal::kNotOffered;
  const MethodLists& lists = facts.job.settings.lists;
  const Allowed protocol = lists.of(what.function, what.protocol);
  if (lists.of(what.function, what.algorithm) == Allowed::kNo) return Refusal::kAlgorithmList;
  if (protocol == Allowed::kNo) return Refusal::kProtocolList;
  if (!is_offered(facts, what))
    return what.algorithm == Algorithm::kPat ? Refusal::kPatSetting : Refusal::kNoBandwidth;
  if (const Refusal refusal = algorithm_refusal(facts, what); refusal != Refusal::kNone)
    return refusal;
  if (protocol == Allowed::kAutomatic) return ll128_refusal(facts, what);
  return Refusal::kNone;
}

const char* refusal_text(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "";
    case Refusal::kNotOffered:
      return "NCCL has no such form of this function";
    case Refusal::kNoBandwidth:
      return "the search found no channels for it";
    case Refusal::kAlgorithmList:
      return "NCCL_ALGO excludes it";
    case Refusal::kProtocolList:
      return "NCCL_PROTO excludes it";
    case Refusal::kOneNode:
      return "it needs several nodes";
    case Refusal::kNoCollnet:
      return "offload by the network (CollNet) is off";
    case Refusal::kNoNvswitch:
      return "it needs an NVSwitch";
    case Refusal::kTooFewHeads:
      return "a node has more ranks than NICs of their own";
    case Refusal::kLl128Path:
      return "LL128 needs NVLink inside and a NIC near the GPU";
    case Refusal::kLl128Chip:
      return "LL128 needs GPUs that are alike and new enough";
    case Refusal::kPatSetting:
      return "PAT is for one rank per node (NCCL_PAT_ENABLE)";
  }
  return "";
}

}  // namespace comm_probe::nccl
