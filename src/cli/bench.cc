// `bench OP`: measures a collective with nccl-tests' flags and table.
#include "diagnose/bench.h"

#include <fmt/format.h>

#include <thread>

#include "cli/bench_choices.h"
#include "cli/bench_request.h"
#include "cli/bench_routed.h"
#include "cli/bench_view.h"
#include "cli/fit_view.h"
#include "cli/interrupt.h"
#include "cli/levels_view.h"
#include "cli/subcommands.h"
#include "core/crew.h"
#include "core/units.h"
#include "measure/engine.h"
#include "model/fit.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using measure::Run;

// By the algorithm of all rows; without steps where they differ or the library chose.
model::FitShape shape_of(const Run& run) {
  if (run.shape) return *run.shape;
  const model::FitShape ring = model::ring_shape(run.plan.op, run.plan.ranks);
  if (run.plan.op == model::Op::kSendRecv) return ring;
  const model::FitShape unknown = {1, ring.wire_share, false};
  std::optional<model::Algorithm> common;
  for (const measure::Row& row : run.rows) {
    if (row.bytes.count() == 0) continue;
    if (!row.method.empty() || (common && *common != row.algorithm)) return unknown;
    common = row.algorithm;
  }
  if (!common || run.context.capture) return unknown;
  return model::algorithm_shape(run.plan.op, *common, run.plan.ranks);
}

std::optional<model::Fit> fit_of(const Run& run) {
  std::vector<model::FitPoint> points;
  for (const measure::Row& row : run.rows)
    if (row.bytes.count() > 0) points.push_back({row.bytes, row.out_of_place.time});
  return model::fit_line(points, shape_of(run));
}

// A size that is faster than the line's beta contradicts it: then neither beta nor what follows
// from it is shown, and the line says why.
void add_fit(Document& document, model::Fit fit) {
  std::string why;
  if (const model::FittedPoint* faster = fit.beta_known ? fit.faster_than_beta() : nullptr) {
    why = fmt::format("{} reached {}, more than the {} of the line: the sizes follow no one line",
                      core::format_bytes(faster->point.bytes),
                      core::format_bandwidth(fit.busbw(*faster)), core::format_bandwidth(fit.beta));
    fit.beta_known = false;
  }
  document.result["fit"] = fit_json(fit, std::nullopt);
  document.result["fit"]["beta_withheld"] = why.empty() ? core::Json(nullptr) : core::Json(why);
  document.body.emplace_back(
      core::Paragraph{"fit: " + fit_sentence(fit) + (why.empty() ? "" : "; " + why)});
}

const char* prediction_heading(const Run& run) {
  if (run.context.capture) return "Predicted by NCCL's own model, beside measured";
  return run.context.levels.empty() ? "Predicted from link, beside measured"
                                    : "Predicted from messages, beside measured";
}

