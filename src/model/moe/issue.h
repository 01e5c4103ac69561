// Who can post the messages of a MoE layer in time? Low-latency kernels send every (token, expert)
// pair as one RDMA WRITE: decode is a ledger of messages per microsecond beside that of bytes.
//   messages  T k per rank, of them T k (1 - 1/N) to other nodes
//   time      alpha + max(bytes / NIC, NVLink bytes / NVLink, remote messages / posting rate)
// Source: shared spec moe.md 1, 5, 6; golden G8-16..25, GB-04. Worked example
// (tests/unit/moe/layer_test.cc): 128 tokens, top-8, EP64: 1024 messages, 896 remote; in
// 173 us that is 5.92 and 5.18 per us; a CPU proxy needs 299 to 896 us for them.
#pragma once

#include <span>
#include <string_view>

#include "model/moe/layer.h"

namespace comm_probe::model {

// Bytes that a low-latency message carries before its data: the index of the token.
inline const core::Bytes kLowLatencyHeader = core::Bytes::of(16);

struct MoeMessages {
  double all = 0;     // per rank and direction
  double remote = 0;  // to other nodes
};
MoeMessages moe_messages(const MoeLayer& layer);
// Per microsecond.
double issue_rate(double messages, core::Duration time);

// How fast somebody posts RDMA work requests, in messages to other nodes per microsecond.
struct MoePoster {
  std::string_view name;
  double low;
  double high;
  std::string_view what;
  core::Basis basis;
  std::string_view source;
};
std::span<const MoePoster> moe_posters();
const MoePoster& cpu_proxy();
const MoePoster& ibgda();

// Libraries in which a kernel posts by itself, and since when.
struct DeviceInitiated {
  std::string_view library;
  std::string_view since;
  std::string_view name;
};
std::span<const DeviceInitiated> device_initiated();

// Dispatch and combine of a low-latency kernel: no dedup, headers on dispatch.
struct LowLatencyPrice {
  MoeMessages messages = {};
  MoeTransfer dispatch = {};
  MoeTransfer combine = {};
  core::Duration time() const { return dispatch.time() + combine.time(); }
};
LowLatencyPrice price_low_latency(const MoeLayer& layer, const MoeLinks& links);

// A figure that the text of a ledger needs and no formula gives.
struct MoeConstant {
  std::string_view name;
  double value;
  std::string_view unit;
  std::string_view applies_when;
  std::string_view source;
};
// Fixed cost of one low-latency dispatch and combine, and what DeepEP published at EP64.
std::span<const MoeConstant> moe_constants();
const MoeConstant& moe_constant(std::string_view name);

}  // namespace comm_probe::model
