#include "curve/ratios.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace comm_probe::curve {
namespace {

// Above this no table can tell two numbers of ranks apart, and none was ever printed.
constexpr int kMostRanks = 1 << 20;

// The names nccl-tests, rccl-tests and `comm-probe bench` print.
constexpr std::array<std::pair<std::string_view, int>, 25> kTypes = {{
    {"float", 4},    {"half", 2},  {"double", 8}, {"bfloat16", 2}, {"int8", 1},
    {"uint8", 1},    {"int32", 4}, {"uint32", 4}, {"int64", 8},    {"uint64", 8},
    {"char", 1},     {"int", 4},   {"f8e4m3", 1}, {"f8e5m2", 1},   {"fp8_e4m3", 1},
    {"fp8_e5m2", 1}, {"f32", 4},   {"f64", 8},    {"f16", 2},      {"bf16", 2},
    {"i32", 4},      {"u8", 1},    {"i8", 1},     {"float32", 4},  {"float16", 2},
}};

std::optional<int> bytes_of_type(std::string_view type) {
  for (const auto& [name, bytes] : kTypes)
    if (name == type) return bytes;
  return std::nullopt;
}

constexpr int kMostDecimals = 6;
constexpr std::array<double, kMostDecimals + 1> kPowers = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
// Enough to see how many decimals a column has; all rows of every table but the longest.
constexpr std::size_t kRowsLookedAt = 64;

bool has_more_decimals(double value, int decimals) {
  const double scaled = value * kPowers[static_cast<std::size_t>(decimals)];
  return std::abs(scaled - std::round(scaled)) > 1e-6 * std::max(1.0, scaled);
}

// Digits behind the point that the figures of this column were printed with (2 in a table, 6 in
// JSON).
int decimals_of(const Curve& curve, core::Bandwidth Timing::*column) {
  int decimals = 0;
  for (std::size_t i = 0; i < std::min(curve.rows.size(), kRowsLookedAt); ++i)
    for (const auto* timing : {&curve.rows[i].out_of_place, &curve.rows[i].in_place}) {
      if (!*timing) continue;
      const double value = ((**timing).*column).in_GBps();
      while (decimals < kMostDecimals && has_more_decimals(value, decimals)) ++decimals;
    }
  return decimals;
}

// Half a unit of the last digit, and a little for figures that were cut instead of rounded.
double half_unit(int decimals) { return 0.51 / kPowers[static_cast<std::size_t>(decimals)]; }

void narrow(FactorRange& range, const Timing& timing, double algbw_half, double busbw_half) {
  const double algbw = timing.algbw.in_GBps();
  const double busbw = timing.busbw.in_GBps();
  if (algbw < 20 * algbw_half) return;  // too few digits to bound anything
  range.seen = true;
  range.low = std::max(range.low, (busbw - busbw_half) / (algbw + algbw_half));
  range.high = std::min(range.high, (busbw + busbw_half) / (algbw - algbw_half));
}

}  // namespace

bool may_be_type(std::string_view word) {
  return std::any_of(kTypes.begin(), kTypes.end(),
                     [&](const auto& type) { return type.first.starts_with(word); });
}

FactorRange factor_range(const Curve& curve) {
  const double algbw_half = half_unit(decimals_of(curve, &Timing::algbw));
  const double busbw_half = half_unit(decimals_of(curve, &Timing::busbw));
  FactorRange range;
  for (const Row& row : curve.rows)
    for (const auto* timing : {&row.out_of_place, &row.in_place})
      if (*timing) narrow(range, **timing, algbw_half, busbw_half);
  return range;
}

std::optional<int> bytes_per_count(const Curve& curve) {
  std::optional<int> ratio;
  for (const Row& row : curve.rows) {
    if (row.count == 0 || row.bytes.count() == 0) continue;
    const auto element = bytes_of_type(row.type);
    if (!element) return std::nullopt;
    const double exact = row.bytes.count() / (static_cast<double>(row.count) * *element);
    if (exact < 1 || exact > kMostRanks || exact != std::floor(exact)) return std::nullopt;
    if (ratio && *ratio != static_cast<int>(exact)) return std::nullopt;
    ratio = static_cast<int>(exact);
  }
  return ratio;
}

bool fits(model::Op op, int ranks, const FactorRange& range) {
  if (!range.seen) return true;
  const double factor = model::busbw_factor(op, ranks);
  return factor >= range.low && factor <= range.high;
}

// The factor grows with the number of ranks, so the numbers that fit are neighbours.
std::optional<int> ranks_from_factor(model::Op op, const FactorRange& range) {
  if (!range.is_consistent()) return std::nullopt;
  const double top = model::busbw_factor(op, kMostRanks) > 1.5 ? 2 : 1;
  if (model::busbw_factor(op, 2) == model::busbw_factor(op, 3)) return std::nullopt;
  // factor = top * (n-1)/n, so n = top / (top - factor)
  if (range.low >= top || top - range.low < 1e-9) return std::nullopt;
  const int guess = static_cast<int>(std::min<double>(top / (top - range.low), kMostRanks));
  std::optional<int> found;
  for (int ranks = std::max(1, guess - 1); ranks <= guess + 3; ++ranks) {
    if (!fits(op, ranks, range)) continue;
    if (found) return std::nullopt;
    found = ranks;
  }
  return found;
}

}  // namespace comm_probe::curve
