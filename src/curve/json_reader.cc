#include "curve/json_reader.h"

#include <cmath>

#include "core/finding_table.h"
#include "core/json.h"
#include "curve/identity.h"
#include "curve/readers/link_json.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

using core::Json;

constexpr const char* kExpected =
    "expected the JSON of nccl-tests -J (a list `results`), of perftest --out_json, of nvbandwidth "
    "-j, or of `comm-probe bench --json` (`result.rows`)";
// Beyond these a figure is no time, rate or size; below, ratios and sums stay finite.
constexpr double kLargestFigure = 1e15;
constexpr double kLargestSize = 9007199254740992.0;  // 2^53

const Json& member(const Json& object, const char* key) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

std::optional<double> number_of(const Json& object, const char* key, double most) {
  const Json& value = member(object, key);
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  if (!std::isfinite(number) || number < 0 || number > most) return std::nullopt;
  return number;
}

std::optional<int> integer_of(const Json& object, const char* key) {
  const auto number = number_of(object, key, 1e9);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::string text_of(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

// nccl-tests writes the root as text ("    -1"), comm-probe as a number.
std::optional<int> root_of(const Json& row) {
  const Json& root = member(row, "root");
  if (root.is_string()) return parse_small(trim(root.get_ref<const std::string&>()));
  if (!root.is_number_integer()) return std::nullopt;
  const auto value = root.get<std::int64_t>();
  if (value < -1 || value > 1000000) return std::nullopt;
  return static_cast<int>(value);
}

struct TimingKeys {
  const char *time, *algbw, *busbw, *wrong;
};
constexpr TimingKeys kNcclKeys = {"time", "alg_bw", "bus_bw", "nwrong"};
constexpr TimingKeys kNcclCpuKeys = {"cpu_time", "alg_bw", "bus_bw", "nwrong"};
constexpr TimingKeys kOurKeys = {"time_us", "algbw_GBps", "busbw_GBps", "wrong"};

std::optional<Timing> timing_of(const Json& object, const TimingKeys& keys) {
  const auto time = number_of(object, keys.time, kLargestFigure);
  const auto algbw = number_of(object, keys.algbw, kLargestFigure);
  const auto busbw = number_of(object, keys.busbw, kLargestFigure);
  if (!time || !algbw || !busbw) return std::nullopt;
  Timing timing;
  timing.time = core::Duration::from_us(*time);
  timing.algbw = core::Bandwidth::from_GBps(*algbw);
  timing.busbw = core::Bandwidth::from_GBps(*busbw);
  timing.wrong = number_of(object, keys.wrong, 1e18);
  return timing;
}

std::optional<Row> start_row(const Json& object, const char* size_key) {
  const auto bytes = number_of(object, size_key, kLargestSize);
  if (!bytes) return std::nullopt;
  Row row;
  row.bytes = core::Bytes::of(*bytes);
  row.count = static_cast<std::uint64_t>(number_of(object, "count", kLargestSize).value_or(0));
  row.type = Word(text_of(object, "type"));
  row.redop = Word(text_of(object, "redop"));
  row.root = root_of(object);
  return row;
}

std::optional<Row> nccl_row(const Json& object) {
  auto row = start_row(object, "size");
  if (!row) return std::nullopt;
  const auto half = [](const Json& timing) {
    return timing_of(timing, timing.contains("cpu_time") ? kNcclCpuKeys : kNcclKeys);
  };
  row->out_of_place = half(member(object, "out_of_place"));
  row->in_place = half(member(object, "in_place"));
  if (!row->out_of_place && !row->in_place) return std::nullopt;
  return row;
}

void read_config(const Json& config, Curve& curve) {
  curve.settings.threads = integer_of(config, "nthreads");
  curve.settings.gpus_per_thread = integer_of(config, "ngpus");
  if (const auto bytes = number_of(config, "minimum_bytes", kLargestSize))
    curve.settings.min_bytes = core::Bytes::of(*bytes);
  if (const auto bytes = number_of(config, "maximum_bytes", kLargestSize))
    curve.settings.max_bytes = core::Bytes::of(*bytes);
  curve.settings.warmup = integer_of(config, "warmup_iters");
  curve.settings.iterations = integer_of(config, "iterations");
  if (const auto validation = integer_of(config, "validation"))
    curve.settings.validation = *validation != 0;
  curve.settings.graph = integer_of(config, "graph");
  for (const Json& entry : member(config, "devices")) {
    const auto rank = integer_of(entry, "rank");
    if (!rank) continue;
    curve.devices.push_back({*rank, integer_of(entry, "group"), text_of(entry, "hostname"),
                             integer_of(entry, "device").value_or(0), text_of(entry, "device_hex"),
                             text_of(entry, "device_info")});
  }
}

// 22803 is 2.28.3
std::string version_text(int code) {
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

std::string program_of(const Json& document) {
  const Json& arguments = member(document, "args");
  if (!arguments.is_array() || arguments.empty() || !arguments[0].is_string()) return "";
  const std::string path = arguments[0].get<std::string>();
  return path.substr(path.find_last_of('/') + 1);
}

void read_nccl_document(const Json& document, Reading& reading) {
  Curve curve;
  curve.file = reading.file;
  curve.has_header = true;
  curve.program = program_of(document);
  if (const auto version = integer_of(document, "nccl_version"))
    curve.nccl_version = version_text(*version);
  read_config(member(document, "config"), curve);
  for (const Json& entry : member(document, "results")) {
    if (auto row = nccl_row(entry))
      curve.rows.push_back(std::move(*row));
    else
      ++reading.skipped_lines;
  }
  if (const auto count = number_of(member(document, "out_of_bounds"), "count", kLargestSize)) {
    curve.printed_out_of_bounds = static_cast<std::uint64_t>(*count);
    curve.printed_failed = *count > 0;
  }
  curve.printed_avg_busbw_GBps =
      number_of(member(document, "average_bus_bandwidth"), "bandwidth", kLargestFigure);
  for (const Json& error : member(document, "errors"))
    if (error.is_string() && !error.get_ref<const std::string&>().empty())
      curve.errors.push_back({reading.file, {}, error.get<std::string>().substr(0, 200)});
  identify(curve, {});
  reading.curves.push_back(std::move(curve));
}

// `bench` writes one entry per size and place; both places of a size are one row of a table.
void add_our_row(const Json& entry, Curve& curve, Reading& reading) {
  auto row = start_row(entry, "bytes");
  const auto timing = timing_of(entry, kOurKeys);
  if (!row || !timing) {
    ++reading.skipped_lines;
    return;
  }
  const Json& in_place = member(entry, "in_place");
  const bool is_in_place = in_place.is_boolean() && in_place.get<bool>();
  Row* last = curve.rows.empty() ? nullptr : &curve.rows.back();
  const bool same = last != nullptr && last->bytes == row->bytes &&
                    (is_in_place ? !last->in_place : !last->out_of_place);
  if (!same) last = &curve.rows.emplace_back(std::move(*row));
  (is_in_place ? last->in_place : last->out_of_place) = timing;
}

void read_our_curve(const Json& object, Reading& reading) {
  Curve curve;
  curve.file = reading.file;
  curve.has_header = true;
  curve.label = text_of(object, "label");
  if (curve.label.empty()) curve.label = text_of(object, "algorithm");
  const std::string op = text_of(object, "op");
  curve.program = op;
  for (const Json& entry : member(object, "rows")) add_our_row(entry, curve, reading);
  identify(curve, {.program = op,
                   .ranks = integer_of(object, "ranks"),
                   .nranks = {},
                   .nodes = integer_of(object, "nodes"),
                   .nccl_version = {}});
  reading.curves.push_back(std::move(curve));
}

core::Error refusal(const core::Input& input, std::string message) {
  core::Error error = core::input_error(std::move(message), kExpected);
  error.where.file = input.name();
  return error;
}

}  // namespace

core::Result<Reading> read_json(core::Input& input) {
  const auto text = input.read_all(kLargestJson);
  if (!text) return text.error();
  const Json document = Json::parse(*text, nullptr, false);
  if (document.is_discarded()) return refusal(input, "is not complete JSON");
  Reading reading = {.file = input.name(), .kind = "nccl-tests-json"};
  reading.lines = 1;
  const Json& result = member(document, "result");
  if (read_link_json(document, reading)) return reading;
  if (member(document, "results").is_array()) {
    read_nccl_document(document, reading);
  } else if (member(result, "rows").is_array() || member(result, "curves").is_array()) {
    reading.kind = "comm-probe-json";
    if (member(result, "rows").is_array()) read_our_curve(result, reading);
    for (const Json& curve : member(result, "curves")) read_our_curve(curve, reading);
  } else {
    return refusal(input, "holds JSON without benchmark results");
  }
  if (reading.skipped_lines > 0)
    reading.caveats.push_back(core::make_caveat(
        "input.truncated",
        reading.file + ": " + std::to_string(reading.skipped_lines) + " results have no figures",
        "the other results were read"));
  return reading;
}

}  // namespace comm_probe::curve
