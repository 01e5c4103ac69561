// The fast path of the row reader: one pass over the characters.
#include <cmath>
#include <limits>

#include "curve/row_reader.h"

namespace comm_probe::curve {
namespace {

// 15 digits stay below 2^53, so that a figure is one exact division.
constexpr int kMostDigits = 15;
constexpr std::array<double, kMostDigits + 1> kPowers = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

class Cursor {
 public:
  explicit Cursor(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  bool whole(std::uint64_t& value) {
    skip_blanks();
    const char* const begin = at_;
    value = digits();
    return length(begin) >= 1 && length(begin) <= kMostDigits && at_word_end();
  }
  bool word(std::string_view& value) {
    skip_blanks();
    const char* const begin = at_;
    while (at_ != end_ && (is_letter(*at_) || is_digit(*at_) || *at_ == '_')) ++at_;
    value = {begin, static_cast<std::size_t>(at_ - begin)};
    return !value.empty() && value.size() <= kMostDigits && is_letter(*begin) && at_word_end();
  }
  bool root(std::optional<int>& value) {
    skip_blanks();
    const bool negative = at_ != end_ && *at_ == '-';
    if (negative) ++at_;
    const char* const begin = at_;
    const auto number = static_cast<int>(digits());
    if (length(begin) < 1 || length(begin) > 6) return false;
    value = negative ? -number : number;
    return at_word_end();
  }
  bool figure(double& value) {
    skip_blanks();
    const char* const begin = at_;
    std::uint64_t mantissa = digits();
    const auto before = length(begin);
    std::ptrdiff_t decimals = 0;
    if (before < 1) return false;
    if (at_ != end_ && *at_ == '.') {
      const char* const point = ++at_;
      while (at_ != end_ && is_digit(*at_))
        mantissa = mantissa * 10 + static_cast<std::uint64_t>(*at_++ - '0');
      decimals = length(point);
    }
    if (before + decimals > kMostDigits) return false;
    value = static_cast<double>(mantissa) / kPowers[static_cast<std::size_t>(decimals)];
    return at_word_end();
  }
  bool absent() {
    skip_blanks();
    if (end_ - at_ < 3 || std::string_view(at_, 3) != "N/A") return false;
    at_ += 3;
    return at_word_end();
  }
  bool done() {
    skip_blanks();
    return at_ == end_;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  void skip_blanks() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }
  bool at_word_end() const { return at_ == end_ || is_blank(*at_); }
  std::uint64_t digits() {
    std::uint64_t value = 0;
    while (at_ != end_ && is_digit(*at_))
      value = value * 10 + static_cast<std::uint64_t>(*at_++ - '0');
    return value;
  }
  std::ptrdiff_t length(const char* begin) const { return at_ - begin; }

  const char* at_;
  const char* end_;
};

bool read_half(Cursor& cursor, const Layout& layout, std::optional<Timing>& half) {
  double time = 0, algbw = 0, busbw = 0, last = 0;
  if (!cursor.figure(time) || !cursor.figure(algbw) || !cursor.figure(busbw)) return false;
  Timing& timing = half.emplace();
  timing.time = core::Duration::from_us(time);
  timing.algbw = core::Bandwidth::from_GBps(algbw);
  timing.busbw = core::Bandwidth::from_GBps(busbw);
  if (!layout.has_last) return true;
  if (cursor.figure(last)) {
    timing.wrong = last;
    return true;
  }
  return cursor.absent();
}

}  // namespace

bool algbw_agrees(double bytes, double time_us, double algbw_GBps) {
  if (!(time_us > 0) || std::isnan(algbw_GBps)) return true;
  const double computed = bytes / time_us / 1e3;
  // Half a unit of the last digit of algbw (0.01 GB/s), the same of the time, and 3 %, within which
  // every real table we know agrees with itself.
  const double allowed = 0.0051 + computed * (0.03 + 0.005 / time_us);
  return std::abs(computed - algbw_GBps) <= allowed;
}

bool contradicts_itself(const Row& row) {
  if (row.bytes.count() == 0) return false;
  for (const auto* half : {&row.out_of_place, &row.in_place})
    if (*half && !algbw_agrees(row.bytes.count(), (*half)->time.in_us(), (*half)->algbw.in_GBps()))
      return true;
  return false;
}

RowReading read_plain_row(std::string_view text, const Layout& layout, Row& row) {
  Cursor cursor(text);
  std::uint64_t bytes = 0, count = 0;
  std::string_view type, redop;
  if (layout.width > 4 || layout.last_is_error || !layout.has_redop) return {};
  if (!cursor.whole(bytes) || !cursor.whole(count) || !cursor.word(type) || !cursor.word(redop) ||
      (layout.has_root && !cursor.root(row.root)) || !read_half(cursor, layout, row.out_of_place) ||
      (layout.groups == 2 && !read_half(cursor, layout, row.in_place)) || !cursor.done()) {
    row = {};
    return {};
  }
  row.bytes = core::Bytes::of(bytes);
  row.count = count;
  row.type = type;
  row.redop = redop;
  return {RowKind::kRow, contradicts_itself(row), text.data() + text.size()};
}

}  // namespace comm_probe::curve
