// One killer of overlap on one rank: where it struck, and what it costs (spec traces 2.8).
//
// cost(I) = |I \ K|: the time of the interval I in which nothing computes, split into exposed
// communication, copies and idle; over the union of the intervals of all hits, so that nothing is
// counted twice. For calls that block the host, I reaches from the start of the call to the start
// of the next compute kernel on any stream behind it.
//
//   K = [0, 10) u [30, 40), C = [5, 25); a call blocks [8, 20): I = [8, 30), cost 20 ns: 15 of
//   exposed communication, 5 idle
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "torch/intervals.h"
#include "torch/steps.h"
#include "torch/trace.h"

namespace comm_probe::torch {

struct KillerHit {
  Interval at = {};               // of the call or kernel: what a viewer shows
  Interval lost = {};             // I
  std::uint32_t call = kNone;     // in Trace::calls
  std::uint32_t gpu_op = kNone;   // in Trace::gpu_ops
  std::uint32_t host_op = kNone;  // in Trace::host_ops: the range around it
  std::uint32_t step = kNone;     // in Trace::steps, where neither op nor call tells
};

struct LostTime {
  std::int64_t communication = 0;  // exposed
  std::int64_t memory = 0;
  std::int64_t idle = 0;
  std::int64_t sum() const { return communication + memory + idle; }
};

// K, C and M of a rank, and where its kernels begin.
struct DeviceTime {
  explicit DeviceTime(const Trace& trace);

  Intervals compute = {};
  Intervals communication = {};
  Intervals any = {};
  std::vector<std::int64_t> compute_starts = {};  // sorted
  Interval extent = {};

  // The first start of a compute kernel at or behind a time; the end of all work if there is none.
  std::int64_t next_compute(std::int64_t time) const;
  LostTime lost_in(Intervals intervals) const;
};

struct KillerHits {
  std::vector<KillerHit> hits = {};  // by time
  LostTime lost = {};

  // `without`: time that the hits are not to blame for.
  void price(const DeviceTime& time, const Intervals& without = {});
};

// The first communication kernel of the window, its index in Trace::gpu_ops, where it takes far
// longer (3 times) than the median of those of its name, and than the first of them in each of two
// or more later steps: ranks enter a window apart, and whoever waits in it is not to blame (spec
// traces 2.8, K11). Nothing where fewer than 4 others tell.
struct LongEntry {
  std::uint32_t gpu_op = kNone;
  std::int64_t usual = 0;  // the median of the others
};
std::optional<LongEntry> long_entry(const Trace& trace);

// The step of a hit: that of its device work, else that of its call; -1: none. N of ProfilerStep#N.
std::int64_t step_of(const Trace& trace, const KillerHit& hit);
std::map<std::int64_t, std::size_t> hits_per_step(const Trace& trace, const KillerHits& hits);

}  // namespace comm_probe::torch
