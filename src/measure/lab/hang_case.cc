#include "measure/lab/hang_case.h"

namespace comm_probe::measure::lab {

std::span<const HangCase> hang_cases() {
  static const std::vector<HangCase> kCases = {
      {"param_mismatch", "size", 1, true, {}, "rank 1 reduces 2048 elements, all others 8192"},
      {"param_mismatch", "op", 2, true, {}, "rank 2 calls broadcast, all others all_reduce"},
      {"count_mismatch", "skip", 3, true, {}, "rank 3 leaves out one all_reduce"},
      {"p2p_unpaired", "receive", 1, true, {}, "rank 0 sends to rank 1, which never receives"},
      {"comm_order_inversion",
       "order",
       1,
       true,
       {},
       "rank 1 calls two groups in the opposite order, waiting in between"},
      {"rank_dead_or_stuck", "dead", 2, true, {2}, "rank 2 ends with status 7"},
      {"rank_dead_or_stuck", "stuck", 2, true, {}, "rank 2 sleeps before the collective"},
      {"rank_dead_or_stuck",
       "frozen",
       3,
       true,
       {3},
       "rank 3 is stopped (SIGSTOP) inside a collective"},
      {"network_or_hardware",
       "cut",
       2,
       false,
       {},
       "the NCCL connections of rank 2 go silent without being closed, as behind a dead switch"},
  };
  return kCases;
}

const HangCase* find_hang_case(std::string_view hang_class, std::string_view variant) {
  for (const HangCase& known : hang_cases())
    if (known.hang_class == hang_class && (variant.empty() || known.variant == variant))
      return &known;
  return nullptr;
}

}  // namespace comm_probe::measure::lab
