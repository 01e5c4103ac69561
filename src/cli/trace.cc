// `trace PATH...`: profiler traces of one or more ranks: was the communication hidden?
#include <fmt/format.h>

// GCC 12 with a sanitizer warns inside of <regex> (GCC bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <regex>

#include "cli/subcommands.h"
#include "cli/terminal_progress.h"
#include "cli/trace_across.h"
#include "cli/trace_killers.h"
#include "cli/trace_moe.h"
#include "cli/trace_report.h"
#include "cli/trace_timeline.h"
#include "core/parallel.h"
#include "diagnose/wrong_numbers.h"

namespace comm_probe::cli {
namespace {

struct TraceRequest {
  TraceLoadRequest load = {};
  TraceReference reference = {};
  TraceMoeRequest moe = {};
  std::string step_regex = {};
  std::string csv = {};
};

// std::regex throws on a bad pattern; the exception ends here.
core::Result<std::shared_ptr<const std::regex>> compile(const std::string& pattern) {
  try {
    return std::make_shared<const std::regex>(pattern,
                                              std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    return core::input_error(
        fmt::format("--step-regex: '{}' is no regular expression: {}", pattern, error.what()),
        "for instance execute_context_.*");
  }
}

core::Result<torch::StepRule> step_rule(const std::string& pattern) {
  if (pattern.empty()) return torch::StepRule{};
  auto regex = compile(pattern);
  if (!regex) return regex.error();
  // Longer names are no annotation of a person; std::regex recurses over the text.
  constexpr std::size_t kLongestName = 500;
  return torch::StepRule{[regex = *regex](std::string_view name) {
    return name.size() <= kLongestName && std::regex_search(name.begin(), name.end(), *regex);
  }};
}

struct Told {
  core::Document document = {};
  std::vector<torch::ClockOffset> clocks = {};
  std::vector<diagnose::KillerUse> killers = {};
};

void add_touched_tensors(const std::vector<torch::Trace>& traces, core::Document& document) {
  std::vector<diagnose::Judgement> judged(traces.size());
  core::for_each_index(
      traces.size(), [&](std::size_t i) { judged[i] = diagnose::judge_touched_tensors(traces[i]); },
      1);
  for (diagnose::Judgement& judgement : judged)
    for (core::Finding& finding : judgement.findings)
      document.findings.push_back(std::move(finding));
}

Told tell(TraceReport& report, const AcrossRequest& across) {
  Told told;
  core::Document& document = told.document;
  document.command = "trace";
  document.inputs = std::move(report.inputs.records);
  document.caveats = std::move(report.inputs.caveats);
  document.verdict = trace_verdict(report);
  add_ranks(report, document);
  told.clocks = add_across(report.inputs.traces, across, document);
  told.killers = add_killers(report.inputs.traces, document);
  add_touched_tensors(report.inputs.traces, document);
  return told;
}

// The time line is some megabytes for a large job.
core::Json pictures_of(const TraceReport& report, const Told& told) {
  return {
      {"timeline", timeline_picture(timeline_of(report.inputs.traces, told.clocks, told.killers))}};
}

void add_inputs(const TraceReference& reference, core::Document& document) {
  for (core::InputRecord& input : reference.inputs()) document.inputs.push_back(std::move(input));
}

int show_trace(const Shell& shell, TraceRequest& request) {
  TraceLoadRequest load = request.load;
  auto steps = step_rule(request.step_regex);
  if (!steps) return shell.fail(steps.error());
  load.steps = std::move(*steps);
  const auto reference = request.reference.load();
  if (!reference) return shell.fail(reference.error());
  const auto moe = request.moe.given(request.reference);
  if (!moe) return shell.fail(moe.error());
  const AcrossRequest across{*reference, request.reference.message(), *moe};
  auto inputs = load_traces(load, terminal_progress());
  if (!inputs) return shell.fail(inputs.error());
  if (inputs->traces.empty() && !inputs->logs.empty()) {
    if (!request.csv.empty())
      return shell.fail(core::missing_error("--csv: logs of NCCL Inspector have no steps",
                                            "give traces of torch.profiler, or use --json"));
    core::Document document = inspector_document(inputs->logs, across);
    for (core::Caveat& caveat : inputs->caveats) document.caveats.push_back(std::move(caveat));
    add_inputs(request.reference, document);
    return shell.finish(document);
  }
  TraceReport report = trace_report(std::move(*inputs));
  if (!request.csv.empty())
    if (const auto written = write_csv(report, request.csv); !written)
      return shell.fail(written.error());
  Told told = tell(report, across);
  add_inputs(request.reference, told.document);
  if (!shell.wants_pictures()) return shell.finish(told.document);
  return shell.finish(told.document, pictures_of(report, told));
}

}  // namespace

TraceReport trace_report(TraceInputs inputs) {
  TraceReport report{std::move(inputs)};
  report.ranks.resize(report.inputs.traces.size());
  const auto break_down = [&report](std::size_t i) {
    report.ranks[i] = torch::break_down(report.inputs.traces[i]);
  };
  core::for_each_index(report.ranks.size(), break_down, 1);
  return report;
}

void add_trace(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("trace", "was it hidden? overlap, waiting and its causes, from profiles")
          ->group("Compare");
  auto request = std::make_shared<TraceRequest>();
  app->add_option("PATH", request->load.paths,
                  "traces of torch.profiler (.json, packed or not), logs of NCCL Inspector, or "
                  "directories of them")
      ->required();
  app->add_option("--step-regex", request->step_regex,
                  "names of host ranges that are steps; default: ProfilerStep#N")
      ->type_name("REGEX");
  app->add_option("--comm-kernel", request->load.options.comm_patterns,
                  "part of the name of a further kernel that communicates; repeatable")
      ->type_name("TEXT")
      ->take_all();
  app->add_flag("--peer-copies", request->load.options.peer_copies_communicate,
                "count copies between devices (Memcpy PtoP) as communication");
  app->add_option("--csv", request->csv, "a line per rank and step")->type_name("FILE");
  request->reference.add_to(*app);
  request->moe.add_to(*app);
  app->footer(
      "Example:\n  comm-probe trace /tmp/profile/\n"
      "  comm-probe trace /tmp/profile/ --machine dgx-h100 --nodes 2\n"
      "  comm-probe trace /tmp/profile/ --machine dgx-h100 --moe tokens=128,topk=8");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, request] { shell.run([&shell, request] { return show_trace(shell, *request); }); });
}

}  // namespace comm_probe::cli
