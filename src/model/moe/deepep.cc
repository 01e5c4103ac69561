#include "model/moe/deepep.h"

#include <algorithm>
#include <cmath>

namespace comm_probe::model {
namespace {

// DeepEP docs/legacy.md, deep_ep/buffers/legacy.py: get_dispatch_config, get_combine_config.
constexpr std::array kConfigs = {
    DeepEpConfig{2, {24, 256, 6, 128}, {10, 256, 6, 128}},
    DeepEpConfig{4, {6, 256, 6, 128}, {9, 256, 6, 128}},
    DeepEpConfig{8, {6, 256, 6, 128}, {4, 256, 6, 128}},
    DeepEpConfig{16, {36, 288, 20, 128}, {4, 288, 12, 128}},
    DeepEpConfig{24, {32, 288, 8, 128}, {1, 288, 8, 128}},
    DeepEpConfig{32, {32, 288, 8, 128}, {1, 288, 8, 128}},
    DeepEpConfig{48, {32, 288, 8, 128}, {1, 288, 8, 128}},
    DeepEpConfig{64, {32, 288, 8, 128}, {1, 288, 8, 128}},
    DeepEpConfig{96, {20, 480, 12, 128}, {1, 480, 8, 128}},
    DeepEpConfig{128, {20, 560, 12, 128}, {1, 560, 8, 128}},
    DeepEpConfig{144, {32, 720, 12, 128}, {2, 720, 8, 128}},
    DeepEpConfig{160, {28, 720, 12, 128}, {2, 720, 8, 128}},
};

// Upper bounds that the buffers are sized for, and the fields beside a token.
constexpr double kSourceBytes = 8;
constexpr double kTopkBytes = 128 * (8 + 4);
constexpr double kScaleBytes = 128 * 4;
constexpr double kTokenHeader = 16;

double slot_bytes(int hidden) { return 2.0 * hidden + kSourceBytes + kTopkBytes + kScaleBytes; }
double rounded(double bytes, double to) { return std::ceil(bytes / to) * to; }

// The library rounds the receive buffer up to a multiple of what is sent at once.
double receive_tokens(const DeepEpChunks& chunks) {
  return rounded(chunks.rdma_receive, chunks.rdma_send);
}

DeepEpBuffers buffers_of(const DeepEpChunks& chunks, int ranks, int hidden, int sms) {
  const int channels = deepep_channels(sms);
  const int peers = std::min(ranks, kDeepEpPeers);
  const int nodes = std::max(ranks / kDeepEpPeers, 1);
  const double nvlink =
      channels * peers * ((2.0 * nodes + 3) * 4 + chunks.nvlink_receive * slot_bytes(hidden));
  const double rdma =
      channels * nodes * 2.0 *
      ((2 * kDeepEpPeers + 2) * 4.0 + receive_tokens(chunks) * (slot_bytes(hidden) + kTokenHeader));
  return {core::Bytes::of(rounded(nvlink, 128)),
          core::Bytes::of(ranks <= kDeepEpPeers ? 0 : rounded(rdma, 128))};
}

constexpr std::array kSettings = {
    DeepEpSetting{"NVSHMEM_IB_ENABLE_IBGDA", "1", "warps post RDMA work requests themselves"},
    DeepEpSetting{"NVSHMEM_QP_DEPTH", "1024", "at least 2 (T + 1)"},
    DeepEpSetting{"NVSHMEM_DISABLE_NVLS", "1", "no multicast memory"},
    DeepEpSetting{"NVSHMEM_MAX_TEAMS", "7", "fewer teams, less memory"},
};

}  // namespace

std::optional<DeepEpConfig> deepep_config(int ranks) {
  for (const DeepEpConfig& config : kConfigs)
    if (config.ranks == ranks) return config;
  return std::nullopt;
}

DeepEpBuffers deepep_buffers(const DeepEpConfig& config, int hidden, int sms) {
  const DeepEpBuffers a = buffers_of(config.dispatch, config.ranks, hidden, sms);
  const DeepEpBuffers b = buffers_of(config.combine, config.ranks, hidden, sms);
  return {std::max(a.nvlink, b.nvlink), std::max(a.rdma, b.rdma)};
}

core::Bytes low_latency_buffer(const MoeLayer& layer) {
  const double scales = 4.0 * (layer.hidden / 128);
  const double dispatch = kTokenHeader + std::max(2.0 * layer.hidden, layer.hidden + scales);
  const double combine = 2.0 * layer.hidden + scales;
  const double tokens = static_cast<double>(layer.tokens);
  const double slots = layer.experts * tokens;
  const double counters = rounded(4.0 * layer.experts, 128);
  return core::Bytes::of(2 * (std::max(tokens * dispatch, slots * combine) +
                              slots * std::max(dispatch, combine) + counters));
}

std::span<const DeepEpSetting> deepep_settings() { return kSettings; }

}  // namespace comm_probe::model
