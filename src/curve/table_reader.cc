#include "curve/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/finding_table.h"
#include "curve/analysis.h"
#include "curve/mixed_tables.h"

namespace comm_probe::curve {
namespace {

constexpr std::size_t kMostErrors = 16;
constexpr std::size_t kLongestQuote = 200;
// A row is some hundred characters, however many lines it stands on.
constexpr std::size_t kLongestRow = 4096;
// Every cycle of a run repeats its list of devices; past this many the list is left out, so that a
// small text cannot fill the memory.
constexpr std::size_t kMostCopiedDevices = 200'000;

bool is_odd_byte(char c) { return static_cast<unsigned char>(c) >= 0x80 || c == '\x1b'; }

bool has_odd_bytes(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_odd_byte);
}

}  // namespace

TableReader::TableReader(std::string file) {
  reading_.file = std::move(file);
  reading_.kind = "nccl-tests";
}

core::Evidence TableReader::evidence(std::string_view text) const {
  return {reading_.file, line_, std::string(trim(text).substr(0, kLongestQuote))};
}

bool TableReader::feed(const core::Line& line) {
  line_ = line.number;
  ++reading_.lines;
  if (line.carriage_return) ++carriage_returns_;
  const std::size_t first = line.text.find_first_not_of(" \t");
  const bool comment = first == std::string_view::npos || line.text[first] == '#';
  if (!comment && take_row_line(line.text, line)) return true;
  const std::string_view text = plain_text(line.text, plain_);
  if (!held_.empty() && continue_held(text, line)) return true;
  take_other_line(text, line);
  return false;
}

// The fast path first; then the line as it is; then without what an editor or a terminal put in.
RowReading TableReader::read_any_row(std::string_view& text, Row& row) {
  if (layout_ && held_.empty()) {
    const RowReading plain = read_plain_row(text, *layout_, row);
    if (plain.kind == RowKind::kRow) return plain;
  }
  Tokens tokens;
  split(text, tokens);
  const Layout* layout = layout_ ? &*layout_ : nullptr;
  const RowReading reading = read_row(tokens, layout, row);
  if (reading.kind == RowKind::kRow || !has_odd_bytes(text)) return reading;
  text = plain_text(text, plain_);
  split(text, tokens);
  row = {};
  return read_row(tokens, layout, row);
}

bool TableReader::take_row_line(std::string_view text, const core::Line& line) {
  Row row;
  const RowReading reading = read_any_row(text, row);
  if (reading.kind == RowKind::kNotARow) return false;
  release_held();
  fragment_ = 0;
  row.line = line.number;
  if (reading.kind == RowKind::kRefused) {
    refuse(reading, line.number);
    return true;
  }
  if (reading.kind == RowKind::kRow) {
    accept(reading, std::move(row));
    return true;
  }
  held_row_ = std::move(row);
  held_reading_ = reading;
  hold(text.substr(0, static_cast<std::size_t>(reading.end - text.data())), line);
  return true;
}

void TableReader::hold(std::string_view text, const core::Line& line) {
  held_ = text;
  held_line_ = line;
  held_line_.text = {};
}

// The figures of a row are printed when they are measured, so that another process's line may end
// the line in between.
bool TableReader::continue_held(std::string_view text, const core::Line& line) {
  const Body body = strip_prefix(text);
  Tokens tokens;
  split(body.text, tokens);
  if (!is_numbers_only(tokens) || held_.size() > kLongestRow) return false;
  const std::string joined = held_ + " " + std::string(body.text);
  split(joined, tokens);
  Row row;
  const RowReading reading = read_row(tokens, layout_ ? &*layout_ : nullptr, row);
  row.line = held_line_.number;
  if (reading.kind == RowKind::kRow) {
    held_.clear();
    accept(reading, std::move(row));
  } else if (reading.kind == RowKind::kRefused) {
    held_.clear();
    refuse(reading, row.line);
  } else {
    held_row_ = std::move(row);
    held_reading_ = reading;
    hold(joined, line);
    held_line_.number = held_row_.line;
  }
  return true;
}

