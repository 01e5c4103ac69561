// What the processes of a run write where the one that started them reads it, also after they have
// died: how far each is, why it gave up, which GPU it has, and the samples. Shared memory without a
// name (engines/local/shared_memory.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/engines/local/session.h"
#include "measure/measure.h"

namespace comm_probe::measure::nccl {

enum class Ending : std::int32_t { kRunning, kFailed, kHung };

// Of one process.
struct Note {
  std::atomic<Ending> ending;
  std::atomic<std::uint64_t> progress;  // things done; ranks that wait for each other have as many
  double ended_at;                      // of now_seconds()
  std::int32_t registered;              // buffers that NCCL took
  char text[480];                       // what failed, or what did not end
};

// Of one rank.
struct Place {
  std::int32_t process;
  std::int32_t number;
  char host[64];
  char bus[32];
  char name[96];
};

class Board {
 public:
  static core::Result<Board> make(int processes, int ranks, std::size_t sizes);
  Note& note(int process) const;
  Place& place(int rank) const;
  const local::SampleTable& samples() const { return samples_; }
  int processes() const { return processes_; }
  int ranks() const { return ranks_; }

 private:
  Board(local::SharedMemory memory, local::SampleTable samples, int processes, int ranks)
      : memory_(std::move(memory)),
        samples_(std::move(samples)),
        processes_(processes),
        ranks_(ranks) {}
  local::SharedMemory memory_;
  local::SampleTable samples_;
  int processes_;
  int ranks_;
};

void copy_text(const std::string& text, char* to, std::size_t size);

}  // namespace comm_probe::measure::nccl
