#include "measure/overlap/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstring>
#include <memory>
#include <type_traits>

#include "core/host.h"
#include "core/units.h"
#include "measure/engines/cuda/visible_devices.h"
#include "measure/engines/local/processes.h"
#include "measure/engines/local/shared_memory.h"
#include "measure/overlap/lanes.h"

namespace comm_probe::measure {
namespace {

using core::Duration;
using core::Result;

// A sample never launches more: a stream that is held takes some hundred operations, and NCCL's
// queue of work some hundred for each channel.
constexpr int kMostProducts = 64, kMostCalls = 24;

// What the process that measures leaves behind.
struct Board {
  int is_done;
  char failure[512];
  char hint[256];
  char mover[64];
  char device[128];
  int ranks, gpus, products, calls;
  OverlapTimes gemm_alone, comm_alone, together, synchronised;
  std::uint64_t wrong;
};
static_assert(std::is_trivially_copyable_v<Board>);

template <std::size_t N>
void keep(const std::string& text, char (&field)[N]) {
  std::strncpy(field, text.c_str(), N - 1);
}

class Probe {
 public:
  static Result<Probe> make(const OverlapPlan& plan, const nccl::Library* library, int gpus) {
    auto mover = library != nullptr ? Communication::over_nccl(*library, plan, gpus)
                                    : Communication::on_one_gpu(plan);
    if (!mover) return mover.error();
    Probe probe(plan, std::move(*mover));
    for (int gpu = 0; gpu < probe.mover_->gpus(); ++gpu) {
      auto lane = Lane::make(*probe.mover_, gpu, plan.matrix);
      if (!lane) return lane.error();
      probe.lanes_.push_back(std::move(*lane));
    }
    return probe;
  }

  Result<bool> run(Board& board) {
    keep(mover_->name(), board.mover);
    keep(mover_->context(0).name(), board.device);
    board.ranks = mover_->ranks();
    board.gpus = mover_->gpus();
    if (const auto chosen = choose_numbers(board); !chosen) return chosen;
    const int products = board.products, calls = board.calls;
    auto done = sample({products, 0, false}, board.gemm_alone);
    if (done) done = sample({0, calls, false}, board.comm_alone);
    if (done) done = sample({products, calls, false}, board.together);
    if (done) done = sample({products, calls, true}, board.synchronised);
    for (const Lane& lane : lanes_) {
      if (!done) return done;
      const auto wrong = lane.count_wrong();
      if (!wrong) return wrong.error();
      board.wrong += *wrong;
    }
    return done;
  }

 private:
  Probe(const OverlapPlan& plan, std::unique_ptr<Communication> mover)
      : plan_(plan), mover_(std::move(mover)) {}

  // One of each to warm up (NCCL connects in the first call), then by what one takes.
  Result<bool> choose_numbers(Board& board) {
    const Arrangement first = {.products = 1, .calls = 1, .is_held = false};
    if (const auto warm = once(first); !warm) return warm.error();
    const auto gemm = once({1, 0, false}), comm = once({0, 1, false});
    if (!gemm) return gemm.error();
    if (!comm) return comm.error();
    const auto number = [](Duration all, Duration one, int most) {
      if (one.in_seconds() <= 0) return most;
      return std::clamp(static_cast<int>(std::lround(all / one)), 1, most);
    };
    board.products = number(plan_.compute, gemm->span, kMostProducts);
    board.calls = number(gemm->span * board.products * kCommShare, comm->span, kMostCalls);
    return true;
  }

  Result<bool> launch(const Arrangement& arrangement) {
    Result<bool> done = true;
    for (const Lane& lane : lanes_)
      if (done) done = lane.begin();
    if (!arrangement.is_held)
      for (const Lane& lane : lanes_) lane.release();
    for (int i = 0; i < arrangement.calls && done; ++i) done = mover_->issue();
    for (const Lane& lane : lanes_)
      if (done) done = lane.end_communication();
    if (arrangement.is_synchronised) {
      for (const Lane& lane : lanes_) lane.release();
      for (const Lane& lane : lanes_)
        if (done) done = lane.wait_for_communication();
    }
    for (const Lane& lane : lanes_)
      if (done) done = lane.compute(arrangement.products);
    return done;
  }

  // Of the slowest GPU.
  Result<LaneTimes> once(const Arrangement& arrangement) {
    Result<bool> done = launch(arrangement);
    for (const Lane& lane : lanes_) lane.release();
    for (const Lane& lane : lanes_)
      if (const auto waited = lane.wait(); done && !waited) done = waited;
    if (!done) return done.error();
    LaneTimes slowest;
    for (const Lane& lane : lanes_) {
      const auto times = lane.times(arrangement);
      if (!times) return times.error();
      slowest = {std::max(slowest.span, times->span), std::max(slowest.exposed, times->exposed),
                 std::max(slowest.gemm, times->gemm), std::max(slowest.comm, times->comm)};
    }
    return slowest;
  }

