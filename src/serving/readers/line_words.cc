#include "serving/readers/line_words.h"

#include <algorithm>

namespace comm_probe::serving {

constexpr std::size_t kLongestShown = 220;

bool is_own_words(std::string_view line, std::size_t at) {
  std::string_view front = line.substr(0, at);
  while (front.ends_with(' ') || front.ends_with('\t')) front.remove_suffix(1);
  if (front.empty() || std::string_view("]):|->0123456789").find(front.back()) != front.npos)
    return true;
  if (front.ends_with("\"message\":\"") || front.ends_with("\"message\": \"") ||
      front.ends_with("\"msg\": \"") || front.ends_with("\"msg\":\""))
    return true;
  for (const std::string_view level : {"INFO", "WARNING", "WARN", "ERROR", "DEBUG"})
    if (front.ends_with(level)) return true;
  return false;
}

core::Evidence line_evidence(const std::string& file, const core::Line& line, std::size_t from) {
  return {file, line.number,
          std::string(line.text.substr(std::min(from, line.text.size()), kLongestShown))};
}

}  // namespace comm_probe::serving
