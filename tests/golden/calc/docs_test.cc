// docs/calc.md shows what the program prints: every command in it is run again.
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

TEST(CalcDocs, ShowWhatTheProgramPrints) {
  const auto all = shown_in(COMM_PROBE_SOURCE_DIR "/docs/calc.md");
  EXPECT_GE(all.size(), 8u);
  for (const Shown& one : all) {
    const auto run = test::run_shell(one.command);
    EXPECT_EQ(run.status, 0) << run;
    EXPECT_EQ(run.out, one.output) << one.command;
  }
}

}  // namespace
}  // namespace comm_probe
