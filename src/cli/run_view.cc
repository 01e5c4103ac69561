#include "cli/run_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/gpu_links_view.h"
#include "cli/host_view.h"
#include "cli/ledger_view.h"
#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/gpu_acceptance.h"
#include "diagnose/gpu_links.h"
#include "diagnose/links.h"
#include "diagnose/node_acceptance.h"
#include "model/advice.h"
#include "model/closed_form.h"

namespace comm_probe::cli {
namespace {

using core::format_bandwidth;
using core::format_duration;
using core::format_percent;
using core::Json;
using core::json_number;
using diagnose::Check;
using diagnose::WalkStep;

Json measured_json(const WalkStep& step) {
  const measure::Timing& t = step.beside.row.out_of_place;
  const core::Bandwidth algbw =
      t.time.in_seconds() > 0 ? step.beside.row.bytes / t.time : core::Bandwidth();
  return {
      {"time_us", json_number(t.time.in_us())},
      {"fastest_us", json_number(t.fastest.in_us())},
      {"slowest_us", json_number(t.slowest.in_us())},
      {"in_place_us", json_number(step.beside.row.in_place.time.in_us())},
      {"algbw_GBps", json_number(algbw.in_GBps())},
      {"busbw_GBps", json_number(algbw.in_GBps() *
                                 model::busbw_factor(step.beside.plan.op, step.beside.plan.ranks))},
      {"wrong", t.wrong ? Json(*t.wrong) : Json()},
      {"basis", "measured"}};
}

model::Ledger contrast_ledger(const Contrast& contrast, const WalkStep& step) {
  const model::Collective same{step.beside.plan.op, contrast.ranks, step.beside.row.bytes};
  const auto model = model::ClosedForm::create(contrast.fabric);
  return model->price(same);
}

Json step_json(const WalkStep& step, const std::optional<Contrast>& contrast) {
  Json json = {{"name", step.name},
               {"ledger", step.beside.ledger ? to_json(*step.beside.ledger) : Json()},
               {"predicted_us", step.gap ? json_number(step.beside.predicted.in_us()) : Json()},
               {"measured", measured_json(step)},
               {"gap", step.gap ? json_number(*step.gap) : Json()},
               {"explained_by", step.explained_by}};
  if (contrast) json["contrast"] = to_json(contrast_ledger(*contrast, step));
  return json;
}

Json plain_step(const std::string& name, const Json& measured) {
  return {{"name", name},
          {"ledger", Json()},
          {"measured", measured},
          {"gap", Json()},
          {"explained_by", Json::array()}};
}

std::string side_of(const WalkStep& step) {
  if (!step.beside.ledger) return "-";
  const double share = step.beside.ledger->latency_share();
  return share > 0.5 ? fmt::format("latency {}", format_percent(share, 2))
                     : fmt::format("bytes {}", format_percent(1 - share, 2));
}

std::string gap_text(const WalkStep& step) {
  if (!step.gap) return "-";
  return fmt::format("{}{}", *step.gap >= 0 ? "+" : "", format_percent(*step.gap, 2));
}

core::Table steps_table(const RunFacts& facts) {
  using Align = core::Column::Align;
  core::Table table{{{"message, 2 ranks", Align::kLeft},
                     {"algorithm", Align::kLeft, 4},
                     {"ledger", Align::kLeft},
                     {"predicted"},
                     {"measured"},
                     {"gap"}},
                    {}};
  for (const WalkStep& step : facts.steps) {
    const measure::Beside& b = step.beside;
    table.rows.push_back({step.name, model::algorithm_name(b.row.algorithm), side_of(step),
                          step.gap ? format_duration(b.predicted) : "-",
                          (diagnose::is_uneven(b.row.out_of_place) ? "~" : "") +
                              format_duration(b.row.out_of_place.time),
                          gap_text(step)});
  }
  return table;
}

// Where the ledger alone does not explain the time.
core::KeyValues explanations(const RunFacts& facts) {
  core::KeyValues pairs;
  for (const WalkStep& step : facts.steps) {
    if (diagnose::is_as_predicted(step)) continue;
    pairs.rows.emplace_back(step.name, fmt::format("{}", fmt::join(step.explained_by, "; ")));
  }
  return pairs;
}

core::Table contrast_table(const RunFacts& facts) {
  using Align = core::Column::Align;
  core::Table table{{{"message", Align::kLeft},
                     {"here, 2 ranks"},
                     {fmt::format("{}, {} ranks", facts.contrast->machine, facts.contrast->ranks)},
                     {"ledger there", Align::kLeft}},
                    {}};
  for (const WalkStep& step : facts.steps) {
    const model::Ledger there = contrast_ledger(*facts.contrast, step);
    table.rows.push_back(
        {step.name, format_duration(step.beside.row.out_of_place.time),
         format_duration(there.time()),
         there.is_latency_bound()
             ? fmt::format("latency {}", format_percent(there.latency_share(), 2))
             : fmt::format("bytes {}", format_percent(1 - there.latency_share(), 2))});
  }
  return table;
}

core::Table accept_table(const std::vector<Check>& checks) {
  using Align = core::Column::Align;
  core::Table table{{{"", Align::kLeft},
                     {"check", Align::kLeft},
                     {"expected on this host", Align::kLeft},
                     {"observed", Align::kLeft}},
                    {}};
  for (const Check& check : checks)
    table.rows.push_back(
        {diagnose::outcome_name(check.outcome), check.name, check.expected, check.observed});
  return table;
}

// Why a line is not decided, and what would decide it.
core::KeyValues open_checks(const std::vector<Check>& checks) {
  core::KeyValues rows;
  for (const Check& check : checks)
    if (!check.why.empty()) rows.rows.emplace_back(check.name, check.why);
  return rows;
}

std::optional<diagnose::MeasuredAllReduce> largest_all_reduce(const RunFacts& facts) {
  for (const measure::Run& run : facts.gpu_walk.walk.collectives) {
    if (run.plan.op != model::Op::kAllReduce || run.plan.shares_one_gpu || run.rows.empty())
      continue;
    const measure::Row& row = run.rows.back();
    if (row.out_of_place.time <= core::Duration()) continue;
    return diagnose::MeasuredAllReduce{
        row.bytes,
        row.bytes / row.out_of_place.time * model::busbw_factor(run.plan.op, run.plan.ranks),
        run.plan.ranks};
  }
  return std::nullopt;
}

// What a cluster asks of its nodes first, then what was measured here.
std::vector<Check> all_checks(const RunFacts& facts) {
  std::vector<Check> checks;
  if (facts.survey) checks = diagnose::node_acceptance(*facts.survey, largest_all_reduce(facts));
  if (facts.gpus)
    for (Check& check : diagnose::gpu_acceptance(*facts.gpus, facts.survey))
      checks.push_back(std::move(check));
  for (Check& check : diagnose::acceptance(facts.host, facts.steps))
    checks.push_back(std::move(check));
  return checks;
}

Json accept_json(const std::vector<Check>& checks) {
  Json array = Json::array();
  for (const Check& check : checks)
    array.push_back({{"name", check.name},
                     {"expected", check.expected},
                     {"observed", check.observed},
                     {"outcome", diagnose::outcome_name(check.outcome)},
                     {"why", check.why.empty() ? Json() : Json(check.why)}});
  return array;
}

// "~" before a number whose samples do not agree.
const char* mark(const measure::HostLink* link) {
  return link != nullptr && diagnose::is_noisy(link->seconds) ? "~" : "";
}

std::string link_text(const measure::HostLink* link) {
  return link == nullptr || !link->beta ? "-" : mark(link) + format_bandwidth(link->beta->value);
}

// What the mark means, where it is used.
std::string mark_line(const RunFacts& facts) {
  bool is_used = false;
  for (const measure::HostLink& link : facts.links.links)
    is_used |= diagnose::is_noisy(link.seconds);
  for (const WalkStep& step : facts.steps)
    is_used |= diagnose::is_uneven(step.beside.row.out_of_place);
  if (!is_used) return "";
  return fmt::format(
      "~: repeated samples lie more than {} apart (collectives: {}), something else ran; the "
      "median "
      "is shown, `comm-probe link` shows every spread.",
      format_percent(diagnose::kNoisySpread, 2), format_percent(diagnose::kSteadyBlocks - 1, 2));
}

// "CPU 0: read 12.5 GB/s, write 13.5 GB/s, copy 7.2 GB/s; 2 CPUs: ..."
std::string memory_line(const measure::HostLinks& links) {
  std::string line, last;
  for (const measure::HostLink& link : links.links) {
    if (link.kind != measure::LinkKind::kMemory) continue;
    const std::size_t space = link.name.rfind(' ');
    const std::string who = link.name.substr(0, space);
    line += who == last ? ", " : fmt::format("{}{}: ", last.empty() ? "" : "; ", who);
    line += link.name.substr(space + 1) + " " + link_text(&link);
    last = who;
  }
  return line;
}

// One line per question: how long does a word take, how fast do bytes go?
core::KeyValues links_summary(const measure::HostLinks& links) {
  using measure::LinkKind;
  std::string copies;
  for (const char* level : {"L1", "L2", "L3", "memory"})
    if (const auto* link = links.find(LinkKind::kExchange, level))
      copies += fmt::format("{}{} {}", copies.empty() ? "" : ", ", level, link_text(link));
  core::KeyValues pairs{
      {{"alpha", fmt::format("{}{} one way through shared memory, {}{} where the receiver sleeps",
                             mark(links.find(LinkKind::kFlag)), format_duration(links.flag),
                             mark(links.find(LinkKind::kWake)), format_duration(links.wake))},
       {"beta, both ways", copies}}};
  pairs.rows.emplace_back("memory", memory_line(links));
  if (const auto* tcp = links.find(LinkKind::kTcp, "one way"); tcp != nullptr && tcp->alpha)
    pairs.rows.emplace_back("loopback tcp",
                            fmt::format("alpha {}{}, beta {}", mark(tcp),
                                        format_duration(tcp->alpha->value), link_text(tcp)));
  return pairs;
}

bool has_gpus(const RunFacts& facts) {
  return facts.host.gpus() > 0 || facts.gpu_walk.walk.gpus > 0;
}

std::string gpu_line(const RunFacts& facts) {
  if (!has_gpus(facts))
    return "No GPU here: the two ledgers (steps x alpha, bytes / beta) are shown on this machine's "
           "own memory; they read the same on NVLink or InfiniBand, only alpha and beta differ.";
  return "";
}

// Between the largest all_reduce in the latency ledger and the smallest in the bandwidth ledger.
std::string knee_line(const RunFacts& facts) {
  core::Bytes below, above;
  for (const WalkStep& step : facts.steps) {
    if (!step.beside.ledger || step.beside.plan.op != model::Op::kAllReduce) continue;
    const core::Bytes bytes = step.beside.row.bytes;
    if (step.beside.ledger->is_latency_bound())
      below = std::max(below, bytes);
    else
      above = above.count() == 0 ? bytes : std::min(above, bytes);
  }
  if (below.count() == 0 || above.count() == 0) return "";
  return fmt::format(
      "The knee of all_reduce{} lies between {} and {}: below it only fewer steps or a smaller "
      "alpha help, above it only fewer bytes or more bandwidth.",
      has_gpus(facts) ? " between two CPUs" : "", core::format_bytes(below),
      core::format_bytes(above));
}

void judge(const RunFacts& facts, core::Document& document) {
  const auto take = [&document](const std::vector<core::Finding>& findings,
                                const std::vector<core::Caveat>& caveats) {
    document.findings.insert(document.findings.end(), findings.begin(), findings.end());
    document.caveats.insert(document.caveats.end(), caveats.begin(), caveats.end());
  };
  const auto host = diagnose::judge_host(facts.host);
  take(host.findings, host.caveats);
  if (facts.host_error) {
    take({}, {core::make_caveat("link.host-unmeasured", "the host's own links and collectives",
                                facts.host_error->one_line(), true)});
  } else {
    const auto links = diagnose::judge_links(facts.links);
    take(links.findings, links.caveats);
  }
  take(diagnose::walk_findings(facts.steps), diagnose::walk_caveats(facts.steps));
  if (facts.gpus) {
    const auto gpus = diagnose::judge_gpu_links(*facts.gpus, facts.survey);
    take(gpus.findings, gpus.caveats);
  }
  if (facts.gpus_error)
    take({}, {core::make_caveat("link.gpu-part-unmeasured", "links of the GPUs",
                                facts.gpus_error->one_line(), false)});
}

std::string unmeasured_nccl(const measure::GpuWalk& walk) {
  for (const measure::Stage& stage : walk.stages)
    if (stage.kind == measure::StageKind::kCollectives && walk.gpus > 0 &&
        (stage.outcome == measure::StageOutcome::kFailed ||
         stage.outcome == measure::StageOutcome::kCut))
      return fmt::format("NCCL's collectives on {} GPU{}: {}; ", walk.gpus,
                         walk.gpus == 1 ? "" : "s", stage.why);
  return "";
}

// "NCCL on 2 GPUs chose as planned at 27 of 27 sizes, 330.4 GB/s busbw at 1 GiB; "
std::string gpu_verdict(const RunFacts& facts) {
  std::size_t planned = 0, equal = 0;
  for (const PlannedRun& run : facts.gpu_walk.collectives)
    for (const SizeChoice& size : run.choices.sizes) {
      if (size.plan.empty() || size.real.empty()) continue;
      ++planned;
      equal += size.is_equal() ? 1 : 0;
    }
  if (planned == 0) return unmeasured_nccl(facts.gpu_walk.walk);
  std::string text =
      fmt::format("NCCL on {} GPU{} chose as planned at {} of {} sizes", facts.gpu_walk.walk.gpus,
                  facts.gpu_walk.walk.gpus == 1 ? "" : "s", equal, planned);
  if (const auto largest = largest_all_reduce(facts))
    text += fmt::format(", all_reduce {} busbw at {}", core::format_bandwidth(largest->busbw),
                        core::format_bytes(largest->bytes));
  return text + "; ";
}

std::string verdict_of(const RunFacts& facts) {
  int priced = 0, close = 0;
  for (const WalkStep& step : facts.steps) {
    if (!step.gap) continue;
    ++priced;
    close += diagnose::is_as_predicted(step) ? 1 : 0;
  }
  const std::string gpus = gpu_verdict(facts);
  if (facts.host_error) return gpus + "the host's own links were not measured";
  if (priced == 0) return gpus + "no collective could be set beside a ledger here";
  return fmt::format("{}{} of {} collectives {}took what their ledger says, within {} or one flag",
                     gpus, close, priced, has_gpus(facts) ? "between two CPUs " : "",
                     format_percent(diagnose::kExplainedGap, 2));
}

void add_text(const RunFacts& facts, core::Document& document) {
  auto& body = document.body;
  body.insert(body.end(), {core::Heading{"This machine"}, host_summary(facts.host)});
  if (!facts.host_error)
    body.insert(body.end(), {core::Heading{"Its links (a message of n bytes: alpha + n / beta)"},
                             links_summary(facts.links)});
  if (facts.gpus)
    for (core::Block& block : gpu_link_blocks(*facts.gpus, facts.survey))
      body.push_back(std::move(block));
  if (!facts.steps.empty())
    body.insert(
        body.end(),
        {core::Heading{has_gpus(facts) ? "Collectives between two CPUs: the ledger and the clock"
                                       : "Collectives: the ledger and the clock"},
         steps_table(facts)});
  if (const core::KeyValues why = explanations(facts); !why.rows.empty()) {
    body.emplace_back(core::Heading{"What the ledger does not explain"});
    body.emplace_back(why);
  }
  for (const std::string& line : {mark_line(facts), knee_line(facts)})
    if (!line.empty()) body.emplace_back(core::Paragraph{line});
  if (facts.contrast) {
    body.emplace_back(core::Heading{"For contrast: the same messages on one " +
                                    facts.contrast->machine + " (computed)"});
    body.emplace_back(contrast_table(facts));
  }
  if (const std::string line = gpu_line(facts); !line.empty())
    body.emplace_back(core::Paragraph{line});
  for (const WalkStep& step : facts.steps) {
    if (!step.beside.ledger) continue;
    document.details.emplace_back(core::Heading{step.name});
    for (core::Block& block : ledger_terms(*step.beside.ledger))
      document.details.push_back(std::move(block));
  }
}

}  // namespace

core::Document run_document(const RunFacts& facts) {
  core::Document document{.command = "run"};
  document.verdict = verdict_of(facts);
  judge(facts, document);
  Json steps = Json::array();
  steps.push_back(plain_step("topology", {{"cpus", facts.host.cpus.size()},
                                          {"usable_cpus", facts.host.usable_cpus()},
                                          {"gpus", facts.host.gpus()},
                                          {"nics", facts.host.nics()}}));
  steps.push_back(plain_step("links", {{"alpha_us", json_number(facts.links.flag.in_us())},
                                       {"wake_us", json_number(facts.links.wake.in_us())}}));
  for (const WalkStep& step : facts.steps) steps.push_back(step_json(step, facts.contrast));
  document.result = {{"host", host_json(facts.host)},
                     {"links", links_json(facts.links)},
                     {"context", context_json(facts.links.context)},
                     {"steps", steps}};
  if (facts.gpus) {
    for (Json& item : gpu_links_json(*facts.gpus, facts.survey))
      document.result["links"].push_back(std::move(item));
    document.result["gpus"] = gpus_json(*facts.gpus);
  }
  if (facts.is_acceptance) {
    const auto checks = all_checks(facts);
    document.result["accept"] = accept_json(checks);
    document.verdict = diagnose::acceptance_verdict(checks) + "; " + document.verdict;
    for (core::Finding& finding : diagnose::acceptance_findings(checks))
      document.findings.push_back(std::move(finding));
    for (core::Caveat& caveat : diagnose::acceptance_caveats(checks))
      document.caveats.push_back(std::move(caveat));
    document.body = {core::Heading{"Acceptance"}, accept_table(checks)};
    if (core::KeyValues why = open_checks(checks); !why.rows.empty())
      document.body.emplace_back(std::move(why));
  }
  add_text(facts, document);
  add_gpu_walk(document, facts.gpu_walk, facts.gpus ? &*facts.gpus : nullptr);
  return document;
}

}  // namespace comm_probe::cli
