#include "nccl/nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/plan_json.h"
#include "cli/plan_view.h"
#include "cli/subcommands.h"
#include "core/finding_table.h"
#include "core/input.h"
#include "topology/readers/nccl_xml.h"

namespace comm_probe::cli {
namespace {

using core::Result;

struct PlanOptions {
  std::string topo = {};
  int nodes = 1;
  std::vector<std::string> env = {};
  // the four switches; absent: what the topology implies
  std::optional<bool> multicast = {};
  std::optional<bool> driver_p2p = {};
  std::optional<bool> collnet = {};
  std::optional<bool> mnnvl = {};
};

Result<nccl::Environment> environment_of(const std::vector<std::string>& texts) {
  nccl::Environment environment;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return core::input_error(fmt::format("--env: '{}' is not NAME=VALUE", text));
    environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return environment;
}

nccl::Job job_of(const topology::Machine& machine, const PlanOptions& options) {
  nccl::Job job = nccl::implied_job(machine);
  job.nodes = options.nodes;
  job.multicast = options.multicast.value_or(job.multicast);
  job.driver_p2p = options.driver_p2p.value_or(job.driver_p2p);
  job.collnet = options.collnet.value_or(job.collnet);
  job.mnnvl = options.mnnvl.value_or(job.mnnvl);
  return job;
}

// What was given but decides nothing that this command shows.
std::vector<core::Caveat> unused_settings(const nccl::Environment& environment) {
  const std::vector<std::string> known = nccl::path_setting_names();
  std::string names;
  for (const auto& [name, value] : environment)
    if (std::find(known.begin(), known.end(), name) == known.end())
      names += (names.empty() ? "" : ", ") + name;
  if (names.empty()) return {};
  return {core::make_caveat("nccl.setting-unused", "the effect of " + names,
                            "paths, peers and NICs are decided without it", false)};
}

int plan(const Shell& shell, const PlanOptions& options) {
  const auto environment = environment_of(options.env);
  if (!environment) return shell.fail(environment.error());
  auto input = core::Input::open(options.topo);
  if (!input) return shell.fail(input.error());
  const auto reading = topology::read_nccl_xml(*input);
  if (!reading) return shell.fail(reading.error());
  const nccl::Job job = job_of(reading->machine, options);
  auto reached = nccl::reach_of_job(reading->machine, nccl::read_settings(*environment), job);
  if (!reached) {
    if (reached.error().where.file.empty()) {
      core::Error error = reached.error();
      error.where.file = input->name();
      return shell.fail(error);
    }
    return shell.fail(reached.error());
  }
  core::Document document = plan_document(*reached, shell.explain());
  document.inputs = {{input->name(), "nccl-topology"}};
  document.result["env"] = *environment;
  document.caveats = reading->caveats;
  const auto unused = unused_settings(*environment);
  document.caveats.insert(document.caveats.end(), unused.begin(), unused.end());
  return shell.finish(document);
}

void add_plan(CLI::App& nccl, Shell& shell) {
  CLI::App* app = nccl.add_subcommand(
      "plan", "which GPUs talk directly, which NIC each GPU gets, where GPUDirect RDMA is used");
  auto options = std::make_shared<PlanOptions>();
  app->add_option("--topo", options->topo, "NCCL topology XML (NCCL_TOPO_DUMP_FILE writes one)")
      ->type_name("FILE")
      ->required();
  app->add_option("--nodes", options->nodes, "nodes like this one in the job")
      ->check(CLI::Range(1, 100000))
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--env", options->env, "an NCCL setting; may be repeated")
      ->type_name("NAME=VALUE")
      ->take_all();
  const auto add_switch = [&](const char* name, std::optional<bool>& target, const char* help) {
    app->add_option(name, target, fmt::format("{} (default: what the topology implies)", help))
        ->type_name("0|1");
  };
  add_switch("--multicast", options->multicast, "NVLink multicast works");
  add_switch("--driver-p2p", options->driver_p2p, "the driver allows P2P between all GPUs");
  add_switch("--collnet", options->collnet, "the network offers collective offload");
  add_switch("--mnnvl", options->mnnvl, "all hosts of the file are one NVLink domain");
  app->footer(
      "Paths, peers and NICs as NCCL 2.28.9 decides them; channels, rings, trees and the choice "
      "of\n"
      "algorithm are not part of this release.\n"
      "Example:\n"
      "  NCCL_TOPO_DUMP_FILE=topo.xml all_reduce_perf -g 8 -e 8\n"
      "  comm-probe nccl plan --topo topo.xml --nodes 2 --env NCCL_NET_GDR_LEVEL=PIX");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, options] { shell.run([&shell, options] { return plan(shell, *options); }); });
}

}  // namespace

void add_nccl(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("nccl", "what NCCL decides on a machine, and why")->group("Look");
  app->require_subcommand(1);
  add_plan(*app, shell);
}

}  // namespace comm_probe::cli
