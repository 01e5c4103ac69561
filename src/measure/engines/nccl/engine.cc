#include "measure/engines/nccl/engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "measure/engines/cuda/visible_devices.h"
#include "measure/engines/local/processes.h"
#include "measure/engines/nccl/outcome.h"
#include "measure/engines/nccl/rank_process.h"
#include "measure/engines/nccl/routed.h"

namespace comm_probe::measure::nccl {
namespace {

using core::Result;

std::optional<core::Error> missing() {
  const auto library = Library::open(core::Host::real());
  if (!library) return library.error();
  return missing_cuda();
}

int usual_ranks() {
  const auto launched = launched_as(core::Host::real());
  if (launched && !launched->is_alone()) return launched->size;
  const auto gpus = cuda::visible_devices();
  return gpus ? gpus->count : 1;
}

std::vector<model::Algorithm> no_algorithms(model::Op) { return {}; }

std::optional<core::Error> refuse(const Plan& plan, const Layout& layout) {
  if (auto refused = refuse_root(plan, layout.ranks())) return refused;
  if (plan.blocks < 1 || plan.blocks > local::kMostBlocks)
    return core::input_error(
        fmt::format("{} blocks; 1..{} are possible", plan.blocks, local::kMostBlocks));
  return refuse_check(plan, layout.ranks());
}

std::optional<core::Error> refuse_registration(const Plan& plan) {
  if (plan.registration == 0) return std::nullopt;
  const auto library = Library::open(core::Host::real());
  if (!library) return library.error();
  const char* symbol = plan.registration == 1 ? "ncclCommRegister" : "ncclCommWindowRegister";
  if (library->has(symbol)) return std::nullopt;
  return core::missing_error(
      fmt::format("-R {}: NCCL {} has no {}", plan.registration, library->version().text(), symbol),
      plan.registration == 1 ? "it came with NCCL 2.19" : "it came with NCCL 2.27");
}

std::optional<core::Error> refuse_devices(const Layout& layout) {
  const auto gpus = cuda::visible_devices();
  if (!gpus)
    return core::missing_error(gpus.error().message, "nvidia-smi shows whether the driver works");
  const int needed = layout.shares_one_gpu ? 1 : layout.ranks_of_process();
  if (needed <= gpus->count) return std::nullopt;
  return core::missing_error(
      fmt::format("{} ranks need {} GPUs, and CUDA shows {}", needed, needed, gpus->count),
      fmt::format("--one-gpu-ranks {} lets them share one: decisions are real, times mean nothing",
                  needed));
}

Result<Layout> layout_for(const Plan& plan) {
  const auto launched = launched_as(core::Host::real());
  if (!launched) return launched.error();
  return layout_of(plan, *launched);
}

Result<bool> check(const Plan& plan) {
  const auto layout = layout_for(plan);
  if (!layout) return layout.error();
  if (const auto refused = refuse(plan, *layout)) return *refused;
  if (const auto sizes = sizes_of(plan); !sizes) return sizes.error();
  if (const auto refused = refuse_registration(plan)) return *refused;
  if (const auto refused = refuse_devices(*layout)) return *refused;
  return true;
}

// Ranks that take turns on one GPU need some 20 ms for a call, whatever it is: one of each size
// tells what they tell.
Plan for_one_gpu(Plan plan) {
  if (!plan.shares_one_gpu) return plan;
  plan.blocks = 1;
  plan.warmup = 0;
  if (plan.iterations == 0) plan.iterations = 1;
  return plan;
}

void be_process(const Start& start, int child) {
  local::end_after(start.plan.limit);
  const Launched& launched = start.layout.launched;
  Assignment assignment = {start.plan,    start.amounts, start.layout,
                           start.library, start.capture, start.board};
  assignment.note = child;
  if (start.layout.shares_one_gpu) {
    assignment.process = child;
    assignment.local = child;
    ::setenv("NCCL_HOSTID", fmt::format("comm-probe-node{}", child).c_str(), 1);
    ::setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    assignment.meeting = {.rank = child,
                          .size = start.layout.processes,
                          .address = "127.0.0.1",
                          .port = start.listener.port,
                          .listening = child == 0 ? start.listener.socket : -1};
  } else {
    assignment.process = launched.rank;
    assignment.local = launched.local_rank;
    assignment.meeting = {.rank = launched.rank,
                          .size = launched.size,
                          .address = launched.address,
                          .port = launched.port};
  }
  run_process(assignment);
}

Result<Run> run(const Plan& asked, const Progress& progress) {
  const Plan plan = for_one_gpu(asked);
  const auto layout = layout_for(plan);
  if (!layout) return layout.error();
  const auto amounts = amounts_of(plan);
  if (!amounts) return amounts.error();
  const auto library = Library::open(core::Host::real());
  if (!library) return library.error();
  const auto capture = Capture::into(plan.keep);
  if (!capture) return capture.error();
  const int processes = layout->shares_one_gpu ? layout->processes : 1;
  const auto board = Board::make(processes, layout->ranks(), amounts->size());
  if (!board) return board.error();
  Start start = {plan, *layout, *amounts, *library, *capture, *board};
  if (layout->shares_one_gpu) {
    const auto listener = listen_locally();
    if (!listener) return listener.error();
    start.listener = *listener;
  }
  progress(fmt::format("{} on {} ranks, NCCL {}", op_name(plan.op), layout->ranks(),
                       library->version().text()));
  // NCCL's threads, too, would be bound to one CPU.
  const local::Ended ended =
      local::run_ranks(processes, [&start](int child) { be_process(start, child); },
                       {.limit = {.only_stopped = true}, .binding = local::Binding::kNone});
  if (start.listener.socket >= 0) ::close(start.listener.socket);
  return outcome_of(start, ended);
}

}  // namespace

std::optional<core::Error> missing_cuda() {
  if (core::SharedLibrary::open({"libcuda.so.1"})) return std::nullopt;
  return core::missing_error("libcuda.so.1 not found: NCCL runs on NVIDIA GPUs only",
                             "install the NVIDIA driver (in a container: --gpus all)");
}

Engine engine() {
  return {
      "nccl",
      "the NCCL that is installed, on GPUs",
      missing,
      usual_ranks,
      no_algorithms,
      check,
      run,
      {.graph = true, .registration = true, .one_gpu_ranks = true, .keep = true, .timeout = true},
      run_routed};
}

}  // namespace comm_probe::measure::nccl
