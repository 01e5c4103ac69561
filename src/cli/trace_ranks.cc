// The ranks of a trace report: JSON, the table that fits a screen, the sentence above it.
#include "cli/trace_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using torch::Breakdown;

constexpr std::size_t kMostRanks = 16;   // in full
constexpr std::size_t kShownOfMany = 8;  // of more: the extremes
constexpr std::size_t kMostGaps = 10;

core::Column left(std::string title, int weight = 10) {
  return {std::move(title), core::Column::Align::kLeft, weight};
}
core::Column right(std::string title, int weight = 10) {
  return {std::move(title), core::Column::Align::kRight, weight};
}

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// "########!!!=..": what the device did, a letter each for 1/24 of the span.
std::string bar(const Breakdown& one) {
  constexpr int kLetters = 24;
  const std::pair<char, std::int64_t> parts[] = {{'#', one.compute},
                                                 {'!', one.exposed_communication},
                                                 {'=', one.exposed_memory},
                                                 {'.', one.idle}};
  std::string text;
  std::int64_t sum = 0;
  for (const auto& [letter, time] : parts) {
    sum += time;
    const auto until = static_cast<std::size_t>(kLetters * ratio(sum, one.span) + 0.5);
    if (until > text.size()) text.append(until - text.size(), letter);
  }
  return text;
}

std::vector<std::string> row_of(std::string name, const Breakdown& one, std::string last) {
  return {std::move(name),
          time_text(one.span),
          time_text(one.compute),
          time_text(one.communication),
          time_text(one.exposed_communication),
          time_text(one.exposed_memory),
          time_text(one.idle),
          hidden_text(one),
          std::move(last)};
}

core::Table rank_table(std::string first) {
  return {.columns = {left(std::move(first)), right("span"), right("compute"), right("comm"),
                      right("exposed"), right("copies", 4), right("idle"), right("hidden"),
                      left("where the time goes", 3)},
          .rows = {}};
}

// All, or of many ranks those with the most and the least exposed communication.
std::vector<std::size_t> shown_ranks(const TraceReport& report) {
  std::vector<std::size_t> order(report.ranks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() <= kMostRanks) return order;
  std::stable_sort(order.begin(), order.end(), [&report](std::size_t a, std::size_t b) {
    return report.ranks[a].total.exposed_communication >
           report.ranks[b].total.exposed_communication;
  });
  order.erase(order.begin() + kShownOfMany / 2, order.end() - kShownOfMany / 2);
  std::sort(order.begin(), order.end());
  return order;
}

void add_rank_table(const TraceReport& report, core::Document& document) {
  core::Table table = rank_table("rank");
  const auto shown = shown_ranks(report);
  for (const std::size_t i : shown) {
    const Breakdown& one = report.ranks[i].total;
    table.rows.push_back(row_of(std::to_string(*report.inputs.traces[i].rank), one, bar(one)));
  }
  document.body.emplace_back(core::Heading{
      shown.size() == report.ranks.size()
          ? std::string("Ranks")
          : fmt::format("Ranks: {} of {}, with the most and the least exposed communication",
                        shown.size(), report.ranks.size())});
  document.body.emplace_back(std::move(table));
  document.body.emplace_back(
      core::Preformatted{"# compute   ! exposed communication   = exposed copies   . idle\n"});
}

Json stream_json(const torch::Trace& trace, const torch::StreamUse& use) {
  const torch::Stream& stream = trace.streams[use.stream];
  return {{"device", stream.device}, {"stream", stream.id},          {"busy_ns", use.busy},
          {"comp_ns", use.compute},  {"comm_ns", use.communication}, {"ops", use.ops}};
}

Json group_json(const torch::Trace& trace, const torch::GroupUse& use) {
  Json json = {{"op", torch::class_name(use.kind)},
               {"kernels", use.kernels},
               {"comm_ns", use.busy},
               {"exposed_comm_ns", use.exposed}};
  if (use.sized > 0) json["bytes"] = use.bytes;
  if (use.group == torch::kNone) return json;
  const torch::TraceGroup& group = trace.groups[use.group];
  json["group"] = {{"name", group.name}, {"desc", group.description}, {"ranks", group.ranks}};
  return json;
}

Json gaps_json(const torch::RankBreakdown& rank, std::int64_t origin) {
  Json gaps = Json::array();
  for (const torch::Interval& gap : longest_gaps(rank, kMostGaps))
    gaps.push_back({{"start_ns", gap.start - origin}, {"length_ns", gap.length()}});
  return gaps;
}

Json rank_json(const torch::Trace& trace, const torch::RankBreakdown& rank) {
  Json json = {{"rank", *trace.rank}, {"file", trace.file}, {"total", breakdown_json(rank.total)}};
  Json steps = Json::array();
  for (const torch::StepBreakdown& step : rank.steps) {
    Json one = breakdown_json(step.own);
    one["step"] = trace.steps[step.step].number;
    one["window_ns"] = step.window;
    one["window_idle_ns"] = step.window_idle;
    one["cpu_ns"] = trace.steps[step.step].end - trace.steps[step.step].start;
    one["edge"] = trace.steps[step.step].is_edge;
    steps.push_back(std::move(one));
  }
  json["steps"] = std::move(steps);
  Json streams = Json::array();
  for (const auto& use : rank.streams) streams.push_back(stream_json(trace, use));
  json["streams"] = std::move(streams);
  Json groups = Json::array();
  for (const auto& use : rank.groups) groups.push_back(group_json(trace, use));
  json["groups"] = std::move(groups);
  json["comm_shared_ns"] = rank.communication_shared;
  json["start_ns"] = trace.gpu_ops.front().start;
  json["longest_gaps"] = gaps_json(rank, trace.gpu_ops.front().start);
  return json;
}

