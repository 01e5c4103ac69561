// What every rank does in a run: for each size fill, call once and check, warm up, and time blocks
// of calls between barriers. Results go to a table in shared memory that the parent reads, also
// when a rank died on the way.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "measure/engines/local/algorithms.h"
#include "measure/measure.h"
#include "measure/rank_samples.h"

namespace comm_probe::measure::local {

inline constexpr int kMostBlocks = 32;

// One size, out of place or in place, of one rank.
struct Samples {
  std::int32_t iterations;
  std::uint64_t wrong;
  bool streaming;               // messages are written past the caches (store_choice.h)
  std::int64_t preemptions;     // while the blocks ran
  double seconds[kMostBlocks];  // per call
};

struct Step {
  Amount amount = {};
  model::Algorithm algorithm = model::Algorithm::kRing;
  AlgorithmFunction function = nullptr;
};

// Written by the ranks, read by the parent.
class SampleTable {
 public:
  static core::Result<SampleTable> make(int ranks, std::size_t steps);
  Samples& at(std::size_t step, bool in_place, int rank) const;
  // Steps that a rank has finished.
  std::atomic<std::uint32_t>& finished(int rank) const;
  // Steps that all ranks have finished.
  std::size_t finished_by_all() const;
  // What all ranks saw, for timing_of().
  std::vector<RankSamples> by_rank(std::size_t step, bool in_place, int blocks) const;
  // How many calls a block has; rank 0 decides.
  std::atomic<std::int32_t>& iterations() const;

 private:
  SampleTable(SharedMemory memory, int ranks) : memory_(std::move(memory)), ranks_(ranks) {}
  SharedMemory memory_;
  int ranks_;
};

struct Session {
  const Plan& plan;
  const std::vector<Step>& steps;
  const CommMemory& memory;
  const SampleTable& table;
  int cores = 1;
};
// The body of one rank's process.
void run_session(const Session& session, int rank);

}  // namespace comm_probe::measure::local
