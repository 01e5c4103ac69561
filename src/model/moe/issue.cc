#include "model/moe/issue.h"

#include "core/check.h"

namespace comm_probe::model {
namespace {

constexpr std::array kPosters = {
    MoePoster{"CPU proxy", 1, 3, "one thread of the host posts for the GPU (NCCL, NVSHMEM IBRC)",
              core::Basis::kAssumed,
              "ibv_post_send and the flag of the GPU take 0.3 to 1 us together"},
    MoePoster{"IBGDA", 896.0 / 173, 896.0 / 173,
              "warps write work requests and doorbells themselves; at least this was seen",
              core::Basis::kRead,
              "DeepEP docs/legacy.md: 896 remote messages in the 173 us of a whole dispatch (EP64, "
              "H800, ConnectX-7)"},
};

constexpr std::array kDeviceInitiated = {
    DeviceInitiated{"NCCL", "2.28", "GIN"},
    DeviceInitiated{"PyTorch", "2.12", "all_to_all_vdev"},
};

constexpr std::array kConstants = {
    MoeConstant{"dispatch alpha", 45, "us", "low-latency kernels over RDMA, 2 to 8 nodes",
                "DeepEP on ConnectX-7 in the README of pplx-garden: median of 123.9, 159.1 and "
                "177.9 us less the time of their bytes"},
    MoeConstant{"combine alpha", 65, "us", "low-latency kernels over RDMA, 2 to 8 nodes",
                "DeepEP on ConnectX-7 in the README of pplx-garden: median of 203, 285 and 325 us "
                "less the time of their bytes"},
    MoeConstant{"EP64 dispatch", 173, "us", "128 tokens, hidden 7168, top-8, fp8, H800, 400 Gb/s",
                "DeepEP docs/legacy.md"},
    MoeConstant{"EP64 combine", 314, "us", "128 tokens, hidden 7168, top-8, bf16, H800, 400 Gb/s",
                "DeepEP docs/legacy.md"},
    MoeConstant{"step alpha", 20, "us", "per operation of the 429 us of decode theory",
                "recap of communication and interconnect (arganzheng.life), ch. 8: 429 us less "
                "389.4 us of bytes, over two operations"},
};

}  // namespace

MoeMessages moe_messages(const MoeLayer& layer) {
  const double all = static_cast<double>(layer.tokens) * layer.topk;
  return {all, all * layer.share_off_node()};
}

double issue_rate(double messages, core::Duration time) { return messages / time.in_us(); }

std::span<const MoePoster> moe_posters() { return kPosters; }
const MoePoster& cpu_proxy() { return kPosters[0]; }
const MoePoster& ibgda() { return kPosters[1]; }

std::span<const DeviceInitiated> device_initiated() { return kDeviceInitiated; }

LowLatencyPrice price_low_latency(const MoeLayer& layer, const MoeLinks& links) {
  const MoeCopies copies = moe_copies(layer, MoeScheme::kFlat, MoeDraw::kDistinct);
  const auto priced = [&](core::Bytes message) {
    const core::Bytes sent = message * static_cast<double>(layer.tokens);
    return moe_transfer(message, sent * copies.nic, sent * copies.nvlink, links);
  };
  return {moe_messages(layer), priced(copy_bytes(layer.hidden, layer.dispatch) + kLowLatencyHeader),
          priced(copy_bytes(layer.hidden, layer.combine))};
}

std::span<const MoeConstant> moe_constants() { return kConstants; }

const MoeConstant& moe_constant(std::string_view name) {
  for (const MoeConstant& constant : kConstants)
    if (constant.name == name) return constant;
  COMM_PROBE_CHECK(false, "no such constant of the MoE ledger");
  return kConstants.front();
}

}  // namespace comm_probe::model
