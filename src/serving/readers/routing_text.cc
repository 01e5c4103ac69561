// Routing as text: one token per line.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "serving/readers/routing_picks.h"

namespace comm_probe::serving {
namespace {

using core::Error;
using core::input_error;

constexpr std::string_view kBetween = " \t,;[]()";

bool is_passed_over(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos || text[first] == '#';
}

// The numbers of a line; fails on a word.
core::Result<bool> numbers_of(std::string_view text, std::vector<double>& numbers) {
  numbers.clear();
  for (std::size_t at = text.find_first_not_of(kBetween); at != std::string_view::npos;
       at = text.find_first_not_of(kBetween, at)) {
    double number = 0;
    const char* begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
    at = static_cast<std::size_t>(end - text.data());
    const bool ends = at == text.size() || kBetween.find(text[at]) != std::string_view::npos;
    if (error != std::errc() || !ends) {
      const std::string_view rest = text.substr(static_cast<std::size_t>(begin - text.data()));
      return input_error(
          fmt::format("'{}' is no number",
                      rest.substr(0, std::min<std::size_t>(rest.find_first_of(kBetween), 24))),
          "expected one token per line, numbers separated by commas");
    }
    numbers.push_back(number);
  }
  return true;
}

class TextRouting {
 public:
  TextRouting(const RoutingShape& shape, std::string name) : picks_(shape, std::move(name)) {}

  core::Result<bool> add(const core::Line& line) {
    if (line.cut) return input_error("a line of more than 1 MiB");
    const auto numbers = numbers_of(line.text, numbers_);
    if (!numbers) {
      if (picks_.tokens() == 0 && !passed_names_) return passed_names_ = true;
      return numbers;
    }
    if ((picks_.tokens() + 1) * picks_.shape().topk > kMostPicks)
      return input_error(fmt::format("more than {} picks", kMostPicks),
                         "give a part of the tokens");
    return add_token();
  }
  core::Result<model::Routing> finish() { return picks_.finish(); }

 private:
  core::Result<bool> add_token() {
    const auto& [topk, experts] = picks_.shape();
    const auto count = static_cast<int>(numbers_.size());
    if (count == experts && count != topk) return picks_.add_logits(numbers_.data());
    if (count != topk)
      return input_error(fmt::format("{} numbers", count),
                         fmt::format("expected {} expert ids or {} logits", topk, experts));
    ids_.clear();
    for (const double number : numbers_) {
      constexpr double kMost = 1e15;
      const bool is_whole = number >= -kMost && number <= kMost && number == std::trunc(number);
      if (!is_whole) return input_error(fmt::format("{} is no expert id", number));
      ids_.push_back(static_cast<std::int64_t>(number));
    }
    return picks_.add_ids(ids_.data());
  }

  RoutingPicks picks_;
  std::vector<double> numbers_ = {};
  std::vector<std::int64_t> ids_ = {};
  bool passed_names_ = false;
};

}  // namespace

core::Result<model::Routing> read_text_routing(core::Input& input, const RoutingShape& shape) {
  TextRouting routing(shape, input.name());
  core::LineReader lines(input);
  core::Line line;
  while (lines.next(line)) {
    if (is_passed_over(line.text)) continue;
    if (const auto added = routing.add(line); !added)
      return at_line(added.error(), input.name(), line.number);
  }
  if (lines.error()) return *lines.error();
  return routing.finish();
}

}  // namespace comm_probe::serving
