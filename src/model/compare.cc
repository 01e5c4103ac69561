#include "model/compare.h"

#include <algorithm>

#include "core/check.h"

namespace comm_probe::model {
namespace {

struct Line {
  Method method = {};
  double latency = 0;   // seconds
  double per_byte = 0;  // seconds
};

const core::Bytes kReference = core::Bytes::of(1e9);

Line line_of(const Ledger& reference) {
  return {{reference.algorithm, reference.protocol},
          reference.latency().in_seconds(),
          reference.bandwidth().in_seconds() / kReference.count()};
}

// Where `low`, cheaper at zero bytes, is overtaken by `high`; nothing where it never is.
std::optional<double> crossing(const Line& low, const Line& high) {
  if (low.per_byte <= high.per_byte || low.latency >= high.latency) return std::nullopt;
  return (high.latency - low.latency) / (low.per_byte - high.per_byte);
}

std::vector<Crossover> crossovers(const std::vector<Line>& lines) {
  std::vector<Crossover> all;
  for (const Line& low : lines)
    for (const Line& high : lines)
      if (const auto size = crossing(low, high))
        all.push_back({low.method, high.method, core::Bytes::of(*size)});
  std::stable_sort(all.begin(), all.end(),
                   [](const Crossover& a, const Crossover& b) { return a.size < b.size; });
  return all;
}

const Line& fastest_at_zero(const std::vector<Line>& lines) {
  return *std::min_element(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return a.latency != b.latency ? a.latency < b.latency : a.per_byte < b.per_byte;
  });
}

// The line that takes over first; the flattest of those that take over at the same size.
const Line* next_fastest(const Line& current, const std::vector<Line>& lines) {
  const Line* next = nullptr;
  for (const Line& line : lines) {
    const auto at = crossing(current, line);
    if (!at) continue;
    const auto best = next == nullptr ? std::nullopt : crossing(current, *next);
    if (!best || *at < *best || (*at == *best && line.per_byte < next->per_byte)) next = &line;
  }
  return next;
}

std::vector<Stretch> lower_envelope(const std::vector<Line>& lines) {
  std::vector<Stretch> stretches;
  const Line* current = &fastest_at_zero(lines);
  core::Bytes from;
  while (current != nullptr) {
    const Line* next = next_fastest(*current, lines);
    Stretch stretch{current->method, from, std::nullopt};
    if (next != nullptr) stretch.to = from = core::Bytes::of(*crossing(*current, *next));
    stretches.push_back(stretch);
    current = next;
  }
  return stretches;
}

}  // namespace

core::Result<Comparison> compare(const Collective& collective, const std::vector<Method>& methods,
                                 const Fabric& fabric) {
  COMM_PROBE_CHECK(!methods.empty(), "a comparison of nothing");
  Comparison comparison;
  std::vector<Line> lines;
  for (const Method& method : methods) {
    auto ledger = price(collective, method, fabric);
    if (!ledger) return ledger.error();
    const auto reference = price({collective.op, collective.ranks, kReference}, method, fabric);
    if (!reference) return reference.error();
    lines.push_back(line_of(*reference));
    comparison.ledgers.push_back(std::move(ledger).value());
  }
  comparison.crossovers = crossovers(lines);
  comparison.stretches = lower_envelope(lines);
  return comparison;
}

}  // namespace comm_probe::model
