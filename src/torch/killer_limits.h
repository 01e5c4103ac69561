// What must be passed before time counts as lost to a killer: one table of {name, value, applies
// when, source}; `trace` prints none of it, docs/trace.md all.
//
//   killer_limit_rows().front() -> {"sync", "20 us", "a synchronise call is shorter: it found ...
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace comm_probe::torch {

struct KillerLimits {
  std::int64_t shortest_sync = 20'000;
  int calls_to_sync = 3;
  std::int64_t allocator_calls_apart = 1'000'000;
  std::int64_t wakes_before = 1'000;
  std::int64_t wakes_behind = 10'000;
  std::int64_t least_stall = 10'000;
  std::size_t kernels_alone = 5;
  std::size_t kernels_beside = 3;
  double alike = 1.3;
  double tiny_bytes = 256.0 * 1024;
  std::int64_t tiny_duration = 40'000;
  std::size_t tiny_per_step = 16;
  double bucket_bytes = 25.0 * 1024 * 1024;
  std::int64_t longest_launch_gap = 1'000'000;
};
inline constexpr KillerLimits kKillerLimits = {};

struct KillerLimitRow {
  std::string_view name;
  std::string_view value;
  std::string_view applies_when;
  std::string_view source;
};
std::span<const KillerLimitRow> killer_limit_rows();

}  // namespace comm_probe::torch