// Nothing more of the held row came: its out-of-place half counts where it is complete.
void TableReader::release_held() {
  if (held_.empty()) return;
  held_.clear();
  if (cut_rows_++ == 0) first_cut_ = held_line_.number;
  if (held_reading_.kind != RowKind::kHalfRow) return;
  if (!held_line_.ended && held_row_.out_of_place) held_row_.out_of_place->wrong.reset();
  accept(held_reading_, std::move(held_row_));
}

void TableReader::refuse(const RowReading& reading, std::uint64_t line) {
  if (refused_++ > 0) return;
  first_refused_ = line;
  refused_word_ = reading.odd_word;
}

// A time of 0.00 at a size above 0 is none: the clock was too coarse, or the text was edited.
std::string_view TableReader::odd_word_of(const RowReading& reading, const Row& row) {
  if (!reading.odd_word.empty() || row.bytes.count() <= 0) return reading.odd_word;
  for (const auto* timing : {&row.out_of_place, &row.in_place})
    if (*timing && !is_usable(**timing)) return (*timing)->time.in_us() > 1 ? "1e15" : "0";
  return {};
}

void TableReader::accept(RowReading reading, Row&& row) {
  const std::string_view odd = odd_word_of(reading, row);
  if (!odd.empty() && without_time_++ == 0) {
    first_without_time_ = row.line;
    no_time_word_ = odd;
  }
  if (reading.contradicts_itself && contradictions_++ == 0) first_contradiction_ = row.line;
  place_row(std::move(row));
}

void TableReader::place_row(Row&& row) {
  open_for_row(row);
  if (stage_ == Stage::kEnd) rows_after_end_ = true;
  stage_ = Stage::kRows;
  if (curve_.first_line == 0) curve_.first_line = row.line;
  curve_.last_line = std::max(curve_.last_line, row.line);
  rows_.push_back(std::move(row));
}

// A row continues the curve that is open, except where a separator stands before it, or where its
// size falls back (the next cycle of -N, the next paste).
void TableReader::open_for_row(const Row& row) {
  if (!is_open_) {
    open();
    curve_.label = std::exchange(label_, {});
    return;
  }
  if (rows_.empty()) return;
  const bool mixed = !curve_.misrun.empty() || headers_ > 1;
  const bool falls_back = row.bytes < rows_.back().bytes;
  if (!label_.empty() && (label_names_setting_ ? label_ != curve_.label : falls_back)) {
    close();
    open();
    curve_.label = std::exchange(label_, {});
  } else if (falls_back && !mixed) {
    fork();
  }
  label_.clear();
}

void TableReader::begin(Stage stage) {
  const bool again = stage_ == stage && stage != Stage::kHeader;
  if (is_open_ && (stage_ > stage || again)) {
    const bool twin = rows_.empty() && curve_.devices.empty() && headers_ == 0;
    if (!twin) close();
  }
  if (!is_open_) {
    open();
    curve_.label = std::exchange(label_, {});
  }
  if (curve_.first_line == 0) curve_.first_line = line_;
  curve_.last_line = line_;
  stage_ = std::max(stage_, stage);
}

void TableReader::open() {
  is_open_ = true;
  curve_ = {};
  curve_.file = reading_.file;
  curve_.nccl_version = said_.nccl_version;
  stage_ = Stage::kNothing;
  headers_ = 0;
  averages_ = 0;
  rows_after_end_ = false;
}

