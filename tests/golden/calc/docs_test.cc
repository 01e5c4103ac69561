// docs/calc.md, moe.md, sim.md and measured/deepep.md show what the program prints: every command
// in them is run again.
#include <gtest/gtest.h>

#include <fstream>

#include "run_binary.h"

namespace comm_probe {
namespace {

struct Shown {
  std::string command;
  std::string output;
};

std::vector<Shown> shown_in(const std::string& path) {
  std::ifstream file(path);
  std::vector<Shown> all;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = line == "```console";
    } else if (inside && line.starts_with("$ comm-probe ")) {
      all.push_back({"\"$COMM_PROBE\" " + line.substr(13), ""});
    } else if (inside && !all.empty()) {
      all.back().output += line + "\n";
    }
  }
  return all;
}

void expect_printed(const std::string& page, std::size_t least) {
  const auto all = shown_in(COMM_PROBE_SOURCE_DIR "/docs/" + page);
  EXPECT_GE(all.size(), least) << page;
  for (const Shown& one : all) {
    const auto run = test::run_shell(one.command);
    EXPECT_EQ(run.status, 0) << run;
    EXPECT_EQ(run.out, one.output) << one.command;
  }
}

TEST(CalcDocs, ShowWhatTheProgramPrints) { expect_printed("calc.md", 8); }
TEST(CalcDocs, SimShowsWhatTheProgramPrints) { expect_printed("sim.md", 2); }
TEST(CalcDocs, MoeShowsWhatTheProgramPrints) { expect_printed("moe.md", 3); }
TEST(CalcDocs, PublishedTablesAreWhatTheProgramPrints) { expect_printed("measured/deepep.md", 1); }

}  // namespace
}  // namespace comm_probe
