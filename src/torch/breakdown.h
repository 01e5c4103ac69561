// Where does the device's time go? Whole ns, half-open intervals, nothing rounded (spec
// traces 2.1).
//   K = union of compute kernels, C = of communication kernels, M = of copies and memsets,
//   A = K u C u M; span = max end - min start over A
//   computation |K|, communication |C|, memory |M|, overlap |C n K|,
//   exposed communication |C| - |C n K|, exposed memory |M \ (K u C)|, idle = span - |A|
// so that span = |K| + exposed communication + exposed memory + idle.
//
//   compute [0, 100), communication [80, 130), copy [125, 140), nothing, compute [150, 160)
//   -> span 160, K 110, C 50, overlap 20, exposed communication 30, exposed memory 10, idle 10
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "torch/intervals.h"
#include "torch/trace.h"

namespace comm_probe::torch {

struct Breakdown {
  std::int64_t span = 0;
  std::int64_t compute = 0;
  std::int64_t communication = 0;
  std::int64_t memory = 0;
  std::int64_t overlap = 0;
  std::int64_t exposed_communication = 0;
  std::int64_t exposed_memory = 0;
  std::int64_t idle = 0;
  std::uint64_t ops = 0;
  std::uint64_t communication_ops = 0;

  // Per cent of the communication; nothing where there is none.
  std::optional<double> overlap_percent() const;
};

// The three unions of some device work.
struct Unions {
  Intervals compute = {};
  Intervals communication = {};
  Intervals memory = {};
  Interval extent = {};  // first start to last end, of work without duration too
  std::uint64_t ops = 0;
  std::uint64_t communication_ops = 0;
};
Unions unions_of(const Trace& trace);
// Over the extent of the work itself.
Breakdown breakdown_of(const Unions& unions);

struct StepBreakdown {
  std::uint32_t step = 0;   // in Trace::steps
  Breakdown own = {};       // of the work that this step launched, over its own extent
  std::int64_t window = 0;  // device window of the step: all of them together are the whole
  std::int64_t window_idle = 0;
};

struct StreamUse {
  std::uint32_t stream = 0;  // in Trace::streams
  std::int64_t busy = 0;
  std::int64_t compute = 0;
  std::int64_t communication = 0;
  std::uint64_t ops = 0;
};

// One process group and kind of collective: |C_g| and how much of it is exposed.
struct GroupUse {
  std::uint32_t group = kNone;  // in Trace::groups; kNone: the trace does not say
  CollectiveClass kind = CollectiveClass::kUnknown;
  std::uint64_t kernels = 0;
  std::int64_t busy = 0;
  std::int64_t exposed = 0;
  std::uint64_t bytes = 0;  // of the collectives whose size is known
  std::uint64_t sized = 0;  // how many those are
};

struct RankBreakdown {
  Breakdown total = {};
  std::vector<StepBreakdown> steps = {};  // steps with device work
  std::vector<StreamUse> streams = {};    // with device work, the busiest first
  std::vector<GroupUse> groups = {};      // the longest first
  Intervals idle = {};                    // inside of the span
  // Communication that runs while that of another stream runs: shared links.
  std::int64_t communication_shared = 0;
};
// After find_steps().
RankBreakdown break_down(const Trace& trace);

// S of one collective in bytes (spec 1.4); nothing where counts, type or group are not known.
std::optional<std::uint64_t> collective_bytes(const Trace& trace, const CollectiveCall& call);

}  // namespace comm_probe::torch