// The same run goes on in a new curve.
void TableReader::fork() {
  copied_devices_ += curve_.devices.size();
  Curve next = curve_;
  if (copied_devices_ > kMostCopiedDevices) next.devices.clear();
  next.first_line = 0;
  next.last_line = 0;
  next.printed_avg_busbw_GBps.reset();
  next.printed_out_of_bounds.reset();
  next.printed_failed = false;
  next.errors.clear();
  const Stage stage = stage_ == Stage::kEnd ? Stage::kHeader : stage_;
  close();
  open();
  curve_ = std::move(next);
  stage_ = stage;
}

void TableReader::close() {
  if (!is_open_) return;
  is_open_ = false;
  curve_.rows.assign(std::make_move_iterator(rows_.begin()), std::make_move_iterator(rows_.end()));
  rows_.clear();
  note_gaps();
  if (averages_ != 1) curve_.printed_avg_busbw_GBps.reset();
  const bool suspect = rows_after_end_ || headers_ > 1 || !curve_.misrun.empty();
  const bool twin_before =
      !reading_.curves.empty() && is_empty_twin(reading_.curves.back(), curve_);
  if ((suspect || twin_before) && has_repeated_sizes(curve_.rows)) {
    if (twin_before) adopt_twin();
    for (Curve& run : separate(std::move(curve_))) keep(std::move(run));
  } else {
    keep(std::move(curve_));
  }
  said_.nranks.reset();  // NCCL's own lines speak of one run
}

// A column that most rows fill and some leave open ("-", "N/A"); open in every row it was not asked
// for.
void TableReader::note_gaps() {
  const auto has_time = [](const Row& row) { return row.out_of_place.has_value(); };
  if (std::none_of(curve_.rows.begin(), curve_.rows.end(), has_time)) return;
  for (const Row& row : curve_.rows)
    if (!has_time(row) && gaps_++ == 0) first_gap_ = row.line;
}

void TableReader::keep(Curve&& curve) {
  const bool says_something = !curve.rows.empty() || curve.has_header || !curve.devices.empty() ||
                              curve.settings.threads || !curve.errors.empty() ||
                              !curve.label.empty();
  if (!says_something) return;
  identify(curve, said_);
  if (curve.ranks && listed_ranks(curve) > *curve.ranks && curve.misrun.empty() &&
      rank_contradictions_++ == 0)
    reading_.caveats.push_back(core::make_caveat(
        "input.rank-contradiction",
        fmt::format("{}:{}: the devices are those of {} ranks, busbw / algbw is that of {}",
                    reading_.file, curve.first_line, listed_ranks(curve), *curve.ranks),
        fmt::format("the rows are judged as {} ranks", *curve.ranks), false));
  if (!reading_.curves.empty()) curve.devices.share_with(reading_.curves.back().devices);
  reading_.curves.push_back(std::move(curve));
}

// Two runs printed their headers one after the other and then their rows line by line: the first
// header stands there without rows.
void TableReader::adopt_twin() {
  Curve& twin = reading_.curves.back();
  curve_.misrun.push_back(
      {reading_.file, twin.first_line, "a second table begins before the first has rows"});
  DeviceList both = std::move(twin.devices);
  for (const Device& device : curve_.devices) both.push_back(device);
  curve_.devices = std::move(both);
  reading_.curves.pop_back();
}

Reading TableReader::finish() {
  release_held();
  if (fragment_ != 0 && cut_rows_++ == 0) first_cut_ = fragment_;
  close();
  if (reading_.curves.empty() && !loose_errors_.empty() && !said_.program.empty()) {
    open();
    curve_.errors = loose_errors_;
    curve_.first_line = curve_.last_line = loose_errors_.front().line.value_or(0);
    close();
  }
  add_caveats();
  return std::move(reading_);
}

bool TableReader::take_failure(std::string_view text) {
  if (!is_failure(text)) return false;
  if (!is_open_ && is_test_failure(text)) open();
  std::vector<core::Evidence>& errors = is_open_ ? curve_.errors : loose_errors_;
  if (errors.size() < kMostErrors) errors.push_back(evidence(text));
  return true;
}

}  // namespace comm_probe::curve
