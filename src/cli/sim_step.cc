// `sim step --trace DIR`: what a recorded step would gain from a change.
#include <fmt/format.h>

#include <cmath>

#include "cli/sim_parts.h"
#include "cli/terminal_progress.h"
#include "cli/trace_load.h"
#include "core/finding_table.h"
#include "core/number.h"
#include "core/units.h"
#include "diagnose/trace_across.h"
#include "sim/step_what_if.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using core::Duration;
using core::format_duration;
using core::input_error;
using core::Json;
using core::json_number;
using sim::StepChange;
using sim::StepRecord;
using sim::StepTimes;

struct StepFlags {
  TraceLoadRequest load = {};
  std::string nic_rate = {};
  std::string straggler = {};
  core::Bytes merge = {};
  CLI::Option* merge_option = nullptr;
  core::Duration alpha = {};
  CLI::Option* alpha_option = nullptr;
  int gpus_per_node = 0;
};

// One change, alone, as it was played.
struct Played {
  std::string name = {};
  StepChange change = {};
  StepTimes times = {};
  StepTimes kept = {};  // the order that was recorded is kept
};

core::Result<StepChange> change_of(const StepFlags& flags, const torch::AcrossRanks& across) {
  StepChange change;
  if (!flags.nic_rate.empty()) {
    const bool has_x = flags.nic_rate.front() == 'x';
    change.nic_rate = core::whole_number<double>(flags.nic_rate.substr(has_x ? 1 : 0));
    if (!change.nic_rate || !(*change.nic_rate > 1 && *change.nic_rate <= 1e6))
      return input_error(fmt::format("--nic-rate {} is no factor above 1", flags.nic_rate),
                         "x2 is twice the bandwidth");
  }
  if (flags.straggler == "auto") {
    change.without_straggler = sim::worst_straggler(across);
    if (!change.without_straggler)
      return input_error("no rank came late: there is no straggler to take away",
                         "name a rank: --without-straggler RANK");
  } else if (!flags.straggler.empty()) {
    change.without_straggler = core::whole_number<int>(flags.straggler);
    if (!change.without_straggler)
      return input_error(fmt::format("--without-straggler {} is no rank", flags.straggler),
                         "a number, or auto for the rank that the others waited for the longest");
  }
  if (flags.merge_option->count() > 0) change.merge = flags.merge;
  return change;
}

std::string name_of(const StepChange& change) {
  std::string name;
  const auto add = [&name](const std::string& part) { name += (name.empty() ? "" : ", ") + part; };
  if (change.nic_rate) add(fmt::format("NICs x{}", core::format_number(*change.nic_rate)));
  if (change.without_straggler) add(fmt::format("without straggler {}", *change.without_straggler));
  if (change.merge) add(fmt::format("merged to {}", core::format_bytes(*change.merge)));
  return name;
}

// Each change alone and, where there are several, all of them.
std::vector<StepChange> all_of(const StepChange& change) {
  std::vector<StepChange> all;
  if (change.nic_rate) all.push_back({.nic_rate = change.nic_rate});
  if (change.without_straggler) all.push_back({.without_straggler = change.without_straggler});
  if (change.merge) all.push_back({.merge = change.merge});
  if (all.size() > 1) all.push_back(change);
  return all;
}

core::Result<std::vector<Played>> play_all(const StepRecord& record, const StepChange& change,
                                           const sim::StepGiven& given) {
  std::vector<Played> all;
  std::vector<StepChange> changes = all_of(change);
  changes.insert(changes.begin(), StepChange());
  for (const StepChange& one : changes) {
    auto times = sim::replay(record, one, given);
    if (!times) return times.error();
    sim::StepGiven certain = given;
    certain.keeps_order = true;
    auto kept = sim::replay(record, one, certain);
    if (!kept) return kept.error();
    all.push_back(
        {one.is_none() ? "as recorded" : name_of(one), one, *std::move(times), *std::move(kept)});
  }
  return all;
}

double share_of(Duration part, Duration whole) { return whole.in_seconds() > 0 ? part / whole : 0; }
double error_of(const StepTimes& replayed, const StepTimes& recorded) {
  return share_of(replayed.total - recorded.total, recorded.total);
}

