#include "serving/kv_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace comm_probe::serving {
namespace {

constexpr std::size_t kLongestShown = 220;
constexpr double kMiB = 1048576;
constexpr double kMost = 1e9;    // ms or MiB: beyond it a line is damaged
constexpr double kLeast = 1e-6;  // likewise

std::optional<double> number_behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + mark.size());
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0) || number > kMost) return std::nullopt;
  return number;
}

// "kv_connector='NixlConnector'", also with double quotes or as JSON.
std::string quoted_behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return "";
  text.remove_prefix(at + mark.size());
  const std::size_t begin = text.find_first_not_of("'\"=: ");
  if (begin == std::string_view::npos || begin > 5) return "";
  text.remove_prefix(begin);
  return std::string(text.substr(0, std::min<std::size_t>(text.find_first_of("'\", )}"), 64)));
}

// An interval that does not print its transfers counts as one.
void add_interval(KvTransfers& all, const KvTransfers& one) {
  const auto weight = static_cast<double>(std::max<std::int64_t>(one.count, 1));
  const auto before = static_cast<double>(
      std::max<std::int64_t>(all.count, static_cast<std::int64_t>(all.intervals)));
  const double sum = before + weight;
  all.bytes = (all.bytes * before + one.bytes * weight) / sum;
  all.time = (all.time * before + one.time * weight) / sum;
  all.post = (all.post * before + one.post * weight) / sum;
  all.descriptors = std::llround((static_cast<double>(all.descriptors) * before +
                                  static_cast<double>(one.descriptors) * weight) /
                                 sum);
  all.count += one.count;
  ++all.intervals;
}

}  // namespace

void KvLineReader::add(const core::Line& line) {
  // rare first letters: most lines hold neither
  if (line.text.find("kv_connector") != std::string_view::npos) add_config(line);
  if (line.text.find("KV Transfer metrics") != std::string_view::npos) add_metrics(line);
}

void KvLineReader::add_config(const core::Line& line) {
  std::string connector = quoted_behind(line.text, "kv_connector");
  if (connector.empty() || connector == "None") return;
  ++found_;
  lines_.connector = std::move(connector);
  lines_.buffer = quoted_behind(line.text, "kv_buffer_device");
  lines_.role = quoted_behind(line.text, "kv_role");
  lines_.config_file = file_;
  lines_.config_line = line.number;
  const std::size_t at = line.text.find("kv_connector");
  lines_.config_text = std::string(line.text.substr(at, kLongestShown));
}

void KvLineReader::add_metrics(const core::Line& line) {
  const auto time = number_behind(line.text, "Avg xfer time (ms)=");
  const auto size = number_behind(line.text, "Avg MB per transfer=");
  if (!time || !size || *time < kLeast || *size < kLeast) return;
  ++found_;
  const auto number = [&line](std::string_view mark) {
    return number_behind(line.text, mark).value_or(0);
  };
  const bool is_first = !in_file_;
  if (is_first) lines_.transfers.emplace_back();
  in_file_ = true;
  KvTransfers& all = lines_.transfers.back();
  const KvTransfers one = {static_cast<std::int64_t>(number("Num successful transfers=")),
                           1,
                           core::Bytes::of(*size * kMiB),
                           core::Duration::from_ms(*time),
                           core::Duration::from_ms(number("Avg post time (ms)=")),
                           static_cast<std::int64_t>(number("Avg number of descriptors=")),
                           file_,
                           line.number,
                           std::string(line.text.substr(0, kLongestShown))};
  add_interval(all, one);
  const core::Bandwidth rate = one.bytes / one.time;
  if (!is_first && rate >= slowest_) return;
  slowest_ = rate;
  all.file = one.file;
  all.line = one.line;
  all.text = one.text;
}

}  // namespace comm_probe::serving
