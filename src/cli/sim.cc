// `sim OP`: a collective on links that are unlike or shared, with ranks that come late.
#include "sim/sim.h"

#include <fmt/format.h>

#include "cli/calc_request.h"
#include "cli/ledger_view.h"
#include "cli/sim_changes.h"
#include "cli/sim_fabric.h"
#include "cli/sim_parts.h"
#include "cli/subcommands.h"
#include "cli/terminal_progress.h"
#include "core/number.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using core::Duration;
using core::format_duration;
using core::input_error;
using core::Json;
using core::json_number;

struct SimFlags {
  CalcRequest request = {};
  ChangeFlags changes = {};
  FabricFlags fabric = {};
};

core::Result<sim::WhatIf> what_if(const SimFlags& flags, const CalcQuestion& question) {
  const auto size = flags.request.size();
  if (!size) return size.error();
  if (question.protocol != model::Protocol::kSimple)
    return input_error("sim knows no protocols", "leave --proto out");
  if (question.wants_fastest)
    return input_error("sim plays one algorithm", "name it, or leave --algo out");
  sim::WhatIf what{.collective = question.collective, .fabric = question.fabric};
  what.collective.bytes = *size;
  what.algorithm = question.algorithm.value_or(
      flags.fabric.has_plan() ? model::Algorithm::kRing
                              : model::usual_algorithm(what.collective, what.fabric));
  const auto slow = flags.changes.slow_links();
  if (!slow) return slow.error();
  what.slow = *slow;
  const auto late = flags.changes.late_ranks();
  if (!late) return late.error();
  what.late = *late;
  return what;
}

Json us(Duration time) { return json_number(time.in_us()); }
Json us(const std::optional<Duration>& time) { return time ? us(*time) : Json(); }

Json link_json(const model::Link& link) {
  return {{"alpha_us", us(link.alpha)}, {"beta_GBps", json_number(link.beta.in_GBps())}};
}

// What was asked for: the links, and what is unlike about them.
Json asked_json(const sim::WhatIf& what) {
  Json slow = Json::array(), late = Json::array();
  for (const model::SlowLink& link : what.slow)
    slow.push_back({{"from", link.a},
                    {"to", link.b == model::kAnyRank ? Json() : Json(link.b)},
                    {"factor", link.factor}});
  for (const sim::LateRank& one : what.late)
    late.push_back({{"rank", one.rank}, {"late_us", us(one.by)}});
  Json links = {{"basis", basis_name(what.fabric.basis)},
                {"source", what.fabric.source},
                {"link", link_json(what.fabric.link)}};
  if (what.fabric.inter) links["between_nodes"] = link_json(*what.fabric.inter);
  return {{"links", std::move(links)},
          {"slow_links", std::move(slow)},
          {"late_ranks", std::move(late)}};
}

Json outcome_json(const sim::WhatIf& what, const sim::Outcome& outcome) {
  Json result = {{"time_us", us(outcome.time)},
                 {"first_rank_us", us(outcome.first_rank)},
                 {"basis", "computed"},
                 {"model", "step recurrence"},
                 {"alike_us", us(outcome.alike)},
                 {"without_slow_links_us", us(outcome.without_slow)},
                 {"without_late_ranks_us", us(outcome.without_late)},
                 {"floors",
                  {{"bandwidth_us", us(outcome.floors.bandwidth)},
                   {"latency_us", us(outcome.floors.latency)}}},
                 {"closed_form", cli::to_json(outcome.closed_form)}};
  result.update(asked_json(what));
  return result;
}

// "all_reduce of 1 GiB on 8 ranks, ring: 37.59 ms"
std::string sentence(const sim::WhatIf& what, const sim::Outcome& outcome) {
  const std::string name = ledger_sentence(outcome.closed_form);
  return fmt::format("{}: {}", name.substr(0, name.find(": ")), format_duration(outcome.time)) +
         (what.slow.empty() && what.late.empty()
              ? ""
              : fmt::format("; {} where all links are alike and no rank is late",
                            format_duration(outcome.alike)));
}

// `where`: what the simulation says on links that are alike.
core::KeyValues summary(const sim::WhatIf& what, const sim::Outcome& outcome,
                        const std::string& where) {
  core::KeyValues pairs;
  auto& rows = pairs.rows;
  rows.emplace_back(
      "time", fmt::format("{} until the last rank has finished, {} the first",
                          format_duration(outcome.time), format_duration(outcome.first_rank)));
  add_change_costs(outcome, pairs);
  rows.emplace_back("closed form", fmt::format("{} on links that are alike{}",
                                               format_duration(outcome.closed_form.time()), where));
  rows.emplace_back("floors", fmt::format("{} for the bytes, {} for one message",
                                          format_duration(outcome.floors.bandwidth),
                                          format_duration(outcome.floors.latency)));
  const model::Fabric& fabric = what.fabric;
  rows.emplace_back("link",
                    fmt::format("alpha {}, beta {} ({}: {})", format_duration(fabric.link.alpha),
                                core::format_bandwidth(fabric.link.beta), basis_name(fabric.basis),
                                fabric.source));
  if (fabric.inter)
    rows.emplace_back("between nodes",
                      fmt::format("alpha {}, beta {}", format_duration(fabric.inter->alpha),
                                  core::format_bandwidth(fabric.inter->beta)));
  return pairs;
}

