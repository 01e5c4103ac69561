// `hang PATH...`: Flight Recorder dumps of a job that stands still: who, on which call, and why.
#include "diagnose/hang.h"

#include "cli/hang_load.h"
#include "cli/hang_view.h"
#include "cli/subcommands.h"

namespace comm_probe::cli {
namespace {

struct HangRequest {
  std::vector<std::string> paths = {};
};

int show_hang(const Shell& shell, const HangRequest& request) {
  auto inputs = load_hang(request.paths);
  if (!inputs) return shell.fail(inputs.error());
  const torch::Job job = torch::align(std::move(inputs->digests));
  const diagnose::HangJudgement judgement = diagnose::judge_hang(job);
  core::Document document{.command = "hang"};
  document.inputs = std::move(inputs->records);
  document.caveats = std::move(inputs->caveats);
  document.caveats.insert(document.caveats.end(), job.caveats.begin(), job.caveats.end());
  for (const core::Caveat& caveat : judgement.judgement.caveats) document.caveats.push_back(caveat);
  document.findings = judgement.judgement.findings;
  document.verdict = verdict_line(judgement.verdict);
  document.result["verdict"] = verdict_json(job, judgement.verdict);
  document.body = verdict_blocks(job, judgement);
  return shell.finish(document);
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
  app->footer("Example:\n  comm-probe hang /tmp/nccl_trace_rank_*");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, request] { shell.run([&shell, request] { return show_hang(shell, *request); }); });
}

}  // namespace comm_probe::cli
