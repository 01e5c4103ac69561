// The numbers of NCCL's performance model: latencies per step, the most that a channel carries,
// shares of the wire that a protocol or an algorithm leaves. NCCL 2.28.9 src/graph/tuning.cc; what
// other releases have instead is a table of changes (read from the tags 2.18 to 2.30; only 2.28.9
// is checked against NCCL's own results, tests/oracle).
//
//   Ring LL on NVLink: 6.6 us + 0.6 us per step; 14 steps of 8 ranks: 15 us (golden G4-17, G7-03)
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "nccl/algorithm.h"
#include "topology/nccl_link_rates.h"

namespace comm_probe::nccl {

// Microseconds as NCCL stores them.
struct NcclTime {
  float us = 0;

  auto operator<=>(const NcclTime&) const = default;
  core::Duration duration() const { return core::Duration::from_us(us); }
};

enum class Wire { kNvlink, kPci, kNet };
inline constexpr std::size_t kWires = 3;
enum class Generation { kVolta, kAmpere, kHopper, kBlackwell };  // of the oldest GPU
inline constexpr std::size_t kGenerations = 4;
constexpr Generation generation_of(int least_sm) {
  if (least_sm >= 100) return Generation::kBlackwell;
  if (least_sm >= 90) return Generation::kHopper;
  return least_sm >= 80 ? Generation::kAmpere : Generation::kVolta;
}

// On one node, on two, on more.
using ByNodes = std::array<float, 3>;  // GB/s
using ByGeneration = std::array<ByNodes, kGenerations>;

struct TuningConstants {
  PerMethod<float> base_latency = {};                    // us
  std::array<PerMethod<float>, kWires> hw_latency = {};  // us per step
  ByGeneration ll_most = {};                             // of all channels together
  // Per channel.
  ByGeneration ring_ll128_most = {};
  ByGeneration tree_ll128_most = {};
  ByGeneration tree_most = {};
  ByGeneration nvls_tree_most = {};
  std::array<float, kGenerations> nvls_share = {};

  double ring_ll_share = 0.5;
  double ring_ll_share_one_way = 0.5;  // Broadcast, AllGather, ReduceScatter on one node
  double ring_ll128_share = 0.92;
  double ring_ll128_share_alone = 0.92;  // fewer than two ranks per node
  double tree_share = 0.92;
  double tree_ll_divisor = 3.8;
  double tree_ll128_share_one_node = 7.0 / 9.0;
  double tree_ll128_share = 120.0 / 128.0;
  double tree_pattern_share = 0.85;  // all of the NIC's traffic on one GPU
  double pat_share = 0.75;
  double collnet_hopper_share = 0.85;
  double collnet_per_peer = 0.4;          // us
  std::uint64_t channel_traffic = 16384;  // least of a channel, bytes

  // Which form of a rule holds.
  enum class NvlsRule { kIntra, kNarrower, kShared, kEfficiency };
  NvlsRule nvls_rule = NvlsRule::kEfficiency;
  double nvls_fixed_share = 1;  // of the rules before kEfficiency
  bool lone_ranks_use_tree_wire = true;
  bool ring_net_steps_count_turns = true;  // 2(M-1); before 2*M
  bool ll128_any_chip = true;              // else the listed chips only
  bool ll128_mixed_chips = false;          // mixed sm are fine from 9.0 on
  bool ll128_c2c_rule = true;              // PXN counts as near only on 9.0 and with LL128_C2C
  bool nvls_gathers = true;
  bool collnet_gathers = true;
  bool has_pat = true;
  bool falls_back_to_ring = false;  // where NCCL_ALGO leaves nothing
};
TuningConstants tuning_constants(topology::NcclVersion version);

// A constant or rule that a release changed, for docs and tests.
struct TuningChange {
  std::string_view what;
  topology::NcclVersion until;  // first release that no longer has it; the base has not
  topology::NcclVersion from;   // first release that has it
  void (*apply)(TuningConstants&);
};
std::span<const TuningChange> tuning_changes();

}  // namespace comm_probe::nccl
