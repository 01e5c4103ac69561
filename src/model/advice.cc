#include "model/advice.h"

#include <fmt/format.h>

#include "core/units.h"

namespace comm_probe::model {
namespace {

using core::format_duration;

// Another algorithm is worth a line where it saves at least this share of the time.
constexpr double kWorthNaming = 0.05;

// Over nodes a tree over all ranks is priced as if its edges shared all links of a node evenly; the
// edges of one rank meet on its own NIC, and `sim` plays it up to five times longer. No advice.
bool is_priced_well(Algorithm algorithm, bool has_nodes) {
  return !has_nodes || (algorithm != Algorithm::kTree && algorithm != Algorithm::kDoubleTree);
}

// The fastest algorithm that clearly beats this one, with special hardware or without.
const Rejected* faster(const Ledger& ledger, bool on_any_network) {
  const Rejected* best = nullptr;
  for (const Rejected& other : ledger.rejected)
    if (other.needs.empty() == on_any_network && other.time > core::Duration() &&
        other.time < ledger.time() * (1 - kWorthNaming) &&
        is_priced_well(other.algorithm, !ledger.by_place.empty()) &&
        (best == nullptr || other.time < best->time))
      best = &other;
  return best;
}

void add_algorithms(const Ledger& ledger, std::vector<std::string>& lines) {
  const Rejected* any = faster(ledger, true);
  const Rejected* special = faster(ledger, false);
  if (any != nullptr)
    lines.push_back(fmt::format("another algorithm helps: {} would take {}{}",
                                algorithm_name(any->algorithm), format_duration(any->time),
                                any->is_optional ? " (plain traffic of the NVSwitch)" : ""));
  if (special != nullptr && (any == nullptr || special->time < any->time))
    lines.push_back(fmt::format("with other hardware: {} would take {}; it needs {}",
                                algorithm_name(special->algorithm), format_duration(special->time),
                                special->needs));
}

std::string amount(core::Duration saved) {
  return saved > core::Duration() ? format_duration(saved) : "nothing";
}

// "would save 3 ms", or by place: "inside the node (450 GB/s) would save 1.9 ms, between nodes (50
// GB/s) 1.3 ms": whoever buys links buys them for one place.
std::string twice_beta(const Ledger& ledger, core::Duration everywhere) {
  if (ledger.by_place.empty()) return "would save " + amount(everywhere);
  std::string text;
  for (const PlaceSaving& one : ledger.by_place)
    text += fmt::format("{}{} ({}) {}{}", text.empty() ? "" : ", ", one.place,
                        core::format_bandwidth(one.link.beta), text.empty() ? "would save " : "",
                        amount(one.twice_beta));
  return text;
}
std::string half_alpha(const Ledger& ledger, core::Duration everywhere) {
  if (ledger.by_place.empty()) return "would save " + amount(everywhere);
  std::string text;
  for (const PlaceSaving& one : ledger.by_place)
    text += fmt::format("{}{} ({}) {}{}", text.empty() ? "" : ", ", one.place,
                        format_duration(one.link.alpha), text.empty() ? "would save " : "",
                        amount(one.half_alpha));
  return text;
}

const char* everywhere(const Ledger& ledger) {
  return ledger.by_place.empty() ? "" : " everywhere";
}

std::vector<std::string> latency_advice(const Ledger& ledger, const Savings& saved) {
  const std::string total = format_duration(ledger.time());
  std::vector<std::string> lines;
  if (ledger.steps > 1)
    lines.push_back(fmt::format("fewer steps help: {} steps cost {} of {}",
                                core::format_number(ledger.steps),
                                format_duration(ledger.latency()), total));
  lines.insert(
      lines.end(),
      {fmt::format("a smaller alpha helps: half of it {}", half_alpha(ledger, saved.half_alpha)),
       fmt::format(
           "merging calls helps: every further call of this size that joins this one saves {}",
           format_duration(saved.per_merged_call)),
       fmt::format("a faster link does not help: twice the bandwidth{} would save {} of {}",
                   everywhere(ledger), format_duration(saved.twice_beta), total)});
  return lines;
}

std::vector<std::string> bandwidth_advice(const Ledger& ledger, const Savings& saved) {
  const std::string total = format_duration(ledger.time());
  return {fmt::format("fewer bytes help: a data type of half the size would save {} of {}",
                      format_duration(saved.twice_beta), total),
          fmt::format("a faster link helps: twice the bandwidth {}",
                      twice_beta(ledger, saved.twice_beta)),
          fmt::format("{}a smaller alpha {} not help: half the alpha{} would save {} of {}",
                      ledger.steps > 1 ? "fewer steps or " : "", ledger.steps > 1 ? "do" : "does",
                      everywhere(ledger), format_duration(saved.half_alpha), total)};
}

// Close to the knee neither side rules.
std::vector<std::string> balanced_advice(const Ledger& ledger, const Savings& saved) {
  const std::string total = format_duration(ledger.time());
  const char* all = everywhere(ledger);
  std::vector<std::string> lines = {
      fmt::format("both sides count here: half the alpha{}{} would save {} of {}, twice the "
                  "bandwidth{} or half the bytes {}",
                  all, ledger.steps > 1 ? " or half the steps" : "",
                  format_duration(saved.half_alpha), total, all, format_duration(saved.twice_beta)),
      fmt::format("merging calls helps: every further call of this size that joins this one "
                  "saves {}",
                  format_duration(saved.per_merged_call))};
  if (ledger.by_place.empty()) return lines;
  lines.push_back(fmt::format("by place: half the alpha {}; twice the bandwidth {}",
                              half_alpha(ledger, saved.half_alpha),
                              twice_beta(ledger, saved.twice_beta)));
  return lines;
}

// A side that holds less than this share of the time is said not to help.
constexpr double kMinorShare = 0.25;

std::vector<std::string> advice_by_side(const Ledger& ledger) {
  const Savings saved = savings(ledger);
  if (ledger.latency_share() > 1 - kMinorShare) return latency_advice(ledger, saved);
  if (ledger.latency_share() < kMinorShare) return bandwidth_advice(ledger, saved);
  return balanced_advice(ledger, saved);
}

}  // namespace

Savings savings(const Ledger& ledger) {
  return {ledger.latency() * 0.5, ledger.bandwidth() * 0.5, ledger.latency()};
}

std::vector<std::string> advice(const Ledger& ledger) {
  if (ledger.time() <= core::Duration()) return {};
  std::vector<std::string> lines = advice_by_side(ledger);
  add_algorithms(ledger, lines);
  return lines;
}

}  // namespace comm_probe::model
