// All subcommands as --help lists them, so that a new one is covered on the day it appears.
#pragma once

#include <string>
#include <vector>

namespace comm_probe::test {

struct HelpOfCommand {
  std::vector<std::string> words;  // {"calc", "path"}; none for the program
  std::string group;               // of the first word
  std::string help;

  // "-n", "--ranks" out of the lines "  -n, --ranks N ..."
  std::vector<std::string> options() const;
  // The subcommands that it lists, with their group.
  std::vector<std::pair<std::string, std::string>> inner() const;
};

// The program first; every command before its own.
const std::vector<HelpOfCommand>& help_tree();

}  // namespace comm_probe::test
