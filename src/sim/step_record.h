// A recorded job as what can be played again: per rank the work of its GPU and its collectives in
// order, with what each of them waited for; per collective how long it took once the last rank had
// come.
//
//   work   what is not communication: the union of compute, copies and memsets, cut where a
//          collective begins
//   call   a communication kernel. It begins when the work before it and the call before it on its
//          stream are over, and as much later as it did in the recording (`lag`)
//   wait   work that stood behind a gap in which a call ended waited for that call; every other
//          call that was over before stands before the work (order), and may or may not be needed
//
// Calls of several ranks that matching accepted (torch/match.h) are one meeting: it begins when the
// last rank comes, and each rank leaves as long after that as it did in the recording.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "torch/across.h"

namespace comm_probe::sim {

struct StepWait {
  std::uint32_t item = 0;  // of the same rank
  std::int64_t lag = 0;    // ns between its end and our beginning
  bool is_order = false;   // nothing shows that we waited for it
};

struct StepItem {
  enum class Kind : std::uint8_t { kWork, kCall };
  Kind kind = Kind::kWork;
  std::int64_t start = 0, end = 0;  // ns, on the clock that all ranks share
  std::int64_t step = -1;           // N of ProfilerStep#N
  int stream = -1;                  // of a call
  int meeting = -1;                 // of a call: in StepRecord::meetings; -1: it is not shared
  std::vector<StepWait> waits = {};

  std::int64_t length() const { return end - start; }
};

struct StepMeeting {
  int group = 0;
  torch::CollectiveClass kind = torch::CollectiveClass::kUnknown;
  std::optional<std::uint64_t> bytes = {};
  std::vector<std::pair<int, std::uint32_t>> calls = {};  // rank index, item
  std::vector<std::int64_t> transfer = {};  // ns, by call: from the last beginning to its end
};

struct StepRank {
  int rank = 0;
  std::vector<StepItem> items = {};  // by start
  // Of every step: its compute kernels (torch/activity.h).
  std::map<std::int64_t, torch::KernelWork> work = {};
};

struct StepRecord {
  std::vector<StepRank> ranks = {};
  std::vector<StepMeeting> meetings = {};
  std::vector<torch::CommGroup> groups = {};
  std::size_t calls = 0, shared_calls = 0;
  std::int64_t start = 0, end = 0;       // of all ranks together
  std::vector<std::int64_t> steps = {};  // N, in order; empty: none is recorded
};

// Fails where no rank has work, and where there is only one rank.
core::Result<StepRecord> record_of(const torch::AcrossRanks& across);

}  // namespace comm_probe::sim
