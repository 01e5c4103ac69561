#include "cli/choose_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/choose_json.h"
#include "cli/nccl_job.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Column;
using core::Table;
using nccl::Algorithm;
using nccl::Candidate;
using nccl::Choice;
using nccl::Forced;
using nccl::Protocol;

std::string method_text(const Candidate& candidate) {
  return fmt::format("{} {}", table_name(candidate.algorithm), table_name(candidate.protocol));
}

// Neighbouring sizes that stand in one line; the last one is shown.
struct Group {
  std::size_t first;
  std::size_t last;
};

bool is_near(double a, double b) {
  constexpr double kAlike = 0.03;
  return std::abs(a - b) <= kAlike * std::max(std::abs(a), std::abs(b));
}

bool is_near(const std::optional<Forced>& a, const std::optional<Forced>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return is_near(a->ratio, b->ratio) && a->is_latency_paid == b->is_latency_paid &&
         (a->ratio == 1) == (b->ratio == 1);
}

bool is_alike(const ChosenSize& a, const ChosenSize& b) {
  if (!a.choice || !b.choice) return a.choice.ok() == b.choice.ok();
  const Choice& one = *a.choice;
  const Choice& other = *b.choice;
  if (one.taken.algorithm != other.taken.algorithm || one.taken.protocol != other.taken.protocol ||
      one.launch.channels != other.launch.channels || one.launch.threads != other.launch.threads ||
      !is_near(one.taken.time.us, other.taken.time.us))
    return false;
  const auto is_same_cost = [&](auto method) {
    return is_near(nccl::forced(one, method), nccl::forced(other, method));
  };
  return std::all_of(nccl::kAllAlgorithms.begin(), nccl::kAllAlgorithms.end(), is_same_cost) &&
         std::all_of(nccl::kAllProtocols.begin(), nccl::kAllProtocols.end(), is_same_cost);
}

std::vector<Group> groups_of(const ChoosePlan& plan, bool is_every_size) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    if (!is_every_size && !groups.empty() &&
        is_alike(plan.sizes[groups.back().first], plan.sizes[i]))
      groups.back().last = i;
    else
      groups.push_back({i, i});
  }
  return groups;
}

std::uint64_t bytes_of(const ChoosePlan& plan, std::size_t at) {
  return plan.sizes[at].call.bytes(plan.tuning.job.agreement.ranks);
}

// "8 B .. 4 KiB"
std::string size_text(const ChoosePlan& plan, const Group& group) {
  const auto text = [&](std::size_t at) {
    return core::format_bytes(core::Bytes::of(bytes_of(plan, at)));
  };
  return group.first == group.last ? text(group.last)
                                   : text(group.first) + " .. " + text(group.last);
}

Table choice_table(const ChoosePlan& plan, const std::vector<Group>& groups) {
  Table table{{{"size"},
               {"algorithm", Column::Align::kLeft},
               {"protocol", Column::Align::kLeft},
               {"channels"},
               {"threads", Column::Align::kRight, 5},
               {"time"},
               {"algbw GB/s", Column::Align::kRight, 4},
               {"busbw GB/s"},
               {"ledger", Column::Align::kLeft, 6}},
              {}};
  for (const Group& group : groups) {
    const ChosenSize& size = plan.sizes[group.last];
    const std::string text = size_text(plan, group);
    if (!size.choice) {
      table.rows.push_back({text, "refused", "", "", "", "", "", "", ""});
      continue;
    }
    const Choice& choice = *size.choice;
    const double algbw =
        algorithm_bandwidth(bytes_of(plan, group.last), choice.taken.time).in_GBps();
    table.rows.push_back(
        {text, table_name(choice.taken.algorithm), table_name(choice.taken.protocol),
         fmt::to_string(choice.launch.channels), fmt::to_string(choice.launch.threads),
         core::format_duration(choice.taken.time.duration()), core::format_number(algbw, 3),
         core::format_number(algbw * busbw_factor(plan), 3),
         ledger_name(choice.taken.pays_latency())});
  }
  return table;
}

// Algorithms and protocols that any size could use.
struct Columns {
  std::vector<Algorithm> algorithms = {};
  std::vector<Protocol> protocols = {};
};
Columns columns_of(const ChoosePlan& plan) {
  Columns columns;
  const auto any = [&](auto method) {
    return std::any_of(plan.sizes.begin(), plan.sizes.end(), [&](const ChosenSize& size) {
      return size.choice.ok() && nccl::forced(*size.choice, method).has_value();
    });
  };
  for (const Algorithm algorithm : nccl::kAllAlgorithms)
    if (any(algorithm)) columns.algorithms.push_back(algorithm);
  for (const Protocol protocol : nccl::kAllProtocols)
    if (any(protocol)) columns.protocols.push_back(protocol);
  return columns;
}

std::string ratio_text(const std::optional<Forced>& forced) {
  if (!forced) return "-";
  if (forced->ratio == 1) return "taken";
  const char* ledger = forced->is_latency_paid ? "lat" : "bw";
  return forced->ratio < 10 ? fmt::format("{:.2f}x {}", forced->ratio, ledger)
                            : fmt::format("{:.3g}x {}", forced->ratio, ledger);
}

