// What each way of a framework to move MoE tokens sends: Megatron-LM's three token dispatchers and
// the --all2all-backend of vLLM, reduced to four patterns.
//   all-gather   every rank gets every token, (n-1) T 2H each way whatever k is; the nodes pass it
//                on in rings, (n-1) T 2H / g per NIC
//   all-to-all   one copy per (token, expert): flat of layer.h, after an exchange of the counts
//                (2 alpha and one wait of the host more)
//   dedup        one copy per node, as DeepEP's normal kernels
//   low latency  one RDMA WRITE per (token, expert), as issue.h prices it
// Source: shared spec moe.md 8, 9. Worked example (tests/unit/moe/layer_test.cc): 4096
// tokens, hidden 7168, top-8, bf16: all-gather and all-to-all both 411.04 MB on 8 ranks, 3699 and
// 462 MB on 64: all-gather is right only for k >= n.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "model/moe/layer.h"

namespace comm_probe::model {

enum class MoePattern { kAllGather, kAllToAll, kDedup, kLowLatency };
const char* pattern_name(MoePattern pattern);  // "all-gather" | "all-to-all" | ...

struct MoeStack {
  std::string_view name;              // as the setting is written
  std::optional<MoePattern> pattern;  // absent: no ledger of it is known
  std::string_view note;
  bool one_domain = false;    // works inside one NVLink domain only
  int most_nvlink_peers = 0;  // of its groups inside a node; 0: no such limit
  bool fits(const MoeLayer& layer) const {
    return most_nvlink_peers == 0 || layer.ranks_per_node <= most_nvlink_peers;
  }
  bool is_priced(const MoeLayer& layer) const {
    return pattern && fits(layer) && !(one_domain && layer.nodes > 1);
  }
};
// moe_token_dispatcher_type of Megatron-LM; the first is the default.
std::span<const MoeStack> megatron_dispatchers();
// Megatron-LM dispatches its bf16 activations, whatever the layer's format.
MoeLayer megatron_layer(const MoeLayer& layer);
// --all2all-backend of vLLM; the first is the default.
std::span<const MoeStack> vllm_backends();

struct PatternPrice {
  MoeTransfer dispatch = {};
  MoeTransfer combine = {};
  int alphas = 2;  // of the layer
  core::Duration time() const { return dispatch.time() + combine.time(); }
  // What a rank receives in dispatch, over both kinds of link.
  core::Bytes dispatch_bytes() const { return dispatch.nic + dispatch.nvlink; }
};
PatternPrice price_pattern(const MoeLayer& layer, const MoeLinks& links, MoePattern pattern);

}  // namespace comm_probe::model
