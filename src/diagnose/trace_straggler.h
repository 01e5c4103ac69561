// Does one rank make the others wait, and why?
//
// A rank is a straggler where it caused more than half of all waiting, all waiting is more than 3 %
// of the ranks' time, and at least three collectives were accepted; in one step alike. Weighed by
// time, not by counting last places: once the first collective of a step has aligned everybody, the
// rest is noise. What a rank caused in its first meeting of the window is left out: it was late
// before the recording began. What others caused because they waited for it in another group
// (torch/blame.h) counts for it and not for them.
//
// Why: the part of its windows before those collectives (torch/lateness.h) in which it spent more
// than the others: compute (same kernels: a slow GPU; other kernels: more work), idle (its host),
// copies, or collectives of other groups (follow those).
//
// Worked example (tests/golden/trace): case 08: rank 2, 100 % of the waiting, slow compute (+15 %).
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "diagnose/diagnose.h"
#include "torch/across.h"
#include "torch/lateness.h"

namespace comm_probe::diagnose {

enum class LateKind { kSlowCompute, kMoreWork, kHost, kMemory, kUpstream, kUnknown };
const char* late_kind_name(LateKind kind);  // "slow compute" | "more work" | "host" | ...

struct Straggler {
  int rank = 0;                     // index in CommJob::ranks
  std::int64_t step = -1;           // N of ProfilerStep#N; -1: the whole window
  std::int64_t caused = 0;          // ns, its first meeting included
  std::int64_t caused_excused = 0;  // of it: in that one
  std::int64_t blamed = 0;          // what it caused but for that, and what others passed on
  std::int64_t all_waiting = 0;     // of all ranks, without excused meetings
  std::int64_t rank_time = 0;       // spans of all ranks; 0: not known
  int last_in = 0;
  int meetings = 0;
  LateKind kind = LateKind::kUnknown;
  torch::Lateness why = {};
};

// The one of the whole window first, then those of single steps.
std::vector<Straggler> stragglers(const torch::AcrossRanks& across);

// Its host made no CUDA call for most of how late it came: true of ranks that share a GPU, too,
// where time slices of the others make a rank late otherwise.
bool is_late_by_its_host(const torch::AcrossRanks& across, const Straggler& one);

// "all_reduce of 41.6 MB, seq 9, step 12: 366 us on rank 2, 2.17 ms on rank 0, 5.4 ms of waiting in
// all", of an accepted meeting.
std::string meeting_line(const torch::AcrossRanks& across, std::size_t index);

// trace.straggler: one finding for each rank that is one.
Judgement judge_stragglers(const torch::AcrossRanks& across,
                           const std::vector<Straggler>& stragglers);

}  // namespace comm_probe::diagnose
