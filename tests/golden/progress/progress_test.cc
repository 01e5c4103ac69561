// Progress of long work, on a terminal that the test makes (a pty).
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;

constexpr unsigned short kColumns = 60;

struct TerminalRun {
  std::string shown = {};  // what the terminal got
  int status = -1;
  std::chrono::duration<double> time = {};
};

[[noreturn]] void become(const std::vector<std::string>& arguments, int terminal) {
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(terminal, STDERR_FILENO);
  std::vector<char*> words = {const_cast<char*>("comm-probe")};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::setenv("TERM", "xterm", 1);
  ::execv(COMM_PROBE_BINARY, words.data());
  ::_exit(127);
}

std::string all_of(int terminal) {
  std::string text;
  std::array<char, 4096> block = {};
  for (ssize_t got; (got = ::read(terminal, block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<std::size_t>(got));
  return text;
}

// With its stderr on a terminal.
TerminalRun run_on_terminal(const std::vector<std::string>& arguments) {
  int ours = -1, theirs = -1;
  const winsize size = {.ws_row = 24, .ws_col = kColumns, .ws_xpixel = 0, .ws_ypixel = 0};
  if (::openpty(&ours, &theirs, nullptr, nullptr, &size) != 0) return {};
  const auto start = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) become(arguments, theirs);
  ::close(theirs);
  TerminalRun run{.shown = all_of(ours)};
  ::close(ours);
  int status = 0;
  ::waitpid(child, &status, 0);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  run.time = Clock::now() - start;
  return run;
}

constexpr std::string_view kTakenBack = "\r\x1b[K";

std::vector<std::string> drawn(const std::string& shown) {
  std::vector<std::string> lines;
  for (std::size_t at = shown.find(kTakenBack); at != shown.npos;) {
    const std::size_t next = shown.find(kTakenBack, at + 1);
    lines.push_back(shown.substr(at + kTakenBack.size(), next - at - kTakenBack.size()));
    at = next;
  }
  return lines;
}

// A folder of logs that takes more than a second to read.
class ProgressOfTerminal : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = fmt::format("{}/progress{}", testing::TempDir(), ::getpid());
    std::filesystem::create_directories(folder_);
    for (int file = 0; file < 4; ++file) {
      std::ofstream log(fmt::format("{}/a-log-with-a-long-name-{}.log", folder_, file));
      for (int i = 0; i < 400000; ++i)
        log << "node1:100:200 [0] NCCL INFO Channel 0" << i % 8
            << "/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n";  // equal lines would be passed over
    }
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }
  static inline std::string folder_ = {};
};

TEST_F(ProgressOfTerminal, IsDrawnAndTakenBack) {
  const TerminalRun run = run_on_terminal({"doctor", folder_});
  EXPECT_GE(run.status, 0);
  EXPECT_THAT(run.shown, HasSubstr("doctor: reading [")) << run.shown;
  EXPECT_THAT(run.shown, HasSubstr(" of 4 files")) << run.shown;
  const auto lines = drawn(run.shown);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "");
  EXPECT_LE(static_cast<double>(lines.size()), run.time.count() * 10 + 5);
  for (const std::string& line : lines) EXPECT_LT(line.size(), kColumns) << line;
}

TEST_F(ProgressOfTerminal, IsNotDrawnForJsonNorWhereItIsToBeQuiet) {
  EXPECT_EQ(run_on_terminal({"doctor", folder_, "--json"}).shown, "");
  EXPECT_EQ(run_on_terminal({"doctor", folder_, "-q"}).shown, "");
}

TEST_F(ProgressOfTerminal, IsNotWrittenToAPipe) {
  EXPECT_EQ(run_binary({"doctor", folder_}).err, "");
}

// The line of an error stands alone.
TEST_F(ProgressOfTerminal, IsTakenBackBeforeAnError) {
  const TerminalRun run = run_on_terminal({"trace", folder_});
  EXPECT_EQ(run.status, 2);
  const std::string last = run.shown.substr(run.shown.rfind('\r', run.shown.size() - 3) + 1);
  EXPECT_THAT(run.shown, HasSubstr("comm-probe: "));
  EXPECT_THAT(last, Not(HasSubstr("reading ["))) << run.shown;
}

TEST(ProgressOfBench, NamesTheSizeThatIsMeasured) {
  const TerminalRun run =
      run_on_terminal({"bench", "all_reduce", "-b", "8", "-e", "1M", "-f", "2", "--ranks", "2"});
  EXPECT_EQ(run.status, 0) << run.shown;
  EXPECT_THAT(run.shown, HasSubstr("measuring all_reduce of ")) << run.shown;
  EXPECT_THAT(run.shown, HasSubstr(" of 18")) << run.shown;
  EXPECT_EQ(drawn(run.shown).back(), "");
}

TEST(ProgressOfSim, SaysThatItPlays) {
  const TerminalRun run =
      run_on_terminal({"sim", "all_reduce", "-n", "16384", "-s", "1GiB", "--alpha", "500ns",
                       "--beta", "50GB/s", "--slow-link", "17:*:0.5"});
  EXPECT_EQ(run.status, 0) << run.shown;
  EXPECT_THAT(run.shown, HasSubstr("sim: playing every step, ")) << run.shown;
}

}  // namespace
}  // namespace comm_probe::test
