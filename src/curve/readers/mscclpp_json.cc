#include "curve/readers/mscclpp_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/finding_table.h"
#include "core/json.h"
#include "curve/identity.h"

namespace comm_probe::curve {
namespace {

using core::Json;

constexpr double kLargestFigure = 1e15, kLargestSize = 9007199254740992.0, kMostRanks = 1e6;

std::optional<double> number_of(const Json& object, const char* key, double most) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double number = found->get<double>();
  if (!std::isfinite(number) || number < 0 || number > most) return std::nullopt;
  return number;
}

struct Measured {
  std::string name = {};
  int kernel = -1;
  int ranks = 0;
  int ranks_per_node = 0;  // 0: not said
  Row row = {};
};

std::optional<Measured> measured_of(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  const auto size = number_of(object, "size", kLargestSize);
  const auto time = number_of(object, "time", kLargestFigure);
  const auto algbw = number_of(object, "algBw", kLargestFigure);
  const auto busbw = number_of(object, "busBw", kLargestFigure);
  const auto ranks = number_of(object, "ranks", kMostRanks);
  const auto name = object.find("name");
  if (!size || !time || !algbw || !busbw || !ranks || name == object.end() || !name->is_string())
    return std::nullopt;
  Measured measured;
  measured.name = name->get<std::string>().substr(0, 64);
  measured.kernel = static_cast<int>(number_of(object, "kernel", kMostRanks).value_or(-1));
  measured.ranks = static_cast<int>(*ranks);
  measured.ranks_per_node =
      static_cast<int>(number_of(object, "ranksPerNode", kMostRanks).value_or(0));
  measured.row.bytes = core::Bytes::of(*size);
  measured.row.out_of_place =
      Timing{core::Duration::from_us(*time), core::Bandwidth::from_GBps(*algbw),
             core::Bandwidth::from_GBps(*busbw)};
  return measured;
}

Curve& curve_of(const Measured& measured, std::uint64_t line,
                std::map<std::tuple<std::string, int, int>, std::size_t>& places,
                Reading& reading) {
  const auto [place, is_new] = places.emplace(
      std::tuple(measured.name, measured.kernel, measured.ranks), reading.curves.size());
  if (!is_new) return reading.curves[place->second];
  Curve curve;
  curve.file = reading.file;
  curve.has_header = true;
  curve.first_line = line;
  if (measured.kernel >= 0) curve.label = "kernel=" + std::to_string(measured.kernel);
  Said said{.program = measured.name, .ranks = measured.ranks};
  if (measured.ranks_per_node > 0 && measured.ranks % measured.ranks_per_node == 0)
    said.nodes = measured.ranks / measured.ranks_per_node;
  curve.program = measured.name;
  identify(curve, said);
  reading.curves.push_back(std::move(curve));
  return reading.curves.back();
}

void sort_rows(Reading& reading) {
  for (Curve& curve : reading.curves)
    std::stable_sort(curve.rows.begin(), curve.rows.end(),
                     [](const Row& one, const Row& other) { return one.bytes < other.bytes; });
}

}  // namespace

bool looks_like_mscclpp(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  return line.find("\"algBw\"") != line.npos && line.find("\"busBw\"") != line.npos;
}

core::Result<Reading> read_mscclpp(core::Input& input) {
  Reading reading = {.file = input.name(), .kind = "mscclpp-jsonl"};
  std::map<std::tuple<std::string, int, int>, std::size_t> places;
  core::LineReader lines(input);
  for (core::Line line; lines.next(line);) {
    ++reading.lines;
    if (line.text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto measured = measured_of(line.text);
    if (!measured) {
      ++reading.skipped_lines;
      continue;
    }
    measured->row.line = line.number;
    Curve& curve = curve_of(*measured, line.number, places, reading);
    curve.last_line = line.number;
    curve.rows.push_back(std::move(measured->row));
  }
  if (reading.curves.empty()) {
    core::Error error = lines.error()
                            ? *lines.error()
                            : core::input_error("holds no line of MSCCL++'s tests with its figures",
                                                "expected {\"name\":\"allreduce\", \"ranks\":8, "
                                                "\"algBw\":..., \"busBw\":..., \"size\":..., "
                                                "\"time\":...}");
    error.where.file = input.name();
    return error;
  }
  sort_rows(reading);
  if (reading.skipped_lines > 0 || lines.error())
    reading.caveats.push_back(core::make_caveat(
        "input.truncated",
        lines.error() ? lines.error()->one_line()
                      : reading.file + ": " + std::to_string(reading.skipped_lines) +
                            " lines have no figures",
        "the other lines were read"));
  return reading;
}

}  // namespace comm_probe::curve
