// Every pair directly. A chunk is posted to everybody before the same chunk is taken from anybody,
// so both work in place.
#include "measure/engines/local/algorithms.h"

namespace comm_probe::measure::local {

void direct_all_to_all(Comm& comm, const Call& call) {
  const auto place = [&](int rank, Piece chunk) {
    return static_cast<std::size_t>(rank) * call.count + chunk.first;
  };
  const Chunks chunks = pair_chunks(comm, call);
  for (std::size_t at = 0; at < chunks.size(); ++at) {
    const Piece chunk = chunks[at];
    const std::size_t bytes = call.bytes(chunk.count);
    for (int step = 1; step < comm.ranks(); ++step) {
      const int to = (comm.rank() + step) % comm.ranks();
      post_copy(comm, comm.to(to), call.sent(place(to, chunk)), bytes);
    }
    for (int step = 1; step < comm.ranks(); ++step) {
      const int from = (comm.rank() + comm.ranks() - step) % comm.ranks();
      take_copy(comm, comm.from(from), call.received(place(from, chunk)), bytes);
    }
  }
  if (call.recv == call.send) return;
  const Piece own = {0, call.count};
  comm.loops().copy(call.received(place(comm.rank(), own)), call.sent(place(comm.rank(), own)),
                    call.bytes(call.count));
}

// To the next rank, from the previous one.
void direct_send_recv(Comm& comm, const Call& call) {
  const int to = (comm.rank() + 1) % comm.ranks();
  const int from = (comm.rank() + comm.ranks() - 1) % comm.ranks();
  if (to == comm.rank()) {
    if (call.recv != call.send) comm.loops().copy(call.recv, call.send, call.bytes(call.count));
    return;
  }
  const Chunks chunks = pair_chunks(comm, call);
  for (std::size_t at = 0; at < chunks.size(); ++at) {
    const std::size_t bytes = call.bytes(chunks[at].count);
    post_copy(comm, comm.to(to), call.sent(chunks[at].first), bytes);
    take_copy(comm, comm.from(from), call.received(chunks[at].first), bytes);
  }
}

}  // namespace comm_probe::measure::local
