#include "measure/engines/local/comm.h"

#include <algorithm>

#include "core/check.h"

namespace comm_probe::measure::local {
namespace {

// 32 KiB: two slots of each direction and the user's data of the chunk fit a 256 KiB L2 with room;
// smaller pays the flag more often, larger falls out of the L1 between copy and reduction. With
// many ranks the n boards that a rank reads share its L2, so the chunk shrinks, never below a page.
constexpr std::size_t kChunk = 32 << 10;
constexpr std::size_t kSmallestChunk = 4 << 10;

// A ring of four slots stays in both caches, and then every store has to take its line back from
// the reader: slow where two cores share an L3. A ring of 1 MiB has left the reader's cache by
// then. Measured on 2 cores of an EPYC 9004 guest that share an L3, all_reduce of 64 KiB, 256 KiB
// and 1 MiB: ring of 128 KiB 12, 49 and 206 us, 1 MiB 7, 18 and 74 us, 4 MiB 5, 20 and 95 us.
constexpr std::size_t kRing = 1 << 20;

constexpr std::size_t kHead = kLine * (1 + kMostRanks);

struct Layout {
  int ranks;
  ChunkSizes chunks;
  std::size_t board_bytes() const { return StreamShape::bytes(chunks.board, chunks.slots, ranks); }
  std::size_t pair_bytes() const { return StreamShape::bytes(chunks.pair, chunks.slots, ranks); }
  std::size_t board_at(int rank) const {
    return kHead + static_cast<std::size_t>(rank) * board_bytes();
  }
  std::size_t pair_at(int writer, int reader) const {
    const auto index = static_cast<std::size_t>(writer * ranks + reader);
    return board_at(ranks) + index * pair_bytes();
  }
  std::size_t total() const { return pair_at(ranks, 0); }
};

}  // namespace

// Whole pages: a flag must never lie across two cache lines.
ChunkSizes chunk_sizes(int ranks) {
  const std::size_t share = kChunk * 4 / static_cast<std::size_t>(std::max(ranks, 4));
  const std::size_t chunk = std::max(share / kSmallestChunk, std::size_t{1}) * kSmallestChunk;
  const std::size_t ring = 2 * kRing / static_cast<std::size_t>(std::max(ranks, 2));
  return {chunk, chunk, std::max(static_cast<std::uint32_t>(ring / chunk), kFewestSlots)};
}

core::Result<CommMemory> CommMemory::make(int ranks) {
  COMM_PROBE_CHECK(ranks >= 1 && ranks <= kMostRanks, "ranks outside 1..64");
  const Layout layout = {ranks, chunk_sizes(ranks)};
  auto memory = SharedMemory::map(layout.total(), ranks <= 8);
  if (!memory) return memory.error();
  return CommMemory(std::move(*memory), ranks);
}

Comm::Comm(const CommMemory& memory, int rank, int cores)
    : ranks_(memory.ranks()),
      policy_(wait_policy(memory.ranks(), cores)),
      chunks_(chunk_sizes(memory.ranks())),
      kernels_(local::kernels()),
      barrier_(reinterpret_cast<BarrierLine*>(memory.data())) {
  const Layout layout = {ranks_, chunks_};
  wiring_ = {rank, &policy_, reinterpret_cast<SleeperLine*>(memory.data() + kLine)};
  const auto board = [&](int of) {
    return StreamShape{memory.data() + layout.board_at(of), chunks_.board, chunks_.slots};
  };
  const auto pair = [&](int writer, int reader) {
    return StreamShape{memory.data() + layout.pair_at(writer, reader), chunks_.pair, chunks_.slots};
  };
  std::vector<int> others;
  for (int other = 0; other < ranks_; ++other) {
    if (other != rank) others.push_back(other);
    boards_.emplace_back(board(other), other, wiring_);
    to_.emplace_back(pair(rank, other), std::vector<int>{other}, wiring_);
    from_.emplace_back(pair(other, rank), other, wiring_);
  }
  board_ = Outbox(board(rank), others, wiring_);
  for (std::size_t other = 0; other < to_.size(); ++other) {
    to_[other].answered_by(&from_[other]);
    from_[other].acknowledges(&to_[other]);
  }
  if (ranks_ == 2) {
    Inbox& peer = boards_[static_cast<std::size_t>(1 - rank)];
    board_.answered_by(&peer);
    peer.acknowledges(&board_);
  }
}

int Comm::from_first(int number) {
  if (rank() == 0) barrier_->told.store(number, std::memory_order_relaxed);
  barrier();
  const int told = barrier_->told.load(std::memory_order_relaxed);
  barrier();
  return told;
}

void Comm::barrier() {
  const std::uint32_t round = barrier_->round.load(std::memory_order_relaxed);
  const auto last = static_cast<std::uint32_t>(ranks_) - 1;
  if (barrier_->arrived.fetch_add(1, std::memory_order_acq_rel) == last) {
    barrier_->arrived.store(0, std::memory_order_relaxed);
    barrier_->round.store(round + 1, std::memory_order_release);
    // who is last is not known beforehand, so sleepers are counted at rank 0
    wake_if_asleep(barrier_->round, policy_, wiring_.sleepers[0].count);
  } else {
    wait_for(barrier_->round, round + 1, policy_, wiring_.sleepers[0].count);
  }
}

}  // namespace comm_probe::measure::local