// Everything but what was simulated.
Document document_of(const CalcQuestion& question) {
  Document document{.command = "sim"};
  document.inputs = question.inputs;
  document.caveats = question.caveats;
  return document;
}

int sim_on_fabric(const Shell& shell, SimFlags& flags, const sim::FabricShape& shape) {
  if (auto links = links_of(shape)) flags.request.bring_links(*std::move(links));
  const auto question = flags.request.question(CalcRequest::Pricing::kLinks);
  if (!question) return shell.fail(question.error());
  const auto what = what_if(flags, *question);
  if (!what) return shell.fail(what.error());
  const auto all = fabric_what_if(flags.fabric, shape, *what);
  if (!all) return shell.fail(all.error());
  terminal_progress().begin("sim: playing messages on the fabric");
  const auto played = sim::play_on_fabric(*all);
  if (!played) return shell.fail(played.error());
  Document document = document_of(*question);
  if (flags.fabric.is_given() && !sim::is_fabric_line(flags.fabric.fabric))
    document.inputs.push_back({.path = flags.fabric.fabric, .kind = "fabric"});
  if (flags.fabric.has_plan())
    document.inputs.push_back({.path = flags.fabric.plan, .kind = "nccl-plan"});
  document.result = outcome_json(*what, played->outcome);
  document.result["model"] = model_name(played->model);
  document.result["fabric"] = to_json(*all, *played);
  document.verdict = sentence(*what, played->outcome);
  core::KeyValues rows = summary(*what, played->outcome, " and not shared");
  add_rows(*all, *played, rows);
  document.body = {rows};
  if (auto table = jobs_table(*played)) document.body.push_back(*std::move(table));
  return shell.finish(document);
}

// NCCL's trees go up and down at the same time over the same ports, and the channels of a plan meet
// on them, so they are flows: on a network that carries all that leaves the nodes, where none is
// named.
std::optional<sim::FabricShape> open_network(const SimFlags& flags, const CalcQuestion& question) {
  const bool has_two_trees = question.algorithm == model::Algorithm::kDoubleTree ||
                             question.algorithm == model::Algorithm::kNcclTree;
  const bool needs_flows = question.collective.op == model::Op::kAllReduce && has_two_trees;
  if (!needs_flows && !flags.fabric.has_plan()) return std::nullopt;
  const model::Placement at = model::place(question.collective.ranks, question.fabric);
  sim::FabricShape shape{.source = "no --fabric was given: only NICs and NVLink are shared"};
  if (at.nodes == 1) return shape;
  shape.kind = sim::FabricShape::Kind::kFatTree;
  shape.nodes_per_leaf = at.nodes;
  return shape;
}

int sim_collective(const Shell& shell, SimFlags& flags) {
  if (flags.fabric.is_given()) {
    const auto shape = fabric_of(flags.fabric.fabric);
    if (!shape) return shell.fail(shape.error());
    return sim_on_fabric(shell, flags, *shape);
  }
  if (!flags.fabric.jobs.empty() || !flags.fabric.places.empty())
    return shell.fail(input_error("--jobs and --on need --fabric", "they share its links"));
  const auto question = flags.request.question(CalcRequest::Pricing::kLinks);
  if (!question) return shell.fail(question.error());
  if (const auto network = open_network(flags, *question))
    return sim_on_fabric(shell, flags, *network);
  const auto what = what_if(flags, *question);
  if (!what) return shell.fail(what.error());
  terminal_progress().begin("sim: playing every step");
  const auto outcome = sim::play(*what);
  if (!outcome) return shell.fail(outcome.error());
  Document document = document_of(*question);
  document.result = outcome_json(*what, *outcome);
  document.verdict = sentence(*what, *outcome);
  document.body = {
      summary(*what, *outcome, ", where the recurrence says " + format_duration(outcome->alike))};
  return shell.finish(document);
}

}  // namespace

void add_sim(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("sim",
                          "a collective on links that are unlike or shared, with ranks that come "
                          "late")
          ->group("Calculate");
  auto flags = std::make_shared<SimFlags>();
  flags->request.add_to(*app);
  flags->changes.add_to(*app);
  flags->fabric.add_to(*app);
  app->footer(
      "Example:\n  comm-probe sim all_reduce -n 4096 -s 1GiB --alpha 500ns --beta 50GB/s "
      "--slow-link 17:*:0.5\n"
      "  comm-probe sim all_to_all -n 64 -s 1GiB --machine dgx-h100 --fabric "
      "fat-tree:nodes_per_leaf=2");
  shell.add_common_flags(*app);
  app->require_subcommand(0, 1);
  add_sim_goal(*app, shell);
  add_sim_chakra(*app, shell);
  add_sim_step(*app, shell);
  app->callback([&shell, app, flags] {
    if (app->get_subcommands().empty())
      shell.run([&shell, flags] { return sim_collective(shell, *flags); });
  });
}

}  // namespace comm_probe::cli
