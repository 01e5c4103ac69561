#include "serving/kv_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "serving/readers/line_words.h"

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

// "tcp,cuda_copy": a list that names tcp and nothing that is RDMA; "^tcp" leaves one out.
bool is_tcp_only(std::string_view value) {
  while (!value.empty() && (value.front() == '\'' || value.front() == '"')) value.remove_prefix(1);
  value = value.substr(0, value.find_first_of(" \t'\";)}"));
  bool has_tcp = false;
  while (!value.empty()) {
    const std::string_view word = value.substr(0, value.find(','));
    value.remove_prefix(std::min(value.size(), word.size() + 1));
    for (const std::string_view rdma : {"rc", "dc", "ud", "ib", "all", "^", "srd", "efa", "rdma"})
      if (word.starts_with(rdma)) return false;
    has_tcp = has_tcp || word == "tcp";
  }
  return has_tcp;
}

// What stands in front of "UCX_TLS=": nothing, another setting, export, the prefix of a log.
bool is_setting(std::string_view before) {
  while (!before.empty() && (before.back() == ' ' || before.back() == '\t'))
    before.remove_suffix(1);
  if (before.empty() || before.ends_with(':') || before.ends_with(']')) return true;
  const std::string_view word = before.substr(before.find_last_of(" \t") + 1);
  return word == "export" || word == "env" || word == "-x" || word == "-e" ||
         word.find('=') != std::string_view::npos;
}

bool names_this_host(std::string_view text) {
  return text.find("127.0.0.1") != std::string_view::npos ||
         text.find("localhost") != std::string_view::npos;
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

void KvLineReader::note(const core::Line& line, std::size_t at,
                        std::optional<core::Evidence>& place) {
  if (is_quoted(line.text, at)) return;
  ++found_;
  if (!place) place = line_evidence(file_, line, at);
}

void KvLineReader::add_ucx(const core::Line& line) {
  const std::string_view text = line.text;
  if (const auto at = text.find("UCX_TLS="); at != std::string_view::npos)
    if (is_setting(text.substr(0, at)) && is_tcp_only(text.substr(at + 8)))
      note(line, at, lines_.tcp_only);
  if (const auto at = text.find("cuda-ipc get zcopy disabled"); at != std::string_view::npos)
    note(line, at, lines_.no_nvlink);
}

void KvLineReader::add(const core::Line& line) {
  // rare first letters: most lines hold neither
  if (line.text.find("kv_connector") != std::string_view::npos) add_config(line);
  if (line.text.find("disaggregation_transfer_backend") != std::string_view::npos)
    add_disaggregation(line);
  if (line.text.find("KV Transfer metrics") != std::string_view::npos) add_metrics(line);
  if (line.text.find("UCX_TLS=") != std::string_view::npos ||
      line.text.find("cuda-ipc get") != std::string_view::npos)
    add_ucx(line);
  if (const auto at = line.text.find("NIXL handshake failed"); at != std::string_view::npos)
    if (names_this_host(line.text.substr(at))) note(line, at, lines_.local_handshake);
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

// SGLang names the backend also where it does not disaggregate.
void KvLineReader::add_disaggregation(const core::Line& line) {
  const std::string mode = quoted_behind(line.text, "disaggregation_mode");
  std::string backend = quoted_behind(line.text, "disaggregation_transfer_backend");
  if ((mode != "prefill" && mode != "decode") || backend.empty()) return;
  ++found_;
  lines_.connector = std::move(backend);
  lines_.config_file = file_;
  lines_.config_line = line.number;
  lines_.config_text = std::string(
      line.text.substr(line.text.find("disaggregation_transfer_backend"), kLongestShown));
}

void KvLineReader::add_metrics(const core::Line& line) {
  const auto time = number_behind(line.text, "Avg xfer time (ms)=");
  const auto size = number_behind(line.text, "Avg MB per transfer=");
  if (!time || !size || *time < kLeast || *size < kLeast) return;
  // posting is part of the transfer
  if (number_behind(line.text, "Avg post time (ms)=").value_or(0) > *time) return;
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
