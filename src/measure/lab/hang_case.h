// The hangs that `lab hang` makes on purpose: real NCCL, real PyTorch, one planted fault each. Four
// ranks run thirty healthy all_reduces in three groups; then the fault; PyTorch's watchdog finds
// that nothing moves and leaves its Flight Recorder dumps.
//
//   class                 variant    what is planted (rank)
//   param_mismatch        size       all_reduce of a quarter of the elements (1)
//                         op         broadcast instead of all_reduce (2)
//   count_mismatch        skip       one all_reduce is left out (3)
//   p2p_unpaired          receive    the receive of a message is forgotten (1)
//   comm_order_inversion  order      two groups in the opposite order (1)
//   rank_dead_or_stuck    dead       the process ends (2)
//                         stuck      it sleeps (2)
//                         frozen     it is stopped (SIGSTOP) inside a collective (3)
//   network_or_hardware   cut        the connections of a rank go silent, none is closed (2)
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace comm_probe::measure::lab {

struct HangCase {
  std::string_view hang_class;
  std::string_view variant;
  int rank;                  // that the fault is planted in
  bool has_culprit;          // else every rank does the same, and the fault is below them
  std::vector<int> no_dump;  // ranks that cannot leave one
  std::string_view planted;  // one sentence
};

std::span<const HangCase> hang_cases();  // the first of a class is its usual variant
// An empty variant: the usual one. Null for a name that is none.
const HangCase* find_hang_case(std::string_view hang_class, std::string_view variant);
// What every rank runs: python3 SCRIPT VARIANT RANK RANKS FOLDER PORT SECONDS
std::string_view hang_script();

}  // namespace comm_probe::measure::lab
