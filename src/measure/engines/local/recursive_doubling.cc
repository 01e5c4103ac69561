// log2(n) rounds; in round k every rank exchanges the whole chunk with the rank whose number
// differs in bit k. Ranks beyond the largest power of two first hand theirs to a partner and get
// the result back at the end.
#include "measure/engines/local/algorithms.h"

namespace comm_probe::measure::local {
namespace {

int power_of_two_below(int ranks) {
  int power = 1;
  while (power * 2 <= ranks) power *= 2;
  return power;
}

struct Doubling {
  Comm& comm;
  const Call& call;
  int power;

  // Among the first 2 * (n - power) ranks, each even one leaves its data with the odd one after it.
  int paired() const { return 2 * (comm.ranks() - power); }
  bool sits_out() const { return comm.rank() < paired() && comm.rank() % 2 == 0; }
  int number() const {
    return comm.rank() < paired() ? comm.rank() / 2 : comm.rank() - paired() / 2;
  }
  int rank_of(int number) const {
    return number < paired() / 2 ? 2 * number + 1 : number + paired() / 2;
  }

  // result = mine op theirs, the lower rank's operand first, so that both get the same bits.
  void combine(const std::byte* mine, int partner, Piece chunk) const {
    Inbox& from = comm.from(partner);
    const std::byte* theirs = from.wait(call.bytes(chunk.count));
    const bool first = comm.rank() < partner;
    reduce(comm, call,
           {call.received(chunk.first), nullptr, first ? mine : theirs, first ? theirs : mine},
           chunk.count);
    from.release();
  }

  void run(Piece chunk) const {
    const std::size_t bytes = call.bytes(chunk.count);
    const std::byte* mine = call.sent(chunk.first);
    std::byte* result = call.received(chunk.first);
    if (sits_out()) {
      post_copy(comm, comm.to(comm.rank() + 1), mine, bytes);
      take_copy(comm, comm.from(comm.rank() + 1), result, bytes);
      return;
    }
    if (comm.rank() < paired()) combine(mine, comm.rank() - 1, chunk), mine = result;
    for (int bit = 1; bit < power; bit *= 2) {
      const int partner = rank_of(number() ^ bit);
      post_copy(comm, comm.to(partner), mine, bytes);
      combine(mine, partner, chunk);
      mine = result;
    }
    finish(comm, call, result, chunk.count);
    if (comm.rank() < paired()) post_copy(comm, comm.to(comm.rank() - 1), result, bytes);
  }
};

}  // namespace

void recursive_doubling_all_reduce(Comm& comm, const Call& call) {
  if (comm.ranks() == 1) return one_shot_all_reduce(comm, call);
  const Doubling doubling = {comm, call, power_of_two_below(comm.ranks())};
  const Chunks chunks = pair_chunks(comm, call);
  for (std::size_t at = 0; at < chunks.size(); ++at) doubling.run(chunks[at]);
}

}  // namespace comm_probe::measure::local
