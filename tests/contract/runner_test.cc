// The runner itself: a test that relies on it must not pass because the runner hides something.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;

TEST(Runner, KeepsTheStreamsApart) {
  const BinaryRun run = run_shell("cat; echo problem >&2; exit 3", {.stdin_text = "in\n"});
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_EQ(run.out, "in\n");
  EXPECT_EQ(run.err, "problem\n");
  EXPECT_FALSE(run.timed_out);
}

TEST(Runner, EndsWhatTakesTooLong) {
  const BinaryRun run =
      run_shell("sleep 100 & sleep 100", {.limit = std::chrono::milliseconds(50)});
  EXPECT_TRUE(run.timed_out) << run;
  EXPECT_EQ(run.status, -1);
  EXPECT_EQ(run.signal, SIGKILL);
}

TEST(Runner, PassesSurroundings) {
  const BinaryRun run = run_shell("echo \"$GREETING\"; pwd; test -x \"$COMM_PROBE\"",
                                  {.environment = {{"GREETING", "hello"}}, .directory = "/"});
  EXPECT_EQ(lines_of(run.out), (std::vector<std::string>{"hello", "/"}));
  EXPECT_EQ(run.status, 0) << run;
}

TEST(Runner, RunsTheBinaryOfThisBuild) {
  const BinaryRun run = run_binary({"--version"});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_TRUE(run.out.starts_with("comm-probe ")) << run;
}

// Two runs of one test program at once must not write the same file.
TEST(Runner, HasATemporaryFolderOfItsOwn) {
  const fs::path folder = testing::TempDir();
  EXPECT_TRUE(fs::is_empty(folder)) << folder;
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all) << folder;
}

}  // namespace
}  // namespace comm_probe::test
