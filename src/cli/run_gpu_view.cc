#include "cli/run_gpu_view.h"

#include <fmt/format.h>

#include <utility>

#include "cli/ledger_view.h"
#include "core/units.h"
#include "diagnose/walk.h"

namespace comm_probe::cli {
namespace {

using core::format_duration;
using core::format_percent;
using core::Json;
using core::json_number;
using diagnose::GpuStep;
using diagnose::OverlapStep;
using Align = core::Column::Align;

Json timing_json(const measure::Timing& timing) {
  return {{"time_us", json_number(timing.time.in_us())},
          {"fastest_us", json_number(timing.fastest.in_us())},
          {"slowest_us", json_number(timing.slowest.in_us())},
          {"wrong", timing.wrong ? Json(*timing.wrong) : Json()},
          {"basis", "measured"}};
}

Json step_json(const GpuStep& step) {
  return {{"name", step.name},
          {"method", step.method},
          {"ledger", step.ledger ? to_json(*step.ledger) : Json()},
          {"predicted_us", step.predicted ? json_number(step.predicted->in_us()) : Json()},
          {"measured", timing_json(step.measured)},
          {"gap", step.gap ? json_number(*step.gap) : Json()},
          {"explained_by", step.explained_by}};
}

Json overlap_step_json(const OverlapStep& step) {
  return {{"name", "overlap: " + step.name},
          {"ledger", Json()},
          {"predicted_us", json_number(step.predicted.in_us())},
          {"measured",
           {{"time_us", json_number(step.span.in_us())},
            {"exposed_us", json_number(step.exposed.in_us())},
            {"basis", "measured"}}},
          {"gap", json_number(step.gap)},
          {"explained_by", step.explained_by}};
}

Json times_json(const measure::OverlapTimes& times) {
  constexpr double kMicroseconds = 1e6;
  return {{"span_us", json_number(times.span.median * kMicroseconds)},
          {"exposed_us", json_number(times.exposed.median * kMicroseconds)},
          {"gemm_us", json_number(times.gemm.median * kMicroseconds)},
          {"comm_us", json_number(times.comm.median * kMicroseconds)},
          {"spread", json_number(times.span.spread())}};
}

Json overlap_json(const measure::Overlap& overlap) {
  return {{"by", overlap.mover},
          {"device", overlap.device},
          {"ranks", overlap.ranks},
          {"gpus", overlap.gpus},
          {"bytes", core::json_bytes(overlap.bytes)},
          {"matrix", overlap.matrix},
          {"products", overlap.products},
          {"calls", overlap.calls},
          {"gemm_alone", times_json(overlap.gemm_alone)},
          {"comm_alone", times_json(overlap.comm_alone)},
          {"together", times_json(overlap.together)},
          {"synchronised", times_json(overlap.synchronised)},
          {"settings", overlap.settings},
          {"basis", "measured"}};
}

Json stages_json(const std::vector<measure::Stage>& stages) {
  Json array = Json::array();
  for (const measure::Stage& stage : stages)
    array.push_back({{"name", stage.name},
                     {"outcome", stage_outcome_name(stage.outcome)},
                     {"why", stage.why.empty() ? Json() : Json(stage.why)},
                     {"limit_s", json_number(stage.limit.in_seconds())},
                     {"took_s", json_number(stage.took.in_seconds())}});
  return array;
}

std::string gap_text(std::optional<double> gap) {
  if (!gap) return "-";
  return fmt::format("{}{}", *gap >= 0 ? "+" : "", format_percent(*gap, 2));
}

core::Table steps_table(const std::vector<GpuStep>& steps) {
  core::Table table = {{{"message", Align::kLeft},
                        {"method", Align::kLeft, 4},
                        {"predicted"},
                        {"measured"},
                        {"gap"}},
                       {}};
  for (const GpuStep& step : steps)
    table.rows.push_back(
        {step.name, step.method, step.predicted ? format_duration(*step.predicted) : "-",
         (diagnose::is_uneven(step.measured) ? "~" : "") + format_duration(step.measured.time),
         gap_text(step.gap)});
  return table;
}

// One line for rows that follow each other and have one reason.
core::KeyValues reasons(const std::vector<GpuStep>& steps) {
  core::KeyValues pairs;
  std::string last;
  for (const GpuStep& step : steps) {
    const std::string why = fmt::format("{}", fmt::join(step.explained_by, "; "));
    if (why != last) pairs.rows.emplace_back(step.name, why);
    last = why;
  }
  return pairs;
}

core::Table overlap_table(const measure::Overlap& overlap,
                          const diagnose::OverlapJudgement& judged) {
  const auto alone = [](const char* name, const measure::OverlapTimes& times) {
    return std::vector<std::string>{
        name, "-", format_duration(core::Duration::from_seconds(times.span.median)), "-", "-"};
  };
  const auto beside = [](const OverlapStep& step) {
    return std::vector<std::string>{step.name, format_duration(step.predicted),
                                    format_duration(step.span), format_duration(step.exposed),
                                    gap_text(step.gap)};
  };
  return {
      {{"", Align::kLeft}, {"ledger"}, {"measured"}, {"exposed"}, {"gap"}},
      {alone("products alone", overlap.gemm_alone), alone("all_reduces alone", overlap.comm_alone),
       beside(judged.together), beside(judged.synchronised)}};
}

core::KeyValues stage_lines(const std::vector<measure::Stage>& stages) {
  core::KeyValues pairs;
  for (const measure::Stage& stage : stages) {
    const char* outcome = stage_outcome_name(stage.outcome);
    const std::string why = stage.why.empty() ? "" : ": " + stage.why;
    const bool was_tried = stage.limit > core::Duration();
    if (was_tried && stage.outcome != measure::StageOutcome::kNotHere)
      pairs.rows.emplace_back(
          stage.name, fmt::format("{} in {}, at most {}{}", outcome, format_duration(stage.took),
                                  format_duration(stage.limit), why));
    else  // without what the loader said: --json has it
      pairs.rows.emplace_back(stage.name, outcome + why.substr(0, why.find(": ", 2)));
  }
  return pairs;
}

class Writer {
 public:
  explicit Writer(core::Document& document) : document_(document) {}

