#include "core/number_ranges.h"

#include <algorithm>

namespace comm_probe::core {

std::string number_ranges(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = last + 1) {
    for (last = first; last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1;) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(numbers[first]);
    if (last > first) text += (last == first + 1 ? ", " : "-") + std::to_string(numbers[last]);
  }
  return text;
}

}  // namespace comm_probe::core
