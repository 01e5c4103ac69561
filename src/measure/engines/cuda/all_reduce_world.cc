#include "measure/engines/cuda/all_reduce_world.h"

#include <sched.h>

#include <cstring>

#include "measure/engines/cuda/all_reduce_call.h"

namespace comm_probe::measure::cuda {
namespace {

enum ErrorState : std::uint32_t { kNone, kBeingWritten, kWritten };

void keep(const std::string& text, char (&field)[512]) {
  std::strncpy(field, text.c_str(), sizeof field - 1);
}

}  // namespace

core::Error lost_another() { return core::missing_error("another process of the run failed"); }

// All zero at the begin.
struct AllReduceWorld::Board {
  std::atomic<std::uint32_t> arrived;
  std::atomic<std::uint32_t> round;
  std::atomic<std::int32_t> iterations;
  std::atomic<std::uint32_t> error_state;
  char message[512];
  char hint[512];
  std::atomic<std::uint32_t> finished[kMostRanks];
  ProcessFacts facts[kMostRanks];
  // ProcessSamples of all steps and processes follow
};

core::Result<AllReduceWorld> AllReduceWorld::make(int processes, std::size_t steps) {
  const std::size_t cells = steps * 2 * static_cast<std::size_t>(processes);
  auto memory = local::SharedMemory::map(sizeof(Board) + cells * sizeof(ProcessSamples), false);
  if (!memory) return memory.error();
  return AllReduceWorld(std::move(*memory), processes);
}

AllReduceWorld::Board& AllReduceWorld::board() const {
  return *reinterpret_cast<Board*>(memory_.data());
}

bool AllReduceWorld::meet() const {
  Board& board = this->board();
  const std::uint32_t round = board.round.load();
  if (board.arrived.fetch_add(1) + 1 == static_cast<std::uint32_t>(processes_)) {
    board.arrived.store(0);
    board.round.fetch_add(1);
  }
  while (board.round.load() == round) {
    if (board.error_state.load() != kNone) return false;
    ::sched_yield();
  }
  return board.error_state.load() == kNone;
}

void AllReduceWorld::fail(const core::Error& error) const {
  Board& board = this->board();
  std::uint32_t none = kNone;
  if (!board.error_state.compare_exchange_strong(none, kBeingWritten)) return;
  keep(error.message, board.message);
  keep(error.hint, board.hint);
  board.error_state.store(kWritten);
}

std::optional<core::Error> AllReduceWorld::failure() const {
  const Board& board = this->board();
  if (board.error_state.load() != kWritten) return std::nullopt;
  return core::missing_error(board.message, board.hint);
}

ProcessFacts& AllReduceWorld::facts(int process) const { return board().facts[process]; }
ProcessSamples& AllReduceWorld::samples(std::size_t step, bool in_place, int process) const {
  const auto processes = static_cast<std::size_t>(processes_);
  const std::size_t index =
      (step * 2 + (in_place ? 1 : 0)) * processes + static_cast<std::size_t>(process);
  return reinterpret_cast<ProcessSamples*>(memory_.data() + sizeof(Board))[index];
}
std::atomic<std::uint32_t>& AllReduceWorld::finished(int process) const {
  return board().finished[process];
}
std::atomic<std::int32_t>& AllReduceWorld::iterations() const { return board().iterations; }

}  // namespace comm_probe::measure::cuda
