#include <algorithm>
#include <cstring>

#include "measure/link/buffer.h"
#include "measure/link/crew.h"
#include "measure/link/phases.h"

namespace comm_probe::measure {
namespace {

// What is recorded per message: series = 8 * message index + phase.
enum Phase { kOneWayPublish, kOneWayFetch, kPublish, kFetch, kReduce, kLocal };
constexpr int kPhases = 8;

// The ring of slots that a message travels through: what the local engine uses.
constexpr std::size_t kSlotBytes = 32 << 10;
constexpr std::size_t kSlots = 4;

// Lets the compiler assume nothing about memory: a repeated copy is not removed.
void keep_memory() { asm volatile("" ::: "memory"); }

// sum = own + peer
void add_f32(std::byte* __restrict sum, const std::byte* __restrict own,
             const std::byte* __restrict peer, std::size_t bytes) {
  auto* s = reinterpret_cast<float*>(sum);
  const auto* a = reinterpret_cast<const float*>(own);
  const auto* b = reinterpret_cast<const float*>(peer);
  std::size_t i = 0;
  for (; i + 16 <= bytes / 4; i += 16)
    for (std::size_t k = 0; k < 16; ++k) s[i + k] = a[i + k] + b[i + k];
  for (; i < bytes / 4; ++i) s[i] = a[i] + b[i];
}

struct Side {
  Member& member;
  std::size_t bytes;
  std::byte* own;     // private source
  std::byte* result;  // private destination
  std::byte* mine;    // slots in shared memory, written by this member
  std::byte* other;   // slots in shared memory, written by the other
  int series;         // of this message
  int repetitions;
};

// A piece of the message that travels through one slot.
struct Piece {
  std::size_t at;
  std::size_t bytes;
  std::size_t slot_at;
};

template <class Work>
void for_each_piece(const Side& s, Work work) {
  std::size_t number = 0;
  for (std::size_t at = 0; at < s.bytes; at += kSlotBytes, ++number)
    work(Piece{at, std::min(kSlotBytes, s.bytes - at), number % kSlots * kSlotBytes});
}

template <class Work>
double timed(Work work) {
  const double start = now_seconds();
  work();
  keep_memory();
  return now_seconds() - start;
}

// Member 0 publishes while member 1 waits; then member 1 fetches.
void run_one_way(const Side& s) {
  double spent = 0;
  for (int i = 0; i < s.repetitions; ++i)
    for_each_piece(s, [&](const Piece& p) {
      if (s.member.index() == 0)
        spent += timed([&] { std::memcpy(s.mine + p.slot_at, s.own + p.at, p.bytes); });
      s.member.meet();
      if (s.member.index() == 1)
        spent += timed([&] { std::memcpy(s.result + p.at, s.other + p.slot_at, p.bytes); });
      s.member.meet();
    });
  s.member.record(s.series + (s.member.index() == 0 ? kOneWayPublish : kOneWayFetch),
                  spent / s.repetitions);
}

// Both publish, then both take, piece by piece.
template <class Take>
void run_exchange(const Side& s, Phase take_phase, Take take) {
  double publish = 0;
  double taking = 0;
  for (int i = 0; i < s.repetitions; ++i)
    for_each_piece(s, [&](const Piece& p) {
      publish += timed([&] { std::memcpy(s.mine + p.slot_at, s.own + p.at, p.bytes); });
      s.member.meet();
      taking += timed([&] { take(p); });
      s.member.meet();
    });
  s.member.record(s.series + kPublish, publish / s.repetitions);
  s.member.record(s.series + take_phase, taking / s.repetitions);
}

void run_local(const Side& s) {
  s.member.meet();
  const double spent = timed([&s] {
    for (int i = 0; i < s.repetitions; ++i) {
      std::memcpy(s.result, s.own, s.bytes);
      keep_memory();
    }
  });
  s.member.record(s.series + kLocal, spent / s.repetitions);
}

void run_message(const Side& s, int blocks) {
  for (int block = 0; block < blocks; ++block) {
    run_one_way(s);
    run_exchange(s, kFetch, [&s](const Piece& p) {
      std::memcpy(s.result + p.at, s.other + p.slot_at, p.bytes);
    });
    run_exchange(s, kReduce, [&s](const Piece& p) {
      add_f32(s.result + p.at, s.own + p.at, s.other + p.slot_at, p.bytes);
    });
    run_local(s);
  }
}

// Enough repetitions that a block lasts `block` at 5 GB/s and 200 ns per phase.
int repetitions_for(core::Bytes message, core::Duration block) {
  const double once = message.count() / 5e9 + 200e-9;
  return static_cast<int>(std::clamp(block.in_seconds() / once, 1.0, 1000.0));
}

Summary both(const CrewRecords& records, int series) {
  std::vector<double> values = records.of(0, series);
  const std::vector<double> others = records.of(1, series);
  values.insert(values.end(), others.begin(), others.end());
  return summarize(std::move(values));
}

// Block by block: publish + fetch.
Summary sum_of(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> sums;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) sums.push_back(a[i] + b[i]);
  return summarize(std::move(sums));
}

TransferTimes times_of(const CrewRecords& records, core::Bytes message, int series) {
  return {message,
          sum_of(records.of(0, series + kOneWayPublish), records.of(1, series + kOneWayFetch)),
          sum_of(records.of(0, series + kPublish), records.of(1, series + kFetch)),
          both(records, series + kPublish),
          both(records, series + kFetch),
          both(records, series + kReduce),
          both(records, series + kLocal)};
}

}  // namespace

core::Result<Transfers> time_transfers(const TransferPlan& plan) {
  const std::size_t largest = plan.messages.back().whole();
  const auto body = [&](Member& member) {
    const Buffer own(largest);
    const Buffer result(largest);
    constexpr std::size_t kRing = kSlots * kSlotBytes;
    std::byte* mine = member.payload() + static_cast<std::size_t>(member.index()) * kRing;
    std::byte* other = member.payload() + static_cast<std::size_t>(1 - member.index()) * kRing;
    std::memset(mine, 0, kRing);
    member.meet();
    for (std::size_t m = 0; m < plan.messages.size(); ++m)
      run_message(
          {member, plan.messages[m].whole(), own.data(), result.data(), mine, other,
           static_cast<int>(m) * kPhases, repetitions_for(plan.messages[m], plan.blocks.block)},
          plan.blocks.blocks);
  };
  const auto records = run_crew({.cpus = plan.pair, .shared_bytes = 2 * kSlots * kSlotBytes}, body);
  if (!records) return records.error();
  Transfers transfers{{}, records->preemptions};
  for (std::size_t m = 0; m < plan.messages.size(); ++m)
    transfers.times.push_back(times_of(*records, plan.messages[m], static_cast<int>(m) * kPhases));
  return transfers;
}

}  // namespace comm_probe::measure
