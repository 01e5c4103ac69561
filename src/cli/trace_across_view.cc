#include "cli/trace_across_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cli/trace_rates_view.h"
#include "core/units.h"

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
constexpr std::size_t kShownWaits = 5;
constexpr std::size_t kShownClocks = 8;
constexpr double kWaitThatMatters = 0.01;          // of a step
constexpr std::int64_t kOffsetThatShows = 50'000;  // ns

std::string text(std::int64_t ns) {
  return core::format_duration(Duration::from_ns(static_cast<double>(ns)));
}

std::string percent(std::int64_t part, std::int64_t all) {
  return all > 0 ? core::format_percent(static_cast<double>(part) / static_cast<double>(all), 2)
                 : "-";
}

// All the waiting that is its fault: what it passed on is not, what others passed on to it is.
std::int64_t blamed(const torch::RankWaits& waits) { return waits.blamed + waits.caused_excused; }

// Those who caused most first, where not all are shown.
std::vector<std::size_t> shown_ranks(const AcrossRanks& across) {
  std::vector<std::size_t> ranks(across.waits.ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = i;
  if (ranks.size() <= kShownRanks) return ranks;
  std::stable_sort(ranks.begin(), ranks.end(), [&](std::size_t one, std::size_t other) {
    return blamed(across.waits.ranks[one]) > blamed(across.waits.ranks[other]);
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
    row.push_back(text(blamed(waits)));
    row.push_back(std::to_string(waits.last_in));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string waiting_sentence(const AcrossRanks& across) {
  const torch::RankWaits sum = across.waits.total();
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

// Those furthest from their reference, in the order of the ranks.
Table clock_table(const AcrossRanks& across, std::size_t most) {
  std::vector<const torch::ClockOffset*> clocks;
  for (const torch::ClockOffset& clock : across.matching.clocks)
    if (clock.meetings > 0) clocks.push_back(&clock);
  std::stable_sort(clocks.begin(), clocks.end(), [](const auto* one, const auto* other) {
    return std::abs(one->offset) > std::abs(other->offset);
  });
  clocks.resize(std::min(most, clocks.size()));
  std::sort(clocks.begin(), clocks.end(),
            [](const auto* one, const auto* other) { return one->rank < other->rank; });
  Table table{{{"rank"}, {"against rank"}, {"offset"}, {"+-"}, {"residual"}, {"collectives"}}, {}};
  for (const torch::ClockOffset* clock : clocks)
    table.rows.push_back({std::to_string(across.rank_number(clock->rank)),
                          std::to_string(across.rank_number(clock->reference)), text(clock->offset),
                          text(clock->error), text(clock->residual),
                          std::to_string(clock->meetings)});
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
    const std::size_t ranks = across.job.ranks.size();
    blocks.emplace_back(Heading{
        ranks > kShownRanks ? fmt::format("Waiting and transfer: {} of {} ranks, those that made "
                                          "others wait most",
                                          kShownRanks, ranks)
                            : "Waiting and transfer"});
    blocks.emplace_back(Paragraph{waiting_sentence(across)});
    blocks.emplace_back(waiting_table(across));
    if (view.judged.stragglers.empty()) add_longest_waits(across, true, blocks);
  }
  for (Block& block : rate_blocks(view)) blocks.push_back(std::move(block));
  if (across.job.has_clock && clocks_differ(across)) {
    blocks.emplace_back(Heading{"Clocks"});
    blocks.emplace_back(clock_table(across, kShownClocks));
  }
  return blocks;
}

std::vector<Block> across_details(const AcrossView& view) {
  const AcrossRanks& across = view.across;
  std::vector<Block> blocks;
  add_longest_waits(across, false, blocks);
  for (Block& block : rate_details(view)) blocks.push_back(std::move(block));
  const bool all_shown = clocks_differ(across) && across.job.ranks.size() <= kShownClocks;
  if (across.job.has_clock && across.matching.accepted > 0 && !all_shown) {
    blocks.emplace_back(Heading{"Clocks of all ranks"});
    blocks.emplace_back(clock_table(across, across.job.ranks.size()));
  }
  return blocks;
}

}  // namespace comm_probe::cli