  void add_steps(const char* heading, const std::vector<GpuStep>& steps) {
    if (steps.empty()) return;
    document_.body.emplace_back(core::Heading{heading});
    document_.body.emplace_back(steps_table(steps));
    document_.body.emplace_back(reasons(steps));
    for (const GpuStep& step : steps) {
      document_.result["steps"].push_back(step_json(step));
      if (!step.ledger) continue;
      document_.details.emplace_back(core::Heading{step.name});
      for (core::Block& block : ledger_terms(*step.ledger))
        document_.details.push_back(std::move(block));
    }
  }

  void add_overlap(const measure::Overlap& overlap) {
    const auto judged = diagnose::judge_overlap(overlap);
    document_.body.emplace_back(core::Heading{"Computation beside communication"});
    document_.body.emplace_back(overlap_table(overlap, judged));
    document_.body.emplace_back(core::Paragraph{judged.sentence});
    core::KeyValues why;
    for (const OverlapStep* step : {&judged.together, &judged.synchronised}) {
      why.rows.emplace_back(step->name, fmt::format("{}", fmt::join(step->explained_by, "; ")));
      document_.result["steps"].push_back(overlap_step_json(*step));
    }
    document_.body.emplace_back(std::move(why));
    document_.result["overlap"] = overlap_json(overlap);
  }

  // The table of choices, and what differs from the plan.
  void add_plan(const PlannedRun& planned) {
    core::Document own{.command = "run"};
    add_choices(own, planned.choices);
    if (own.result.contains("choices"))
      document_.result["choices"][op_name(planned.run.plan.op)] = own.result["choices"];
    for (core::Block& block : own.body) document_.body.push_back(std::move(block));
    for (core::Finding& finding : own.findings) document_.findings.push_back(std::move(finding));
    for (core::Caveat& caveat : own.caveats) document_.caveats.push_back(std::move(caveat));
  }

 private:
  core::Document& document_;
};

}  // namespace

GpuFindings judge_gpu_walk(measure::GpuWalk walk) {
  GpuFindings found;
  for (measure::Run& run : walk.collectives) {
    PlannedRun planned = {.run = run};
    planned.choices = read_choices(planned.run);
    run = planned.run;
    found.collectives.push_back(std::move(planned));
  }
  for (measure::Run& run : walk.backends) read_choices(run);  // what NCCL names its choice
  found.walk = std::move(walk);
  return found;
}

void add_gpu_walk(core::Document& document, const GpuFindings& found,
                  const measure::GpuLinks* links) {
  Writer writer(document);
  for (const PlannedRun& planned : found.collectives) {
    const auto steps = diagnose::collective_steps(planned.run);
    if (auto finding = diagnose::far_off(steps)) document.findings.push_back(std::move(*finding));
    writer.add_steps("NCCL's collectives: its own model and the clock", steps);
    writer.add_plan(planned);
  }
  std::vector<GpuStep> backends;
  for (const measure::Run& run : found.walk.backends)
    for (GpuStep& step : diagnose::backend_steps(run, links)) backends.push_back(std::move(step));
  writer.add_steps("Small all_reduces: our kernels", backends);
  if (found.walk.overlap) writer.add_overlap(*found.walk.overlap);
  if (found.walk.all_to_all) {
    const auto steps = diagnose::all_to_all_steps(*found.walk.all_to_all, links);
    if (auto finding = diagnose::far_off(steps)) document.findings.push_back(std::move(*finding));
    writer.add_steps("All-to-all: the ledger of the links and the clock", steps);
  }
  document.body.emplace_back(core::Heading{"Stages on GPUs"});
  document.body.emplace_back(stage_lines(found.walk.stages));
  document.result["stages"] = stages_json(found.walk.stages);
  for (core::Finding& finding : diagnose::gpu_walk_findings(found.walk))
    document.findings.push_back(std::move(finding));
  for (core::Caveat& caveat : diagnose::gpu_walk_caveats(found.walk))
    document.caveats.push_back(std::move(caveat));
}

}  // namespace comm_probe::cli