void add_gaps(const TraceReport& report, core::Document& document) {
  core::Table table{.columns = {right("rank"), right("longest gap"), right("from start"),
                                right("all gaps"), right("idle")},
                    .rows = {}};
  for (const std::size_t i : shown_ranks(report)) {
    const auto gaps = longest_gaps(report.ranks[i], 1);
    if (gaps.empty()) continue;
    table.rows.push_back(
        {std::to_string(*report.inputs.traces[i].rank), time_text(gaps.front().length()),
         time_text(gaps.front().start - report.inputs.traces[i].gpu_ops.front().start),
         std::to_string(report.ranks[i].idle.size()), time_text(report.ranks[i].total.idle)});
  }
  if (table.rows.empty()) return;
  document.details.emplace_back(core::Heading{"Gaps: nothing runs on the device"});
  document.details.emplace_back(std::move(table));
}

// The streams of the first rank: which of them computes, which communicates.
void add_streams(const TraceReport& report, core::Document& document) {
  const torch::Trace& trace = report.inputs.traces.front();
  core::Table table{.columns = {right("device"), right("stream"), right("busy"), right("compute"),
                                right("comm"), right("ops")},
                    .rows = {}};
  for (const torch::StreamUse& use : report.ranks.front().streams) {
    const torch::Stream& stream = trace.streams[use.stream];
    table.rows.push_back({std::to_string(stream.device), std::to_string(stream.id),
                          time_text(use.busy), time_text(use.compute), time_text(use.communication),
                          std::to_string(use.ops)});
  }
  document.details.emplace_back(core::Heading{fmt::format("Streams of rank {}", *trace.rank)});
  document.details.emplace_back(std::move(table));
}

Breakdown sum_of(const TraceReport& report) {
  Breakdown sum;
  for (const torch::RankBreakdown& rank : report.ranks) add_to(sum, rank.total);
  return sum;
}

}  // namespace

std::string time_text(std::int64_t ns) {
  return core::format_duration(core::Duration::from_ns(static_cast<double>(ns)));
}

std::string hidden_text(const Breakdown& one) {
  const auto percent = one.overlap_percent();
  return percent ? fmt::format("{:.1f} %", *percent) : "-";
}

void add_to(Breakdown& sum, const Breakdown& one) {
  sum.span += one.span;
  sum.compute += one.compute;
  sum.communication += one.communication;
  sum.memory += one.memory;
  sum.overlap += one.overlap;
  sum.exposed_communication += one.exposed_communication;
  sum.exposed_memory += one.exposed_memory;
  sum.idle += one.idle;
  sum.ops += one.ops;
  sum.communication_ops += one.communication_ops;
}

Json breakdown_json(const Breakdown& one) {
  const auto percent = one.overlap_percent();
  return {{"span_ns", one.span},
          {"comp_ns", one.compute},
          {"comm_ns", one.communication},
          {"mem_ns", one.memory},
          {"overlap_ns", one.overlap},
          {"exposed_comm_ns", one.exposed_communication},
          {"exposed_mem_ns", one.exposed_memory},
          {"idle_ns", one.idle},
          {"overlap_pct", percent ? core::json_number(*percent) : Json()},
          {"gpu_ops", one.ops},
          {"comm_kernels", one.communication_ops}};
}

torch::Intervals longest_gaps(const torch::RankBreakdown& rank, std::size_t most) {
  torch::Intervals gaps = rank.idle;
  const std::size_t count = std::min(most, gaps.size());
  std::partial_sort(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(count), gaps.end(),
                    [](const torch::Interval& a, const torch::Interval& b) {
                      return a.length() != b.length() ? a.length() > b.length() : a.start < b.start;
                    });
  gaps.resize(count);
  return gaps;
}

std::string trace_verdict(const TraceReport& report) {
  if (report.ranks.empty()) return "no GPU activity in these traces: nothing to say about overlap";
  const Breakdown sum = sum_of(report);
  const std::string ranks = report.ranks.size() == 1
                                ? fmt::format("rank {}", *report.inputs.traces.front().rank)
                                : fmt::format("{} ranks", report.ranks.size());
  if (sum.communication == 0)
    return fmt::format("{}: no communication; idle {:.1f} % of the time", ranks,
                       100 * ratio(sum.idle, sum.span));
  return fmt::format(
      "{}: communication takes {:.1f} % of the time, {:.1f} % of it hidden behind computation; "
      "exposed {:.1f} %, idle {:.1f} % of the time",
      ranks, 100 * ratio(sum.communication, sum.span), *sum.overlap_percent(),
      100 * ratio(sum.exposed_communication, sum.span), 100 * ratio(sum.idle, sum.span));
}

void add_ranks(const TraceReport& report, core::Document& document) {
  Json ranks = Json::array();
  for (std::size_t i = 0; i < report.ranks.size(); ++i)
    ranks.push_back(rank_json(report.inputs.traces[i], report.ranks[i]));
  document.result["ranks"] = std::move(ranks);
  if (report.ranks.empty()) return;
  add_rank_table(report, document);
  add_steps(report, document);
  add_groups(report, document);
  add_streams(report, document);
  add_gaps(report, document);
}

}  // namespace comm_probe::cli