Document document_of(Run& run) {
  const BenchChoices choices = read_choices(run);
  Document document{.command = "bench"};
  document.result = {{"op", op_name(run.plan.op)},
                     {"backend", run.context.engine},
                     {"ranks", run.plan.ranks},
                     {"versions", run.context.versions},
                     {"rows", bench_rows(run)}};
  if (!run.context.loops.empty())
    document.result.update(
        {{"cores", run.context.cores}, {"bound", run.context.bound}, {"loops", run.context.loops}});
  if (!run.context.levels.empty()) {
    document.result["levels"] = levels_json(run.context.levels);
    document.body.emplace_back(core::Heading{"One message between two ranks"});
    document.body.emplace_back(levels_table(run.context.levels));
  }
  document.body.emplace_back(core::Preformatted{nccl_tests_table(run)});
  if (!run.one_sided.empty()) {
    document.result["one_sided"] = one_sided_json(run);
    document.body.emplace_back(core::Heading{"Registered memory, one-sided"});
    document.body.emplace_back(one_sided_table(run));
    for (const measure::Row& row : run.rows)
      if (samples_disagree(row.out_of_place)) {
        document.body.emplace_back(core::Paragraph{
            "* the slowest sample took more than 1.5 times the fastest: something else used the "
            "cores; measure again"});
        break;
      }
  }
  if (run.scattered && !run.rows.empty()) {
    document.result["scattered"] = scattered_json(run);
    document.body.emplace_back(core::Heading{"KV blocks, scattered"});
    document.body.emplace_back(scattered_rows(run));
  }
  if (run.context.capture && !run.plan.keep.empty())
    document.result["captured"] = run.context.capture->folder;
  if (auto fit = run.plan.shares_one_gpu ? std::nullopt : fit_of(run))
    add_fit(document, std::move(*fit));
  const diagnose::BenchJudgement judgement = diagnose::judge_bench(run);
  document.findings = judgement.findings;
  document.caveats = run.context.caveats;
  document.caveats.insert(document.caveats.end(), judgement.caveats.begin(),
                          judgement.caveats.end());
  document.verdict = judgement.verdict;
  if (run.scattered && !run.rows.empty())
    if (const std::string gap = scattered_gap(run); !gap.empty()) document.verdict += "; " + gap;
  if (has_prediction(run)) {
    document.body.emplace_back(core::Heading{prediction_heading(run)});
    document.body.emplace_back(prediction_table(run));
  }
  if (has_floor(run)) {
    document.body.emplace_back(core::Heading{"Beside the same waiting with no data"});
    document.body.emplace_back(floor_table(run));
  }
  add_choices(document, choices);
  document.details = prediction_details(run);
  return document;
}

core::Result<Run> measured(const Shell& shell, const measure::Engine& engine,
                           const measure::Plan& plan) {
  if (const auto possible = check_usable(engine, plan); !possible) return possible.error();
  const InterruptNotice notice("bench");
  return engine.run(plan, [&shell](const std::string& what) { shell.progress(what); });
}

// The ranks of one launcher mostly fail for one reason: rank 0 says it and ends, and the launcher
// ends the others. One that is still there after a while has a reason of its own.
int failed(const Shell& shell, const core::Error& error) {
  if (!core::Crew::speaks(core::Host::real())) std::this_thread::sleep_for(std::chrono::seconds(2));
  return shell.fail(error);
}

int bench(const Shell& shell, const BenchRequest& request, RoutedRequest& routed) {
  const auto engine = request.engine();
  if (!engine) return failed(shell, engine.error());
  const auto plan = request.plan(**engine);
  if (!plan) return failed(shell, plan.error());
  if (routed.is_given()) return bench_routed(shell, routed, **engine, *plan);
  auto run = measured(shell, **engine, *plan);
  shell.end_progress();
  if (!run) return failed(shell, run.error());
  if (run->interrupted_by != 0) return end_interrupted("bench", run->interrupted_by);
  if (!run->context.speaks) return 0;
  const int status = shell.finish(document_of(*run));
  std::fflush(nullptr);
  if (run->end_all) run->end_all(status);
  return status;
}

}  // namespace

void add_bench(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("bench", "measure a collective, as nccl-tests does")->group("Measure");
  auto request = std::make_shared<BenchRequest>();
  auto routed = std::make_shared<RoutedRequest>();
  request->add_to(*app);
  routed->add_to(*app);
  app->footer(
      "Example:\n  comm-probe bench all_reduce -b 8 -e 64M -f 2 --ranks 2\n"
      "  -> the table of nccl-tests, a fit of alpha and beta, and what is wrong\n"
      "  mpirun -np 2 comm-probe bench all_reduce --backend mpi --algo ring\n"
      "  -> also what a message costs inside a host and between hosts\n"
      "  comm-probe bench all_to_all --ranks 4 --ranks-per-node 2 --routing zipf:1 --nic 1GB/s\n"
      "  -> dispatch and combine of a MoE layer, flat and with dedup, predicted beside measured");
  shell.add_common_flags(*app);
  app->callback([&shell, request, routed] {
    shell.run([&shell, request, routed] { return bench(shell, *request, *routed); });
  });
}

}  // namespace comm_probe::cli
