// LogScan: a position in one message, moved forward by what is expected next. Nothing is copied,
// no expression is compiled: a log has millions of lines.
//
//   LogScan scan("Channel 00/16 : 0 1");
//   scan.skip("Channel ") && scan.number() == 0 && scan.skip("/") && scan.number() == 16
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace comm_probe::nccl {

class LogScan {
 public:
  explicit LogScan(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }
  bool next_is(std::string_view words) const { return rest_.starts_with(words); }

  // False, and no movement, where something else stands there.
  bool skip(std::string_view words) {
    if (!rest_.starts_with(words)) return false;
    rest_.remove_prefix(words.size());
    return true;
  }
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }
  // Behind the next occurrence of `words`; false, and no movement, where there is none.
  bool behind(std::string_view words) {
    const std::size_t at = rest_.find(words);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + words.size());
    return true;
  }
  // What stands before the next `mark`, which is passed over; everything where there is none.
  std::string_view until(char mark) {
    const std::size_t at = rest_.find(mark);
    const std::string_view text = rest_.substr(0, at);
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + 1);
    return text;
  }
  // Up to the next blank, which stays.
  std::string_view word() {
    const std::string_view text = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(text.size());
    return text;
  }

  std::optional<std::int64_t> number() { return take<std::int64_t>(10); }
  std::optional<std::uint64_t> hex() {
    skip("0x");
    return take<std::uint64_t>(16);
  }
  std::optional<double> real() {
    double value = 0;
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, std::chars_format::fixed);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  // A number that an int holds.
  std::optional<int> small() { return take<int>(10); }
  // ... and after `words`, from here on: small_after("rank ") of "comm 0x1 rank 3" is 3.
  std::optional<int> small_after(std::string_view words) {
    return behind(words) ? small() : std::nullopt;
  }
  std::optional<std::uint64_t> hex_after(std::string_view words) {
    return behind(words) ? hex() : std::nullopt;
  }

 private:
  template <class Number>
  std::optional<Number> take(int base) {
    Number value = 0;
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  std::string_view rest_;
};

}  // namespace comm_probe::nccl
