#include "cli/trace_across_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/units.h"
#include "diagnose/trace_merge.h"

namespace comm_probe::cli {
namespace {

using Align = core::Column::Align;
using core::Block;
using core::Duration;
using core::Heading;
using core::Paragraph;
using core::Table;
using torch::AcrossRanks;

constexpr std::size_t kShownRanks = 16;
constexpr std::size_t kShownRates = 8;
constexpr std::size_t kShownWaits = 5;
constexpr double kWaitThatMatters = 0.01;          // of a step
constexpr std::int64_t kOffsetThatShows = 50'000;  // ns

std::string text(std::int64_t ns) {
  return core::format_duration(Duration::from_ns(static_cast<double>(ns)));
}

std::string percent(std::int64_t part, std::int64_t all) {
  return all > 0 ? core::format_percent(static_cast<double>(part) / static_cast<double>(all), 2)
                 : "-";
}

// Those who caused most first, where not all are shown.
std::vector<std::size_t> shown_ranks(const AcrossRanks& across) {
  std::vector<std::size_t> ranks(across.waits.ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = i;
  if (ranks.size() <= kShownRanks) return ranks;
  std::stable_sort(ranks.begin(), ranks.end(), [&](std::size_t one, std::size_t other) {
    return across.waits.ranks[one].caused > across.waits.ranks[other].caused;
  });
  ranks.resize(kShownRanks);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

Table waiting_table(const AcrossRanks& across) {
  const bool exposed = !across.activities.empty();
  Table table{{{"rank"},
               {"collectives", Align::kRight, 5},
               {"transfer"},
               {"waiting"},
               {"made others wait"},
               {"last in"}},
              {}};
  if (exposed) {
    table.columns.insert(table.columns.begin() + 3, {"exposed", Align::kRight, 7});
    table.columns.insert(table.columns.begin() + 5, {"exposed", Align::kRight, 7});
  }
  for (const std::size_t rank : shown_ranks(across)) {
    const torch::RankWaits& waits = across.waits.ranks[rank];
    std::vector<std::string> row = {std::to_string(across.rank_number(static_cast<int>(rank))),
                                    std::to_string(waits.meetings), text(waits.transfer)};
    if (exposed) row.push_back(text(waits.exposed_transfer));
    row.push_back(text(waits.wait));
    if (exposed) row.push_back(text(waits.exposed_wait));
    row.push_back(text(waits.caused));
    row.push_back(std::to_string(waits.last_in));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string waiting_sentence(const AcrossRanks& across) {
  torch::RankWaits sum;
  for (const torch::RankWaits& waits : across.waits.ranks) sum += waits;
  std::string line = fmt::format(
      "Of {} in {} matched collectives {} are waiting for a later rank and {} transfer",
      text(sum.wait + sum.transfer), across.matching.accepted,
      percent(sum.wait, sum.wait + sum.transfer), percent(sum.transfer, sum.wait + sum.transfer));
  const std::int64_t exposed = sum.exposed_wait + sum.exposed_transfer;
  if (!across.activities.empty() && exposed > 0)
    line += fmt::format("; of {} that no compute hides, {} and {}", text(exposed),
                        percent(sum.exposed_wait, exposed), percent(sum.exposed_transfer, exposed));
  return line + " (sums over the ranks).";
}

std::string group_name(const AcrossRanks& across, int group) {
  const torch::CommGroup& one = across.job.groups[static_cast<std::size_t>(group)];
  if (one.name.empty()) return "-";
  const bool described = !one.description.empty() && one.description != "undefined";
  return described ? fmt::format("{} {}", one.name, one.description) : one.name;
}

std::vector<std::string> rate_row(const AcrossRanks& across, const diagnose::PricedRate& priced) {
  const torch::Rate& rate = priced.rate;
  const auto busbw = rate.busbw();
  const auto efficiency = priced.efficiency();
  return {
      group_name(across, rate.group),
      torch::class_name(rate.kind),
      rate.bytes ? core::format_bytes(core::Bytes::of(*rate.bytes)) : "-",
      std::to_string(rate.ranks),
      std::to_string(rate.count),
      (rate.includes_waiting ? "<= " : "") + text(rate.median),
      busbw ? (rate.includes_waiting ? ">= " : "") + core::format_number(busbw->in_GBps()) : "-",
      priced.predicted ? core::format_duration(*priced.predicted) : "-",
      efficiency ? core::format_percent(*efficiency, 2) : "-",
      priced.ledger_side()};
}

// By total time; `most` rows.
Table rate_table(const AcrossView& view, std::size_t most) {
  Table table{{{"group", Align::kLeft, 6},
               {"collective", Align::kLeft},
               {"size"},
               {"ranks", Align::kRight, 5},
               {"calls"},
               {"transfer"},
               {"busbw GB/s"},
               {"predicted", Align::kRight, 8},
               {"reached", Align::kRight, 7},
               {"ledger", Align::kLeft, 6}},
              {}};
  std::vector<const diagnose::PricedRate*> rates;
  for (const auto& priced : view.judged.rates) rates.push_back(&priced);
  std::stable_sort(rates.begin(), rates.end(), [](const auto* one, const auto* other) {
    return one->rate.total > other->rate.total;
  });
  for (std::size_t i = 0; i < std::min(most, rates.size()); ++i)
    table.rows.push_back(rate_row(view.across, *rates[i]));
  return table;
}

std::string rate_note(const AcrossView& view) {
  const auto& rates = view.judged.rates;
  const auto priced = std::find_if(rates.begin(), rates.end(),
                                   [](const auto& one) { return one.predicted.has_value(); });
  std::string note = view.across.job.ranks.size() > 1
                         ? "Transfer is the median over calls of the shortest kernel of a "
                           "collective: waiting is not in it."
                         : "One rank shows no waiting: its kernels hold it, bandwidths are lower "
                           "bounds.";
  if (priced != rates.end())
    note += fmt::format(" Predicted by {}.", diagnose::rate_basis_name(priced->basis));
  if (priced != rates.end() && priced->basis == diagnose::RateBasis::kFit)
    note += " It shows outliers, not whether all are slow: name the machine with --machine.";
  return note;
}

Table backend_table(const AcrossView& view) {
  Table table{{{"carried by", Align::kLeft},
               {"collective", Align::kLeft},
               {"how", Align::kLeft, 7},
               {"calls"},
               {"least"},
               {"median"},
               {"95 %", Align::kRight, 8},
               {"most"}},
              {}};
  for (std::size_t i = 0; i < std::min(kShownRates, view.backends.size()); ++i) {
    const torch::BackendUse& use = view.backends[i];
    std::string how = use.kernel.algorithm;
    if (!use.kernel.protocol.empty()) how += (how.empty() ? "" : " ") + use.kernel.protocol;
    table.rows.push_back({torch::backend_name(use.kernel.backend),
                          torch::class_name(use.kernel.kind), how.empty() ? "-" : how,
                          std::to_string(use.count), text(use.least), text(use.median),
                          text(use.p95), text(use.most)});
  }
  return table;
}

// What one call instead of many would save, of the calls that cost most.
std::string merge_note(const AcrossView& view) {
  std::optional<diagnose::MergeSaving> most;
  const diagnose::PricedRate* of_rate = nullptr;
  for (const auto& priced : view.judged.rates) {
    const auto saving = diagnose::merge_saving_per_step(view.across, priced);
    if (!saving || (most && saving->saved <= most->saved)) continue;
    most = saving;
    of_rate = &priced;
  }
  if (!most) return "";
  return fmt::format(
      " {} calls of {} a step carry {}: as {} they would save {} ({} of steps each, by {}).",
      most->calls, core::format_bytes(core::Bytes::of(*of_rate->rate.bytes)),
      core::format_bytes(most->bytes), most->merged, core::format_duration(most->saved),
      core::format_duration(most->latency),
      most->basis == diagnose::RateBasis::kNone ? "the fastest of them"
                                                : diagnose::rate_basis_name(most->basis));
}

void add_backends(const AcrossView& view, std::vector<Block>& blocks) {
  if (view.backends.empty()) return;
  blocks.emplace_back(Heading{"Kernels that communicate"});
  blocks.emplace_back(backend_table(view));
}

// Where others than NCCL communicate, which of them does is the question.
bool shows_backends(const AcrossView& view) {
  return std::any_of(view.backends.begin(), view.backends.end(), [](const torch::BackendUse& use) {
    return use.kernel.backend != torch::CommBackend::kNccl;
  });
}

// The longest waits of single collectives, above 1 % of a step where `only_large`.
std::vector<std::string> longest_waits(const AcrossRanks& across, bool only_large) {
  std::int64_t span = 0;
  for (const auto& activity : across.activities) span = std::max(span, activity.span());
  const auto steps = std::max<std::size_t>(1, across.waits.steps.size());
  const double least = only_large ? kWaitThatMatters * static_cast<double>(span) *
                                        static_cast<double>(across.job.ranks.size()) /
                                        static_cast<double>(steps)
                                  : 0;
  std::vector<std::size_t> waits;
  for (std::size_t i = 0; i < across.waits.meetings.size(); ++i)
    if (const auto& times = across.waits.meetings[i];
        times.counts() && !times.together && static_cast<double>(times.wait) > least)
      waits.push_back(i);
  std::stable_sort(waits.begin(), waits.end(), [&](std::size_t one, std::size_t other) {
    return across.waits.meetings[one].wait > across.waits.meetings[other].wait;
  });
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(kShownWaits, waits.size()); ++i)
    lines.push_back(diagnose::meeting_line(across, waits[i]));
  return lines;
}

void add_longest_waits(const AcrossRanks& across, bool only_large, std::vector<Block>& blocks) {
  core::KeyValues rows;
  for (const std::string& line : longest_waits(across, only_large))
    rows.rows.emplace_back(std::to_string(rows.rows.size() + 1), line);
  if (rows.rows.empty()) return;
  blocks.emplace_back(Heading{"Longest waits"});
  blocks.emplace_back(std::move(rows));
}

Table clock_table(const AcrossRanks& across) {
  Table table{{{"rank"}, {"against rank"}, {"offset"}, {"+-"}, {"residual"}, {"collectives"}}, {}};
  for (const torch::ClockOffset& clock : across.matching.clocks)
    if (clock.meetings > 0)
      table.rows.push_back({std::to_string(across.rank_number(clock.rank)),
                            std::to_string(across.rank_number(clock.reference)), text(clock.offset),
                            text(clock.error), text(clock.residual),
                            std::to_string(clock.meetings)});
  return table;
}

bool clocks_differ(const AcrossRanks& across) {
  return std::any_of(
      across.matching.clocks.begin(), across.matching.clocks.end(),
      [](const torch::ClockOffset& clock) { return std::abs(clock.offset) > kOffsetThatShows; });
}

}  // namespace

std::vector<Block> across_blocks(const AcrossView& view) {
  const AcrossRanks& across = view.across;
  std::vector<Block> blocks;
  if (across.matching.accepted > 0) {
    blocks.emplace_back(Heading{"Waiting and transfer"});
    blocks.emplace_back(Paragraph{waiting_sentence(across)});
    blocks.emplace_back(waiting_table(across));
    if (view.judged.stragglers.empty()) add_longest_waits(across, true, blocks);
  }
  if (!view.judged.rates.empty()) {
    const std::size_t all = view.judged.rates.size();
    blocks.emplace_back(Heading{
        all > kShownRates
            ? fmt::format("Collectives ({} of {} kinds, --explain has all)", kShownRates, all)
            : "Transfer and bandwidth"});
    blocks.emplace_back(rate_table(view, kShownRates));
    blocks.emplace_back(Paragraph{rate_note(view) + merge_note(view)});
  }
  if (shows_backends(view)) add_backends(view, blocks);
  if (across.job.has_clock && clocks_differ(across)) {
    blocks.emplace_back(Heading{"Clocks"});
    blocks.emplace_back(clock_table(across));
  }
  return blocks;
}

std::vector<Block> across_details(const AcrossView& view) {
  const AcrossRanks& across = view.across;
  std::vector<Block> blocks;
  if (view.judged.rates.size() > kShownRates) {
    blocks.emplace_back(Heading{"Transfer and bandwidth of all"});
    blocks.emplace_back(rate_table(view, view.judged.rates.size()));
  }
  add_longest_waits(across, false, blocks);
  if (!shows_backends(view)) add_backends(view, blocks);
  if (across.job.has_clock && across.matching.accepted > 0 && !clocks_differ(across)) {
    blocks.emplace_back(Heading{"Clocks"});
    blocks.emplace_back(clock_table(across));
  }
  return blocks;
}

}  // namespace comm_probe::cli
