#include "core/number_ranges.h"

#include <algorithm>

namespace comm_probe::core {

namespace {

// "0-3", "8", "10, 11"; `numbers` become sorted and different.
std::vector<std::string> parts_of(std::vector<int>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<std::string> parts;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = last + 1) {
    for (last = first; last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1;) ++last;
    std::string part = std::to_string(numbers[first]);
    if (last > first) part += (last == first + 1 ? ", " : "-") + std::to_string(numbers[last]);
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + parts[i];
  return text;
}

}  // namespace

std::string number_ranges(std::vector<int> numbers) {
  const std::vector<std::string> parts = parts_of(numbers);
  return joined(parts, parts.size());
}

std::string short_number_ranges(std::vector<int> numbers, std::size_t most) {
  const std::vector<std::string> parts = parts_of(numbers);
  if (parts.size() <= most) return joined(parts, parts.size());
  return joined(parts, 3) + ", ... " + parts.back() + " (" + std::to_string(numbers.size()) + ")";
}

}  // namespace comm_probe::core
