// What one rank does in a run over MPI: for each size fill, call once and check, warm up, and time
// blocks of calls between barriers, exactly as engines/local/session.h does.
#pragma once

#include <functional>
#include <vector>

#include "measure/engine.h"
#include "measure/engines/local/shared_memory.h"
#include "measure/engines/mpi/program.h"
#include "measure/engines/mpi/team.h"
#include "measure/engines/mpi/watchdog.h"
#include "measure/rank_samples.h"

namespace comm_probe::measure::mpi {

// One size: out of place, and in place where the plan has it.
struct SizeSamples {
  RankSamples out_of_place = {};
  RankSamples in_place = {};
};
template <class Archive>
void pack_fields(Archive& archive, SizeSamples& samples) {
  archive(samples.out_of_place, samples.in_place);
}

class Session {
 public:
  Session(const Plan& plan, Team& team, Watchdog& watchdog)
      : plan_(plan), team_(team), watchdog_(watchdog) {}
  // False where this rank has not the memory for the largest size.
  bool allocate(std::size_t largest_count);
  SizeSamples measure(const Amount& amount);

 private:
  using Once = std::function<int()>;
  RankSamples measure(const Call& call, bool in_place);
  Once once_of(const Call& call, bool in_place);
  std::uint64_t check(const Call& call, bool in_place, const Once& once);
  double timed(const Once& once, int calls);
  int agree_on_iterations(const Once& once);
  // MPI ends all ranks where a call fails; a status that comes back does the same.
  void require(int status) const;

  const Plan& plan_;
  Team& team_;
  Watchdog& watchdog_;
  std::vector<local::PrivateMemory> buffers_ = {};  // send, receive
};

}  // namespace comm_probe::measure::mpi
