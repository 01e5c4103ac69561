#include "help_tree.h"

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using Words = std::vector<std::string>;

void collect(const Words& words, const std::string& group, std::vector<HelpOfCommand>& all) {
  Words asked = words;
  asked.push_back("--help");
  all.push_back({words, group, run_binary(asked).out});
  const auto listed = all.back().inner();
  for (const auto& [name, of] : listed) {
    Words next = words;
    next.push_back(name);
    collect(next, words.empty() ? of : group, all);
  }
}

bool is_options(const std::string& group) {
  return group == "Options" || group.ends_with(" options");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> HelpOfCommand::inner() const {
  std::vector<std::pair<std::string, std::string>> names;
  std::string heading;
  for (const std::string& line : lines_of(help)) {
    if (line.ends_with(':') && !line.starts_with(' ')) heading = line.substr(0, line.size() - 1);
    const bool is_list =
        heading != "Positionals" && !is_options(heading) && !heading.starts_with("Example");
    if (line.empty() || !is_list || !line.starts_with("  ") || line[2] == ' ' || heading.empty())
      continue;
    names.emplace_back(line.substr(2, line.find(' ', 2) - 2), heading);
  }
  return names;
}

std::vector<std::string> HelpOfCommand::options() const {
  std::vector<std::string> names;
  std::string heading;
  for (const std::string& line : lines_of(help)) {
    if (line.ends_with(':') && !line.starts_with(' ')) heading = line.substr(0, line.size() - 1);
    if (!is_options(heading) || !line.starts_with("  -")) continue;
    for (std::size_t at = 2; at < line.size() && line[at] == '-';) {
      const std::size_t end = std::min(line.find_first_of(" ,=", at), line.size());
      names.push_back(line.substr(at, end - at));
      at = line.compare(end, 2, ", ") == 0  ? end + 2
           : line.compare(end, 1, ",") == 0 ? end + 1
                                            : line.size();
    }
  }
  return names;
}

const std::vector<HelpOfCommand>& help_tree() {
  static const std::vector<HelpOfCommand> all = [] {
    std::vector<HelpOfCommand> found;
    collect({}, "", found);
    return found;
  }();
  return all;
}

}  // namespace comm_probe::test
