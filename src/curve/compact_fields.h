// What keeps a row small: a gigabyte of tables is eleven million rows, and they should need no more
// memory than their text (160 bytes a row; with std::string and std::optional<double> it was 224).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace comm_probe::curve {

// A word of at most 15 characters in place: "float", "fp8_e4m3", "sum". What is longer is cut; the
// readers take no longer word for a type.
class Word {
 public:
  static constexpr std::size_t kLongest = 15;

  Word() = default;
  Word(std::string_view text) : size_(static_cast<std::uint8_t>(std::min(text.size(), kLongest))) {
    std::copy_n(text.data(), size_, text_.data());
  }
  Word(const char* text) : Word(std::string_view(text)) {}

  operator std::string_view() const { return {text_.data(), size_}; }
  bool empty() const { return size_ == 0; }
  bool operator==(const Word&) const = default;
  friend bool operator==(const Word& word, std::string_view text) {
    return std::string_view(word) == text;
  }
  friend bool operator==(const Word& word, const char* text) {
    return std::string_view(word) == text;
  }

 private:
  std::array<char, kLongest> text_ = {};
  std::uint8_t size_ = 0;
};

// A number that may be absent; takes no more room than the number.
class OptionalFigure {
 public:
  OptionalFigure() = default;
  OptionalFigure(double value) : value_(value) {}
  OptionalFigure(std::optional<double> value) : value_(value.value_or(kAbsent)) {}

  bool has_value() const { return !std::isnan(value_); }
  explicit operator bool() const { return has_value(); }
  double operator*() const { return value_; }
  double value_or(double other) const { return has_value() ? value_ : other; }
  std::optional<double> to_optional() const {
    return has_value() ? std::optional(value_) : std::nullopt;
  }
  void reset() { value_ = kAbsent; }
  friend bool operator==(OptionalFigure a, double b) { return a.value_ == b; }

 private:
  static constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
  double value_ = kAbsent;
};

}  // namespace comm_probe::curve