Table forced_table(const ChoosePlan& plan, const std::vector<Group>& groups) {
  const Columns columns = columns_of(plan);
  Table table{{{"size"}}, {}};
  for (const Algorithm algorithm : columns.algorithms)
    table.columns.push_back({table_name(algorithm)});
  for (const Protocol protocol : columns.protocols) table.columns.push_back({table_name(protocol)});
  for (const Group& group : groups) {
    const ChosenSize& size = plan.sizes[group.last];
    if (!size.choice) continue;
    std::vector<std::string> row = {size_text(plan, group)};
    for (const Algorithm algorithm : columns.algorithms)
      row.push_back(ratio_text(nccl::forced(*size.choice, algorithm)));
    for (const Protocol protocol : columns.protocols)
      row.push_back(ratio_text(nccl::forced(*size.choice, protocol)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Latency and bandwidth of every combination of this function, and why it is not taken.
Table model_table(const ChoosePlan& plan) {
  Table table{{{"algorithm", Column::Align::kLeft},
               {"protocol", Column::Align::kLeft},
               {"latency"},
               {"GB/s"},
               {"not taken because", Column::Align::kLeft, 8}},
              {}};
  for (const Algorithm algorithm : nccl::kAllAlgorithms)
    for (const Protocol protocol : nccl::kAllProtocols) {
      const nccl::MethodCost& cost = plan.tuning.cost(plan.call.function, algorithm, protocol);
      if (cost.refusal == nccl::Refusal::kNotOffered) continue;
      table.rows.push_back({table_name(algorithm), table_name(protocol),
                            core::format_duration(cost.latency.duration()),
                            core::format_number(cost.bandwidth.GBps),
                            nccl::refusal_text(cost.refusal)});
    }
  return table;
}

std::string job_text(const ChoosePlan& plan) {
  const nccl::Agreement& all = plan.tuning.job.agreement;
  std::string text =
      fmt::format("{} on {} rank{}, {} node{}", function_name(plan.call.function), all.ranks,
                  all.ranks == 1 ? "" : "s", all.nodes, all.nodes == 1 ? "" : "s");
  if (plan.domains > 1)
    text += fmt::format(" ({} host{} of {} domains each: not all GPUs of a host reach each other)",
                        plan.hosts, plan.hosts == 1 ? "" : "s", plan.domains);
  return text;
}

// In the units of the table: 411.2 KiB, 5.588 MiB.
std::string binary_text(std::uint64_t bytes) {
  constexpr std::pair<const char*, int> kUnits[] = {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}};
  for (const auto& [name, power] : kUnits)
    if (bytes >> power > 0)
      return core::format_number(static_cast<double>(bytes) /
                                 static_cast<double>(std::uint64_t{1} << power)) +
             " " + name;
  return fmt::format("{} B", bytes);
}

// "Tree LL below 256 KiB, Tree LL128 below 2 MiB, then NVLSTree Simple"
std::string verdict_of(const ChoosePlan& plan) {
  if (plan.tuning.job.agreement.ranks <= 1) return job_text(plan) + ": a lone rank copies";
  std::string text;
  for (const nccl::Crossover& crossover : plan.crossovers)
    text += fmt::format("{} below {}, ", method_text(crossover.from), binary_text(crossover.bytes));
  const auto last = std::find_if(plan.sizes.rbegin(), plan.sizes.rend(),
                                 [](const ChosenSize& size) { return size.choice.ok(); });
  if (last == plan.sizes.rend()) return job_text(plan) + ": NCCL refuses the call";
  return fmt::format("{}: {}{}{}", job_text(plan), text, text.empty() ? "" : "then ",
                     method_text(last->choice->taken));
}

// What the numbers cannot say by themselves.
std::string notes_of(const ChoosePlan& plan, bool is_folded) {
  std::string text =
      "Times the time of what is taken, with the best that NCCL_ALGO or NCCL_PROTO would leave; "
      "lat: the steps pay for it, bw: the bytes. All times are NCCL's own estimate.";
  if (is_folded) text += " A line of several sizes shows the largest; --explain has every size.";
  if (plan.call.type == nccl::DataType::kFloat8 && is_reduction(plan.call.function) &&
      plan.tuning.job.agreement.ranks > 8)
    text +=
        " Ring: NCCL multiplies its time by 1024 for 8-bit floats above 8 ranks, so that it is not "
        "taken; no ledger pays that.";
  if (plan.left_out > 0)
    text += fmt::format(" {} size{} below one element per rank ({} x {} B) left out.",
                        plan.left_out, plan.left_out == 1 ? " is" : "s are",
                        plan.tuning.job.agreement.ranks, size_of(plan.call.type));
  return text;
}

void add_tables(core::Document& document, const ChoosePlan& plan,
                const std::vector<Group>& groups) {
  document.body.emplace_back(core::Heading{
      fmt::format("What NCCL {} takes", nccl_version_text(plan.tuning.job.settings.version))});
  document.body.emplace_back(choice_table(plan, groups));
  const bool is_any_taken = std::any_of(plan.sizes.begin(), plan.sizes.end(),
                                        [](const ChosenSize& size) { return size.choice.ok(); });
  if (is_any_taken) {
    document.body.emplace_back(core::Heading{"What forcing another one costs"});
    document.body.emplace_back(forced_table(plan, groups));
    document.body.emplace_back(core::Paragraph{notes_of(plan, groups.size() < plan.sizes.size())});
  }
  document.details.emplace_back(core::Heading{"NCCL's table for this function"});
  document.details.emplace_back(model_table(plan));
}

}  // namespace

core::Document choose_document(const ChoosePlan& plan, bool is_every_size) {
  core::Document document{.command = "nccl"};
  document.result = choose_json(plan);
  document.verdict = verdict_of(plan);
  if (plan.tuning.job.agreement.ranks > 1)
    add_tables(document, plan, groups_of(plan, is_every_size));
  return document;
}

}  // namespace comm_probe::cli
