// The manual pages are roff without a warning, and hold every subcommand and option of the help.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "help_tree.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

class ManPages : public testing::Test {
 protected:
  void SetUp() override {
    const BinaryRun run = run_binary({"man", "--folder", folder_});
    EXPECT_EQ(run.status, 0) << run;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  // As a terminal of 100 columns shows it, without bold and underlined letters.
  std::string shown(const std::string& name) const {
    return run_shell("MANWIDTH=100 MAN_KEEP_FORMATTING= man -E ascii -l '" + folder_ + "/" + name +
                     ".1' | col -bx")
        .out;
  }
  const std::string folder_ = testing::TempDir() + "/man" + std::to_string(::getpid());
};

std::string page_of(const HelpOfCommand& command) {
  return command.words.empty() ? "comm-probe" : "comm-probe-" + command.words.front();
}

TEST_F(ManPages, AreOnePerSubcommand) {
  std::size_t pages = 1;
  for (const HelpOfCommand& command : help_tree()) pages += command.words.size() == 1 ? 1 : 0;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().extension(), ".1");
    ++files;
  }
  EXPECT_EQ(files, pages);
}

TEST_F(ManPages, GiveNoWarning) {
  if (run_shell("command -v groff").status != 0) GTEST_SKIP() << "no groff";
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const BinaryRun run = run_shell("groff -ww -man -Tascii -z '" + entry.path().string() + "'");
    EXPECT_EQ(run.status, 0) << run;
    EXPECT_EQ(run.err, "") << run;
  }
}

TEST_F(ManPages, HoldEveryOptionOfTheHelp) {
  if (run_shell("command -v man && command -v col").status != 0) GTEST_SKIP() << "no man or col";
  for (const HelpOfCommand& command : help_tree()) {
    const std::string page = shown(page_of(command));
    ASSERT_THAT(page, HasSubstr("SYNOPSIS")) << page_of(command);
    for (const std::string& option : command.options())
      EXPECT_THAT(page, HasSubstr(option)) << page_of(command);
    for (const auto& [name, group] : command.inner()) EXPECT_THAT(page, HasSubstr(name));
  }
}

TEST_F(ManPages, SayHowTheCommandIsWritten) {
  if (run_shell("command -v man && command -v col").status != 0) GTEST_SKIP() << "no man or col";
  EXPECT_THAT(shown("comm-probe-calc"), HasSubstr("comm-probe calc [options] OP\n"));
  EXPECT_THAT(shown("comm-probe-calc"), HasSubstr("comm-probe calc SUBCOMMAND [options]\n"));
  EXPECT_THAT(shown("comm-probe-nccl"), HasSubstr("comm-probe nccl choose [options] OP\n"));
  EXPECT_THAT(shown("comm-probe-hang"), HasSubstr("comm-probe hang [options] PATH...\n"));
}

TEST(ManPage, OfOneSubcommand) {
  EXPECT_THAT(run_binary({"man"}).out, HasSubstr(".TH \"COMM\\-PROBE\""));
  EXPECT_THAT(run_binary({"man", "calc"}).out, HasSubstr("COMM\\-PROBE CALC PATH"));
  const BinaryRun unknown = run_binary({"man", "docter"});
  EXPECT_EQ(unknown.status, 2) << unknown;
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'doctor'?")) << unknown;
}

}  // namespace
}  // namespace comm_probe::test