Json to_json(const Played& played, const StepTimes& base) {
  const StepTimes& times = played.times;
  const Duration gain = base.total - times.total;
  Json steps = Json::array();
  for (const Duration step : times.steps) steps.push_back(json_number(step.in_us()));
  return {{"change", played.name},
          {"time_us", json_number(times.total.in_us())},
          {"gain_us", json_number(gain.in_us())},
          {"gain_share", json_number(share_of(gain, base.total))},
          {"gain_at_least_us", json_number((base.total - played.kept.total).in_us())},
          {"steps_us", steps},
          {"merged_collectives", times.merged},
          {"floors",
           {{"work_us", json_number(times.work_floor.in_us())},
            {"transfer_us", json_number(times.transfer_floor.in_us())}}}};
}

Json result_json(const StepRecord& record, const std::vector<Played>& all) {
  const StepTimes recorded = sim::recorded_times(record);
  const StepTimes& base = all.front().times;
  Json changes = Json::array();
  for (std::size_t i = 1; i < all.size(); ++i) changes.push_back(to_json(all[i], base));
  Json steps = Json::array();
  for (std::size_t i = 0; i < record.steps.size(); ++i)
    steps.push_back({{"step", record.steps[i]},
                     {"recorded_us", json_number(recorded.steps[i].in_us())},
                     {"replayed_us", json_number(base.steps[i].in_us())}});
  return {{"ranks", record.ranks.size()},
          {"collectives", record.meetings.size()},
          {"calls", record.calls},
          {"calls_replayed_together", record.shared_calls},
          {"recorded_us", json_number(recorded.total.in_us())},
          {"replayed_us", json_number(base.total.in_us())},
          {"replay_error_share", json_number(error_of(base, recorded))},
          {"basis", "computed"},
          {"floors",
           {{"work_us", json_number(base.work_floor.in_us())},
            {"transfer_us", json_number(base.transfer_floor.in_us())}}},
          {"steps", steps},
          {"changes", changes}};
}

std::string counted(std::size_t count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string verdict(const StepRecord& record, const std::vector<Played>& all) {
  const StepTimes& base = all.front().times;
  const std::string whole = fmt::format(
      "{} of {}: {}", record.steps.empty() ? "the recording" : counted(record.steps.size(), "step"),
      counted(record.ranks.size(), "rank"), format_duration(base.total));
  if (all.size() == 1) return whole;
  const Played& last = all.back();
  const Duration gain = base.total - last.times.total;
  const double share = share_of(gain, base.total);
  return fmt::format("{}; {}: {}, {} {}", whole, last.name, format_duration(last.times.total),
                     core::format_percent(std::abs(share)), share < 0 ? "more" : "less");
}

core::Table table_of(const std::vector<Played>& all) {
  using Align = core::Column::Align;
  core::Table table{{{"change", Align::kLeft},
                     {"time"},
                     {"gain"},
                     {"share"},
                     {"at least"},
                     {"work alone"},
                     {"transfers alone"}},
                    {}};
  const StepTimes& base = all.front().times;
  for (const Played& one : all) {
    const Duration gain = base.total - one.times.total;
    const bool is_base = one.change.is_none();
    table.rows.push_back(
        {one.name, format_duration(one.times.total), is_base ? "" : format_duration(gain),
         is_base ? "" : core::format_percent(share_of(gain, base.total)),
         is_base ? "" : format_duration(base.total - one.kept.total),
         format_duration(one.times.work_floor), format_duration(one.times.transfer_floor)});
  }
  return table;
}

std::optional<core::Table> steps_table(const StepRecord& record, const std::vector<Played>& all) {
  if (record.steps.empty()) return std::nullopt;
  core::Table table{{{"step"}, {"recorded"}}, {}};
  for (const Played& one : all)
    table.columns.push_back({one.change.is_none() ? "replayed" : one.name});
  const StepTimes recorded = sim::recorded_times(record);
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    std::vector<std::string> row = {std::to_string(record.steps[i]),
                                    format_duration(recorded.steps[i])};
    for (const Played& one : all) row.push_back(format_duration(one.times.steps[i]));
    table.rows.push_back(std::move(row));
  }
  return table;
}

core::KeyValues summary(const StepRecord& record, const std::vector<Played>& all) {
  const StepTimes recorded = sim::recorded_times(record);
  core::KeyValues pairs;
  auto& rows = pairs.rows;
  rows.emplace_back("recorded", fmt::format("{}; replayed without a change {} ({:+.2g} %)",
                                            format_duration(recorded.total),
                                            format_duration(all.front().times.total),
                                            100 * error_of(all.front().times, recorded)));
  rows.emplace_back("collectives",
                    fmt::format("{} that several ranks met in, {} of {} calls",
                                record.meetings.size(), record.shared_calls, record.calls));
  for (const Played& one : all)
    if (one.times.merged > 0)
      rows.emplace_back("merging", fmt::format("{} go into others ({})",
                                               counted(one.times.merged, "collective"), one.name));
  rows.emplace_back("at least",
                    "the gain where whatever was over before some work has to be: how much of that "
                    "order is needed a recording does not tell");
  rows.emplace_back("floors",
                    "the longest work of one rank, and the longest transfers of one stream: no "
                    "time can be below them");
  return pairs;
}

