#include "cli/sim_fabric.h"

#include <fmt/format.h>

#include "core/number.h"
#include "core/spelling.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::format_duration;
using core::input_error;
using core::Json;
using core::json_number;
using core::whole_number;

constexpr const char* kJobHint = "like --jobs all_to_all,256MiB,64-127";
constexpr int kMostPlaces = sim::kMostPlayedRanks;

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = text.find(by); at != std::string::npos; at = text.find(by, from)) {
    parts.push_back(text.substr(from, at - from));
    from = at + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

// "4-7", "0-56/8", "3"
std::optional<std::vector<int>> range_of(const std::string& text) {
  const auto steps = split(text, '/');
  const auto ends = split(steps[0], '-');
  if (steps.size() > 2 || ends.size() > 2) return std::nullopt;
  const auto first = whole_number<int>(ends[0]);
  const auto last = whole_number<int>(ends.back());
  const auto step = steps.size() > 1 ? whole_number<int>(steps[1]) : 1;
  if (!first || !last || !step || *first < 0 || *last < *first || *step < 1) return std::nullopt;
  if (*last >= kMostPlaces) return std::nullopt;
  std::vector<int> places;
  for (int place = *first; place <= *last; place += *step) places.push_back(place);
  return places;
}

core::Result<std::vector<int>> places_of(const std::string& text) {
  std::vector<int> all;
  for (const std::string& part : split(text, '+')) {
    const auto places = range_of(part);
    if (!places || all.size() + places->size() > kMostPlaces)
      return input_error(
          fmt::format("'{}' names no GPUs of a fabric of at most {}", part, kMostPlaces),
          "like 0-63, 0-7+16-23, or 0-56/8 for every eighth");
    all.insert(all.end(), places->begin(), places->end());
  }
  return all;
}

core::Result<sim::OtherJob> job_of(const std::string& text) {
  const auto parts = split(text, ',');
  if (parts.size() != 3)
    return input_error(fmt::format("--jobs {} is not OP,SIZE,GPUS", text), kJobHint);
  const auto op = model::op_from_name(parts[0]);
  if (!op) {
    std::vector<std::string_view> known;
    for (const model::Op one : model::kAllOps) known.emplace_back(model::op_name(one));
    return input_error(core::unknown_word("operation", parts[0], known));
  }
  const auto size = core::parse_bytes(parts[1]);
  if (!size) return size.error();
  const auto places = places_of(parts[2]);
  if (!places) return places.error();
  sim::OtherJob job{.collective = {*op, static_cast<int>(places->size()), *size},
                    .places = *places};
  return job;
}

Json us(core::Duration time) { return json_number(time.in_us()); }

Json shares_json(const sim::FabricOutcome& outcome) {
  Json list = Json::array();
  for (const auto& [kind, share] : outcome.by_kind)
    list.push_back({{"kind", link_kind_name(kind)}, {"share", json_number(share)}});
  return list;
}

Json bottlenecks_json(const sim::FabricOutcome& outcome) {
  Json list = Json::array();
  for (const sim::Bottleneck& one : outcome.bottlenecks)
    list.push_back({{"link", one.link},
                    {"kind", link_kind_name(one.kind)},
                    {"share", json_number(one.share)},
                    {"bytes", json_number(one.bytes.count())},
                    {"most_flows", one.most_flows}});
  return list;
}

Json collisions_json(const sim::FabricOutcome& outcome) {
  Json list = Json::array();
  for (const sim::Collisions& one : outcome.collisions)
    list.push_back({{"kind", link_kind_name(one.kind)},
                    {"fullest", one.fullest},
                    {"fullest_over_mean", json_number(one.fullest_over_mean)},
                    {"most_flows", one.most_flows}});
  return list;
}

Json jobs_json(const sim::FabricOutcome& outcome) {
  Json list = Json::array();
  for (const sim::JobOutcome& job : outcome.jobs)
    list.push_back(
        {{"op", op_name(job.collective.op)},
         {"algorithm", algorithm_name(job.algorithm)},
         {"ranks", job.collective.ranks},
         {"bytes", json_number(job.collective.bytes.count())},
         {"time_us", us(job.shared)},
         {"alone_us", us(job.alone)},
         {"floors",
          {{"bandwidth_us", us(job.floors.bandwidth)}, {"latency_us", us(job.floors.latency)}}}});
  return list;
}

std::string kinds_text(const sim::FabricOutcome& outcome) {
  std::string text;
  for (const auto& [kind, share] : outcome.by_kind) {
    if (share < 0.0005 && !text.empty()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", link_kind_name(kind),
                        core::format_percent(share));
  }
  return text;
}

std::string counted(double count, const char* thing) {
  return fmt::format("{} {}{}", core::format_number(count, 9), thing, count == 1 ? "" : "s");
}

std::string collisions_text(const sim::Collisions& one) {
  return fmt::format("{} carries {:.2f} times the mean of its kind there, {} at once at most",
                     one.fullest, one.fullest_over_mean, counted(one.most_flows, "flow"));
}

// Rings or trees of the plan that differ; 0 without a plan.
std::size_t orders_of(const sim::FabricWhatIf& what) {
  return what.what.algorithm == model::Algorithm::kRing ? what.channels.rings.size()
                                                        : what.channels.trees.size();
}

std::string channels_text(const sim::FabricWhatIf& what) {
  const bool is_ring = what.what.algorithm == model::Algorithm::kRing;
  return fmt::format("{} of NCCL's plan, by the NICs of their own ranks",
                     counted(static_cast<double>(orders_of(what)), is_ring ? "ring" : "tree"));
}

}  // namespace