  Result<bool> sample(const Arrangement& arrangement, OverlapTimes& found) {
    std::array<std::vector<double>, 4> values;
    for (int i = 0; i <= plan_.samples; ++i) {
      const auto times = once(arrangement);
      if (!times) return times.error();
      if (i == 0) continue;  // the first warms up
      const std::array all = {times->span, times->exposed, times->gemm, times->comm};
      for (std::size_t at = 0; at < all.size(); ++at) values[at].push_back(all[at].in_seconds());
    }
    found = {summarize(values[0]), summarize(values[1]), summarize(values[2]),
             summarize(values[3])};
    return true;
  }

  const OverlapPlan& plan_;
  std::unique_ptr<Communication> mover_;
  std::vector<Lane> lanes_ = {};
};

void be_probe(const OverlapPlan& plan, const nccl::Library* library, int gpus, Board& board) {
  local::end_after(plan.limit);
  auto probe = Probe::make(plan, library, gpus);
  Result<bool> done = probe ? probe->run(board) : Result<bool>(probe.error());
  if (!done) {
    keep(done.error().message, board.failure);
    keep(done.error().hint, board.hint);
  }
  board.is_done = 1;
}

// What makes streams wait for each other, whatever a program does.
std::vector<std::string> settings_in_force() {
  std::vector<std::string> found;
  const core::Host host = core::Host::real();
  for (const auto& [name, value] :
       {std::pair("CUDA_LAUNCH_BLOCKING", "1"), std::pair("CUDA_DEVICE_MAX_CONNECTIONS", "1")})
    if (host.environment(name) == value) found.push_back(fmt::format("{}={}", name, value));
  return found;
}

Overlap overlap_of(const Board& board, const OverlapPlan& plan) {
  return {.mover = board.mover,
          .device = board.device,
          .ranks = board.ranks,
          .gpus = board.gpus,
          .bytes = plan.bytes,
          .matrix = plan.matrix,
          .products = board.products,
          .calls = board.calls,
          .gemm_alone = board.gemm_alone,
          .comm_alone = board.comm_alone,
          .together = board.together,
          .synchronised = board.synchronised,
          .wrong = board.wrong,
          .settings = settings_in_force()};
}

core::Error ended_early(const OverlapPlan& plan, const local::Ended& ended) {
  if (ended.died && ended.died->signal == SIGALRM)
    return core::missing_error(
        fmt::format("the overlap probe did not end within {}", core::format_duration(plan.limit)),
        "nvidia-smi: does another program use the GPU?");
  return core::missing_error("the overlap probe: " + (ended.died ? ended.died->sentence()
                                                                 : std::string("it left nothing")));
}

}  // namespace

Duration exposed_part(const Interval& communication, const Interval& computation) {
  const Duration begin = std::max(communication.begin, computation.begin);
  const Duration end = std::min(communication.end, computation.end);
  const Duration hidden = end > begin ? end - begin : Duration();
  return communication.length() - hidden;
}

Result<Overlap> measure_overlap(const OverlapPlan& plan,
                                const std::function<void(const std::string&)>& progress) {
  const auto devices = cuda::visible_devices();
  if (!devices) return devices.error();
  if (devices->driver_runs_here)
    return core::missing_error("this process has used the CUDA driver: it cannot fork another",
                               "measure it in a process of its own");
  const auto memory = local::SharedMemory::map(sizeof(Board), false);
  if (!memory) return memory.error();
  Board& board = *reinterpret_cast<Board*>(memory->data());
  const auto library = nccl::Library::open(core::Host::real());
  const bool has_nccl = devices->count > 1 && library;
  progress("overlap of a product and an all_reduce");
  const local::Ended ended = local::run_ranks(
      1, [&](int) { be_probe(plan, has_nccl ? &*library : nullptr, devices->count, board); },
      {.limit = {.only_stopped = true}, .binding = local::Binding::kNone});
  if (ended.interrupted_by != 0) return Overlap{.interrupted_by = ended.interrupted_by};
  if (board.failure[0] != '\0') return core::missing_error(board.failure, board.hint);
  if (!ended.ok() || board.is_done == 0) return ended_early(plan, ended);
  return overlap_of(board, plan);
}

}  // namespace comm_probe::measure
