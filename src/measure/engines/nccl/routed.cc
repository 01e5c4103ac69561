#include "measure/engines/nccl/routed.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <thread>

#include "core/units.h"
#include "measure/clock.h"
#include "measure/engines/cuda/resources.h"
#include "measure/engines/cuda/visible_devices.h"
#include "measure/engines/local/death.h"
#include "measure/engines/local/shared_memory.h"
#include "measure/engines/nccl/issue.h"
#include "measure/engines/nccl/launched.h"
#include "measure/engines/nccl/rank_process.h"
#include "measure/engines/nccl/watch.h"
#include "measure/routed/cases.h"

namespace comm_probe::measure::nccl {
namespace {

using core::Result;

// What all ranks of the process share.
struct Shared {
  const Library& library;
  const RoutedPlan& plan;
  const RoutedCases& cases;
  Watch& watch;
  UniqueId id = {};
  std::barrier<> meeting;

  template <class T>
  T require(Result<T> result) {
    if (!result) watch.fail(result.error());
    return std::move(*result);
  }
  void require_nccl(const char* what, int status, Comm comm) {
    if (status != kSuccess && status != kInProgress)
      watch.fail(core::missing_error(fmt::format("{}: {}", what, library.explain(status, comm))));
  }
};

// A buffer on the GPU and its copy on the host.
struct Mirrored {
  cuda::DeviceBuffer device;
  std::vector<std::byte> host;
};

class NcclTransport final : public RoutedTransport {
 public:
  NcclTransport(Shared& shared, int rank)
      : shared_(shared),
        rank_(rank),
        context_(shared.require(cuda::Context::open(rank))),
        stream_(shared.require(cuda::Stream::make())) {
    const SlotBytes bytes = slot_bytes(shared.cases, rank);
    for (std::size_t slot = 0; slot < 4; ++slot) {
      send_.push_back(mirrored(bytes.send[slot]));
      receive_.push_back(mirrored(bytes.receive[slot]));
    }
    const int ranks = shared.plan.shape.ranks;
    shared.require_nccl("ncclCommInitRank",
                        shared.library.calls().init_rank(&comm_, ranks, shared.id, rank), comm_);
  }
  ~NcclTransport() override { shared_.library.calls().destroy(comm_); }

  int rank() const override { return rank_; }
  void barrier() override { shared_.meeting.arrive_and_wait(); }
  std::byte* send_buffer(int slot) override { return of(send_, slot).host.data(); }
  std::byte* receive_buffer(int slot) override { return of(receive_, slot).host.data(); }
  std::optional<double> moved_seconds() override { return std::exchange(moved_, 0); }

  void exchange(const StageBytes& stage, int slot, NicLimit) override {
    Mirrored &out = of(send_, slot), &in = of(receive_, slot);
    const auto sent = static_cast<std::size_t>(stage.sent_by(rank_));
    if (sent > 0)
      shared_.require(
          cuda::driver()
              .cuMemcpyHtoDAsync_v2(out.device.address(), out.host.data(), sent, stream_.handle())
              .result());
    shared_.require(stream_.synchronize());
    barrier();
    const double begin = now_seconds();
    group(stage, out, in);
    wait();
    moved_ += now_seconds() - begin;
    if (const auto got = static_cast<std::size_t>(stage.received_by(rank_)); got > 0)
      shared_.require(
          cuda::driver().cuMemcpyDtoH_v2(in.host.data(), in.device.address(), got).result());
    keep_own_part(stage, out, in);
    barrier();
  }

 private:
  static Mirrored& of(std::vector<Mirrored>& buffers, int slot) {
    return buffers[static_cast<std::size_t>(slot)];
  }
  Mirrored mirrored(std::size_t bytes) {
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    return {shared_.require(cuda::DeviceBuffer::make(core::Bytes::of(std::uint64_t{size}))),
            std::vector<std::byte>(size)};
  }
  static std::byte* at(const Mirrored& buffer, std::uint64_t offset) {
    return reinterpret_cast<std::byte*>(
        static_cast<std::uintptr_t>(buffer.device.address() + offset));
  }

  void group(const StageBytes& stage, const Mirrored& out, const Mirrored& in) {
    const Calls& nccl = shared_.library.calls();
    const int type = data_type_number(Element::kU8);
    nccl.group_start();
    for (int i = 1; i < stage.ranks; ++i) {
      const int to = (rank_ + i) % stage.ranks, from = (rank_ + stage.ranks - i) % stage.ranks;
      if (const auto bytes = stage.at(rank_, to); bytes > 0)
        shared_.require_nccl("ncclSend",
                             nccl.send(at(out, stage.send_offset(rank_, to)), bytes, type, to,
                                       comm_, stream_.handle()),
                             comm_);
      if (const auto bytes = stage.at(from, rank_); bytes > 0)
        shared_.require_nccl("ncclRecv",
                             nccl.recv(at(in, stage.receive_offset(from, rank_)), bytes, type, from,
                                       comm_, stream_.handle()),
                             comm_);
    }
    shared_.require_nccl("ncclGroupEnd", nccl.group_end(), comm_);
  }

