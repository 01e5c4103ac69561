// `hang PATH...`: Flight Recorder dumps of a job that stands still: who, on which call, and why.
#include "diagnose/hang.h"

#include <fmt/format.h>

#include "cli/hang_load.h"
#include "cli/hang_tables.h"
#include "cli/hang_view.h"
#include "cli/subcommands.h"
#include "cli/terminal_progress.h"
#include "diagnose/hang_logs.h"
#include "diagnose/wrong_numbers.h"

namespace comm_probe::cli {
namespace {

using core::Result;

struct HangRequest {
  std::vector<std::string> paths = {};
  bool table = false;
  bool timeline = false;
  bool explain_timeout = false;
};

diagnose::HangJudgement judge(const torch::Job& job, const torch::JobLines& lines) {
  if (job.digests.empty()) return diagnose::judge_logs(lines);
  diagnose::HangJudgement judgement = diagnose::judge_hang(job);
  diagnose::add_logs(judgement, job, lines);
  return judgement;
}

void add_views(const HangRequest& request, const torch::Job& job, const torch::JobLines& lines,
               const diagnose::HangJudgement& judgement, core::Document& document) {
  if (request.table) add_progress_table(job, document);
  if (request.timeline) add_timeline(job, judgement.verdict, document);
  if (request.explain_timeout)
    add_timeout_story(diagnose::explain_timeout(judgement, job, lines), document);
}

core::Error no_ranks(const torch::Job& job) {
  core::Error error =
      core::input_error(fmt::format("the rank of {} Flight Recorder dump{} is not known",
                                    job.unplaced.size(), job.unplaced.size() == 1 ? "" : "s"),
                        "the name tells it: rename it to PREFIX<rank>, as rank_3");
  error.where.file = job.unplaced.front()->dump.file;
  return error;
}

int show_hang(const Shell& shell, const HangRequest& request, Result<HangInputs> inputs) {
  if (!inputs) return shell.fail(inputs.error());
  const torch::Job job = torch::align(std::move(inputs->digests));
  if (job.digests.empty() && !job.unplaced.empty() && inputs->lines.lines.empty())
    return shell.fail(no_ranks(job));
  const diagnose::HangJudgement judgement = judge(job, inputs->lines);
  core::Document document{.command = "hang"};
  document.inputs = std::move(inputs->records);
  document.caveats = std::move(inputs->caveats);
  document.caveats.insert(document.caveats.end(), job.caveats.begin(), job.caveats.end());
  for (const core::Caveat& caveat : judgement.caveats) document.caveats.push_back(caveat);
  if (const auto finding = diagnose::finding_of(judgement.verdict))
    document.findings.push_back(*finding);
  for (core::Finding& finding : diagnose::findings_beside(judgement.verdict, job, inputs->lines))
    document.findings.push_back(std::move(finding));
  for (core::Finding& finding : diagnose::judge_completed_types(job).findings)
    document.findings.push_back(std::move(finding));
  document.verdict = verdict_line(job, judgement.verdict);
  document.result["verdict"] = verdict_json(job, judgement.verdict);
  document.body = verdict_blocks(job, judgement);
  if (shell.explain()) document.details = wait_blocks(job);
  add_views(request, job, inputs->lines, judgement, document);
  return shell.finish(document, shell.wants_pictures() ? hang_pictures(job) : core::Json::object());
}

// All processes of a crew read, the first one speaks, all end alike.
int run_hang(const Shell& shell, const HangRequest& request) {
  const core::Host host = core::Host::real();
  auto crew = core::Crew::join(host);
  if (!crew && !core::Crew::speaks(host)) return static_cast<int>(core::ErrorCode::kMissing);
  if (!crew) return shell.fail(crew.error());
  auto inputs = load_hang(request.paths, *crew, terminal_progress());
  const int status = crew->is_first() ? show_hang(shell, request, std::move(inputs)) : 0;
  return std::stoi(crew->broadcast(std::to_string(status)));
}

}  // namespace

void add_hang(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("hang", "who hung the job, on which call, from Flight Recorder dumps")
          ->group("Compare");
  auto request = std::make_shared<HangRequest>();
  app->add_option("PATH", request->paths,
                  "dumps (pickle or JSON) and the logs beside them, or directories of them")
      ->required();
  app->add_flag(
      "--table", request->table,
      "every group: last enqueued, started and completed call, ranks that agree together");
  app->add_flag("--timeline", request->timeline, "the last calls of the group in question");
  app->add_flag("--explain-timeout", request->explain_timeout,
                "which timer fired, when the stall began, why it showed only then");
  app->footer("Example:\n  comm-probe hang /tmp/nccl_trace_rank_*");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, request] { shell.run([&shell, request] { return run_hang(shell, *request); }); });
}

}  // namespace comm_probe::cli
