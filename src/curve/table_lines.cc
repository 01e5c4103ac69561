// The lines between the rows (the other half of TableReader).
#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "curve/table_reader.h"

namespace comm_probe::curve {
namespace {

constexpr std::size_t kLongestLabel = 120;
constexpr std::size_t kMostMisrunLines = 16;

// "### ALGO=Ring size=268435456" -> "ALGO=Ring": the size stands in the rows.
std::string label_of(std::string_view body, bool& names_setting) {
  names_setting = false;
  Tokens tokens;
  split(body, tokens);
  std::string label;
  for (std::size_t i = 0; i < tokens.size && label.size() < kLongestLabel; ++i) {
    const std::string_view word = tokens.at[i];
    const bool adornment = word.find_first_not_of("#=-*_+") == std::string_view::npos;
    if (adornment || word.starts_with("size=") || word.starts_with("bytes=")) continue;
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos && equals > 0 && equals + 1 < word.size())
      names_setting = true;
    label += (label.empty() ? "" : " ") + std::string(word);
  }
  return label.substr(0, kLongestLabel);
}

bool is_adorned(std::string_view text) {
  return text.starts_with("###") || text.starts_with("===") || text.starts_with("---") ||
         text.starts_with("***");
}

// Lines of nccl-tests that say nothing about the figures.
bool is_known_comment(std::string_view body) {
  static constexpr std::string_view kBeginnings[] = {
      "Using devices",    "out-of-place",       "(B)",           "Collective test concluded",
      "Reducing maxByte", "Blocking Enabled",   "Parallel Init", "Per-Iteration Report",
      "GPU memory usage", "Writing JSON output"};
  return std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                     [body](std::string_view known) { return body.starts_with(known); });
}

std::string times(std::uint64_t count, const char* one, const char* many) {
  return count == 1 ? fmt::format("1 {}", one) : fmt::format("{} {}", count, many);
}

}  // namespace

void TableReader::take_other_line(std::string_view text, const core::Line& line) {
  const Body body = strip_prefix(text);
  if (body.text.empty()) return;
  fragment_ = 0;
  if (is_known_comment(body.text) || take_comment(body.text, text)) return;
  if (body.text.find("NCCL INFO") != std::string_view::npos) {
    if (const auto ranks = read_nranks(body.text); ranks && !said_.nranks) said_.nranks = ranks;
    return;
  }
  if (is_elision(body.text)) {
    if (elisions_++ == 0) first_elision_ = line.number;
    return;
  }
  if (take_failure(text) || take_launch(text) || take_label(body, text)) return;
  Tokens tokens;
  split(body.text, tokens);
  const bool lone_numbers = tokens.size <= 2 && parse_whole(tokens.at[0]) &&
                            (tokens.size == 1 || parse_whole(tokens.at[1]));
  if (lone_numbers && is_open_ && !rows_.empty()) fragment_ = line.number;
  ++reading_.skipped_lines;
}

bool TableReader::take_comment(std::string_view body, std::string_view text) {
  return take_device(body, text) || take_header(body, text) || take_statement(body) ||
         take_footer(body);
}

bool TableReader::take_statement(std::string_view body) {
  if (const auto settings = read_settings(body)) {
    begin(Stage::kSettings);
    curve_.settings = *settings;
    return true;
  }
  if (const auto version = read_tests_version(body)) {
    const bool rccl = body.find("rccl-tests") != std::string_view::npos;
    if (!rccl || !is_open_) begin(Stage::kVersion);
    curve_.tests_version = *version;
    curve_.is_rccl = rccl;
    return true;
  }
  if (const auto version = read_nccl_version(body)) {
    said_.nccl_version = *version;
    if (is_open_) curve_.nccl_version = *version;
    if (is_open_ && body.find("RCCL version") != std::string_view::npos) curve_.is_rccl = true;
    return true;
  }
  constexpr std::string_view kStarting = "Collective test starting: ";
  const std::size_t starting = body.find(kStarting);
  if (starting == std::string_view::npos) return false;
  begin(Stage::kStarting);
  const std::string_view name = trim(body.substr(starting + kStarting.size()));
  curve_.program = name.substr(0, name.find_first_of(" \t"));
  curve_.op_from = KnownFrom::kStated;
  return true;
}

bool TableReader::take_device(std::string_view body, std::string_view text) {
  auto device = read_device(body);
  if (!device) return false;
  if (!is_open_ || stage_ >= Stage::kHeader) begin(Stage::kDevices);
  stage_ = std::max(stage_, Stage::kDevices);
  curve_.last_line = line_;
  // The list begins again: another process believes that it is the first.
  if (!curve_.devices.empty() && curve_.devices.front().rank == device->rank &&
      curve_.misrun.size() < kMostMisrunLines)
    curve_.misrun.push_back(evidence(text));
  curve_.devices.push_back(std::move(*device));
  return true;
}

