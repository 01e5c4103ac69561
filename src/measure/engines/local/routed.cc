#include "measure/engines/local/routed.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "core/units.h"
#include "measure/clock.h"
#include "measure/engines/local/comm.h"
#include "measure/engines/local/death.h"
#include "measure/engines/local/limited_send.h"
#include "measure/free_memory.h"
#include "measure/routed/cases.h"

namespace comm_probe::measure {
namespace local {
namespace {

constexpr std::size_t kPage = 4096;
std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

std::int64_t now_ns() { return static_cast<std::int64_t>(now_seconds() * 1e9); }

// In short pieces: a rank that sleeps through looks for one that was stopped (standstill.h).
void sleep_until(std::int64_t ns) {
  constexpr std::int64_t kPiece = 2'000'000;
  for (std::int64_t now = now_ns(); now < ns; now = now_ns()) {
    const std::int64_t end = std::min(ns, now + kPiece);
    const timespec when = {static_cast<time_t>(end / 1'000'000'000), end % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
  }
}

// Where everything lies in the shared memory: NICs, samples, then the receive buffers of all ranks.
class RoutedMemory {
 public:
  static core::Result<RoutedMemory> make(const RoutedCases& cases, int ranks) {
    std::vector<std::array<std::size_t, 4>> at;
    std::size_t end =
        whole_pages(static_cast<std::size_t>(ranks) * (sizeof(Nic) + sizeof(RoutedRecord)));
    for (int rank = 0; rank < ranks; ++rank) {
      const SlotBytes bytes = slot_bytes(cases, rank);
      at.emplace_back();
      for (std::size_t slot = 0; slot < 4; ++slot) {
        at.back()[slot] = end;
        end += whole_pages(bytes.receive[slot]);
      }
    }
    auto memory = SharedMemory::map(end, false);
    if (!memory) return memory.error();
    return RoutedMemory(std::move(*memory), std::move(at));
  }
  Nic& nic(int rank) const {
    return reinterpret_cast<Nic*>(memory_.data())[static_cast<std::size_t>(rank)];
  }
  RoutedRecord& record(int rank) const {
    return reinterpret_cast<RoutedRecord*>(
        memory_.data() + at_.size() * sizeof(Nic))[static_cast<std::size_t>(rank)];
  }
  std::byte* receive(int rank, int slot) const {
    return memory_.data() + at_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(slot)];
  }

 private:
  RoutedMemory(SharedMemory memory, std::vector<std::array<std::size_t, 4>> at)
      : memory_(std::move(memory)), at_(std::move(at)) {}
  SharedMemory memory_;
  std::vector<std::array<std::size_t, 4>> at_;
};

class LocalTransport final : public RoutedTransport {
 public:
  LocalTransport(const RoutedPlan& plan, const RoutedMemory& memory, Comm& comm,
                 std::vector<PrivateMemory> send)
      : plan_(plan), memory_(memory), comm_(comm), send_(std::move(send)) {}

  int rank() const override { return comm_.rank(); }
  void barrier() override { comm_.barrier(); }
  std::byte* send_buffer(int slot) override { return send_[static_cast<std::size_t>(slot)].data(); }
  std::byte* receive_buffer(int slot) override { return memory_.receive(rank(), slot); }

  void exchange(const StageBytes& stage, int slot, NicLimit limit) override {
    const bool limited = limit == NicLimit::kAsPlanned && plan_.nic.in_bytes_per_second() > 0;
    std::vector<SendPart> parts = parts_of(stage, slot, limited);
    const std::vector<SendPart> sent = parts;
    LimitedSend send(plan_.nic, rank(), [this](int rank) -> Nic& { return memory_.nic(rank); });
    const auto copy = [](const SendPart& part, std::size_t bytes) {
      std::memcpy(part.into, part.from, bytes);
    };
    while (!parts.empty())
      if (const auto next = send.round(parts, now_ns, copy)) sleep_until(*next);
    // the last chunks are through when their time has passed, at both ends
    if (limited) sleep_until(send.through_at(sent));
    comm_.barrier();
  }

 private:
  // Beginning with the rank behind this one, so that not all write to the same one.
  std::vector<SendPart> parts_of(const StageBytes& stage, int slot, bool limited) {
    std::vector<SendPart> parts;
    for (int i = 0; i < stage.ranks; ++i) {
      const int to = (rank() + i) % stage.ranks;
      const auto bytes = static_cast<std::size_t>(stage.at(rank(), to));
      if (bytes == 0) continue;
      parts.push_back({to, limited && plan_.shape.node_of(to) != plan_.shape.node_of(rank()),
                       send_buffer(slot) + stage.send_offset(rank(), to),
                       memory_.receive(to, slot) + stage.receive_offset(rank(), to), bytes});
    }
    return parts;
  }

  const RoutedPlan& plan_;
  const RoutedMemory& memory_;
  Comm& comm_;
  std::vector<PrivateMemory> send_;
};

// Exit status of a rank that could not get its buffers.
constexpr int kNoMemory = 75;

void run_rank(const RoutedPlan& plan, const RoutedCases& cases, const CommMemory& comm_memory,
              const RoutedMemory& memory, int rank) {
  const SlotBytes bytes = slot_bytes(cases, rank);
  std::vector<PrivateMemory> send;
  for (const std::size_t size : bytes.send) {
    auto mapped = PrivateMemory::map(std::max<std::size_t>(size, 1));
    if (!mapped) ::_exit(kNoMemory);
    send.push_back(std::move(*mapped));
  }
  Comm comm(comm_memory, rank, local_cores());
  LocalTransport transport(plan, memory, comm, std::move(send));
  for (std::size_t at = 0; at < cases.size(); ++at)
    note_case(at, measure_case(plan, cases[at], transport, [] {}), memory.record(rank));
}

std::vector<const RoutedRecord*> records_of(const RoutedPlan& plan, const RoutedMemory& memory) {
  std::vector<const RoutedRecord*> records;
  for (int rank = 0; rank < plan.shape.ranks; ++rank) records.push_back(&memory.record(rank));
  return records;
}

std::optional<core::Error> refuse(const RoutedPlan& plan, const RoutedCases& cases) {
  if (plan.shape.ranks < 1 || plan.shape.ranks > kMostRanks)
    return core::input_error(fmt::format("--ranks {} is outside 1..{} of the local engine",
                                         plan.shape.ranks, kMostRanks),
                             "ranks are processes of this machine");
  double needed = 0;
  for (int rank = 0; rank < plan.shape.ranks; ++rank)
    needed += static_cast<double>(slot_bytes(cases, rank).all());
  const auto available = free_memory();
  if (!available || needed <= available->count() * 0.8) return std::nullopt;
  return core::input_error(
      fmt::format("{} ranks need {} of buffers; {} of memory is free", plan.shape.ranks,
                  core::format_bytes(core::Bytes::of(needed)), core::format_bytes(*available)),
      "fewer --tokens, or a smaller --hidden");
}

}  // namespace
}  // namespace local

core::Result<RoutedRun> run_local_routed(const RoutedPlan& plan, const Progress& progress) {
  if (const auto possible = check_routed(plan); !possible) return possible.error();
  const RoutedCases cases = cases_of(plan);
  if (const auto refused = local::refuse(plan, cases)) return *refused;
  const auto comm = local::CommMemory::make(plan.shape.ranks);
  if (!comm) return comm.error();
  const auto memory = local::RoutedMemory::make(cases, plan.shape.ranks);
  if (!memory) return memory.error();
  progress(
      fmt::format("sending {} tokens between {} ranks", plan.routing.tokens(), plan.shape.ranks));
  const local::Ended ended = local::run_ranks(
      plan.shape.ranks, [&](int rank) { local::run_rank(plan, cases, *comm, *memory, rank); });
  RoutedRun run;
  run.context.engine = "local";
  run.is_limited = plan.nic.in_bytes_per_second() > 0;
  run.context.cores = local_cores();
  run.interrupted_by = ended.interrupted_by;
  if (ended.died) run.died = local::death_of(ended);
  take_rows(plan, cases, noted_cases(plan, local::records_of(plan, *memory)), run);
  return run;
}

}  // namespace comm_probe::measure
