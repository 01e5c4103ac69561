#include "nccl/readers/conf_file.h"

namespace comm_probe::nccl {
namespace {

constexpr std::size_t kLongest = 1023;

}  // namespace

ConfFile read_conf_file(std::string_view text) {
  ConfFile file;
  std::uint64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      file.ignored.push_back({{}, std::string(line.substr(0, kLongest)), number});
    else
      file.settings.push_back({std::string(line.substr(0, equals).substr(0, kLongest)),
                               std::string(line.substr(equals + 1).substr(0, kLongest)), number});
  }
  return file;
}

}  // namespace comm_probe::nccl