bool TableReader::take_header(std::string_view body, std::string_view text) {
  if (body.find("algbw") == std::string_view::npos) return false;
  Tokens tokens;
  split(body, tokens);
  const auto layout = read_column_header(tokens);
  if (!layout) return false;
  if (is_open_ && (!rows_.empty() || !curve_.errors.empty())) close();
  begin(Stage::kHeader);
  if (++headers_ == 2) curve_.misrun.push_back(evidence(text));
  curve_.has_header = true;
  layout_ = layout;
  return true;
}

bool TableReader::take_footer(std::string_view body) {
  const std::size_t colon = body.find(" : ");
  if (colon == std::string_view::npos || !is_open_) return false;
  Tokens tokens;
  split(body.substr(colon + 3), tokens);
  if (tokens.size == 0) return false;
  if (body.find("Out of bounds values") != std::string_view::npos) {
    curve_.printed_out_of_bounds = parse_whole(tokens.at[0]);
  } else if (body.find("Avg bus bandwidth") != std::string_view::npos) {
    curve_.printed_avg_busbw_GBps = parse_decimal(tokens.at[0]);
    ++averages_;
  } else {
    return false;
  }
  release_held();
  if (tokens.size > 1 && tokens.at[1] == "FAILED") curve_.printed_failed = true;
  stage_ = Stage::kEnd;
  curve_.last_line = line_;
  return true;
}

bool TableReader::take_launch(std::string_view text) {
  const auto command = read_command(text);
  if (!command) return false;
  if (is_open_ && !rows_.empty()) close();
  said_.program = command->program;
  said_.ranks = command->ranks;
  said_.nodes = command->nodes;
  return true;
}

bool TableReader::take_label(const Body& body, std::string_view text) {
  if (!body.comment && !is_adorned(trim(text))) return false;
  bool names_setting = false;
  const std::string label = label_of(body.text, names_setting);
  if (label.empty()) return true;
  const bool rows_missing = is_open_ && rows_.empty() && !curve_.label.empty();
  if (names_setting && is_open_ && label != curve_.label && (rows_missing || !rows_.empty())) {
    close();
    open();
    curve_.label = label;
    curve_.first_line = curve_.last_line = line_;
    return true;
  }
  label_ = label;
  label_names_setting_ = names_setting;
  return true;
}

void TableReader::add_caveats() {
  auto& caveats = reading_.caveats;
  if (carriage_returns_ > 0)
    caveats.push_back(core::make_caveat(
        "input.line-endings",
        fmt::format("{}: {} with a carriage return (CRLF)", reading_.file,
                    times(carriage_returns_, "line ends", "lines end")),
        "the rows were read, but lines may have been lost or changed on the way"));
  if (cut_rows_ > 0)
    caveats.push_back(
        core::make_caveat("input.truncated",
                          fmt::format("{}:{}: {} cut before its end", reading_.file, first_cut_,
                                      times(cut_rows_, "row is", "rows are")),
                          "the whole rows were read; what the cut ones held is missing"));
  if (elisions_ > 0)
    caveats.push_back(
        core::make_caveat("input.lines-elided",
                          fmt::format("{}:{}: lines were left out ({})", reading_.file,
                                      first_elision_, times(elisions_, "mark", "marks")),
                          "the verdict holds for the rows that remain", false));
  if (contradictions_ > 0)
    caveats.push_back(core::make_caveat(
        "input.row-contradiction",
        fmt::format("{}:{}: in {} size / time is not the printed algbw", reading_.file,
                    first_contradiction_, times(contradictions_, "row", "rows")),
        "the rows were kept as printed; do not trust them"));
  if (refused_ > 0)
    caveats.push_back(core::make_caveat(
        "input.row-refused",
        fmt::format("{}:{}: {} with a figure that no column can have ('{}')", reading_.file,
                    first_refused_, times(refused_, "row", "rows"), refused_word_),
        "left out; the other rows were read"));
  if (without_time_ > 0)
    caveats.push_back(core::make_caveat(
        "input.row-without-time",
        fmt::format("{}:{}: {} with '{}' where a figure should stand", reading_.file,
                    first_without_time_, times(without_time_, "row", "rows"), no_time_word_),
        "that timing is left out; the rest of the row was read"));
  else if (gaps_ > 0)
    caveats.push_back(
        core::make_caveat("input.row-without-time",
                          fmt::format("{}:{}: {} without the time that other rows have",
                                      reading_.file, first_gap_, times(gaps_, "row", "rows")),
                          "these sizes are judged without it"));
}

}  // namespace comm_probe::curve
