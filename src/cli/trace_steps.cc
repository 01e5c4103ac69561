// Steps and process groups of a trace report, over all ranks.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/trace_ranks.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using torch::Breakdown;

constexpr std::size_t kMostSteps = 8;  // in full; of more the longest
constexpr std::size_t kMostGroups = 8;

struct StepSum {
  Breakdown sum = {};
  std::int64_t window = 0;
  std::int64_t window_idle = 0;
  std::int64_t ranks = 0;
  bool is_edge = false;
};

std::map<std::int64_t, StepSum> step_sums(const TraceReport& report) {
  std::map<std::int64_t, StepSum> sums;
  for (std::size_t i = 0; i < report.ranks.size(); ++i)
    for (const torch::StepBreakdown& step : report.ranks[i].steps) {
      const torch::Step& known = report.inputs.traces[i].steps[step.step];
      StepSum& sum = sums[known.number];
      add_to(sum.sum, step.own);
      sum.window += step.window;
      sum.window_idle += step.window_idle;
      ++sum.ranks;
      sum.is_edge = sum.is_edge || known.is_edge;
    }
  return sums;
}

// Without the first and the last step where there are others.
StepSum inner_mean(const std::map<std::int64_t, StepSum>& sums) {
  const bool leave_edges = std::any_of(sums.begin(), sums.end(),
                                       [](const auto& entry) { return !entry.second.is_edge; });
  StepSum all;
  for (const auto& [number, one] : sums) {
    if (leave_edges && one.is_edge) continue;
    add_to(all.sum, one.sum);
    all.window += one.window;
    all.window_idle += one.window_idle;
    all.ranks += one.ranks;
  }
  return all;
}

std::vector<std::string> row_of(std::string name, const StepSum& one) {
  const auto mean = [&one](std::int64_t sum) {
    return time_text(sum / std::max<std::int64_t>(1, one.ranks));
  };
  return {std::move(name),
          mean(one.window),
          mean(one.sum.compute),
          mean(one.sum.communication),
          mean(one.sum.exposed_communication),
          mean(one.window_idle),
          hidden_text(one.sum),
          fmt::format("{:.0f}", static_cast<double>(one.sum.communication_ops) /
                                    static_cast<double>(std::max<std::int64_t>(1, one.ranks)))};
}

std::vector<std::int64_t> shown_steps(const std::map<std::int64_t, StepSum>& sums) {
  std::vector<std::int64_t> numbers;
  for (const auto& [number, sum] : sums) numbers.push_back(number);
  if (numbers.size() <= kMostSteps) return numbers;
  std::stable_sort(numbers.begin(), numbers.end(), [&sums](std::int64_t a, std::int64_t b) {
    const StepSum& one = sums.at(a);
    const StepSum& other = sums.at(b);
    return one.window * other.ranks > other.window * one.ranks;
  });
  numbers.resize(kMostSteps - 2);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

core::Column left(std::string title) { return {std::move(title), core::Column::Align::kLeft}; }
core::Column right(std::string title) { return {std::move(title), core::Column::Align::kRight}; }

// One process group and operation, over all ranks.
struct GroupSum {
  std::uint64_t kernels = 0;
  std::int64_t busy = 0;
  std::int64_t exposed = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sized = 0;
  std::int64_t ranks = 0;
};

// "mesh_tp of 8"; groups of one description and size are shown together.
std::string group_text(const torch::Trace& trace, const torch::GroupUse& use) {
  if (use.group == torch::kNone) return "not recorded";
  const torch::TraceGroup& group = trace.groups[use.group];
  const bool is_described = !group.description.empty() && group.description != "undefined";
  const std::string name = is_described ? group.description : "group " + group.name;
  return group.size > 0 ? fmt::format("{} of {}", name, group.size) : name;
}

// "nccl RING LL", of the kernels of one operation; empty where they differ.
std::map<std::pair<std::string, std::string>, GroupSum> group_sums(const TraceReport& report) {
  std::map<std::pair<std::string, std::string>, GroupSum> sums;
  for (std::size_t i = 0; i < report.ranks.size(); ++i)
    for (const torch::GroupUse& use : report.ranks[i].groups) {
      GroupSum& sum = sums[{group_text(report.inputs.traces[i], use), torch::class_name(use.kind)}];
      sum.kernels += use.kernels;
      sum.busy += use.busy;
      sum.exposed += use.exposed;
      sum.bytes += use.bytes;
      sum.sized += use.sized;
      ++sum.ranks;
    }
  return sums;
}

}  // namespace

void add_steps(const TraceReport& report, core::Document& document) {
  const auto sums = step_sums(report);
  if (sums.size() < 2) return;
  core::Table table{
      .columns = {right("step"), right("window"), right("compute"), right("comm"), right("exposed"),
                  right("idle"), right("hidden"), right("comm kernels")},
      .rows = {}};
  const auto shown = shown_steps(sums);
  for (const std::int64_t number : shown)
    table.rows.push_back(row_of(std::to_string(number), sums.at(number)));
  table.rows.push_back(row_of("mean", inner_mean(sums)));
  const std::string mean_of = sums.size() > 2 ? " (mean: without the first and the last)" : "";
  document.body.emplace_back(core::Heading{
      shown.size() == sums.size() ? "Steps, mean over the ranks" + mean_of
                                  : fmt::format("Steps, mean over the ranks: the {} longest of {}",
                                                shown.size(), sums.size())});
  document.body.emplace_back(std::move(table));
}

void add_groups(const TraceReport& report, core::Document& document) {
  const auto sums = group_sums(report);
  if (sums.empty()) return;
  std::vector<std::pair<std::pair<std::string, std::string>, GroupSum>> rows(sums.begin(),
                                                                             sums.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.busy > b.second.busy; });
  rows.resize(std::min(rows.size(), kMostGroups));
  core::Table table{.columns = {left("process group"), left("operation"), right("kernels"),
                                right("mean size"), right("time"), right("exposed")},
                    .rows = {}};
  for (const auto& [key, sum] : rows) {
    const auto mean = [&sum = sum](std::int64_t all) { return time_text(all / sum.ranks); };
    table.rows.push_back(
        {key.first, key.second, std::to_string(sum.kernels / static_cast<std::uint64_t>(sum.ranks)),
         sum.sized == 0 ? "-" : core::format_bytes(core::Bytes::of(sum.bytes / sum.sized)),
         mean(sum.busy), mean(sum.exposed)});
  }
  document.body.emplace_back(core::Heading{"Collectives, per rank"});
  document.body.emplace_back(std::move(table));
}

}  // namespace comm_probe::cli
