// What must be passed before time counts as lost to a killer, and before that is said: the values,
// and the same as rows of {name, value, applies when, source}, which `trace --explain` prints.
//
//   killer_limit_rows().front() -> {"synchronise call", "20 us", "a shorter one found nothing ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace comm_probe::torch {

// Times in ns.
struct KillerLimits {
  std::int64_t shortest_sync = 20'000;
  int calls_to_sync = 3;
  std::int64_t allocator_calls_apart = 1'000'000;
  std::int64_t warm_step = 3;
  std::int64_t wakes_before = 1'000;
  std::int64_t wakes_behind = 10'000;
  std::int64_t least_stall = 10'000;
  std::size_t least_stalls = 2;
  double early_waits = 0.3;
  double held_back = 0.2;
  std::size_t kernels_alone = 5;
  std::size_t kernels_beside = 3;
  std::size_t kernels_in_all = 10;
  double alike = 1.3;
  double slowdown = 1.08;
  double suspicious_slowdown = 1.6;
  double tiny_bytes = 256.0 * 1024;
  std::int64_t tiny_duration = 40'000;
  std::size_t tiny_per_step = 16;
  double bucket_bytes = 25.0 * 1024 * 1024;
  double idle_that_matters = 0.15;
  double idle_of_the_host = 0.6;
  std::size_t least_gaps = 10;
  std::int64_t longest_launch_gap = 1'000'000;
  double first_far_longer = 3;
  double worth_a_warning = 0.01;
};
inline constexpr KillerLimits kKillerLimits = {};

struct KillerLimitRow {
  std::string_view name;
  std::string value;
  std::string_view applies_when;
  std::string_view source;
};
std::vector<KillerLimitRow> killer_limit_rows();

}  // namespace comm_probe::torch
