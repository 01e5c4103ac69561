// What one rank holds of a communicator: the streams to and from the other ranks, a barrier, and
// the inner loops. Everything lies in one shared mapping, laid out the same for every rank:
//
//   barrier | sleepers by rank | one board per rank | one stream per ordered pair of ranks
//
// A board is a stream that all other ranks read (one-shot, two-shot, the downward half of a tree);
// a pair stream has one reader. With two ranks a board acknowledges like a pair stream.
#pragma once

#include <memory>
#include <vector>

#include "core/result.h"
#include "measure/engines/local/kernels.h"
#include "measure/engines/local/shared_memory.h"
#include "measure/engines/local/stream.h"

namespace comm_probe::measure::local {

inline constexpr int kMostRanks = 64;

// The chunks in which messages travel, and how many of them a stream holds; stand in comm.cc with
// their reason.
struct ChunkSizes {
  std::size_t board = 0;
  std::size_t pair = 0;
  std::uint32_t slots = 0;
};
ChunkSizes chunk_sizes(int ranks);
inline constexpr std::uint32_t kFewestSlots = 4;

// How a message is written into its slot. Cached: the line is fetched for writing and stays in the
// writer's cache, from where the reader gets it. Streaming: it goes past the caches to memory. What
// is faster depends on where the two processors are (store_choice.h).
enum class Stores { kCached, kStreaming };
// Shorter messages are never streamed.
inline constexpr std::size_t kLeastStreamed = 512;

// The shared part: made once, before the ranks are started.
class CommMemory {
 public:
  static core::Result<CommMemory> make(int ranks);
  int ranks() const { return ranks_; }
  std::byte* data() const { return memory_.data(); }

 private:
  CommMemory(SharedMemory memory, int ranks) : memory_(std::move(memory)), ranks_(ranks) {}
  SharedMemory memory_;
  int ranks_;
};

struct alignas(kLine) BarrierLine {
  std::atomic<std::uint32_t> arrived;
  std::atomic<std::uint32_t> round;
  std::atomic<std::int32_t> told;  // by rank 0
};

class Comm {
 public:
  // `cores` that the ranks may run on, for the way of waiting.
  Comm(const CommMemory& memory, int rank, int cores);
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  int rank() const { return wiring_.rank; }
  int ranks() const { return ranks_; }
  const Kernels& loops() const { return kernels_; }
  void use(const Kernels& kernels) { kernels_ = kernels; }
  const ChunkSizes& chunks() const { return chunks_; }
  Stores stores() const { return stores_; }
  void use(Stores stores) { stores_ = stores; }
  // The loop that writes a message of `bytes` into its slot.
  CopyLoop copy_into_slot(std::size_t bytes) const {
    return streams(bytes) ? kernels_.copy_streaming : kernels_.copy;
  }
  bool streams(std::size_t bytes) const {
    return stores_ == Stores::kStreaming && bytes >= kLeastStreamed;
  }

  Outbox& board() { return board_; }
  Inbox& board_of(int rank) { return boards_[static_cast<std::size_t>(rank)]; }
  Outbox& to(int rank) { return to_[static_cast<std::size_t>(rank)]; }
  Inbox& from(int rank) { return from_[static_cast<std::size_t>(rank)]; }
  void barrier();
  // Rank 0's number, at every rank. All call it.
  int from_first(int number);

 private:
  int ranks_;
  WaitPolicy policy_;
  Wiring wiring_;
  ChunkSizes chunks_;
  Kernels kernels_;
  Stores stores_ = Stores::kCached;
  BarrierLine* barrier_;
  Outbox board_ = {};
  std::vector<Inbox> boards_ = {};
  std::vector<Outbox> to_ = {};
  std::vector<Inbox> from_ = {};
};

}  // namespace comm_probe::measure::local
