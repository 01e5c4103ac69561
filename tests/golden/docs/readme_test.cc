// README.md shows what the program really prints: every block that begins with a `calc` command is
// run again and compared. (Measurements differ from machine to machine and are not.)
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

struct Shown {
  std::string command;
  std::string output;
};

std::vector<Shown> shown_in_readme() {
  std::stringstream text;
  text << std::ifstream(COMM_PROBE_SOURCE_DIR "/README.md").rdbuf();
  std::vector<Shown> found;
  bool inside = false;
  for (const std::string& line : lines_of(text.str())) {
    if (line.starts_with("$ comm-probe calc")) {
      found.push_back({line.substr(13), ""});
      inside = true;
    } else if (line.starts_with("```")) {
      inside = false;
    } else if (inside) {
      found.back().output += line + "\n";
    }
  }
  return found;
}

TEST(Readme, ShowsWhatIsPrinted) {
  const std::vector<Shown> all = shown_in_readme();
  EXPECT_GE(all.size(), 2U);
  for (const Shown& shown : all) {
    const BinaryRun run = run_shell("\"$COMM_PROBE\" " + shown.command);
    EXPECT_EQ(run.out, shown.output) << "README.md is old: put there what this prints\n" << run;
  }
}

// The table of README.md names every subcommand and none that does not exist.
TEST(Readme, NamesEverySubcommand) {
  std::stringstream readme;
  readme << std::ifstream(COMM_PROBE_SOURCE_DIR "/README.md").rdbuf();
  const std::string help = run_binary({"--help"}).out;
  std::vector<std::string> named, existing;
  for (const std::string& line : lines_of(readme.str()))
    if (line.starts_with("| `")) named.push_back(line.substr(3, line.find('`', 3) - 3));
  for (const std::string& line : lines_of(help.substr(help.find("\nCalculate:"))))
    if (line.starts_with("  ") && line[2] != ' ')
      existing.push_back(line.substr(2, line.find(' ', 2) - 2));
  std::sort(named.begin(), named.end());
  std::sort(existing.begin(), existing.end());
  EXPECT_EQ(named, existing) << "bring the table \"What exists\" of README.md up to date";
}

}  // namespace
}  // namespace comm_probe::test
