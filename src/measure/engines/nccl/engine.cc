#include "measure/engines/nccl/engine.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "core/finding_table.h"
#include "core/units.h"
#include "measure/engines/local/processes.h"
#include "measure/engines/nccl/issue.h"
#include "measure/engines/nccl/rank_process.h"
#include "measure/rank_samples.h"

namespace comm_probe::measure::nccl {
namespace {

using core::Result;

constexpr int kMostOneGpuRanks = 64;

std::optional<core::Error> missing() {
  const auto library = Library::open(core::Host::real());
  if (!library) return library.error();
  const auto driver = core::SharedLibrary::open({"libcuda.so.1"});
  if (!driver)
    return core::missing_error("libcuda.so.1 not found: NCCL runs on NVIDIA GPUs only",
                               "install the NVIDIA driver (in a container: --gpus all)");
  return std::nullopt;
}

int usual_ranks() {
  const auto launched = launched_as(core::Host::real());
  if (launched && !launched->is_alone()) return launched->size;
  const auto gpus = visible_gpus();
  return gpus ? static_cast<int>(gpus->size()) : 1;
}

std::vector<model::Algorithm> no_algorithms(model::Op) { return {}; }

std::optional<core::Error> refuse(const Plan& plan, const Layout& layout) {
  const int ranks = layout.ranks();
  if (plan.root < 0 || plan.root >= ranks)
    return core::input_error(fmt::format("-r {} is no rank of {}", plan.root, ranks),
                             fmt::format("ranks are 0..{}", ranks - 1));
  if (plan.shares_one_gpu && plan.ranks > kMostOneGpuRanks)
    return core::input_error(
        fmt::format("--one-gpu-ranks {} is more than {}", plan.ranks, kMostOneGpuRanks));
  if (plan.blocks < 1 || plan.blocks > local::kMostBlocks)
    return core::input_error(
        fmt::format("{} blocks; 1..{} are possible", plan.blocks, local::kMostBlocks));
  return std::nullopt;
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
  const auto gpus = visible_gpus();
  if (!gpus) return gpus.error();
  const int needed = layout.shares_one_gpu ? 1 : layout.ranks_of_process();
  const int there = static_cast<int>(gpus->size());
  if (needed <= there) return std::nullopt;
  return core::missing_error(
      fmt::format("{} ranks need {} GPUs, and CUDA shows {}", needed, needed, there),
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

std::vector<Amount> amounts_of(const Plan& plan, const std::vector<core::Bytes>& sizes) {
  std::vector<Amount> amounts;
  for (const core::Bytes size : sizes) amounts.push_back(amount_of(plan, size));
  return amounts;
}

// What the forked processes are started with; they inherit it.
struct Start {
  const Plan& plan;
  const Layout& layout;
  const std::vector<Amount>& amounts;
  const Library& library;
  const Capture& capture;
  const Board& board;
  LocalListener listener = {};
  std::vector<int> cpus = {};
};

void use_all(const std::vector<int>& cpus) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const int cpu : cpus) CPU_SET(cpu, &all);
  ::sched_setaffinity(0, sizeof all, &all);
}

void be_process(const Start& start, int child) {
  use_all(start.cpus);  // NCCL's threads, too, would be bound to one
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

Timing timing_at(const Plan& plan, const Board& board, std::size_t size, bool in_place) {
  std::vector<RankSamples> by_rank;
  for (int rank = 0; rank < board.ranks(); ++rank) {
    const local::Samples& seen = board.samples().at(size, in_place, rank);
    by_rank.push_back(
        {seen.iterations, seen.wrong, false, 0, {seen.seconds, seen.seconds + plan.blocks}});
  }
  Timing timing = timing_of(plan, by_rank);
  const bool unchecked = plan.op == model::Op::kAllToAll || plan.op == model::Op::kSendRecv;
  if (in_place && unchecked) timing.wrong = std::nullopt;  // as nccl-tests: input and output mix
  return timing;
}

std::vector<Row> rows_of(const Start& start) {
  std::size_t finished = start.amounts.size();
  for (int rank = 0; rank < start.board.ranks(); ++rank)
    finished = std::min<std::size_t>(finished, start.board.samples().finished(rank).load());
  std::vector<Row> rows;
  for (std::size_t at = 0; at < finished; ++at) {
    Row row = {.bytes = start.amounts[at].bytes, .count = start.amounts[at].count};
    row.method = start.layout.ranks() == 1 ? "copy" : fixed_method(start.library, start.plan.op);
    row.out_of_place = timing_at(start.plan, start.board, at, false);
    if (start.plan.with_in_place) row.in_place = timing_at(start.plan, start.board, at, true);
    rows.push_back(std::move(row));
  }
  return rows;
}

measure::Capture captured(const Start& start) {
  measure::Capture files;
  files.folder = start.capture.folder();
  const int first = start.layout.shares_one_gpu ? 0 : start.layout.launched.rank;
  for (int process = 0; process < start.board.processes(); ++process)
    files.logs.push_back(start.capture.log_of(first + process));
  files.topology = start.capture.topology();
  files.graphs = start.capture.graphs();
  files.owner = start.capture.owner();
  return files;
}

Context context_of(const Start& start) {
  Context context;
  context.engine = "nccl";
  context.speaks = start.layout.launched.rank == 0;
  context.versions = {
      fmt::format("NCCL {} ({})", start.library.version().text(), start.library.file())};
  for (int rank = 0; rank < start.board.ranks(); ++rank) {
    const Place& place = start.board.place(rank);
    context.devices.push_back({place.process, place.host, place.number, place.bus, place.name});
  }
  if (start.layout.shares_one_gpu)
    context.caveats.push_back(core::make_caveat(
        "bench.one-gpu", fmt::format("a GPU for each of {} ranks", start.layout.ranks()),
        "algorithms, protocols, channels and results are NCCL's own; the times are those of "
        "processes that take turns on one GPU and mean nothing",
        false));
  if (!start.layout.shares_one_gpu && start.library.calls().reset_debug == nullptr)
    context.caveats.push_back(core::make_caveat(
        "bench.logged",
        fmt::format("a way to end the log of NCCL {}", start.library.version().text()),
        "every call writes a line: the times of small messages are some microseconds too long",
        false));
  context.capture = captured(start);
  return context;
}

// Processes that did less than the others: they are waited for.
std::vector<int> behind(const Board& board) {
  std::uint64_t most = 0, least = UINT64_MAX;
  for (int process = 0; process < board.processes(); ++process) {
    const std::uint64_t progress = board.note(process).progress.load();
    most = std::max(most, progress);
    least = std::min(least, progress);
  }
  std::vector<int> late;
  if (most == least) return late;
  for (int process = 0; process < board.processes(); ++process)
    if (board.note(process).progress.load() == least) late.push_back(process);
  return late;
}

std::optional<int> first_to_end(const Board& board) {
  std::optional<int> first;
  for (int process = 0; process < board.processes(); ++process) {
    if (board.note(process).ending.load() == Ending::kRunning) continue;
    if (!first || board.note(process).ended_at < board.note(*first).ended_at) first = process;
  }
  return first;
}

std::string hung_sentence(const Start& start, const Note& note) {
  std::string text = fmt::format("{} did not end within {}", note.text,
                                 core::format_duration(start.plan.patience));
  const std::vector<int> late = behind(start.board);
  if (!late.empty() && start.layout.shares_one_gpu)
    text += fmt::format(" (rank {} has come less far than the others)", fmt::join(late, ", "));
  return text;
}

// Who gave up first, with what it wrote; the others' complaints that it is gone come later.
RankDeath death_of(const Start& start, const local::Ended& ended) {
  const local::Died& died = *ended.died;
  RankDeath death = {.rank = died.rank,
                     .signal = died.signal,
                     .sentence = died.sentence(),
                     .stood_still = died.still.has_value()};
  if (const auto first = first_to_end(start.board); first && died.signal == 0 && !died.still) {
    const Note& note = start.board.note(*first);
    death.rank = *first;
    death.timed_out = note.ending.load() == Ending::kHung;
    death.sentence = death.timed_out ? hung_sentence(start, note) : note.text;
    if (const auto late = behind(start.board); death.timed_out && late.size() == 1)
      death.rank = late.front();
  }
  if (const auto at = static_cast<std::size_t>(death.rank); at < ended.processes.size())
    death.process = ended.processes[at];
  return death;
}

Result<Run> finish(const Start& start, const local::Ended& ended) {
  Run run = {.plan = start.plan, .context = context_of(start), .rows = rows_of(start)};
  run.plan.ranks = start.layout.ranks();
  run.interrupted_by = ended.interrupted_by;
  if (!ended.died) return run;
  const RankDeath death = death_of(start, ended);
  const auto first = first_to_end(start.board);
  const bool failed = first && start.board.note(*first).ending.load() == Ending::kFailed;
  if (failed && ended.died->signal == 0 && run.rows.empty())
    return core::missing_error(death.sentence, "--keep DIR leaves NCCL's log of every rank there");
  run.died = death;
  return run;
}

Result<Run> run(const Plan& asked, const Progress& progress) {
  const Plan plan = for_one_gpu(asked);
  const auto layout = layout_for(plan);
  if (!layout) return layout.error();
  const auto sizes = sizes_of(plan);
  if (!sizes) return sizes.error();
  const auto library = Library::open(core::Host::real());
  if (!library) return library.error();
  const auto capture = Capture::into(plan.keep);
  if (!capture) return capture.error();
  const int processes = layout->shares_one_gpu ? layout->processes : 1;
  const std::vector<Amount> amounts = amounts_of(plan, *sizes);
  const auto board = Board::make(processes, layout->ranks(), amounts.size());
  if (!board) return board.error();
  Start start = {plan, *layout, amounts, *library, *capture, *board};
  start.cpus = local::allowed_cpus();
  if (layout->shares_one_gpu) {
    const auto listener = listen_locally();
    if (!listener) return listener.error();
    start.listener = *listener;
  }
  progress(fmt::format("{} on {} ranks, NCCL {}", op_name(plan.op), layout->ranks(),
                       library->version().text()));
  const local::Ended ended = local::run_ranks(
      processes, [&start](int child) { be_process(start, child); }, {.only_stopped = true});
  if (start.listener.socket >= 0) ::close(start.listener.socket);
  return finish(start, ended);
}

}  // namespace

Engine engine() {
  return {"nccl", "the NCCL that is installed, on GPUs", missing, usual_ranks, no_algorithms, check,
          run};
}

}  // namespace comm_probe::measure::nccl
