#include "torch/survived.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace comm_probe::torch {
namespace {

// name, value, applies when, source
constexpr std::int64_t kStepsAfter = 2;  // between the first and the last; the step of the fault
                                         // and the one before it may still be printed

using NumbersOfFile = std::map<std::string, std::vector<const LoggedNumber*>>;

NumbersOfFile by_file(const NumberLines& numbers) {
  NumbersOfFile files;
  for (const LoggedNumber& number : numbers.numbers)
    files[numbers.files[number.file]].push_back(&number);
  return files;
}

// `said` has a file, a line and, where it is known, a rank.
template <class Said>
bool goes_on(const Said& said, const NumbersOfFile& files) {
  const auto found = files.find(said.file);
  if (found == files.end()) return false;
  std::int64_t first = -1, last = -1;
  for (const LoggedNumber* number : found->second) {
    // steps of a rank prove nothing for a traceback whose rank is not said
    const bool is_of_another = number->rank >= 0 && said.rank != number->rank;
    if (number->line <= said.line || is_of_another) continue;
    first = first < 0 ? number->step : std::min(first, number->step);
    last = std::max(last, number->step);
  }
  return first >= 0 && last - first >= kStepsAfter;
}

}  // namespace

std::size_t drop_survived(JobLines& lines, const NumberLines& numbers) {
  if (numbers.numbers.empty()) return 0;
  const NumbersOfFile files = by_file(numbers);
  std::size_t dropped = std::erase_if(
      lines.exceptions, [&](const RaisedException& raised) { return goes_on(raised, files); });
  dropped += std::erase_if(lines.lines, [&](const JobLine& line) {
    return line.event == JobEvent::kException && goes_on(line, files);
  });
  return dropped;
}

}  // namespace comm_probe::torch
