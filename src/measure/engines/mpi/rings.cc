// Around the ring, and along it as a chain.
#include "measure/engines/mpi/schedule_builder.h"

namespace comm_probe::measure::mpi {

// n-1 slots that reduce, n-1 that hand the finished parts round. Rank r sends part r first.
Schedule ring_all_reduce(const Case& asked) {
  ScheduleBuilder builder;
  const int n = asked.ranks;
  const auto part = [&](int index) { return part_of({0, asked.count}, wrapped(index, asked), n); };
  const Spot arrived = builder.keep(part(0).count);
  for (int k = 0; k < n - 1; ++k) {
    const auto slot = static_cast<std::size_t>(k);
    const Piece out = part(asked.rank - k), in = part(asked.rank - k - 1);
    builder.send(slot, {next_of(asked), k == 0 ? input(out.first) : output(out.first), out.count});
    builder.receive(slot, {previous_of(asked), arrived, in.count});
    builder.work(slot, {output(in.first), arrived, input(in.first), in.count, k == n - 2});
  }
  for (int k = 0; k < n - 1; ++k) {
    const auto slot = static_cast<std::size_t>(n - 1 + k);
    const Piece out = part(asked.rank + 1 - k), in = part(asked.rank - k);
    builder.send(slot, {next_of(asked), output(out.first), out.count});
    builder.receive(slot, {previous_of(asked), output(in.first), in.count});
  }
  return builder.take();
}

Schedule ring_all_gather(const Case& asked) {
  ScheduleBuilder builder;
  const auto first_of = [&](int rank) {
    return static_cast<std::size_t>(wrapped(rank, asked)) * asked.count;
  };
  builder.copy(0, output(first_of(asked.rank)), input(0), asked.count);
  for (int k = 0; k < asked.ranks - 1; ++k) {
    const auto slot = static_cast<std::size_t>(k);
    const Spot out = k == 0 ? input(0) : output(first_of(asked.rank - k));
    builder.send(slot, {next_of(asked), out, asked.count});
    builder.receive(slot, {previous_of(asked), output(first_of(asked.rank - k - 1)), asked.count});
  }
  return builder.take();
}

// A partial sum is sent on from one buffer while the next arrives in the other.
Schedule ring_reduce_scatter(const Case& asked) {
  ScheduleBuilder builder;
  const Spot buffers[2] = {builder.keep(asked.count), builder.keep(asked.count)};
  const auto part = [&](int rank) {
    return input(static_cast<std::size_t>(wrapped(rank, asked)) * asked.count);
  };
  for (int k = 0; k < asked.ranks - 1; ++k) {
    const auto slot = static_cast<std::size_t>(k);
    const bool is_last = k == asked.ranks - 2;
    const Spot arrived = buffers[k % 2], partial = buffers[(k + 1) % 2];
    builder.send(slot, {next_of(asked), k == 0 ? part(asked.rank - 1) : partial, asked.count});
    builder.receive(slot, {previous_of(asked), arrived, asked.count});
    builder.work(slot, {is_last ? output(0) : arrived, arrived, part(asked.rank - k - 2),
                        asked.count, is_last});
  }
  return builder.take();
}

namespace {

struct Chain {
  std::size_t place;  // 0: the root
  std::size_t last;
  Chunks chunks;

  explicit Chain(const Case& asked)
      : place(static_cast<std::size_t>(wrapped(asked.rank - asked.root, asked))),
        last(static_cast<std::size_t>(asked.ranks - 1)),
        chunks({0, asked.count}, asked.chunk) {}
};

}  // namespace

// Chunk c leaves the rank at place v in slot c + v.
Schedule chain_broadcast(const Case& asked) {
  ScheduleBuilder builder;
  const Chain chain(asked);
  const bool is_root = chain.place == 0;
  if (is_root) builder.copy(0, output(0), input(0), asked.count);
  for (std::size_t c = 0; c < chain.chunks.size(); ++c) {
    const Piece piece = chain.chunks[c];
    const Spot at = is_root ? input(piece.first) : output(piece.first);
    if (!is_root) builder.receive(c + chain.place - 1, {previous_of(asked), at, piece.count});
    if (chain.place < chain.last) builder.send(c + chain.place, {next_of(asked), at, piece.count});
  }
  return builder.take();
}

// The far end begins: chunk c leaves the rank at place v in slot c + n-1 - v.
Schedule chain_reduce(const Case& asked) {
  ScheduleBuilder builder;
  const Chain chain(asked);
  const bool is_root = chain.place == 0, is_end = chain.place == chain.last;
  const std::size_t most = chain.chunks.largest();
  const Spot buffers[2] = {builder.keep(most), builder.keep(most)};
  for (std::size_t c = 0; c < chain.chunks.size(); ++c) {
    const Piece piece = chain.chunks[c];
    const Spot own = input(piece.first), arrived = buffers[c % 2];
    const std::size_t leaves = c + chain.last - chain.place;
    if (!is_end) {
      builder.receive(leaves - 1, {next_of(asked), arrived, piece.count});
      builder.work(leaves - 1,
                   {is_root ? output(piece.first) : arrived, own, arrived, piece.count, is_root});
    }
    if (!is_root) builder.send(leaves, {previous_of(asked), is_end ? own : arrived, piece.count});
  }
  return builder.take();
}

}  // namespace comm_probe::measure::mpi
