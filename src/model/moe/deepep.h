// What DeepEP V1 takes of a GPU: SMs, channels and buffer bytes of the normal kernels, and the
// buffers of the low-latency kernels, which reserve room for the worst case.
//   channels     SMs / 2: the even SM of a pair forwards from RDMA to NVLink, the odd one sends
//   NVLink       channels x peers x ((2 nodes + 3) x 4 + chunk x slot), up to a multiple of 128
//   RDMA         channels x nodes x 2 x (18 x 4 + chunk x (slot + 16)); none with one node
//   slot         2H + 8 source + 128 x (8 + 4) top-k + 128 x 4 scales
//   low latency  2 x (max(T d, E T c) + E T max(d, c)) + counters, d = 16 + max(2H, H + 4H/128),
//                c = 2H + 4H/128
// Source: shared spec moe.md 4, 5 (DeepEP docs/legacy.md and csrc/legacy/config.hpp). Worked
// example (tests/unit/moe/layer_test.cc): 20 SMs are 10 channels; 128 tokens, hidden 7168,
// 256 experts: 1.91 GB of low-latency buffers per rank.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/quantity.h"
#include "model/moe/layer.h"

namespace comm_probe::model {

// Tokens per chunk and of its receive buffer, as the library tunes them for a number of ranks.
struct DeepEpChunks {
  int nvlink_send = 0;
  int nvlink_receive = 0;
  int rdma_send = 0;
  int rdma_receive = 0;
};
struct DeepEpConfig {
  int ranks = 0;
  DeepEpChunks dispatch = {};
  DeepEpChunks combine = {};
};
// Nothing where DeepEP has no configuration for so many ranks: it refuses them.
std::optional<DeepEpConfig> deepep_config(int ranks);

inline constexpr int kDeepEpSms = 20;          // num_sms; even
inline constexpr int kDeepEpPeers = 8;         // ranks of a node at most
inline constexpr int kLowLatencyTokens = 256;  // num_max_dispatch_tokens_per_rank is about that
inline constexpr int kQueueDepth = 1024;       // NVSHMEM_QP_DEPTH
constexpr int deepep_channels(int sms) { return sms / 2; }
// NVSHMEM_QP_DEPTH must hold two messages per token and two more.
constexpr bool fits_queue(std::int64_t tokens) { return 2 * (tokens + 1) <= kQueueDepth; }

struct DeepEpBuffers {
  core::Bytes nvlink = {};
  core::Bytes rdma = {};
};
// The larger of dispatch and combine.
DeepEpBuffers deepep_buffers(const DeepEpConfig& config, int hidden, int sms);
core::Bytes low_latency_buffer(const MoeLayer& layer);

// What the library sets before NVSHMEM starts.
struct DeepEpSetting {
  std::string_view name;
  std::string_view value;
  std::string_view why;
};
std::span<const DeepEpSetting> deepep_settings();

}  // namespace comm_probe::model
