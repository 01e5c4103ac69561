#include "core/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace comm_probe::core {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKiB = 1024.0, kMiB = kKiB * 1024, kGiB = kMiB * 1024, kTiB = kGiB * 1024,
                 kPiB = kTiB * 1024;

constexpr std::array kSizeUnits = {
    Unit{"", 1},       Unit{"B", 1},      Unit{"K", kKiB},   Unit{"M", kMiB},   Unit{"G", kGiB},
    Unit{"T", kTiB},   Unit{"k", kKiB},   Unit{"m", kMiB},   Unit{"g", kGiB},   Unit{"t", kTiB},
    Unit{"KB", 1e3},   Unit{"kB", 1e3},   Unit{"MB", 1e6},   Unit{"GB", 1e9},   Unit{"TB", 1e12},
    Unit{"KiB", kKiB}, Unit{"MiB", kMiB}, Unit{"GiB", kGiB}, Unit{"TiB", kTiB}, Unit{"P", kPiB},
    Unit{"p", kPiB},   Unit{"PB", 1e15},  Unit{"PiB", kPiB},
};
constexpr std::array kTimeUnits = {
    Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"\u00b5s", 1e-6}, Unit{"ms", 1e-3},
    Unit{"s", 1},     Unit{"min", 60},  Unit{"h", 3600},
};
constexpr std::array kRateUnits = {
    Unit{"B", 1},          Unit{"KB", 1e3},       Unit{"MB", 1e6},      Unit{"GB", 1e9},
    Unit{"TB", 1e12},      Unit{"KiB", kKiB},     Unit{"MiB", kMiB},    Unit{"GiB", kGiB},
    Unit{"TiB", kTiB},     Unit{"b", 1.0 / 8},    Unit{"Kb", 1e3 / 8},  Unit{"Mb", 1e6 / 8},
    Unit{"Gb", 1e9 / 8},   Unit{"Tb", 1e12 / 8},  Unit{"bit", 1.0 / 8}, Unit{"Kbit", 1e3 / 8},
    Unit{"Mbit", 1e6 / 8}, Unit{"Gbit", 1e9 / 8},
};

struct Split {
  double number;
  std::string_view unit;
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<Split> split_number(std::string_view text) {
  text = trim(text);
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  // "1e9" is not a fixed number followed by a unit; read it as one number
  const char* stop = end;
  if (error == std::errc() && stop != text.data() + text.size() && (*stop == 'e' || *stop == 'E')) {
    double scientific = 0;
    const auto [end2, error2] = std::from_chars(text.data(), text.data() + text.size(), scientific);
    if (error2 == std::errc()) number = scientific, stop = end2;
  }
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  return Split{number, trim(std::string_view(
                           stop, static_cast<std::size_t>(text.data() + text.size() - stop)))};
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units)
    if (unit.name == name) return &unit;
  return nullptr;
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  constexpr const char* kHint = "expected bytes like 65536, 64K (=64KiB), 64KB or 1GiB";
  const auto split = split_number(text);
  if (!split) return input_error(fmt::format("size '{}' is not a number of bytes", text), kHint);
  const Unit* unit = find_unit(kSizeUnits, split->unit);
  if (unit == nullptr)
    return input_error(fmt::format("size '{}' has the unknown unit '{}'", text, split->unit),
                       kHint);
  const double count = split->number * unit->factor;
  if (std::signbit(split->number))
    return input_error(fmt::format("size '{}' is negative", text), kHint);
  if (count > 9007199254740992.0)
    return input_error(fmt::format("size '{}' is above 8 PiB", text), kHint);
  const double whole = std::round(count);  // 1.1 * 10^9 is not exact in binary
  if (std::abs(count - whole) > 1e-12 * count)
    return input_error(fmt::format("size '{}' is not a whole number of bytes", text), kHint);
  return Bytes::of(whole);
}

Result<Duration> parse_duration(std::string_view text) {
  constexpr const char* kHint = "expected a time like 10us, 3.5ms or 2s";
  const auto split = split_number(text);
  if (!split) return input_error(fmt::format("time '{}' is not a number with a unit", text), kHint);
  const Unit* unit = find_unit(kTimeUnits, split->unit);
  if (unit == nullptr && split->unit.empty())
    return input_error(fmt::format("time '{}' has no unit", text), kHint);
  if (unit == nullptr)
    return input_error(fmt::format("time '{}' has the unknown unit '{}'", text, split->unit),
                       kHint);
  const double seconds = split->number * unit->factor;
  if (std::signbit(split->number))
    return input_error(fmt::format("time '{}' is negative", text), kHint);
  if (seconds > 1e9) return input_error(fmt::format("time '{}' is above 10^9 s", text), kHint);
  if (seconds > 0 && seconds < 1e-15)
    return input_error(fmt::format("time '{}' is below 10^-15 s", text), kHint);
  return Duration::from_seconds(seconds);
}

