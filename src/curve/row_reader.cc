#include "curve/row_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace comm_probe::curve {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
// Figures outside are not times and rates; inside, sums and ratios of them stay finite.
constexpr double kLargestFigure = 1e15;

// The numbers after size, count, type and redop. "N/A", "-" and "nan" are absent values.
struct Values {
  std::array<double, Tokens::kMost> at;
  std::array<std::string_view, Tokens::kMost> text;
  std::size_t size = 0;
};

// "float", "bfloat16", "fp8_e4m3"; "sum", "none"
bool is_word(std::string_view word) {
  if (!is_letter(word.front()) || word.size() > 15 || word == "nan" || word == "inf") return false;
  return std::all_of(word.begin(), word.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

// The size, behind a prefix that may be stuck to it: "[STAT]:12288", "0:8".
std::optional<std::uint64_t> read_size(std::string_view word) {
  const std::size_t before = word.find_last_not_of("0123456789");
  if (before == std::string_view::npos) return parse_whole(word);
  if (std::string_view(":]>|)").find(word[before]) == std::string_view::npos) return std::nullopt;
  return parse_whole(word.substr(before + 1));
}

// Size, count and type, and where the words behind them begin.
struct Head {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::size_t next = 0;  // 0: there is no such head in the line
};

Head find_head(const Tokens& tokens) {
  for (std::size_t i = 2; i < tokens.size; ++i) {
    if (!is_digit(tokens.at[i - 1].front()) || !is_word(tokens.at[i])) continue;
    const auto count = parse_whole(tokens.at[i - 1]);
    if (!count) continue;
    if (const auto bytes = read_size(tokens.at[i - 2])) return {*bytes, *count, i + 1};
  }
  return {};
}

bool is_absent(std::string_view word) {
  return word == "N/A" || word == "-" || word == "nan" || word == "-nan" || word == "inf" ||
         word == "-inf";
}

// Takes values up to the first word that is none. A rank tag between the halves of a row ("0[0]" or
// "[0]") is passed over.
void take_values(const Tokens& tokens, std::size_t from, Values& values) {
  values.size = 0;
  for (std::size_t i = from; i < tokens.size; ++i) {
    std::string_view word = tokens.at[i];
    if (word.back() == ']' || word.back() == ':') word = word.substr(0, word.find('['));
    if (word.empty()) continue;
    double value = kAbsent;
    if (const auto number = parse_decimal(word)) {
      if (std::abs(*number) > kLargestFigure) return;
      value = *number;
    } else if (!is_absent(word)) {
      return;
    }
    values.at[values.size] = value;
    values.text[values.size++] = word;
  }
}

bool agrees(double bytes, double time_us, double algbw) {
  if (!(time_us > 0) || std::isnan(algbw)) return true;
  const double computed = bytes / time_us / 1e3;
  // Half a unit of the last digit of algbw (0.01 GB/s, or 0.1 where fewer are printed), the same of
  // the time, and 3 %, within which every real table we know agrees with itself.
  const double allowed = 0.0051 + computed * (0.03 + 0.005 / time_us);
  return std::abs(computed - algbw) <= allowed;
}

bool root_possible(const Values& values) {
  return values.size > 0 && parse_small(values.text[0]).has_value();
}

// Every way to read `count` numbers; the first that agrees with algbw = size / time wins.
std::optional<Layout> guess_layout(const Values& values, double bytes) {
  std::optional<Layout> first;
  for (const bool root : {true, false})
    for (const int width : {4, 3})
      for (const int groups : {2, 1}) {
        const auto needed = static_cast<std::size_t>((root ? 1 : 0) + width * groups);
        if (needed != values.size || (root && !root_possible(values))) continue;
        const Layout layout = {root, width, groups, width == 4, false};
        if (!first) first = layout;
        const std::size_t time = root ? 1 : 0;
        if (bytes > 0 && agrees(bytes, values.at[time], values.at[time + 1])) return layout;
      }
  return first;
}

bool is_largest_error(std::string_view text) {
  return text.find("e-") != std::string_view::npos || text == "0e+00";
}

bool read_timing(const Values& values, std::size_t at, const Layout& layout,
                 std::optional<Timing>& timing) {
  for (std::size_t i = at; i < at + 3; ++i) {
    if (std::isnan(values.at[i])) return true;  // not measured: absent
    if (values.at[i] < 0) return false;
  }
  Timing& filled = timing.emplace();
  filled.time = core::Duration::from_us(values.at[at]);
  filled.algbw = core::Bandwidth::from_GBps(values.at[at + 1]);
  filled.busbw = core::Bandwidth::from_GBps(values.at[at + 2]);
  if (!layout.has_last || std::isnan(values.at[at + 3])) return true;
  if (layout.last_is_error || is_largest_error(values.text[at + 3]))
    filled.largest_error = values.at[at + 3];
  else
    filled.wrong = values.at[at + 3];
  return true;
}

bool timing_agrees(const Row& row, const std::optional<Timing>& timing) {
  return !timing || row.bytes.count() == 0 ||
         agrees(row.bytes.count(), timing->time.in_us(), timing->algbw.in_GBps());
}

// nccl-tests leaves the out-of-place columns blank where it only measures in place: the first
// figure then stands a group's width (33 columns) to the right.
bool is_in_place_only(const Values& values, const Layout& layout) {
  if (layout.groups != 2 || !layout.has_root) return false;
  const char* root_end = values.text[0].data() + values.text[0].size();
  return values.text[1].data() - root_end > 25;
}

RowReading fill(const Values& values, const Layout& layout, Row& row) {
  const std::size_t start = layout.has_root ? 1 : 0;
  const auto width = static_cast<std::size_t>(layout.width);
  if (values.size < start + width) return {RowKind::kHead, false};
  if (layout.has_root) row.root = parse_small(values.text[0]);
  const bool full = values.size >= start + width * static_cast<std::size_t>(layout.groups);
  bool good = true;
  if (!full && is_in_place_only(values, layout)) {
    good = read_timing(values, start, layout, row.in_place);
  } else {
    good = read_timing(values, start, layout, row.out_of_place);
    if (full && layout.groups == 2)
      good = read_timing(values, start + width, layout, row.in_place) && good;
  }
  if (!good) return {};
  RowReading reading = {full || row.in_place ? RowKind::kRow : RowKind::kHalfRow, false};
  reading.contradicts_itself =
      !timing_agrees(row, row.out_of_place) || !timing_agrees(row, row.in_place);
  return reading;
}

// The header's layout where the row has its number of columns; a row that has another number is
// read by itself, as long as it is complete.
Layout layout_for(const Values& values, const Layout* header, double bytes) {
  if (header != nullptr) {
    const int expected = (header->has_root ? 1 : 0) + header->width * header->groups;
    if (values.size == static_cast<std::size_t>(expected)) return *header;
  }
  if (header == nullptr || values.size >= 6) {
    std::optional<Layout> guess = guess_layout(values, bytes);
    if (guess && header != nullptr) guess->last_is_error = header->last_is_error;
    if (guess && (header == nullptr || guess->groups == 2)) return *guess;
  }
  if (header != nullptr) return *header;
  Layout newest = {.has_root = root_possible(values)};
  if (values.size >= 4 && !agrees(bytes, values.at[1], values.at[2])) newest.has_root = false;
  return newest;
}

}  // namespace

std::optional<Layout> read_column_header(const Tokens& tokens) {
  std::size_t i = 0;
  while (i + 2 < tokens.size && tokens.at[i] != "size" && !tokens.at[i].ends_with("#size")) ++i;
  if (i + 2 >= tokens.size || tokens.at[i + 1] != "count" || tokens.at[i + 2] != "type")
    return std::nullopt;
  Layout layout = {false, 0, 0, false, false};
  for (i += 3; i < tokens.size; ++i) {
    const std::string_view word = tokens.at[i];
    if (word == "root") layout.has_root = true;
    if (word == "timestamp") break;
    if (word == "time" || word == "cputime") ++layout.groups;
    if (layout.groups == 1 && !word.starts_with("timestamp")) ++layout.width;
    if (word == "#wrong" || word == "wrong" || word == "error") layout.has_last = true;
    if (word == "error") layout.last_is_error = true;
  }
  if (layout.groups < 1 || layout.groups > 2 || layout.width < 3) return std::nullopt;
  return layout;
}

RowReading read_row(const Tokens& tokens, const Layout* layout, Row& row) {
  const Head head = find_head(tokens);
  if (head.next == 0) return {};
  const std::size_t next = head.next;
  const bool has_redop = next < tokens.size && is_word(tokens.at[next]);
  Values values;
  take_values(tokens, has_redop ? next + 1 : next, values);
  if (values.size == 0 && next + 1 < tokens.size) return {};  // prose with two numbers in it
  row.bytes = core::Bytes::of(head.bytes);
  row.count = head.count;
  row.type = tokens.at[next - 1];
  if (has_redop) row.redop = tokens.at[next];
  if (values.size < 3) return {RowKind::kHead, false};
  return fill(values, layout_for(values, layout, row.bytes.count()), row);
}

bool is_numbers_only(const Tokens& tokens) {
  if (tokens.size < 3) return false;
  Values values;
  take_values(tokens, 0, values);
  return values.size == tokens.size;
}

}  // namespace comm_probe::curve
