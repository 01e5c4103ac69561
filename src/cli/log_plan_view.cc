#include "cli/log_plan_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "catalog/catalog.h"
#include "catalog/topology_xml.h"
#include "core/finding_table.h"

namespace comm_probe::cli {
namespace {

using core::Column;
using core::Error;
using core::Result;
using diagnose::LogPlan;
using diagnose::LogPlanRow;
using topology::NcclVersion;

constexpr NcclVersion kOldest = {2, 18, 0};
constexpr NcclVersion kProven = {2, 28, 9};

Result<core::Input> open_topology(const LogPlanRequest& request) {
  if (request.machine.empty()) return core::Input::open(request.topo);
  const auto catalog = catalog::Catalog::builtin();
  const auto machine = catalog.machine(request.machine);
  if (!machine) return machine.error();
  auto xml = catalog::topology_xml(**machine);
  if (!xml) return xml.error();
  return core::Input::from_memory(request.machine, std::move(*xml));
}

Result<nccl::Environment> environment_of(const nccl::DebugLog& log, const LogPlanRequest& request) {
  auto environment = diagnose::environment_of(log);
  const auto own = parse_environment(request.env);
  if (!own) return own.error();
  for (const auto& [name, value] : *own) environment[name] = value;
  return environment;
}

Result<NcclJob> read_job(const nccl::DebugLog& log, const nccl::LogComm& comm,
                         const LogPlanRequest& request) {
  const auto environment = environment_of(log, request);
  if (!environment) return environment.error();
  auto input = open_topology(request);
  if (!input) return input.error();
  auto job = read_nccl_job(*input, *environment, log.version().value_or(kProven));
  if (!job) return job.error();
  job->job.multicast = log.multicast.value_or(job->job.multicast);
  job->job.nodes = request.nodes > 0 ? request.nodes : std::max(1, comm.nodes);
  return job;
}

core::Table table_of(const LogPlan& compared) {
  core::Table table = {{{"decided", Column::Align::kLeft},
                        {"equal"},
                        {"of"},
                        {"in the log", Column::Align::kLeft},
                        {"in the plan", Column::Align::kLeft}},
                       {}};
  for (const LogPlanRow& row : compared.rows)
    table.rows.push_back({row.what, std::to_string(row.equal), std::to_string(row.compared),
                          row.log.empty() && row.is_equal() ? "the same" : row.log,
                          row.is_equal() ? "the same" : row.plan});
  return table;
}

core::Json json_of(const LogPlan& compared, const NcclJob& job) {
  core::Json rows = core::Json::array();
  for (const LogPlanRow& row : compared.rows) {
    core::Json json = {{"what", row.what}, {"compared", row.compared}, {"equal", row.equal}};
    if (!row.log.empty()) json["log"] = row.log;
    if (!row.is_equal()) json["plan"] = row.plan;
    rows.push_back(std::move(json));
  }
  return {{"topology", job.input.path},
          {"nodes", job.job.nodes},
          {"version", nccl_version_text(job.version)},
          {"env", job.environment},
          {"equal", compared.is_equal()},
          {"reason", compared.reason},
          {"rows", std::move(rows)}};
}

void not_planned(core::Document& document, const std::string& why) {
  document.caveats.push_back(
      core::make_caveat("log.not-planned", why, "log and plan are not compared"));
}

}  // namespace

void add_log_plan_options(CLI::App& app, LogPlanRequest& request) {
  CLI::Option* topo =
      app.add_option("--topo", request.topo,
                     "compare what the job decided with the plan for this topology (NCCL's XML, "
                     "`topo record`, `topo show --json`)")
          ->type_name("FILE");
  app.add_option("--machine", request.machine, "... or for this machine of the catalog")
      ->type_name("NAME")
      ->excludes(topo);
  app.add_option("--nodes", request.nodes, "nodes of the job (default: as the log says)")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  app.add_option("--env", request.env,
                 "a setting of the job that the log does not say; may be repeated")
      ->type_name("NAME=VALUE")
      ->take_all();
}

Result<PlannedLog> plan_of_log(const nccl::DebugLog& log, const nccl::LogComm& comm,
                               const LogPlanRequest& request) {
  auto job = read_job(log, comm, request);
  if (!job) return job.error();
  const auto settings = nccl::read_tuning_settings(job->environment, job->version);
  if (!settings) return settings.error();
  auto plan = job->plan();
  if (!plan) return plan.error();
  nccl::Tuning tuning = nccl::tune(*plan, *settings);
  return PlannedLog{std::move(*job), std::move(*plan), std::move(tuning)};
}

std::optional<Error> add_log_plan(core::Document& document, const nccl::DebugLog& log,
                                  const LogPlanRequest& request) {
  const nccl::LogComm* comm = diagnose::comm_to_plan(log);
  if (comm == nullptr) {
    not_planned(document, "no search, ring, tree, table or choice in the log");
    return std::nullopt;
  }
  if (log.is_rccl() || log.version().value_or(kProven) < kOldest) {
    not_planned(document, "a version that is not modelled (NCCL 2.18 to 2.30 are)");
    return std::nullopt;
  }
  const auto planned = plan_of_log(log, *comm, request);
  if (!planned) return planned.error();
  const NcclJob* job = &planned->job;
  const LogPlan compared = diagnose::compare_with_plan(*comm, planned->plan, planned->tuning);
  document.inputs.push_back(job->input);
  document.caveats.insert(document.caveats.end(), job->caveats.begin(), job->caveats.end());
  if (job->version != kProven)
    document.caveats.push_back(core::make_caveat(
        "log.plan-version", fmt::format("NCCL {} in the log", nccl_version_text(job->version)),
        "what changed between the versions may differ without a fault", false));
  for (auto& finding : diagnose::judge_log_plan(log, compared))
    document.findings.push_back(std::move(finding));
  document.result["plan"] = json_of(compared, *job);
  if (compared.rows.empty()) return std::nullopt;
  document.body.push_back(
      core::Heading{fmt::format("Log and plan ({}, {} node{})", job->input.path, job->job.nodes,
                                job->job.nodes == 1 ? "" : "s")});
  document.body.push_back(table_of(compared));
  if (!compared.reason.empty()) document.body.push_back(core::Paragraph{compared.reason});
  return std::nullopt;
}

}  // namespace comm_probe::cli
