#include "cli/bench_routed.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/decimal_bytes.h"
#include "cli/interrupt.h"
#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/bench_routed.h"
#include "measure/routed/predict.h"
#include "model/moe/skew.h"

namespace comm_probe::cli {
namespace {

using core::format_duration;
using core::input_error;
using core::Json;
using core::json_number;
using measure::RoutedPhase;
using measure::RoutedPlan;
using measure::RoutedRow;
using measure::RoutedRun;
using Align = core::Column::Align;

constexpr std::int64_t kUsualTokens = 128;
const core::Duration kLongEnough = core::Duration::from_seconds(20);

model::MoeFormat format_of(const std::string& name) {
  return name == "fp8" ? model::MoeFormat::kFp8 : model::MoeFormat::kBf16;
}

// Which engines do.
std::string senders_text() {
  std::string names;
  for (const measure::Engine& engine : measure::engines())
    if (engine.run_routed != nullptr)
      names += fmt::format("{}--backend {}", names.empty() ? "" : " or ", engine.name);
  return names + " does";
}

Json phase_json(const RoutedPhase& phase) {
  return {{"predicted_us", json_number(phase.predicted.in_us())},
          {"predicted_least_us", json_number(phase.predicted_least.in_us())},
          {"predicted_most_us", json_number(phase.predicted_most.in_us())},
          {"time_us", json_number(phase.time.in_us())},
          {"fastest_us", json_number(phase.fastest.in_us())},
          {"slowest_us", json_number(phase.slowest.in_us())},
          {"nic_bytes_most", core::json_bytes(phase.most_nic)},
          {"bytes", core::json_bytes(phase.all)}};
}

Json row_json(const RoutedRow& row) {
  return {{"scheme", scheme_name(row.scheme)},
          {"dispatch", phase_json(row.dispatch)},
          {"combine", phase_json(row.combine)},
          {"predicted_us", json_number(row.predicted().in_us())},
          {"time_us", json_number(row.time().in_us())},
          {"picks_returned", row.check.picks},  // of all repetitions
          {"picks_missing", row.check.missing},
          {"tokens_twice", row.check.twice},
          {"wrong", row.check.wrong}};
}

Json result_json(const RoutedRequest& request, const RoutedPlan& plan, const RoutedRun& run) {
  const model::MoeLayer& layer = request.layer();
  Json rows = Json::array();
  for (const RoutedRow& row : run.rows) rows.push_back(row_json(row));
  return {{"op", "all_to_all"},
          {"backend", run.context.engine},
          {"ranks", plan.shape.ranks},
          {"ranks_per_node", plan.shape.ranks_per_node},
          {"nic_GBps", plan.nic > core::Bandwidth() ? json_number(plan.nic.in_GBps()) : Json()},
          {"routing", request.chosen().source},
          {"tokens", plan.routing.tokens()},
          {"topk", layer.topk},
          {"experts", layer.experts},
          {"hidden", layer.hidden},
          {"repetitions", plan.blocks},
          {"empty", row_json(run.empty)},
          {"even", row_json(run.even)},
          {"rows", rows}};
}

std::vector<std::string> phase_cells(const char* name, const RoutedPhase& phase) {
  const bool has_ratio = phase.predicted > core::Duration();
  return {name,
          decimal_bytes(phase.most_nic),
          format_duration(phase.predicted),
          format_duration(phase.time),
          has_ratio ? fmt::format("{:.2f}", phase.time / phase.predicted) : "-",
          format_duration(phase.fastest) + " to " + format_duration(phase.slowest)};
}

core::Table rows_table(const RoutedRun& run) {
  core::Table table{{{"scheme", Align::kLeft},
                     {"", Align::kLeft},
                     {"fullest NIC"},
                     {"predicted"},
                     {"measured"},
                     {"measured/predicted"},
                     {"samples", Align::kLeft, 5}},
                    {}};
  for (const RoutedRow& row : run.rows) {
    for (const auto& [name, phase] :
         {std::pair{"dispatch", row.dispatch}, std::pair{"combine", row.combine}}) {
      std::vector<std::string> cells = phase_cells(name, phase);
      cells.insert(cells.begin(), scheme_name(row.scheme));
      table.rows.push_back(std::move(cells));
    }
    table.rows.push_back({scheme_name(row.scheme), "layer", "", format_duration(row.predicted()),
                          format_duration(row.time()),
                          fmt::format("{:.2f}", row.time() / row.predicted()), ""});
  }
  return table;
}

std::string cost_text(const measure::RoutedCosts& costs) {
  const auto range = [](double least, double median, double most, double factor) {
    const auto text = [factor](double seconds) {
      return format_duration(core::Duration::from_seconds(seconds * factor));
    };
    return fmt::format("{} ({} to {})", text(median), text(std::min(least, median)),
                       text(std::max(most, median)));
  };
  const auto text = [&](measure::StageCost measure::RoutedCost::*phase) {
    const auto &least = costs.least.*phase, &median = costs.median.*phase,
               &most = costs.most.*phase;
    return range(least.alpha, median.alpha, most.alpha, 1) + " + " +
           range(least.per_byte, median.per_byte, most.per_byte, 1e6) + " per MB";
  };
  return fmt::format(
      "dispatch {}, combine {} of all ranks (measured: nothing to send; an even "
      "routing, flat, no limit; in brackets its fastest and slowest samples)",
      text(&measure::RoutedCost::dispatch), text(&measure::RoutedCost::combine));
}

core::KeyValues circumstances(const RoutedRequest& request, const RoutedPlan& plan,
                              const RoutedRun& run) {
  const auto& [ranks, per_node, dispatch, combine] = plan.shape;
  const model::RoutedTraffic traffic =
      model::route(plan.routing, model::equal_shares(plan.routing.experts, ranks),
                   {plan.shape.nodes(), per_node});
  core::KeyValues pairs;
  pairs.rows = {
      {"routing", fmt::format("{} tokens, top-{} of {} ({}: {})", plan.routing.tokens(),
                              plan.routing.topk, plan.routing.experts,
                              basis_name(request.chosen().basis), request.chosen().source)},
      {"hottest rank",
       fmt::format("{}, {:.2f} times the mean", traffic.hottest(), traffic.imbalance())},
      {"ranks",
       fmt::format("{} on {} emulated node{}; between nodes {}", ranks, plan.shape.nodes(),
                   plan.shape.nodes() == 1 ? "" : "s",
                   plan.nic > core::Bandwidth()
                       ? "at most " + core::format_bandwidth(plan.nic) + " out of and into a rank"
                       : "no limit (--nic)")},
      {"one record",
       fmt::format("{} B out (header 16), {} B back; dedup {} B out",
                   measure::dispatch_record(plan.shape, 1), measure::combine_record(plan.shape),
                   measure::dispatch_record(plan.shape, plan.routing.topk))}};
  for (const RoutedRow& row : run.rows)
    pairs.rows.emplace_back(
        row.scheme == model::MoeScheme::kFlat ? "checked" : "",
        fmt::format("{}: {} picks came back once with the right sum in {} repetition{} together, "
                    "{} missing, {} twice, {} values wrong",
                    scheme_name(row.scheme), row.check.picks, plan.blocks,
                    plan.blocks == 1 ? "" : "s", row.check.missing, row.check.twice,
                    row.check.wrong));
  if (run.moves_only)
    pairs.rows.emplace_back("timed", "the exchanges alone; packing and adding up is on the host");
  if (run.even.dispatch.all.count() > 0)
    pairs.rows.emplace_back("a stage", cost_text(measure::routed_costs(run.empty, run.even)));
  return pairs;
}

core::Document document_of(const RoutedRequest& request, const RoutedPlan& plan,
                           const RoutedRun& run) {
  core::Document document{.command = "bench"};
  if (request.chosen().input) document.inputs = {*request.chosen().input};
  document.result = result_json(request, plan, run);
  const diagnose::BenchJudgement judgement = diagnose::judge_routed(run);
  document.findings = judgement.findings;
  document.verdict = judgement.verdict;
  document.caveats = run.context.caveats;
  document.caveats.insert(document.caveats.end(), request.chosen().caveats.begin(),
                          request.chosen().caveats.end());
  document.caveats.insert(document.caveats.end(), request.caveats().begin(),
                          request.caveats().end());
  document.body = {circumstances(request, plan, run), core::Heading{"Predicted beside measured"},
                   rows_table(run)};
  return document;
}

}  // namespace

void RoutedRequest::add_to(CLI::App& app) {
  const char* group = "Routing options";
  const auto before = app.get_options();
  routing_.add_to(app);
  app.add_option("--hidden", layer_.hidden, "values per token")->capture_default_str();
  app.add_option("--topk", layer_.topk, "experts per token")->capture_default_str();
  app.add_option("--experts", layer_.experts, "experts in all (default: 256, or more)");
  app.add_option("--tokens", tokens_, "tokens per rank (default: 128, or those of the file)");
  app.add_option("--ranks-per-node", layer_.ranks_per_node, "ranks that are one emulated node")
      ->default_str("1");
  add_bandwidth(app, "--nic", nic_, "most that a rank sends or gets between nodes (local)");
  add_choice(app, "--dispatch", dispatch_, "what goes out (default: fp8)", {"fp8", "bf16"});
  add_choice(app, "--combine", combine_, "what comes back (default: bf16)", {"bf16", "fp8"});
  layer_.ranks_per_node = 1;
  for (CLI::Option* option : app.get_options())
    if (std::find(before.begin(), before.end(), option) == before.end()) option->group(group);
}

core::Result<RoutedPlan> RoutedRequest::plan(const measure::Plan& plan) {
  if (plan.op != model::Op::kAllToAll)
    return input_error(fmt::format("--routing belongs to all_to_all, not {}", op_name(plan.op)),
                       "bench all_to_all --routing FILE");
  if (plan.shares_one_gpu)
    return input_error("--routing and --one-gpu-ranks do not go together",
                       "a routing needs a GPU per rank; --backend local needs none");
  if (plan.algorithm)
    return input_error("--routing and --algo do not go together",
                       "a routing is sent flat and with dedup");
  if (layer_.ranks_per_node < 1 || plan.ranks % layer_.ranks_per_node != 0)
    return input_error(fmt::format("--ranks-per-node {} does not divide {} ranks",
                                   layer_.ranks_per_node, plan.ranks),
                       "--ranks says how many there are");
  layer_.nodes = plan.ranks / layer_.ranks_per_node;
  layer_.dispatch = format_of(dispatch_);
  layer_.combine = format_of(combine_);
  const bool knows_experts = layer_.experts != 0;
  if (!knows_experts) layer_.experts = model::usual_experts(plan.ranks);
  layer_.tokens = tokens_ != 0 || routing_.reads_file() ? tokens_ : kUsualTokens;
  model::MoeLayer checked = layer_;
  if (checked.tokens == 0) checked.tokens = 1;
  if (const auto possible = model::check_moe(checked); !possible) return possible.error();
  auto chosen = routing_.load(layer_, knows_experts);
  if (!chosen) return chosen.error();
  chosen_ = std::move(chosen).value();
  RoutedPlan routed;
  routed.routing = chosen_.routing;
  routed.even = model::draw_routing(
      {chosen_.routing.tokens(), layer_.topk, layer_.experts, layer_.nodes, 0, 0, 1});
  routed.shape = {
      plan.ranks, layer_.ranks_per_node,
      static_cast<std::size_t>(model::copy_bytes(layer_.hidden, layer_.dispatch).whole()),
      static_cast<std::size_t>(model::copy_bytes(layer_.hidden, layer_.combine).whole())};
  routed.nic = nic_;
  routed.patience = plan.patience;
  if (plan.iterations > 0)
    routed.blocks = plan.iterations;
  else
    take_fewer(routed);
  return routed;
}

void RoutedRequest::take_fewer(RoutedPlan& plan) {
  const int usual = plan.blocks;
  measure::fit_repetitions(kLongEnough, plan);
  if (plan.blocks == usual) return;
  caveats_.push_back(core::make_caveat(
      "bench.fewer-repetitions",
      fmt::format("{} of {} repetitions: with this --nic one takes {} and more",
                  usual - plan.blocks, usual, format_duration(measure::limited_time(plan))),
      "the spread of the times is not known as well; -n sets how many are taken", false));
}

int bench_routed(const Shell& shell, RoutedRequest& request, const measure::Engine& engine,
                 const measure::Plan& plan) {
  if (engine.run_routed == nullptr)
    return shell.fail(input_error(fmt::format("bench --backend {} sends no routing", engine.name),
                                  senders_text()));
  const auto routed = request.plan(plan);
  if (!routed) return shell.fail(routed.error());
  if (const auto possible = measure::check_routed(*routed); !possible)
    return shell.fail(possible.error());
  if (auto missing = engine.missing()) {
    missing->message = fmt::format("bench --backend {}: {}", engine.name, missing->message);
    return shell.fail(*missing);
  }
  const InterruptNotice notice("bench");
  const core::Duration least = measure::limited_time(*routed) * (routed->warmup + routed->blocks);
  auto run = engine.run_routed(*routed, [&](const std::string& what) {
    shell.progress(least > core::Duration::from_seconds(1)
                       ? fmt::format("{}: {} and more", what, format_duration(least))
                       : what);
  });
  shell.end_progress();
  if (!run) return shell.fail(run.error());
  if (run->interrupted_by != 0) {
    // what was measured by then is worth a look
    if (!run->rows.empty()) shell.finish(document_of(request, *routed, *run));
    return end_interrupted("bench", run->interrupted_by);
  }
  if (!run->context.speaks) return 0;
  return shell.finish(document_of(request, *routed, *run));
}

}  // namespace comm_probe::cli
