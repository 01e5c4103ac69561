#include "measure/engines/nccl/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/finding_table.h"
#include "core/units.h"
#include "measure/engines/nccl/issue.h"
#include "measure/rank_samples.h"

namespace comm_probe::measure::nccl {
namespace {

Timing timing_at(const Plan& plan, const Board& board, std::size_t size, bool in_place) {
  Timing timing = timing_of(plan, board.samples().by_rank(size, in_place, plan.blocks));
  if (in_place && !can_check_in_place(plan.op)) timing.wrong = std::nullopt;
  return timing;
}

std::vector<Row> rows_of(const Start& start) {
  const std::size_t finished = start.board.samples().finished_by_all();
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
  if (start.plan.registration > 0 && start.layout.ranks() > 1)
    context.caveats.push_back(core::make_caveat(
        "bench.registered", "registration in the plan",
        "the plan is that of buffers which are not registered; with registered ones NCCL may take "
        "fewer channels or a symmetric kernel",
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
    // A process with several ranks, or several that are equally far: which rank it is is not known.
    if (death.timed_out) {
      const auto late = behind(start.board);
      death.rank = late.size() == 1 && start.layout.ranks_of_process() == 1 ? late.front() : -1;
    }
  }
  if (const auto at = static_cast<std::size_t>(death.rank); at < ended.processes.size())
    death.process = ended.processes[at];
  else if (ended.processes.size() == 1)
    death.process = ended.processes.front();
  return death;
}

}  // namespace

core::Result<Run> outcome_of(const Start& start, const local::Ended& ended) {
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

}  // namespace comm_probe::measure::nccl
