// Messages through the local engine's own streams and loops: what is measured here is what its
// collectives are made of.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "measure/engines/local/call.h"
#include "measure/engines/local/store_choice.h"
#include "measure/link/crew.h"
#include "measure/link/phases.h"

namespace comm_probe::measure {
namespace {

using local::Comm;
using local::PrivateMemory;

// What is recorded per message: series = kSeries * message index + phase.
enum Phase { kOneWay, kExchange, kCopy, kCopyOwn, kReduce, kReduceSent, kRelay, kStreams };
constexpr int kSeries = 8;
// Private memory that stands for the ring of slots where the arithmetic is timed alone.
constexpr std::size_t kWindow = 128 << 10;
// Exit status of a member without memory; the crew reports it.
constexpr int kNoMemory = 75;

struct Side {
  Member& member;
  Comm& comm;
  std::size_t bytes;
  const std::byte* own;  // private source
  std::byte* result;     // private destination
  std::byte* window;     // private
  int series;            // of this message
  int repetitions;

  std::size_t chunk() const { return comm.chunks().board; }
};

template <class Work>
void for_each_chunk(const Side& s, Work work) {
  for (std::size_t at = 0; at < s.bytes; at += s.chunk())
    work(at, std::min(s.chunk(), s.bytes - at));
}

// Seconds of one repetition.
template <class Work>
void time_phase(const Side& s, Phase phase, Work work) {
  s.comm.barrier();
  const double start = now_seconds();
  for (int i = 0; i < s.repetitions; ++i) work();
  s.member.record(s.series + phase, (now_seconds() - start) / s.repetitions);
}

// Rank 0 sends a message, rank 1 receives it and says so.
void send_one_way(const Side& s) {
  if (s.comm.rank() == 0) {
    for_each_chunk(s, [&s](std::size_t at, std::size_t bytes) {
      local::post_copy(s.comm, s.comm.to(1), s.own + at, bytes);
    });
    s.comm.from(1).wait(8);
    s.comm.from(1).release();
  } else {
    for_each_chunk(s, [&s](std::size_t at, std::size_t bytes) {
      local::take_copy(s.comm, s.comm.from(0), s.result + at, bytes);
    });
    s.comm.to(0).reserve(8);
    s.comm.to(0).post();
  }
}

// Both send and both receive; chunk k + 1 is posted before chunk k is taken.
void exchange(const Side& s) {
  const auto post = [&s](std::size_t at) {
    if (at < s.bytes)
      local::post_copy(s.comm, s.comm.board(), s.own + at, std::min(s.chunk(), s.bytes - at));
  };
  post(0);
  for_each_chunk(s, [&](std::size_t at, std::size_t bytes) {
    post(at + s.chunk());
    local::take_copy(s.comm, s.comm.board_of(1 - s.comm.rank()), s.result + at, bytes);
  });
}

void copy_alone(const Side& s) {
  for_each_chunk(s, [&s](std::size_t at, std::size_t bytes) {
    s.comm.loops().copy(s.result + at, s.window + at % kWindow, bytes);
  });
}

// result = own
void copy_own_alone(const Side& s) {
  for_each_chunk(s, [&s](std::size_t at, std::size_t bytes) {
    s.comm.loops().copy(s.result + at, s.own + at, bytes);
  });
}

// result = own + window
void reduce_alone(const Side& s) {
  const auto sum = s.comm.loops().reduction(Element::kF32, Reduction::kSum);
  for_each_chunk(s, [&](std::size_t at, std::size_t bytes) {
    sum(s.result + at, nullptr, s.own + at, s.window + at % kWindow, bytes / 4);
  });
}

// result = window + window: what was just sent is still in the caches
void reduce_sent_alone(const Side& s) {
  const auto sum = s.comm.loops().reduction(Element::kF32, Reduction::kSum);
  for_each_chunk(s, [&](std::size_t at, std::size_t bytes) {
    sum(s.result + at, nullptr, s.window + (at + kWindow / 2) % kWindow, s.window + at % kWindow,
        bytes / 4);
  });
}

// Receives a message, adds its own, keeps the sum and sends it on. Both do so, with as many chunks
// under way as the engine keeps: one of a short message, two of a long one.
class Relay {
 public:
  explicit Relay(const Side& side) : s_(side), under_way_(side.bytes > side.chunk() ? 2 : 1) {}
  void start() const {
    for (int i = 0; i < under_way_; ++i)
      local::post_copy(s_.comm, s_.comm.board(), s_.own, piece());
  }
  void run() const {
    const Call sum = {.element = Element::kF32, .reduction = Reduction::kSum};
    // every chunk is as long as the first: they follow each other across repetitions
    for (std::size_t at = 0; at + piece() <= s_.bytes; at += piece()) {
      std::byte* slot = s_.comm.board().reserve(piece());
      local::reduce_and_keep(
          s_.comm, sum, {s_.result + at, slot, s_.own + at, peer().wait(piece())}, piece() / 4);
      peer().release();
      s_.comm.board().post();
    }
  }
  void finish() const {
    for (int i = 0; i < under_way_; ++i) local::take_copy(s_.comm, peer(), s_.result, piece());
  }

