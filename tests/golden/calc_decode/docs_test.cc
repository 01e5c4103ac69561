// docs/inference.md shows what the program prints: every command in it is run again.
#include <gtest/gtest.h>

#include <fstream>

#include "run_binary.h"

namespace comm_probe::test {
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

TEST(InferenceDocs, ShowWhatTheProgramPrints) {
  const auto all = shown_in(COMM_PROBE_SOURCE_DIR "/docs/inference.md");
  EXPECT_GE(all.size(), 6u);
  for (const Shown& one : all) {
    const auto run = run_shell(one.command, {.directory = COMM_PROBE_SOURCE_DIR});
    EXPECT_EQ(run.out, one.output) << one.command << run.err;
  }
}

}  // namespace
}  // namespace comm_probe::test
