#include "cli/trace_rates_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

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
using diagnose::PricedRate;
using torch::AcrossRanks;

constexpr std::size_t kShownRates = 8;

std::string text(std::int64_t ns) {
  return core::format_duration(Duration::from_ns(static_cast<double>(ns)));
}

// The same call in one group, or in all groups of one description.
struct ShownRate {
  std::vector<const PricedRate*> rates = {};  // by median

  const PricedRate* typical() const { return rates[(rates.size() - 1) / 2]; }
  std::size_t calls() const {
    std::size_t sum = 0;
    for (const PricedRate* one : rates) sum += one->rate.count;
    return sum;
  }
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const PricedRate* one : rates) sum += one->rate.total;
    return sum;
  }
};

std::string description_of(const AcrossRanks& across, int group) {
  const torch::CommGroup& one = across.job.groups[static_cast<std::size_t>(group)];
  return one.description == "undefined" ? "" : one.description;
}

// The longest total first.
std::vector<ShownRate> shown_rates(const AcrossView& view, bool join) {
  using Key =
      std::tuple<std::string, int, torch::CollectiveClass, std::optional<std::uint64_t>, int, int>;
  std::map<Key, ShownRate> by_key;
  for (const PricedRate& priced : view.judged.rates) {
    const torch::Rate& rate = priced.rate;
    const std::string description = join ? description_of(view.across, rate.group) : "";
    by_key[{description, description.empty() ? rate.group : -1, rate.kind, rate.bytes, rate.dtype,
            rate.ranks}]
        .rates.push_back(&priced);
  }
  std::vector<ShownRate> all;
  for (auto& [key, shown] : by_key) {
    std::stable_sort(
        shown.rates.begin(), shown.rates.end(),
        [](const auto* one, const auto* other) { return one->rate.median < other->rate.median; });
    all.push_back(std::move(shown));
  }
  std::stable_sort(all.begin(), all.end(), [](const ShownRate& one, const ShownRate& other) {
    return one.total() > other.total();
  });
  return all;
}

std::string group_text(const AcrossRanks& across, const ShownRate& shown) {
  const int group = shown.typical()->rate.group;
  const std::string description = description_of(across, group);
  if (shown.rates.size() > 1) return fmt::format("{}, {} groups", description, shown.rates.size());
  const std::string& name = across.job.groups[static_cast<std::size_t>(group)].name;
  if (name.empty()) return "-";
  return description.empty() ? name : fmt::format("{} {}", name, description);
}

std::vector<std::string> row_of(const AcrossRanks& across, const ShownRate& shown) {
  const diagnose::PricedRate& priced = *shown.typical();
  const torch::Rate& rate = priced.rate;
  const auto busbw = rate.busbw();
  const auto efficiency = priced.efficiency();
  return {
      group_text(across, shown),
      torch::class_name(rate.kind),
      rate.bytes ? core::format_bytes(core::Bytes::of(*rate.bytes)) : "-",
      std::to_string(rate.ranks),
      std::to_string(shown.calls()),
      (rate.includes_waiting ? "<= " : "") + text(rate.median),
      busbw ? (rate.includes_waiting ? ">= " : "") + core::format_number(busbw->in_GBps()) : "-",
      priced.predicted ? core::format_duration(*priced.predicted) : "-",
      efficiency ? core::format_percent(*efficiency, 2) : "-",
      priced.ledger_side()};
}

Table rate_table(const AcrossRanks& across, const std::vector<ShownRate>& rates, std::size_t most) {
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
  for (std::size_t i = 0; i < std::min(most, rates.size()); ++i)
    table.rows.push_back(row_of(across, rates[i]));
  return table;
}

// What a rank alone can say about waiting: calls of one size and kind differ in nothing else.
std::string excess_note(const std::vector<PricedRate>& rates) {
  constexpr std::size_t kLeastCalls = 3;
  std::int64_t all = 0;
  std::int64_t excess = 0;
  for (const PricedRate& priced : rates) {
    if (!priced.rate.bytes || priced.rate.count < kLeastCalls) continue;
    all += priced.rate.total;
    excess += priced.rate.total - priced.rate.best * static_cast<std::int64_t>(priced.rate.count);
  }
  if (excess <= 0) return "";
  return fmt::format(
      " Of {} in repeated calls {} are above the fastest call of the same size: waiting for other "
      "ranks, or links that others use.",
      text(all), text(excess));
}

std::string rate_note(const AcrossView& view) {
  const auto& rates = view.judged.rates;
  const auto priced = std::find_if(rates.begin(), rates.end(),
                                   [](const auto& one) { return one.predicted.has_value(); });
  std::string note = view.across.job.ranks.size() > 1
                         ? "Transfer is the median over calls of the shortest kernel of a "
                           "collective: waiting is not in it."
                         : "One rank shows no waiting: its kernels hold it, bandwidths are lower "
                           "bounds." +
                               excess_note(rates);
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
  // by the traces alone: trace.tiny-collectives says it
  if (!most || most->basis == diagnose::RateBasis::kNone) return "";
  return fmt::format(
      " {} calls of {} a step carry {}: as {}, where none needs the result of another, they would "
      "save {} of communication ({} of steps each, by {}).",
      most->calls, core::format_bytes(core::Bytes::of(*of_rate->rate.bytes)),
      core::format_bytes(most->bytes), most->merged, core::format_duration(most->saved),
      core::format_duration(most->latency), diagnose::rate_basis_name(most->basis));
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

}  // namespace

std::vector<Block> rate_blocks(const AcrossView& view) {
  std::vector<Block> blocks;
  if (const auto rates = shown_rates(view, true); !rates.empty()) {
    blocks.emplace_back(
        Heading{rates.size() > kShownRates
                    ? fmt::format("Transfer and bandwidth ({} of {} kinds, --explain has all)",
                                  kShownRates, rates.size())
                    : "Transfer and bandwidth"});
    blocks.emplace_back(rate_table(view.across, rates, kShownRates));
    blocks.emplace_back(Paragraph{rate_note(view) + merge_note(view)});
  }
  if (shows_backends(view)) add_backends(view, blocks);
  return blocks;
}

std::vector<Block> rate_details(const AcrossView& view) {
  std::vector<Block> blocks;
  const auto all = shown_rates(view, false);
  if (all.size() > std::min(kShownRates, shown_rates(view, true).size())) {
    blocks.emplace_back(Heading{"Transfer and bandwidth of every group"});
    blocks.emplace_back(rate_table(view.across, all, all.size()));
  }
  if (!shows_backends(view)) add_backends(view, blocks);
  return blocks;
}

}  // namespace comm_probe::cli