Result<Bandwidth> parse_bandwidth(std::string_view text) {
  constexpr const char* kHint = "expected a bandwidth like 25GB/s (bytes) or 400Gb/s (bits)";
  const auto split = split_number(text);
  if (!split)
    return input_error(fmt::format("bandwidth '{}' is not a number with a unit", text), kHint);
  std::string_view name = split->unit;
  for (const std::string_view per_second : {"/s", "ps"}) {
    if (name.size() <= per_second.size() || !name.ends_with(per_second)) continue;
    const Unit* unit = find_unit(kRateUnits, name.substr(0, name.size() - per_second.size()));
    if (unit == nullptr) break;
    const double rate = split->number * unit->factor;
    if (!(rate > 0))
      return input_error(fmt::format("bandwidth '{}' is not above zero", text), kHint);
    if (rate < 1) return input_error(fmt::format("bandwidth '{}' is below 1 B/s", text), kHint);
    if (rate > 1e18)
      return input_error(fmt::format("bandwidth '{}' is above 10^18 B/s", text), kHint);
    return Bandwidth::from_bytes_per_second(rate);
  }
  if (name.empty()) return input_error(fmt::format("bandwidth '{}' has no unit", text), kHint);
  return input_error(fmt::format("bandwidth '{}' has the unknown unit '{}'", text, name), kHint);
}

std::string format_number(double value, int digits) {
  if (value == 0) return "0";
  const double magnitude = std::abs(value);
  if (magnitude < 1e-4 || magnitude >= 1e15) return fmt::format("{:.{}g}", value, digits);
  const int before_point = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  const int decimals = std::max(0, digits - before_point);
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string format_percent(double fraction, int digits) {
  return format_number(fraction * 100, digits) + " %";
}

// From here on four digits show the next unit: 999999.999 B is "1 MB", not "1000 KB".
constexpr double kRoundsUp = 0.99995;

std::string format_bytes(Bytes bytes) {
  const double count = bytes.count();
  constexpr std::array binary = {Unit{"PiB", kPiB}, Unit{"TiB", kTiB}, Unit{"GiB", kGiB},
                                 Unit{"MiB", kMiB}, Unit{"KiB", kKiB}};
  for (const Unit& unit : binary)
    if (count >= unit.factor && std::fmod(count, unit.factor) == 0 && count / unit.factor < 1024)
      return fmt::format("{} {}", format_number(count / unit.factor), unit.name);
  constexpr std::array decimal = {Unit{"PB", 1e15}, Unit{"TB", 1e12}, Unit{"GB", 1e9},
                                  Unit{"MB", 1e6}, Unit{"KB", 1e3}};
  for (const Unit& unit : decimal)
    if (count >= unit.factor * kRoundsUp)
      return fmt::format("{} {}", format_number(count / unit.factor), unit.name);
  if (count > 0 && count < 0.5) return "below 1 B";
  return fmt::format("{} B", format_number(count));
}

std::string format_duration(Duration duration) {
  const double seconds = std::abs(duration.in_seconds());
  if (seconds == 0) return "0 us";
  if (seconds >= kRoundsUp) return format_number(duration.in_seconds()) + " s";
  if (seconds >= 1e-3 * kRoundsUp) return format_number(duration.in_ms()) + " ms";
  if (seconds >= 1e-6 * kRoundsUp) return format_number(duration.in_us()) + " us";
  return format_number(duration.in_ns()) + " ns";
}

std::string format_bandwidth(Bandwidth bandwidth) {
  const double rate = bandwidth.in_bytes_per_second();
  if (rate >= 1e12 * kRoundsUp) return format_number(rate / 1e12) + " TB/s";
  if (rate >= 1e9 * kRoundsUp || rate == 0) return format_number(rate / 1e9) + " GB/s";
  if (rate >= 1e6 * kRoundsUp) return format_number(rate / 1e6) + " MB/s";
  if (rate >= 1e3 * kRoundsUp) return format_number(rate / 1e3) + " KB/s";
  return format_number(rate) + " B/s";
}

}  // namespace comm_probe::core
