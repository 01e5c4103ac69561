#include "curve/row_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "curve/ratios.h"

namespace comm_probe::curve {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

// The numbers after size, count, type and redop. "N/A", "-" and "nan" are absent values.
struct Values {
  std::array<double, Tokens::kMost> at;
  std::array<std::string_view, Tokens::kMost> text;
  std::size_t size = 0;
  const char* end = nullptr;  // behind the last of them
  std::string_view impossible = {};
  std::string_view not_a_number = {};  // "nan", "inf"
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
      if (std::abs(*number) > kLargestFigure) values.impossible = word;
      value = *number;
    } else if (!is_absent(word)) {
      return;
    } else if (word != "N/A" && word != "-") {
      values.not_a_number = word;
    }
    values.at[values.size] = value;
    values.text[values.size++] = word;
    values.end = word.data() + word.size();
  }
}

bool root_possible(const Values& values) {
  return values.size > 0 && parse_small(values.text[0]).has_value();
}

bool half_agrees(const Values& values, std::size_t at, double bytes) {
  if (!(values.at[at] >= 0) || !(values.at[at + 1] >= 0)) return std::isnan(values.at[at]);
  if (bytes == 0) return true;
  return values.at[at] > 0 && algbw_agrees(bytes, values.at[at], values.at[at + 1]);
}

bool is_plausible(const Values& values, const Layout& layout, double bytes) {
  const std::size_t start = layout.has_root ? 1 : 0;
  const auto width = static_cast<std::size_t>(layout.width);
  return half_agrees(values, start, bytes) &&
         (layout.groups == 1 || half_agrees(values, start + width, bytes));
}

// The way to read this many numbers in which algbw = size / time.
std::optional<Layout> guess_layout(const Values& values, double bytes) {
  for (const bool root : {true, false})
    for (const int width : {4, 3})
      for (const int groups : {2, 1}) {
        const auto needed = static_cast<std::size_t>((root ? 1 : 0) + width * groups);
        if (needed != values.size || (root && !root_possible(values))) continue;
        const Layout layout = {
            .has_root = root, .width = width, .groups = groups, .has_last = width == 4};
        if (is_plausible(values, layout, bytes)) return layout;
      }
  return std::nullopt;
}

bool is_largest_error(std::string_view text) {
  return text.find("e-") != std::string_view::npos || text == "0e+00";
}

bool read_timing(Values& values, std::size_t at, const Layout& layout,
                 std::optional<Timing>& timing) {
  for (std::size_t i = at; i < at + 3; ++i) {
    if (std::isnan(values.at[i])) return true;  // not measured: absent
    if (values.at[i] < 0) values.impossible = values.text[i];
  }
  if (!values.impossible.empty()) return false;
  Timing& filled = timing.emplace();
  filled.time = core::Duration::from_us(values.at[at]);
  filled.algbw = core::Bandwidth::from_GBps(values.at[at + 1]);
  filled.busbw = core::Bandwidth::from_GBps(values.at[at + 2]);
  if (!layout.has_last || std::isnan(values.at[at + 3])) return true;
  // a count is whole: a fraction is the time of the next group, because a figure is missing
  const double last = values.at[at + 3];
  const bool is_error = layout.last_is_error || is_largest_error(values.text[at + 3]);
  if (last < 0 || (!is_error && last != std::floor(last))) {
    values.impossible = values.text[at + 3];
    return false;
  }
  if (layout.last_is_error || is_largest_error(values.text[at + 3]))
    filled.largest_error = values.at[at + 3];
  else
    filled.wrong = values.at[at + 3];
  return true;
}

// nccl-tests leaves the out-of-place columns blank where it only measures in place: the first
// figure then stands a group's width (33 columns) to the right.
bool is_in_place_only(const Values& values, const Layout& layout) {
  if (layout.groups != 2 || !layout.has_root) return false;
  const char* root_end = values.text[0].data() + values.text[0].size();
  return values.text[1].data() - root_end > 25;
}

RowReading fill(Values& values, const Layout& layout, Row& row) {
  const std::size_t start = layout.has_root ? 1 : 0;
  const auto width = static_cast<std::size_t>(layout.width);
  if (values.size < start + width) return {RowKind::kHead, false, values.end, {}};
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
  if (!good) return {RowKind::kRefused, false, values.end, values.impossible};
  RowReading reading = {full || row.in_place ? RowKind::kRow : RowKind::kHalfRow, false, values.end,
                        values.not_a_number};
  reading.contradicts_itself = contradicts_itself(row);
  return reading;
}

// The header's layout where the row has its number of columns. A complete row of another layout is
// read by itself; what is left is a row that was cut.
Layout layout_for(const Values& values, const Layout* header, double bytes) {
  if (header != nullptr) {
    const int expected = (header->has_root ? 1 : 0) + header->width * header->groups;
    if (values.size == static_cast<std::size_t>(expected)) return *header;
  }
  if (auto guess = guess_layout(values, bytes)) {
    if (header == nullptr) return *guess;
    guess->last_is_error = header->last_is_error;
    if (guess->groups == 2 && guess->width == 4) return *guess;
  }
  if (header != nullptr) return *header;
  Layout usual = {.has_root = root_possible(values)};
  // A complete row whose algbw is not size / time: read by its number of columns.
  if (values.size == 8 && values.at[0] > 0) usual.has_root = false;
  if (values.size >= 4 && values.at[0] > 0 && half_agrees(values, 0, bytes)) usual.has_root = false;
  return usual;
}

}  // namespace

std::optional<Layout> read_column_header(const Tokens& tokens) {
  std::size_t i = 0;
  while (i + 2 < tokens.size && tokens.at[i] != "size" && !tokens.at[i].ends_with("#size")) ++i;
  if (i + 2 >= tokens.size || tokens.at[i + 1] != "count" || tokens.at[i + 2] != "type")
    return std::nullopt;
  Layout layout = {.has_root = false, .width = 0, .groups = 0, .has_last = false};
  for (i += 3; i < tokens.size; ++i) {
    const std::string_view word = tokens.at[i];
    if (word == "root") layout.has_root = true;
    if (word == "redop") layout.has_redop = true;
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
  const bool may_be_cut = head.count <= head.bytes && may_be_type(tokens.at[next - 1]);
  if (values.size < 3 && !may_be_cut) return {};  // "trees 4 8 channel 1 no such channel"
  row.bytes = core::Bytes::of(head.bytes);
  row.count = head.count;
  row.type = tokens.at[next - 1];
  if (has_redop) row.redop = tokens.at[next];
  if (values.size == 0)
    values.end = tokens.at[tokens.size - 1].data() + tokens.at[tokens.size - 1].size();
  if (values.size < 3) return {RowKind::kHead, false, values.end, {}};
  return fill(values, layout_for(values, layout, row.bytes.count()), row);
}

bool is_numbers_only(const Tokens& tokens) {
  if (tokens.size < 3) return false;
  Values values;
  take_values(tokens, 0, values);
  return values.size == tokens.size;
}

}  // namespace comm_probe::curve
