// One MoE layer with its experts spread over nodes (expert parallelism): how many copies of a token
// cross the network, how many bytes that is per rank, and how long dispatch and combine take.
//   bytes of a copy   bf16 2H; fp8 H + 4 bytes of scale per 128 values
//   flat              k (1 - 1/N) copies on the NIC: every (token, expert) pair is one
//   dedup             D (1 - 1/N): one per node that the token goes to, passed on over NVLink
//   group             the same where a token may go to M of the N nodes only
//   D independent     N (1 - (1 - 1/N)^k), as papers print it
//   D distinct        N (1 - C(E - E/N, k) / C(E, k)): top-k picks k different experts
//   time              alpha + max(NIC bytes / NIC, NVLink bytes / NVLink), per direction
// Source: shared spec moe.md 1; golden G8-01..20. N nodes of g ranks, E experts in equal shares,
// routing balanced. Worked example (tests/unit/moe/layer_test.cc): H 7168, k 8, 8 nodes of 8,
// 4096 tokens per rank: 7, 4.5947 (4.6328 distinct), and 3.1496 copies with M = 4; fp8 dispatch
// over 50 GB/s takes 4.2389, 2.7824 and 1.9073 ms.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/quantity.h"
#include "core/result.h"

namespace comm_probe::model {

enum class MoeFormat { kBf16, kFp8 };
enum class MoeScheme { kFlat, kDedup, kGroup };
enum class MoeDraw { kIndependent, kDistinct };
inline constexpr std::array kAllMoeSchemes = {MoeScheme::kFlat, MoeScheme::kDedup,
                                              MoeScheme::kGroup};
const char* format_name(MoeFormat format);  // "bf16" | "fp8"
const char* scheme_name(MoeScheme scheme);  // "flat" | "dedup" | "group"

struct MoeLayer {
  int hidden = 0;
  int topk = 0;
  int experts = 0;
  int nodes = 1;
  int ranks_per_node = 8;
  std::int64_t tokens = 0;  // per rank
  MoeFormat dispatch = MoeFormat::kFp8;
  MoeFormat combine = MoeFormat::kBf16;
  int group_limit = 0;  // nodes that one token may go to; 0: all

  int ranks() const { return nodes * ranks_per_node; }
  std::int64_t flows() const { return std::int64_t{ranks()} * (ranks() - 1); }
  double share_off_node() const { return 1 - 1.0 / nodes; }
};

struct MoeLinks {
  core::Bandwidth nic = {};     // per rank, one direction; not used with one node
  core::Bandwidth nvlink = {};  // likewise; not used with one rank per node
  core::Duration alpha = {};    // of one dispatch or combine
};

// Fails on a layer that cannot be: experts that do not divide over the ranks, more experts per
// token than there are (in the group), a number out of range.
core::Result<bool> check_moe(const MoeLayer& layer);
// The least number of experts from 256 on (DeepSeek-V3) that divides over the ranks: with redundant
// experts 288 on 96 or 144 ranks.
int usual_experts(std::int64_t ranks);

core::Bytes copy_bytes(int hidden, MoeFormat format);
// Different places (nodes or ranks) that a token goes to, of `places` with equal shares of
// `experts`.
double distinct_places(int places, int topk, int experts, MoeDraw draw);

// Per token, in the mean over tokens and ranks.
struct MoeCopies {
  double nodes = 0;   // that it goes to, its own included
  double ranks = 0;   // likewise; flat: experts, each has a copy of its own
  double nic = 0;     // copies that leave the node
  double nvlink = 0;  // copies from GPU to GPU inside a node
};
MoeCopies moe_copies(const MoeLayer& layer, MoeScheme scheme, MoeDraw draw);

// Dispatch or combine of one rank.
struct MoeTransfer {
  core::Bytes copy = {};
  core::Bytes nic = {};
  core::Bytes nvlink = {};
  core::Duration alpha = {};
  core::Duration nic_time = {};
  core::Duration nvlink_time = {};
  core::Duration time() const { return alpha + std::max(nic_time, nvlink_time); }
  bool is_nic_bound() const { return nic_time >= nvlink_time; }
};

struct MoePrice {
  MoeScheme scheme = MoeScheme::kFlat;
  MoeDraw draw = MoeDraw::kIndependent;
  MoeCopies copies = {};
  MoeTransfer dispatch = {};
  MoeTransfer combine = {};
  core::Duration time() const { return dispatch.time() + combine.time(); }
};
// Of a layer that check_moe accepts, over links whose rates that are used are not zero.
MoePrice price_moe(const MoeLayer& layer, const MoeLinks& links, MoeScheme scheme, MoeDraw draw);

// alpha + bytes / rate on both kinds of link; none where there are no bytes.
MoeTransfer moe_transfer(core::Bytes copy, core::Bytes nic, core::Bytes nvlink,
                         const MoeLinks& links);

}  // namespace comm_probe::model
