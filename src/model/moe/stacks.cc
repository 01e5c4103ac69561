#include "model/moe/stacks.h"

#include "model/moe/deepep.h"
#include "model/moe/issue.h"

namespace comm_probe::model {
namespace {

constexpr std::array kMegatron = {
    MoeStack{"allgather", MoePattern::kAllGather, "bytes do not depend on top-k: right for k >= n"},
    MoeStack{"alltoall", MoePattern::kAllToAll,
             "exchanges the counts first: 2 alpha and a wait of the host, not capturable"},
    MoeStack{"flex", MoePattern::kDedup,
             "DeepEP by default, 20 SMs and 8 ranks a node; HybridEP and NCCL EP behind the same "
             "switch"},
};

constexpr std::array kVllm = {
    MoeStack{"allgather_reducescatter", MoePattern::kAllGather, "the default; fine on one node"},
    MoeStack{"deepep_high_throughput", MoePattern::kDedup, "prefill; CUDA graphs are disabled",
             false, kDeepEpPeers},
    MoeStack{"deepep_low_latency", MoePattern::kLowLatency, "decode; capturable"},
    MoeStack{"deepep_v2", MoePattern::kDedup, "NCCL GIN, from NCCL 2.30.4 on"},
    MoeStack{"nixl_ep", MoePattern::kLowLatency, "low-latency kernels over NIXL"},
    MoeStack{"flashinfer_nvlink_one_sided", MoePattern::kAllToAll, "one NVLink domain only", true},
    MoeStack{"flashinfer_nvlink_two_sided", MoePattern::kAllToAll,
             "one NVLink domain only; formerly flashinfer_all2allv", true},
    MoeStack{"mori", std::nullopt, "AMD GPUs; no ledger is known"},
    MoeStack{"moonep", std::nullopt, "no ledger is known"},
};

PatternPrice all_gather(const MoeLayer& layer, const MoeLinks& links) {
  const core::Bytes copy = copy_bytes(layer.hidden, MoeFormat::kBf16);
  const core::Bytes received =
      copy * static_cast<double>(layer.tokens) * static_cast<double>(layer.ranks() - 1);
  const double over_nic = layer.nodes > 1 ? 1.0 / layer.ranks_per_node : 0;
  const MoeTransfer one = moe_transfer(copy, received * over_nic, received * (1 - over_nic), links);
  return {one, one};
}

PatternPrice all_to_all(const MoeLayer& layer, const MoeLinks& links) {
  const MoePrice flat =
      price_moe(megatron_layer(layer), links, MoeScheme::kFlat, MoeDraw::kDistinct);
  PatternPrice price{flat.dispatch, flat.combine, 4};
  price.dispatch.alpha += 2 * links.alpha;
  return price;
}

}  // namespace

const char* pattern_name(MoePattern pattern) {
  switch (pattern) {
    case MoePattern::kAllGather:
      return "all-gather";
    case MoePattern::kAllToAll:
      return "all-to-all";
    case MoePattern::kDedup:
      return "dedup";
    case MoePattern::kLowLatency:
      return "low latency";
  }
  return "";
}

std::span<const MoeStack> megatron_dispatchers() { return kMegatron; }
std::span<const MoeStack> vllm_backends() { return kVllm; }

MoeLayer megatron_layer(const MoeLayer& layer) {
  MoeLayer plain = layer;
  plain.dispatch = plain.combine = MoeFormat::kBf16;
  return plain;
}

PatternPrice price_pattern(const MoeLayer& layer, const MoeLinks& links, MoePattern pattern) {
  switch (pattern) {
    case MoePattern::kAllGather:
      return all_gather(layer, links);
    case MoePattern::kAllToAll:
      return all_to_all(layer, links);
    case MoePattern::kDedup: {
      const auto scheme = layer.group_limit > 0 ? MoeScheme::kGroup : MoeScheme::kDedup;
      const MoePrice price = price_moe(layer, links, scheme, MoeDraw::kDistinct);
      return {price.dispatch, price.combine};
    }
    case MoePattern::kLowLatency: {
      const LowLatencyPrice price = price_low_latency(layer, links);
      return {price.dispatch, price.combine};
    }
  }
  return {};
}

}  // namespace comm_probe::model
