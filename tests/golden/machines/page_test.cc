// docs/machines.md shows what the program prints.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

struct Shown {
  std::string command;
  std::vector<std::string> lines;
};

std::vector<Shown> shown_on(const std::string& page) {
  std::vector<Shown> result;
  bool in_block = false;
  std::ifstream file(page);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      in_block = false;
    } else if (line.starts_with("$ comm-probe ")) {
      in_block = true;
      result.push_back({line.substr(std::string("$ comm-probe ").size()), {}});
    } else if (in_block) {
      result.back().lines.push_back(line);
    }
  }
  return result;
}

// Every line stands in the output, in this order; "..." stands for lines left out.
TEST(MachinesPage, ShowsWhatTheProgramPrints) {
  const auto blocks = shown_on(std::string(COMM_PROBE_SOURCE_DIR) + "/docs/machines.md");
  ASSERT_EQ(blocks.size(), 5U);
  for (const Shown& shown : blocks) {
    const BinaryRun run = run_shell("\"$COMM_PROBE\" " + shown.command + " 2>&1");
    const std::vector<std::string> printed = lines_of(run.out);
    auto at = printed.begin();
    for (const std::string& line : shown.lines) {
      if (line == "...") continue;
      at = std::find(at, printed.end(), line);
      ASSERT_NE(at, printed.end()) << shown.command << " does not print (or not there): " << line;
      ++at;
    }
  }
}

}  // namespace
}  // namespace comm_probe::test
