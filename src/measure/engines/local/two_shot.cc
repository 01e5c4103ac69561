// Two steps: reduce_scatter over all peers, then all_gather, both through the boards. Each chunk is
// cut into one part per rank; chunk c + 1 is posted before chunk c is reduced, and chunk c - 1 is
// gathered after it, so that nobody waits for a flag that was just written.
#include "measure/engines/local/algorithms.h"

namespace comm_probe::measure::local {
namespace {

class TwoShot {
 public:
  TwoShot(Comm& comm, const Call& call)
      : comm_(comm), call_(call), chunks_(board_chunks(comm, call)) {}

  void run() {
    const std::size_t count = chunks_.size();
    if (count > 0) scatter(chunks_[0]);
    for (std::size_t at = 0; at < count; ++at) {
      if (at + 1 < count) scatter(chunks_[at + 1]);
      reduce_own(chunks_[at]);
      if (at > 0) gather(chunks_[at - 1]);
    }
    if (count > 0) gather(chunks_[count - 1]);
  }

 private:
  std::size_t offset(Piece chunk, Piece part) const {
    return call_.bytes(part.first - chunk.first);
  }

  // Posts the chunk without our own part; parts keep their place in the slot.
  void scatter(Piece chunk) {
    const Piece own = part_of(chunk, comm_.rank(), comm_.ranks());
    const std::size_t before = offset(chunk, own);
    const std::size_t after = before + call_.bytes(own.count);
    const std::size_t bytes = call_.bytes(chunk.count);
    std::byte* slot = comm_.board().reserve(bytes);
    comm_.loops().copy(slot, call_.sent(chunk.first), before);
    comm_.loops().copy(slot + after, call_.sent(chunk.first) + after, bytes - after);
    comm_.board().post();
  }

  // Reduces our part of the chunk over all ranks, into recv and the board.
  void reduce_own(Piece chunk) {
    const Piece own = part_of(chunk, comm_.rank(), comm_.ranks());
    std::byte* result = call_.received(own.first);
    std::byte* slot = comm_.board().reserve(call_.bytes(own.count));
    const std::byte* so_far = call_.sent(own.first);
    const int last = comm_.ranks() - 1;
    for (int step = 1; step <= last; ++step) {
      Inbox& from = comm_.board_of((comm_.rank() + step) % comm_.ranks());
      const std::byte* theirs = from.wait(call_.bytes(chunk.count)) + offset(chunk, own);
      if (step < last)
        reduce(comm_, call_, {result, nullptr, so_far, theirs}, own.count);
      else
        reduce_last(comm_, call_, {result, slot, so_far, theirs}, own.count);
      from.release();
      so_far = result;
    }
    comm_.board().post();
  }

  void gather(Piece chunk) {
    for (int step = 1; step < comm_.ranks(); ++step) {
      const int rank = (comm_.rank() + step) % comm_.ranks();
      const Piece part = part_of(chunk, rank, comm_.ranks());
      take_copy(comm_, comm_.board_of(rank), call_.received(part.first), call_.bytes(part.count));
    }
  }

  Comm& comm_;
  const Call& call_;
  Chunks chunks_;
};

}  // namespace

void two_shot_all_reduce(Comm& comm, const Call& call) {
  if (comm.ranks() == 1) return one_shot_all_reduce(comm, call);
  TwoShot(comm, call).run();
}

}  // namespace comm_probe::measure::local
