// Do the members of a group make different calls? The first call in which their signatures (what
// must agree: operation, elements, types) differ, who is in the minority, and whether one sequence
// is the other's shifted by d calls.
//
//   rank 3 at 11, 12, 13 = the others at 12, 13, 14  ->  shift +1: rank 3 skipped one call
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "diagnose/hang_state.h"

namespace comm_probe::diagnose {

struct MismatchSide {
  std::vector<int> ranks = {};
  const torch::Work* work = nullptr;  // of the first of them
};

// So many calls in a row that agree when shifted are no accident (spec 5.2).
inline constexpr std::uint32_t kProvenRun = 3;

struct Shift {
  int by = 0;                 // > 0: that many calls were skipped; < 0: made too many
  std::uint32_t matched = 0;  // calls that agree when shifted
  bool by_site = false;       // their places in the program agree too
};

struct Mismatch {
  std::size_t group = 0;
  std::uint32_t seq = 0;
  std::vector<MismatchSide> sides = {};  // the largest first
  std::vector<int> minority = {};        // empty: the sides are equally large
  bool is_settled = true;                // members that are not seen could not change it
  std::optional<Shift> shift = {};       // of the minority against the majority
  // all_to_all: no call differs, but what all send is not what all receive.
  std::optional<std::pair<std::int64_t, std::int64_t>> totals = {};
};

// One per group at most; only calls that some member has not completed.
std::vector<Mismatch> find_mismatches(const HangState& state);

// All signatures agree, but from some call on `rank` makes its calls from the places where the
// others make theirs d calls later: a call was skipped that looked like its neighbours.
struct SilentShift {
  std::size_t group = 0;
  const torch::Work* own = nullptr;    // the first call from another place
  const torch::Work* other = nullptr;  // the peer's of the same number
  int peer = 0;
  Shift shift = {};
};
std::optional<SilentShift> find_silent_shift(const HangState& state, int rank);

}  // namespace comm_probe::diagnose
