#include "nccl/nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/nccl_commands.h"
#include "cli/nccl_job.h"
#include "cli/plan_tuning_json.h"
#include "cli/plan_view.h"
#include "cli/subcommands.h"
#include "core/finding_table.h"
#include "diagnose/nccl_plan.h"

namespace comm_probe::cli {
namespace {

// What was given but decides nothing that this command shows.
std::vector<core::Caveat> unused_settings(const nccl::Environment& environment) {
  std::vector<std::string> known;
  for (const auto& part :
       {nccl::path_setting_names(), nccl::channel_setting_names(), nccl::tuning_setting_names()})
    known.insert(known.end(), part.begin(), part.end());
  std::string names;
  for (const auto& [name, value] : environment)
    if (std::find(known.begin(), known.end(), name) == known.end())
      names += (names.empty() ? "" : ", ") + name;
  if (names.empty()) return {};
  return {core::make_caveat("nccl.setting-unused", "the effect of " + names,
                            "paths, NICs, channels and the choice of algorithms are decided "
                            "without it",
                            false)};
}

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
  document.findings =
      diagnose::judge_plan(*planned, nccl::read_channel_settings(job->environment, job->version));
  document.inputs = {job->input};
  add_tuning_json(document.result, tune(*planned, *settings));
  document.result["env"] = job->environment;
  document.caveats = job->caveats;
  const auto unused = unused_settings(job->environment);
  document.caveats.insert(document.caveats.end(), unused.begin(), unused.end());
  return shell.finish(document);
}

void add_plan(CLI::App& nccl, Shell& shell) {
  CLI::App* app = nccl.add_subcommand(
      "plan", "which GPUs talk directly, which NIC each GPU gets, where GPUDirect RDMA is used");
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
