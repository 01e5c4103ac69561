// `sim goal FILE`, `sim chakra PATH...`: an imported schedule on given links, played in the order
// that it asks for.
#include <fmt/format.h>

#include <algorithm>

#include "cli/calc_request.h"
#include "cli/sim_changes.h"
#include "cli/sim_fabric.h"
#include "cli/sim_parts.h"
#include "core/finding_table.h"
#include "core/units.h"
#include "sim/chakra_program.h"
#include "sim/program_what_if.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using core::Duration;
using core::format_duration;
using core::Json;
using core::json_number;

struct ScheduleFlags {
  std::vector<std::string> paths = {};
  CalcRequest request = {};
  ChangeFlags changes = {};
  FabricFlags fabric = {};
};

Json us(Duration time) { return json_number(time.in_us()); }
Json us(const std::optional<Duration>& time) { return time ? us(*time) : Json(); }

Json to_json(const sim::ProgramFile& file, const sim::ProgramOutcome& outcome) {
  return {{"time_us", us(outcome.time)},
          {"first_rank_us", us(outcome.first_rank)},
          {"basis", "computed"},
          {"model", outcome.fabric ? model_name(outcome.fabric->model) : "ports, event by event"},
          {"ranks", file.program.ranks()},
          {"sends", outcome.sends},
          {"receives", outcome.receives},
          {"calcs", outcome.calcs},
          {"bytes", core::json_bytes(outcome.bytes)},
          {"unreceived", outcome.unreceived},
          {"alike_us", us(outcome.alike)},
          {"without_slow_links_us", us(outcome.without_slow)},
          {"without_late_ranks_us", us(outcome.without_late)},
          {"floors",
           {{"bandwidth_us", us(outcome.floors.bandwidth)},
            {"processor_us", us(outcome.floors.processor)},
            {"dependencies_us", us(outcome.floors.dependencies)}}}};
}

std::string sentence(const sim::ProgramFile& file, const sim::ProgramOutcome& outcome) {
  return fmt::format("{} on {} ranks: {}", file.name, file.program.ranks(),
                     format_duration(outcome.time));
}

core::KeyValues summary(const sim::ProgramOutcome& outcome, const model::Fabric& links) {
  core::KeyValues pairs;
  auto& rows = pairs.rows;
  rows.emplace_back(
      "time", fmt::format("{} until the last rank has finished, {} the first",
                          format_duration(outcome.time), format_duration(outcome.first_rank)));
  rows.emplace_back(
      "schedule", fmt::format("{} sends of {} in all, {} receives, {} calcs", outcome.sends,
                              core::format_bytes(outcome.bytes), outcome.receives, outcome.calcs));
  add_change_costs(outcome, pairs);
  rows.emplace_back("floors",
                    fmt::format("{} for the bytes of the busiest port, {} for the busiest "
                                "processor, {} for the longest way through the schedule (alphas "
                                "and calcs alone)",
                                format_duration(outcome.floors.bandwidth),
                                format_duration(outcome.floors.processor),
                                format_duration(outcome.floors.dependencies)));
  rows.emplace_back(
      "link",
      fmt::format("alpha {}, beta {} ({}: {})", format_duration(links.link.alpha),
                  core::format_bandwidth(links.link.beta), basis_name(links.basis), links.source));
  if (links.inter)
    rows.emplace_back("between nodes",
                      fmt::format("alpha {}, beta {}", format_duration(links.inter->alpha),
                                  core::format_bandwidth(links.inter->beta)));
  return pairs;
}

void add_caveats(const sim::ProgramFile& file, const sim::ProgramOutcome& outcome,
                 Document& document) {
  if (file.other_nics > 0)
    document.caveats.push_back(core::make_caveat(
        "sim.nics-as-one", fmt::format("{} messages name a NIC other than 0", file.other_nics),
        "all messages of a rank take one port here, and may wait for each other longer"));
  if (outcome.unreceived > 0)
    document.caveats.push_back(core::make_caveat(
        "sim.unreceived",
        fmt::format("{} messages are received by nobody, the first is sent in {} {}",
                    outcome.unreceived, file.unit, outcome.first_unreceived),
        "their bytes take time on the links, but nothing waits for them", false));
}

core::Result<sim::ProgramFile> read_file(const std::string& path) {
  auto input = core::Input::open(path);
  if (!input) return input.error();
  return sim::read_goal(*input);
}

// What was read, and what it says of itself.
struct Schedule {
  sim::ProgramFile file = {};
  std::vector<core::InputRecord> inputs = {};
  std::vector<core::Caveat> caveats = {};
  std::optional<std::pair<std::string, std::string>> row = {};
};
using Load = core::Result<Schedule> (*)(const ScheduleFlags& flags);

core::Result<Schedule> load_goal(const ScheduleFlags& flags) {
  auto file = read_file(flags.paths.front());
  if (!file) return file.error();
  Schedule schedule{.file = *std::move(file)};
  schedule.inputs.push_back({.path = schedule.file.name, .kind = "goal"});
  return schedule;
}