void FabricFlags::add_links_to(CLI::App& app) {
  app.add_option("--fabric", fabric,
                 "links that messages share: a file (docs/formats/fabric.md), or one line: nvlink, "
                 "fat-tree:nodes_per_leaf=4,oversubscription=2, "
                 "rail-optimised:nodes_per_leaf=32, "
                 "dragonfly:nodes_per_switch=2,switches_per_group=8")
      ->type_name("FILE|KIND");
  app.add_option("--seed", seed, "chooses among equal ways (ECMP)")
      ->capture_default_str()
      ->type_name("N");
}

void FabricFlags::add_to(CLI::App& app) {
  add_links_to(app);
  app.add_option("--on", places,
                 "GPUs of the fabric on which the ranks stand (default: from 0 on): 0-7+16-23, "
                 "0-56/8")
      ->type_name("GPUS");
  app.add_option("--plan", plan,
                 "rings and trees that NCCL plans, as `nccl plan --full --json` writes them: every "
                 "channel carries its part of the bytes by the NICs of its own ranks (default: all "
                 "NICs of a node in equal parts)")
      ->type_name("FILE");
  app.add_option("--jobs", jobs,
                 "another collective that begins at the same time on the same fabric (repeat it "
                 "for several)")
      ->type_name("OP,SIZE,GPUS");
}

core::Result<sim::FabricShape> fabric_of(const std::string& text) {
  return sim::is_fabric_line(text) ? sim::fabric_line(text) : sim::fabric_file(text);
}

std::optional<model::Fabric> links_of(const sim::FabricShape& shape) {
  if (!shape.inside) return std::nullopt;
  model::Fabric links{.link = *shape.inside,
                      .inter = shape.nic,
                      .ranks_per_node = shape.gpus_per_node,
                      .basis = core::Basis::kRead,
                      .source = shape.source};
  if (!shape.nic) return links;
  const int nics = shape.nics_per_node > 0 ? shape.nics_per_node : shape.gpus_per_node;
  links.rails = nics;
  links.rail = shape.nic->beta;
  links.inter->beta = shape.nic->beta * (static_cast<double>(nics) / shape.gpus_per_node);
  return links;
}

