#include "nccl/nccl.h"

#include <fmt/format.h>

#include <memory>

#include "cli/nccl_commands.h"
#include "cli/nccl_judgement.h"
#include "cli/plan_tuning_json.h"
#include "cli/plan_view.h"
#include "cli/subcommands.h"
#include "diagnose/nccl_methods.h"

namespace comm_probe::cli {
namespace {

struct PlanOptions {
  NcclJobRequest request = {};
  bool is_full = false;
};

int plan(const Shell& shell, const PlanOptions& options) {
  const auto job = options.request.read();
  if (!job) return shell.fail(job.error());
  const auto settings = nccl::read_tuning_settings(job->environment, job->version);
  if (!settings) return shell.fail(settings.error());
  const auto planned = job->plan();
  if (!planned) return shell.fail(planned.error());
  auto planned_document = plan_document(*planned, {.with_pairs = shell.explain(),
                                                   .is_full = options.is_full,
                                                   .talk = nccl::direct_talk(job->facts)});
  if (!planned_document) return shell.fail(planned_document.error());
  core::Document& document = *planned_document;
  const nccl::Tuning tuning = tune(*planned, *settings);
  diagnose::Judgement judgement = judge_job(*job, *planned);
  document.findings = std::move(judgement.findings);
  document.caveats = std::move(judgement.caveats);
  for (core::Finding& finding : diagnose::judge_methods(tuning, calls_of_plan(*planned)))
    document.findings.push_back(std::move(finding));
  document.inputs = {job->input};
  add_tuning_json(document.result, tuning);
  document.result["env"] = job->environment;
  return shell.finish(document);
}

void add_plan(CLI::App& nccl, Shell& shell) {
  CLI::App* app = nccl.add_subcommand(
      "plan", "channels, rings, trees and tuning; which GPUs talk directly, which NIC each gets");
  auto options = std::make_shared<PlanOptions>();
  options->request.add_to(*app, shell);
  app->add_flag("--full", options->is_full, "every ring and tree in JSON, however many ranks");
  app->footer(
      "Paths, NICs, channels, rings, trees, tuning and choices as NCCL 2.28.9 decides them.\n"
      "Example:\n"
      "  NCCL_TOPO_DUMP_FILE=topo.xml all_reduce_perf -g 8 -e 8\n"
      "  comm-probe nccl plan --topo topo.xml --nodes 2 --env NCCL_NET_GDR_LEVEL=PIX");
  app->callback(
      [&shell, options] { shell.run([&shell, options] { return plan(shell, *options); }); });
}

}  // namespace

void add_nccl(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("nccl", "what NCCL decides on a machine, and why")->group("Look");
  app->require_subcommand(1);
  app->footer(
      "Example:\n"
      "  comm-probe machines dgx-h100 --topo --output dgx-h100.xml\n"
      "  comm-probe nccl plan --topo dgx-h100.xml --nodes 2\n"
      "  -> peers, NICs, GPUDirect RDMA, channels, rings and trees as NCCL decides them");
  add_plan(*app, shell);
  add_nccl_choose(*app, shell);
  add_nccl_env(*app, shell);
}

}  // namespace comm_probe::cli
