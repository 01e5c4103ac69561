// How long did a rank compute, communicate, copy or idle within any window of its time? Answers in
// O(log n) from unions of intervals with running sums.
//
// K, C, M are the unions of compute kernels, communication kernels, and copies with memsets. A
// window falls into four parts without rest: |K|, |C \ K|, |M \ (K u C)| and idle.
//
// Worked example (tests/unit/torch/waits_test.cc): K = [0,10), C = [5,20): within [0,25) 10 ns of
// compute, 10 of exposed communication, 5 idle.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "torch/intervals.h"

namespace comm_probe::torch {

struct Trace;

class BusyTime {
 public:
  BusyTime() = default;
  explicit BusyTime(Intervals intervals);
  std::int64_t within(std::int64_t from, std::int64_t to) const;

 private:
  std::int64_t until(std::int64_t time) const;
  Intervals merged_ = {};
  std::vector<std::int64_t> before_ = {};  // busy time before each of them
};

struct WindowParts {
  std::int64_t compute = 0;
  std::int64_t communication = 0;  // exposed
  std::int64_t memory = 0;         // exposed
  std::int64_t idle = 0;

  std::int64_t length() const { return compute + communication + memory + idle; }
  WindowParts& operator+=(const WindowParts& other);
};

// The compute kernels of a rank, within one step or all of its window.
struct KernelWork {
  std::size_t kernels = 0;
  std::uint64_t names = 0;  // equal for the same kernels with the same grids, in any order
  std::int64_t time = 0;    // sum of their durations
};

struct RankActivity {
  int rank = 0;
  BusyTime compute = {};
  BusyTime compute_or_communication = {};
  BusyTime any = {};
  std::int64_t start = 0;  // of the first device work
  std::int64_t end = 0;
  // Of the device work of each step, by N of ProfilerStep#N.
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> steps = {};

  std::map<std::int64_t, KernelWork> work = {};  // the same, and of all of it under -1

  WindowParts parts(std::int64_t from, std::int64_t to) const;
  // From the first start to the last end; of one step where it is not -1, 0 where it has no work.
  std::int64_t span(std::int64_t step = -1) const;
  KernelWork work_in(std::int64_t step) const;
};
RankActivity activity_of(const Trace& trace);

}  // namespace comm_probe::torch
