// One step: everybody posts, everybody reads all others.
#include "measure/engines/local/algorithms.h"

namespace comm_probe::measure::local {
namespace {

// The operands of one chunk, ours and every other rank's, in rank order.
struct Contributions {
  Comm& comm;
  const Call& call;
  Piece chunk;

  const std::byte* of(int rank) const {
    return rank == comm.rank() ? call.sent(chunk.first)
                               : comm.board_of(rank).wait(call.bytes(chunk.count));
  }
  void release_all() const {
    for (int rank = 0; rank < comm.ranks(); ++rank)
      if (rank != comm.rank()) comm.board_of(rank).release();
  }
};

// In place with rank > 1, recv[0..1] would be written before our own operand is read: the partial
// result then gathers in a copy of it.
void reduce_chunk(const Contributions& operands) {
  Comm& comm = operands.comm;
  const Call& call = operands.call;
  const std::size_t count = operands.chunk.count;
  std::byte* result = call.received(operands.chunk.first);
  const int ranks = comm.ranks();
  const std::byte* own = call.sent(operands.chunk.first);
  alignas(kLine) static thread_local std::byte spare[64 << 10];
  if (own == result && comm.rank() > 1) {
    comm.loops().copy(spare, own, call.bytes(count));
    own = spare;
  }
  const auto operand = [&](int rank) { return rank == comm.rank() ? own : operands.of(rank); };
  const std::byte* so_far = operand(0);
  for (int rank = 1; rank < ranks; ++rank) {
    reduce(comm, call, {result, nullptr, so_far, operand(rank)}, count);
    so_far = result;
  }
  finish(comm, call, result, count);
  operands.release_all();
}

void post_chunk(Comm& comm, const Call& call, Piece chunk) {
  post_copy(comm, comm.board(), call.sent(chunk.first), call.bytes(chunk.count));
}

void keep_own(Comm& comm, const Call& call, std::byte* recv, std::size_t count) {
  if (recv != call.send) comm.loops().copy(recv, call.send, call.bytes(count));
}

// Our operand and what all others sent us, into `result`.
void reduce_from_pairs(Comm& comm, const Call& call, const std::byte* own, std::byte* result,
                       std::size_t count) {
  const std::byte* so_far = own;
  for (int step = 1; step < comm.ranks(); ++step) {
    Inbox& from = comm.from((comm.rank() + step) % comm.ranks());
    reduce(comm, call, {result, nullptr, so_far, from.wait(call.bytes(count))}, count);
    from.release();
    so_far = result;
  }
  finish(comm, call, result, count);
}

}  // namespace

void one_shot_all_reduce(Comm& comm, const Call& call) {
  if (comm.ranks() == 1) return keep_own(comm, call, call.recv, call.count);
  const Chunks chunks = board_chunks(comm, call);
  if (chunks.size() > 0) post_chunk(comm, call, chunks[0]);
  for (std::size_t at = 0; at < chunks.size(); ++at) {
    if (at + 1 < chunks.size()) post_chunk(comm, call, chunks[at + 1]);
    reduce_chunk({comm, call, chunks[at]});
  }
}

void one_shot_all_gather(Comm& comm, const Call& call) {
  const Chunks chunks = board_chunks(comm, call);
  keep_own(comm, call, call.received(static_cast<std::size_t>(comm.rank()) * call.count),
           call.count);
  const auto take = [&](Piece chunk) {
    for (int rank = 0; rank < comm.ranks(); ++rank)
      if (rank != comm.rank())
        take_copy(comm, comm.board_of(rank),
                  call.received(static_cast<std::size_t>(rank) * call.count + chunk.first),
                  call.bytes(chunk.count));
  };
  if (chunks.size() > 0) post_chunk(comm, call, chunks[0]);
  for (std::size_t at = 0; at < chunks.size(); ++at) {
    if (at + 1 < chunks.size()) post_chunk(comm, call, chunks[at + 1]);
    take(chunks[at]);
  }
}

void one_shot_reduce_scatter(Comm& comm, const Call& call) {
  const auto part = [&](int rank) { return static_cast<std::size_t>(rank) * call.count; };
  const Chunks chunks = pair_chunks(comm, call);
  const auto post = [&](Piece chunk) {
    for (int step = 1; step < comm.ranks(); ++step) {
      const int to = (comm.rank() + step) % comm.ranks();
      post_copy(comm, comm.to(to), call.sent(part(to) + chunk.first), call.bytes(chunk.count));
    }
  };
  const auto take = [&](Piece chunk) {
    reduce_from_pairs(comm, call, call.sent(part(comm.rank()) + chunk.first),
                      call.received(chunk.first), chunk.count);
  };
  if (comm.ranks() == 1) return keep_own(comm, call, call.recv, call.count);
  if (chunks.size() > 0) post(chunks[0]);
  for (std::size_t at = 0; at < chunks.size(); ++at) {
    if (at + 1 < chunks.size()) post(chunks[at + 1]);
    take(chunks[at]);
  }
}

void one_shot_broadcast(Comm& comm, const Call& call) {
  const Chunks chunks = board_chunks(comm, call);
  const bool is_root = comm.rank() == call.root;
  for (std::size_t at = 0; at < chunks.size(); ++at) {
    const Piece chunk = chunks[at];
    if (is_root && comm.ranks() > 1) post_chunk(comm, call, chunk);
    if (!is_root)
      take_copy(comm, comm.board_of(call.root), call.received(chunk.first),
                call.bytes(chunk.count));
  }
  if (is_root) keep_own(comm, call, call.recv, call.count);
}

void one_shot_reduce(Comm& comm, const Call& call) {
  const Chunks chunks = pair_chunks(comm, call);
  const bool is_root = comm.rank() == call.root;
  if (comm.ranks() == 1) return keep_own(comm, call, call.recv, call.count);
  for (std::size_t at = 0; at < chunks.size(); ++at) {
    const Piece chunk = chunks[at];
    const std::byte* own = call.sent(chunk.first);
    if (is_root)
      reduce_from_pairs(comm, call, own, call.received(chunk.first), chunk.count);
    else
      post_copy(comm, comm.to(call.root), own, call.bytes(chunk.count));
  }
}

}  // namespace comm_probe::measure::local