void add_caveats(const StepRecord& record, const torch::AcrossRanks& across,
                 const std::vector<Played>& all, Document& document) {
  if (const auto missing = diagnose::missing_ranks(across.job); !missing.empty())
    document.caveats.push_back(core::make_caveat(
        "sim.step-ranks-missing", fmt::format("traces of {}", counted(missing.size(), "rank")),
        "what they waited for is not seen, and waiting for them counts as transfer"));
  if (record.shared_calls < record.calls)
    document.caveats.push_back(core::make_caveat(
        "sim.step-calls-apart",
        fmt::format("{} of {} communication kernels were met by no other rank",
                    record.calls - record.shared_calls, record.calls),
        "they are replayed as long as they were, waiting included", record.shared_calls == 0));
  for (const Played& one : all)
    if (one.times.without_latency > 0) {
      document.caveats.push_back(core::make_caveat(
          "sim.step-latency-unknown",
          fmt::format("the latency of {}: no --alpha, and no second size of their kind",
                      counted(one.times.without_latency, "collective")),
          "it is taken as 0: a faster NIC gains less than this, merging gains more", false));
      break;
    }
}

int sim_step(const Shell& shell, StepFlags& flags) {
  if (flags.gpus_per_node < 0) return shell.fail(input_error("--gpus-per-node is below 1"));
  auto inputs = load_traces(flags.load, terminal_progress());
  if (!inputs) return shell.fail(inputs.error());
  if (inputs->traces.empty())
    return shell.fail(input_error("no profiler trace was found, only logs without a timeline",
                                  "give Kineto traces or Nsight exports of several ranks"));
  std::vector<const torch::Trace*> traces;
  for (const torch::Trace& trace : inputs->traces) traces.push_back(&trace);
  const torch::AcrossRanks across = torch::across_ranks(std::move(traces));
  const auto record = sim::record_of(across);
  if (!record) return shell.fail(record.error());
  const auto change = change_of(flags, across);
  if (!change) return shell.fail(change.error());
  sim::StepGiven given{.gpus_per_node = flags.gpus_per_node};
  if (flags.alpha_option->count() > 0) given.alpha = flags.alpha;
  const auto all = play_all(*record, *change, given);
  if (!all) return shell.fail(all.error());
  Document document{.command = "sim step"};
  document.inputs = inputs->records;
  document.caveats = inputs->caveats;
  add_caveats(*record, across, *all, document);
  document.result = result_json(*record, *all);
  document.verdict = verdict(*record, *all);
  document.body = {summary(*record, *all), table_of(*all)};
  if (auto steps = steps_table(*record, *all)) document.body.push_back(*std::move(steps));
  return shell.finish(document);
}

}  // namespace

void add_sim_step(CLI::App& sim, Shell& shell) {
  CLI::App* app = sim.add_subcommand(
      "step", "replays the collectives of a recorded job with a change: what the step would gain");
  auto flags = std::make_shared<StepFlags>();
  app->add_option("--trace", flags->load.paths,
                  "profiler traces of several ranks, or folders that hold them")
      ->required()
      ->type_name("PATH...");
  app->add_option("--nic-rate", flags->nic_rate,
                  "NICs that are faster by a factor, for the groups that leave a node")
      ->type_name("xFACTOR");
  app->add_option(
         "--without-straggler", flags->straggler,
         "this rank works as fast as the others; auto: the one they waited for the longest")
      ->type_name("RANK|auto");
  flags->merge_option = add_bytes(*app, "--merge-buckets", flags->merge,
                                  "collectives that follow each other become one, up to this size");
  flags->alpha_option = add_duration(
      *app, "--alpha", flags->alpha,
      "fixed cost of one step of a collective (default: from the sizes that were recorded)");
  app->add_option("--gpus-per-node", flags->gpus_per_node,
                  "ranks in one node: groups inside of one have no NIC (default: every group has)")
      ->type_name("G");
  app->footer(
      "Example:\n  comm-probe sim step --trace traces/ --without-straggler auto\n"
      "  comm-probe sim step --trace traces/ --nic-rate x2 --merge-buckets 50MiB");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, flags] { shell.run([&shell, flags] { return sim_step(shell, *flags); }); });
}

}  // namespace comm_probe::cli