core::Result<sim::FabricWhatIf> fabric_what_if(const FabricFlags& flags,
                                               const sim::FabricShape& shape,
                                               const sim::WhatIf& what) {
  sim::FabricWhatIf all{.what = what, .shape = shape, .seed = flags.seed};
  if (!flags.places.empty()) {
    const auto places = places_of(flags.places);
    if (!places) return places.error();
    all.places = *places;
  }
  if (flags.has_plan()) {
    auto plan = sim::nccl_plan_file(flags.plan);
    if (!plan) return plan.error();
    all.channels = *std::move(plan);
  }
  for (const std::string& text : flags.jobs) {
    const auto job = job_of(text);
    if (!job) return job.error();
    all.others.push_back(*job);
  }
  return all;
}

sim::FabricWhatIf only_fabric(const FabricFlags& flags, const sim::FabricShape& shape) {
  return {.shape = shape, .seed = flags.seed};
}

Json to_json(const sim::FabricWhatIf& what, const sim::FabricOutcome& outcome) {
  return {{"kind", kind_name(what.shape.kind)},
          {"description", describe(what.shape)},
          {"source", what.shape.source},
          {"seed", what.seed},
          {"planned_orders", orders_of(what)},
          {"nodes", outcome.nodes},
          {"gpus_per_node", outcome.gpus_per_node},
          {"nics_per_node", outcome.nics_per_node},
          {"switches", outcome.leaves},
          {"links", outcome.links},
          {"messages", json_number(outcome.messages)},
          {"held_up_by", shares_json(outcome)},
          {"bottlenecks", bottlenecks_json(outcome)},
          {"collisions", collisions_json(outcome)},
          {"jobs", jobs_json(outcome)}};
}

void add_rows(const sim::FabricWhatIf& what, const sim::FabricOutcome& outcome,
              core::KeyValues& pairs) {
  auto& rows = pairs.rows;
  rows.emplace_back(
      "fabric",
      fmt::format("{} ({}): {} nodes of {} GPUs and {} NICs, {} links, seed {}",
                  describe(what.shape), what.shape.source, outcome.nodes, outcome.gpus_per_node,
                  outcome.nics_per_node, outcome.links, what.seed));
  const bool is_load = outcome.model == sim::FabricOutcome::Model::kLoads;
  rows.emplace_back("model", model_name(outcome.model));
  if (!what.channels.is_empty()) rows.emplace_back("channels", channels_text(what));
  rows.emplace_back(is_load ? "links need" : "held up by",
                    kinds_text(outcome) + (is_load ? " of the time" : " of all flows' time"));
  // where all links are as busy as each other, none is the worst
  constexpr double kMuch = 0.005;
  if (!outcome.bottlenecks.empty() && outcome.bottlenecks.front().share >= kMuch) {
    const sim::Bottleneck& worst = outcome.bottlenecks.front();
    rows.emplace_back("worst link", fmt::format("{}: {} of it, {}, {} flows at once at most",
                                                worst.link, core::format_percent(worst.share),
                                                core::format_bytes(worst.bytes), worst.most_flows));
  }
  for (const sim::Collisions& one : outcome.collisions)
    rows.emplace_back("collisions", collisions_text(one));
}

std::optional<core::Table> jobs_table(const sim::FabricOutcome& outcome) {
  if (outcome.jobs.empty()) return std::nullopt;
  using Align = core::Column::Align;
  core::Table table{.columns = {{"job", Align::kLeft},
                                {"ranks"},
                                {"size"},
                                {"algorithm", Align::kLeft},
                                {"alone"},
                                {"together"},
                                {"longer by"},
                                {"floor"}},
                    .rows = {}};
  for (const sim::JobOutcome& job : outcome.jobs)
    table.rows.push_back(
        {op_name(job.collective.op), std::to_string(job.collective.ranks),
         core::format_bytes(job.collective.bytes), algorithm_name(job.algorithm),
         format_duration(job.alone), format_duration(job.shared),
         job.alone.in_seconds() > 0 ? core::format_percent(job.shared / job.alone - 1) : "",
         format_duration(job.floors.both())});
  return table;
}

}  // namespace comm_probe::cli
