// What one rank of any engine saw of one size, and how the samples of all ranks become the Timing
// of a row. Every engine takes its samples the same way: fill, call once and check, warm up, agree
// on the number of calls in a block, then `blocks` times: barrier, calls, time / calls.
//
// Worked example (tests/unit/measure/rank_samples_test.cc): two ranks, three blocks of 1, 2, 9 us
// and 3, 2, 9 us: means 2, 2, 9; the median 2 counts, fastest 2, slowest 9.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/measure.h"

namespace comm_probe::measure {

struct RankSamples {
  int iterations = 0;
  std::uint64_t wrong = 0;
  bool streaming = false;            // messages are written past the caches
  std::int64_t preemptions = 0;      // while the blocks ran
  std::vector<double> seconds = {};  // per call, one per block
};

// From one process to another (core/packed.h).
template <class Archive>
void pack_fields(Archive& archive, RankSamples& samples) {
  archive(samples.iterations, samples.wrong, samples.streaming, samples.preemptions,
          samples.seconds);
}

// `by_rank` in rank order, all with as many blocks as the plan has. At least one rank.
Timing timing_of(const Plan& plan, const std::vector<RankSamples>& by_rank);

// How many calls a block has where the plan leaves it open (-n not given), from the time of one: 20
// as nccl-tests makes, more to fill 200 us (the clock and the exit of the barrier cost some 100
// ns), fewer where 20 would last longer than 60 ms.
int iterations_for(double seconds_per_call);

}  // namespace comm_probe::measure