  void wait() {
    for (;;) {
      int asynchronous = kSuccess;
      shared_.require_nccl("ncclCommGetAsyncError",
                           shared_.library.calls().async_error(comm_, &asynchronous), comm_);
      shared_.require_nccl("an exchange", asynchronous, comm_);
      const cuda::Status status = cuda::driver().cuStreamQuery(stream_.handle());
      if (status && asynchronous == kSuccess) return;
      if (!status && status.code() != cuda::kNotReady) shared_.watch.fail(status.error());
      std::this_thread::yield();
    }
  }

  // No bytes of it pass a link.
  void keep_own_part(const StageBytes& stage, const Mirrored& out, Mirrored& in) {
    if (stage.at(rank_, rank_) > 0)
      std::memcpy(in.host.data() + stage.receive_offset(rank_, rank_),
                  out.host.data() + stage.send_offset(rank_, rank_), stage.at(rank_, rank_));
  }

  Shared& shared_;
  int rank_;
  cuda::Context context_;
  cuda::Stream stream_;
  std::vector<Mirrored> send_ = {};
  std::vector<Mirrored> receive_ = {};
  Comm comm_ = nullptr;
  double moved_ = 0;
};

void run_rank(Shared& shared, int rank, RoutedRecord& record) {
  NcclTransport transport(shared, rank);
  for (std::size_t at = 0; at < shared.cases.size(); ++at) {
    if (rank == 0)
      shared.watch.doing(fmt::format("all_to_all of {} tokens, {}",
                                     shared.cases[at].routing->tokens(),
                                     scheme_name(shared.cases[at].stages.scheme)));
    note_case(
        at, measure_case(shared.plan, shared.cases[at], transport, [&] { shared.watch.advance(); }),
        record);
  }
  shared.meeting.arrive_and_wait();
}

// The one process that holds all ranks, a thread each.
void be_process(const Library& library, const RoutedPlan& plan, const RoutedCases& cases,
                Note& note, RoutedRecord* records) {
  Watch watch(note, plan.patience);
  watch.doing("ncclCommInitRank");
  Shared shared{library, plan, cases, watch, {}, std::barrier<>(plan.shape.ranks)};
  shared.require_nccl("ncclGetUniqueId", library.calls().get_unique_id(&shared.id), nullptr);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < plan.shape.ranks; ++rank)
    threads.emplace_back([&, rank] { run_rank(shared, rank, records[rank]); });
  for (std::thread& thread : threads) thread.join();
}

std::optional<core::Error> refuse(const RoutedPlan& plan) {
  if (plan.nic.in_bytes_per_second() > 0)
    return core::input_error(
        "--nic limits processes of one machine, and GPUs have links of their own",
        "leave --nic out, or take --backend local");
  const auto launched = launched_as(core::Host::real());
  if (!launched) return launched.error();
  if (!launched->is_alone())
    return core::input_error("a routing is sent between the GPUs of one host, by one process",
                             "start it without a launcher; --backend mpi reaches other hosts");
  const auto gpus = cuda::visible_devices();
  if (!gpus) return core::missing_error(gpus.error().message, "nvidia-smi shows whether it works");
  if (plan.shape.ranks <= gpus->count) return std::nullopt;
  return core::missing_error(fmt::format("{} ranks need {} GPUs, and CUDA shows {}",
                                         plan.shape.ranks, plan.shape.ranks, gpus->count),
                             "--ranks, or --backend local");
}

core::Error ended(const Note& note) {
  return core::missing_error(fmt::format(
      "{}{}", note.ending.load() == Ending::kHung ? "nothing moved for the time-out in " : "",
      note.text));
}

}  // namespace

Result<RoutedRun> run_routed(const RoutedPlan& plan, const Progress& progress) {
  if (const auto refused = refuse(plan)) return *refused;
  if (const auto possible = check_routed(plan); !possible) return possible.error();
  const auto library = Library::open(core::Host::real());
  if (!library) return library.error();
  const RoutedCases cases = cases_of(plan);
  const auto board = Board::make(1, plan.shape.ranks, 1);
  if (!board) return board.error();
  const auto memory = local::SharedMemory::map(
      static_cast<std::size_t>(plan.shape.ranks) * sizeof(RoutedRecord), false);
  if (!memory) return memory.error();
  auto* records = reinterpret_cast<RoutedRecord*>(memory->data());
  progress(
      fmt::format("sending {} tokens between {} GPUs", plan.routing.tokens(), plan.shape.ranks));
  const local::Ended end =
      local::run_ranks(1, [&](int) { be_process(*library, plan, cases, board->note(0), records); },
                       {.limit = {.only_stopped = true}, .binding = local::Binding::kNone});
  RoutedRun run{.moves_only = true};
  run.context.engine = "nccl";
  run.context.versions = {fmt::format("NCCL {} ({})", library->version().text(), library->file())};
  run.interrupted_by = end.interrupted_by;
  if (board->note(0).ending.load() != Ending::kRunning) return ended(board->note(0));
  if (end.died) run.died = local::death_of(end);
  std::vector<const RoutedRecord*> all;
  for (int rank = 0; rank < plan.shape.ranks; ++rank) all.push_back(&records[rank]);
  take_rows(plan, cases, noted_cases(plan, all), run);
  return run;
}

}  // namespace comm_probe::measure::nccl