 private:
  std::size_t piece() const { return std::min(s_.chunk(), s_.bytes); }
  local::Inbox& peer() const { return s_.comm.board_of(1 - s_.comm.rank()); }

  const Side& s_;
  int under_way_;
};

void run_block(const Side& s) {
  time_phase(s, kOneWay, [&s] { send_one_way(s); });
  time_phase(s, kExchange, [&s] { exchange(s); });
  time_phase(s, kCopy, [&s] { copy_alone(s); });
  time_phase(s, kCopyOwn, [&s] { copy_own_alone(s); });
  time_phase(s, kReduce, [&s] { reduce_alone(s); });
  time_phase(s, kReduceSent, [&s] { reduce_sent_alone(s); });
  const Relay relay(s);
  relay.start();
  time_phase(s, kRelay, [&relay] { relay.run(); });
  relay.finish();
}

void run_member(Member& member, Comm& comm, const ChannelPlan& plan) {
  const std::size_t largest = plan.messages.back().whole();
  const auto own = PrivateMemory::map(largest);
  const auto result = PrivateMemory::map(largest);
  const auto window = PrivateMemory::map(kWindow);
  if (!own || !result || !window) ::_exit(kNoMemory);
  std::memset(own->data(), 0, largest);
  std::memset(result->data(), 0, largest);
  std::memset(window->data(), 0, kWindow);
  for (std::size_t m = 0; m < plan.messages.size(); ++m) {
    // enough repetitions that a block lasts that long at 5 GB/s and 100 ns per message
    const double once = plan.messages[m].count() / 5e9 + 100e-9;
    const double repetitions = plan.blocks.block.in_seconds() / once;
    const Side side{member,
                    comm,
                    plan.messages[m].whole(),
                    own->data(),
                    result->data(),
                    window->data(),
                    static_cast<int>(m) * kSeries,
                    static_cast<int>(std::clamp(repetitions, 1.0, 2000.0))};
    local::use_faster_stores(comm, side.bytes, [&side] { exchange(side); });
    member.record(side.series + kStreams, comm.stores() == local::Stores::kStreaming ? 1 : 0);
    const double budget = plan.blocks.budget.in_seconds();
    for (int block = 0; block < plan.blocks.blocks && member.wants_more(block, budget); ++block)
      run_block(side);
  }
}

Summary both(const CrewRecords& records, int series) {
  std::vector<double> values = records.of(0, series);
  const std::vector<double> others = records.of(1, series);
  values.insert(values.end(), others.begin(), others.end());
  return summarize(std::move(values));
}

}  // namespace

core::Result<Channel> time_channel(const ChannelPlan& plan) {
  const auto memory = local::CommMemory::make(2);
  if (!memory) return memory.error();
  const int cores = plan.pair[0] == plan.pair[1] ? 1 : 2;
  const auto records = run_crew({.cpus = plan.pair}, [&](Member& member) {
    Comm comm(*memory, member.index(), cores);
    run_member(member, comm, plan);
  });
  if (!records) return records.error();
  Channel channel{{}, records->preemptions};
  for (std::size_t m = 0; m < plan.messages.size(); ++m) {
    const int series = static_cast<int>(m) * kSeries;
    const auto of_both = [&](Phase phase) { return both(*records, series + phase); };
    channel.times.push_back(
        {.message = plan.messages[m],
         .one_way = summarize(records->of(0, series + kOneWay)),
         .exchange = of_both(kExchange),
         .copy = of_both(kCopy),
         .copy_own = of_both(kCopyOwn),
         .reduce = of_both(kReduce),
         .reduce_sent = of_both(kReduceSent),
         .relay = of_both(kRelay),
         .streaming = records->of(0, series + kStreams) == std::vector<double>{1}});
  }
  return channel;
}

}  // namespace comm_probe::measure