core::Result<std::vector<sim::ChakraTrace>> read_traces(const std::vector<std::string>& paths) {
  const auto files = core::expand_paths(paths);
  if (!files) return files.error();
  std::vector<sim::ChakraTrace> traces;
  for (const std::string& path : *files) {
    const auto rank = sim::chakra_rank(path);
    if (!rank) continue;
    auto input = core::Input::open(path);
    if (!input) return input.error();
    auto trace = sim::read_chakra(*input, *rank);
    if (!trace) return trace.error();
    traces.push_back(*std::move(trace));
  }
  if (traces.empty())
    return core::input_error("no Chakra trace: no file ends in RANK.et", "like job.0.et");
  std::sort(traces.begin(), traces.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return traces;
}

core::Result<Schedule> load_chakra(const ScheduleFlags& flags) {
  const auto traces = read_traces(flags.paths);
  if (!traces) return traces.error();
  auto program = sim::program_of(*traces);
  if (!program) return program.error();
  Schedule schedule{.file = std::move(program->file)};
  for (const sim::ChakraTrace& trace : *traces)
    schedule.inputs.push_back({.path = trace.name, .kind = "chakra", .rank = trace.rank});
  schedule.row = {"collectives", fmt::format("{}, spelled out as messages", program->collectives)};
  if (program->without_duration > 0)
    schedule.caveats.push_back(core::make_caveat(
        "sim.chakra-no-duration",
        fmt::format("the duration of {} compute nodes", program->without_duration),
        "they take no time here, and hide no communication"));
  if (program->dangling > 0)
    schedule.caveats.push_back(core::make_caveat(
        "sim.chakra-dangling",
        fmt::format("{} dependencies on nodes that are in no trace", program->dangling),
        "what waits for them begins without them, so the time may be too short"));
  return schedule;
}

// The changes and, with --fabric, the shape; the links come from the request.
core::Result<sim::ProgramWhatIf> changes_of(ScheduleFlags& flags) {
  sim::ProgramWhatIf what{.seed = flags.fabric.seed};
  const auto slow = flags.changes.slow_links();
  if (!slow) return slow.error();
  const auto late = flags.changes.late_ranks();
  if (!late) return late.error();
  what.slow = *slow;
  what.late = *late;
  if (!flags.fabric.is_given()) return what;
  auto shape = fabric_of(flags.fabric.fabric);
  if (!shape) return shape.error();
  if (auto links = links_of(*shape)) flags.request.bring_links(*std::move(links));
  what.shape = std::move(shape).value();
  return what;
}

int sim_schedule(const Shell& shell, ScheduleFlags& flags, Load load) {
  auto what = changes_of(flags);
  if (!what) return shell.fail(what.error());
  const auto schedule = load(flags);
  if (!schedule) return shell.fail(schedule.error());
  const sim::ProgramFile& file = schedule->file;
  flags.request.take_ranks(file.program.ranks());
  const auto question = flags.request.question(CalcRequest::Pricing::kLinks);
  if (!question) return shell.fail(question.error());
  what->links = question->fabric;
  const auto outcome = sim::play_program(file, *what);
  if (!outcome) return shell.fail(outcome.error());
  Document document{.command = load == load_goal ? "sim goal" : "sim chakra"};
  document.inputs = question->inputs;
  document.inputs.insert(document.inputs.end(), schedule->inputs.begin(), schedule->inputs.end());
  document.caveats = question->caveats;
  document.caveats.insert(document.caveats.end(), schedule->caveats.begin(),
                          schedule->caveats.end());
  add_caveats(file, *outcome, document);
  document.result = to_json(file, *outcome);
  document.verdict = sentence(file, *outcome);
  core::KeyValues rows = summary(*outcome, what->links);
  if (schedule->row) rows.rows.insert(rows.rows.begin() + 2, *schedule->row);
  if (outcome->fabric) {
    const sim::FabricWhatIf fabric = only_fabric(flags.fabric, *what->shape);
    document.result["fabric"] = cli::to_json(fabric, *outcome->fabric);
    add_rows(fabric, *outcome->fabric, rows);
    if (!sim::is_fabric_line(flags.fabric.fabric))
      document.inputs.push_back({.path = flags.fabric.fabric, .kind = "fabric"});
  }
  document.body = {rows};
  return shell.finish(document);
}

void add_links(CLI::App& app, Shell& shell, const std::shared_ptr<ScheduleFlags>& flags,
               Load load) {
  flags->request.add_links_to(app);
  flags->changes.add_to(app);
  flags->fabric.add_links_to(app);
  shell.add_common_flags(app);
  app.callback([&shell, flags, load] {
    shell.run([&shell, flags, load] { return sim_schedule(shell, *flags, load); });
  });
}

}  // namespace

void add_sim_goal(CLI::App& sim, Shell& shell) {
  CLI::App* app = sim.add_subcommand(
      "goal", "an imported schedule (GOAL text of LogGOPSim, Schedgen, ATLAHS) on these links");
  auto flags = std::make_shared<ScheduleFlags>();
  app->add_option("FILE", flags->paths, "the schedule (docs/formats/goal.md), - for stdin")
      ->required()
      ->expected(1)
      ->type_name("");
  app->footer(
      "Example:\n  comm-probe sim goal ring.goal --alpha 500ns --beta 50GB/s\n"
      "  comm-probe sim goal ring.goal --machine dgx-h100 --fabric fat-tree:nodes_per_leaf=2");
  add_links(*app, shell, flags, load_goal);
}

void add_sim_chakra(CLI::App& sim, Shell& shell) {
  CLI::App* app = sim.add_subcommand(
      "chakra", "imported execution traces (MLCommons Chakra, one .et file a rank) on these links");
  auto flags = std::make_shared<ScheduleFlags>();
  app->add_option("PATH", flags->paths,
                  "the traces (docs/formats/chakra.md), or folders that hold them: NAME.RANK.et")
      ->required()
      ->type_name("");
  app->footer("Example:\n  comm-probe sim chakra traces/ --machine dgx-h100");
  add_links(*app, shell, flags, load_chakra);
}

}  // namespace comm_probe::cli
