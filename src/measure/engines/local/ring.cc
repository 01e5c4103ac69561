// Rings: every rank talks to its two neighbours only. Blocks of n chunks go around in 2(n-1) steps;
// a received chunk is reduced straight into the slot to the next rank.
#include "measure/engines/local/algorithms.h"

namespace comm_probe::measure::local {
namespace {

struct Ring {
  Comm& comm;
  const Call& call;

  int before(int steps) const { return (comm.rank() + steps * (comm.ranks() - 1)) % comm.ranks(); }
  Outbox& next() const { return comm.to((comm.rank() + 1) % comm.ranks()); }
  Inbox& previous() const { return comm.from(before(1)); }
  std::size_t chunk() const { return chunk_elements(comm.chunks().pair, call); }

  void send(const std::byte* data, std::size_t count) const {
    post_copy(comm, next(), data, call.bytes(count));
  }
  // What comes is reduced with ours, into the message to the next rank.
  void reduce_and_send(const std::byte* own, std::size_t count) const {
    const std::byte* theirs = previous().wait(call.bytes(count));
    std::byte* slot = next().reserve(call.bytes(count));
    reduce(comm, call, {slot, nullptr, theirs, own}, count);
    next().post();
    previous().release();
  }
  void reduce_last_here(std::byte* result, std::byte* slot, const std::byte* own,
                        std::size_t count) const {
    const std::byte* theirs = previous().wait(call.bytes(count));
    reduce_last(comm, call, {result, slot, theirs, own}, count);
    previous().release();
  }
  // What comes is kept and, with `forward`, sent on.
  void keep(std::byte* result, std::size_t count, bool forward) const {
    const std::byte* theirs = previous().wait(call.bytes(count));
    comm.loops().copy(result, theirs, call.bytes(count));
    if (forward) post_copy(comm, next(), theirs, call.bytes(count));
    previous().release();
  }
};

// One block of an all_reduce: part p of it ends, reduced, at rank p, and goes around again.
void all_reduce_block(const Ring& ring, Piece block) {
  const int ranks = ring.comm.ranks();
  const auto part = [&](int steps_back) { return part_of(block, ring.before(steps_back), ranks); };
  const Call& call = ring.call;
  ring.send(call.sent(part(1).first), part(1).count);
  for (int step = 2; step < ranks; ++step)
    ring.reduce_and_send(call.sent(part(step).first), part(step).count);
  const Piece own = part(0);
  std::byte* slot = ring.next().reserve(call.bytes(own.count));
  ring.reduce_last_here(call.received(own.first), slot, call.sent(own.first), own.count);
  ring.next().post();
  for (int step = 1; step < ranks; ++step)
    ring.keep(call.received(part(step).first), part(step).count, step < ranks - 1);
}

}  // namespace

void ring_all_reduce(Comm& comm, const Call& call) {
  if (comm.ranks() == 1) return one_shot_all_reduce(comm, call);
  const Ring ring = {comm, call};
  const Chunks blocks = {{0, call.count}, ring.chunk() * static_cast<std::size_t>(comm.ranks())};
  for (std::size_t at = 0; at < blocks.size(); ++at) all_reduce_block(ring, blocks[at]);
}

void ring_all_gather(Comm& comm, const Call& call) {
  if (comm.ranks() == 1) return one_shot_all_gather(comm, call);
  const Ring ring = {comm, call};
  const auto place = [&](int rank) {
    return call.received(static_cast<std::size_t>(rank) * call.count);
  };
  const Chunks chunks = pair_chunks(comm, call);
  std::byte* own = place(comm.rank());
  if (own != call.send) comm.loops().copy(own, call.send, call.bytes(call.count));
  for (std::size_t at = 0; at < chunks.size(); ++at) {
    const Piece chunk = chunks[at];
    ring.send(call.sent(chunk.first), chunk.count);
    for (int step = 1; step < comm.ranks(); ++step)
      ring.keep(place(ring.before(step)) + call.bytes(chunk.first), chunk.count,
                step < comm.ranks() - 1);
  }
}

void ring_reduce_scatter(Comm& comm, const Call& call) {
  if (comm.ranks() == 1) return one_shot_reduce_scatter(comm, call);
  const Ring ring = {comm, call};
  const Chunks chunks = pair_chunks(comm, call);
  for (std::size_t at = 0; at < chunks.size(); ++at) {
    const Piece chunk = chunks[at];
    const auto own = [&](int steps_back) {
      return call.sent(static_cast<std::size_t>(ring.before(steps_back)) * call.count +
                       chunk.first);
    };
    ring.send(own(1), chunk.count);
    for (int step = 2; step < comm.ranks(); ++step) ring.reduce_and_send(own(step), chunk.count);
    ring.reduce_last_here(call.received(chunk.first), nullptr, own(0), chunk.count);
  }
}

// A chain from the root around the ring.
void ring_broadcast(Comm& comm, const Call& call) {
  if (comm.ranks() == 1) return one_shot_broadcast(comm, call);
  const Ring ring = {comm, call};
  const Chunks chunks = pair_chunks(comm, call);
  const bool is_root = comm.rank() == call.root;
  const bool is_last = (comm.rank() + 1) % comm.ranks() == call.root;
  for (std::size_t at = 0; at < chunks.size(); ++at) {
    const Piece chunk = chunks[at];
    if (is_root)
      ring.send(call.sent(chunk.first), chunk.count);
    else
      ring.keep(call.received(chunk.first), chunk.count, !is_last);
  }
  if (is_root && call.recv != call.send)
    comm.loops().copy(call.recv, call.send, call.bytes(call.count));
}

// A chain that ends at the root.
void ring_reduce(Comm& comm, const Call& call) {
  if (comm.ranks() == 1) return one_shot_reduce(comm, call);
  const Ring ring = {comm, call};
  const Chunks chunks = pair_chunks(comm, call);
  const bool is_root = comm.rank() == call.root;
  const bool is_first = ring.before(1) == call.root;
  for (std::size_t at = 0; at < chunks.size(); ++at) {
    const Piece chunk = chunks[at];
    const std::byte* own = call.sent(chunk.first);
    if (is_root)
      ring.reduce_last_here(call.received(chunk.first), nullptr, own, chunk.count);
    else if (is_first)
      ring.send(own, chunk.count);
    else
      ring.reduce_and_send(own, chunk.count);
  }
}

}  // namespace comm_probe::measure::local
