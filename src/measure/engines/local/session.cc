#include "measure/engines/local/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "measure/clock.h"
#include "measure/engines/local/store_choice.h"
#include "measure/known_data.h"

namespace comm_probe::measure::local {
namespace {

// Exit status of a rank that could not get its buffers.
constexpr int kNoMemory = 75;

// About what a rank writes into one stream: the message of the sizes that name a whole message, the
// part for one rank of the others.
std::size_t posted_bytes(const Call& call, int ranks) {
  return std::min(call.bytes(send_count(call, ranks)), call.bytes(recv_count(call, ranks)));
}

class RankSession {
 public:
  RankSession(const Session& session, Comm& comm, std::byte* send, std::byte* recv)
      : session_(session), comm_(comm), send_(send), recv_(recv) {}

  void run() {
    for (std::size_t at = 0; at < session_.steps.size(); ++at) {
      measure(at, false);
      if (session_.plan.with_in_place) measure(at, true);
      session_.table.finished(comm_.rank())
          .store(static_cast<std::uint32_t>(at + 1), std::memory_order_release);
    }
  }

 private:
  // In place both are the same memory, at this rank's part where one of them is a part of the
  // other.
  Call call_of(const Step& step, bool in_place) const {
    const Plan& plan = session_.plan;
    Call call = {plan.op, plan.element, plan.reduction, plan.root, step.amount.count, send_, recv_};
    return in_place ? measure::in_place(call, comm_.rank(), recv_) : call;
  }

  std::uint64_t check(const Step& step, const Call& call) {
    std::byte* input = const_cast<std::byte*>(call.send);  // both point into send_ or recv_
    if (call.send == send_)
      std::memset(call.recv, 0x5a, call.bytes(recv_count(call, comm_.ranks())));
    fill_input(call, comm_.rank(), comm_.ranks(), input);
    comm_.barrier();
    step.function(comm_, call);
    return count_wrong(call, comm_.rank(), comm_.ranks());
  }

  double timed(const Step& step, const Call& call, int calls) {
    comm_.barrier();
    const double start = now_seconds();
    for (int i = 0; i < calls; ++i) step.function(comm_, call);
    return (now_seconds() - start) / calls;
  }

  // Rank 0 times a few calls and tells the others how many to make.
  int agree_on_iterations(const Step& step, const Call& call) {
    if (session_.plan.iterations > 0) return session_.plan.iterations;
    const double first = timed(step, call, 2);
    if (comm_.rank() == 0) session_.table.iterations().store(iterations_for(first));
    comm_.barrier();
    const double second = timed(step, call, std::min(session_.table.iterations().load(), 100));
    comm_.barrier();
    if (comm_.rank() == 0) session_.table.iterations().store(iterations_for(second));
    comm_.barrier();
    return session_.table.iterations().load();
  }

  void measure(std::size_t at, bool in_place) {
    const Step& step = session_.steps[at];
    const Call call = call_of(step, in_place);
    Samples& samples = session_.table.at(at, in_place, comm_.rank());
    const auto once = [&] { step.function(comm_, call); };
    use_faster_stores(comm_, posted_bytes(call, comm_.ranks()), once);
    samples.streaming = comm_.stores() == Stores::kStreaming;
    if (session_.plan.check) samples.wrong = check(step, call);
    for (int i = 0; i < session_.plan.warmup; ++i) once();
    samples.iterations = agree_on_iterations(step, call);
    const std::int64_t before = preemptions_so_far();
    for (int block = 0; block < session_.plan.blocks; ++block)
      samples.seconds[block] = timed(step, call, samples.iterations);
    samples.preemptions = preemptions_so_far() - before;
    comm_.barrier();
  }

  const Session& session_;
  Comm& comm_;
  std::byte* send_;
  std::byte* recv_;
};

}  // namespace

core::Result<SampleTable> SampleTable::make(int ranks, std::size_t steps) {
  const std::size_t cells = steps * 2 * static_cast<std::size_t>(ranks);
  auto memory = SharedMemory::map(
      (1 + static_cast<std::size_t>(ranks)) * kLine + cells * sizeof(Samples), false);
  if (!memory) return memory.error();
  return SampleTable(std::move(*memory), ranks);
}
std::atomic<std::int32_t>& SampleTable::iterations() const {
  return *reinterpret_cast<std::atomic<std::int32_t>*>(memory_.data());
}
std::atomic<std::uint32_t>& SampleTable::finished(int rank) const {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(memory_.data() +
                                                        static_cast<std::size_t>(1 + rank) * kLine);
}
std::size_t SampleTable::finished_by_all() const {
  std::uint32_t least = finished(0).load();
  for (int rank = 1; rank < ranks_; ++rank) least = std::min(least, finished(rank).load());
  return least;
}
std::vector<RankSamples> SampleTable::by_rank(std::size_t step, bool in_place, int blocks) const {
  std::vector<RankSamples> all;
  for (int rank = 0; rank < ranks_; ++rank) {
    const Samples& seen = at(step, in_place, rank);
    all.push_back({seen.iterations,
                   seen.wrong,
                   seen.streaming,
                   seen.preemptions,
                   {seen.seconds, seen.seconds + blocks}});
  }
  return all;
}
Samples& SampleTable::at(std::size_t step, bool in_place, int rank) const {
  const auto ranks = static_cast<std::size_t>(ranks_);
  std::byte* cells = memory_.data() + (1 + ranks) * kLine;
  const std::size_t index =
      (step * 2 + (in_place ? 1 : 0)) * ranks + static_cast<std::size_t>(rank);
  return reinterpret_cast<Samples*>(cells)[index];
}

void run_session(const Session& session, int rank) {
  Comm comm(session.memory, rank, session.cores);
  const Call largest = {.op = session.plan.op,
                        .element = session.plan.element,
                        .count = session.steps.back().amount.count};
  const int ranks = comm.ranks();
  const auto send = PrivateMemory::map(largest.bytes(send_count(largest, ranks)));
  const auto recv = PrivateMemory::map(
      largest.bytes(std::max(recv_count(largest, ranks), send_count(largest, ranks))));
  if (!send || !recv) ::_exit(kNoMemory);
  std::memset(send->data(), 0, largest.bytes(send_count(largest, ranks)));
  std::memset(recv->data(), 0,
              largest.bytes(std::max(recv_count(largest, ranks), send_count(largest, ranks))));
  RankSession(session, comm, send->data(), recv->data()).run();
}

}  // namespace comm_probe::measure::local
