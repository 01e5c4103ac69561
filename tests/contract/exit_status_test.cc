// Each exit status of design/cli.md once, through the program. Status 4 (a bug of ours) cannot be
// reached from outside; tests/unit/core/vocabulary_test.cc shows that a failed check gives it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

// A pair of GPUs as nccl-tests prints it (10 us + bytes / 250 GB/s, healthy for NVLink 3); `wrong`
// is the column of wrong results of the last row.
std::string table(const std::string& wrong, const std::string& line_end) {
  std::string text =
      "# nThread 1 nGpus 2 minBytes 1048576 maxBytes 16777216 step: 2(factor) warmup iters: 5 "
      "iters: 20 agg iters: 1 validation: 1 graph: 0\n"
      "#\n# Using devices\n"
      "#  Rank  0 Group  0 Pid   4711 on      node1 device  0 [0x07] NVIDIA A100-SXM4-40GB\n"
      "#  Rank  1 Group  0 Pid   4711 on      node1 device  1 [0x0f] NVIDIA A100-SXM4-40GB\n"
      "#\n"
      "#                                                    out-of-place                in-place\n"
      "#       size      count   type   redop  root   time  algbw  busbw #wrong   time  algbw  "
      "busbw "
      "#wrong\n"
      "#        (B) (elements)                        (us) (GB/s) (GB/s)          (us) (GB/s) "
      "(GB/s)\n"
      "     1048576     262144  float     sum    -1    14.19 73.87 73.87 0 14.19 73.87 73.87 0\n"
      "    16777216    4194304  float     sum    -1    77.11 217.58 217.58 0 77.11 217.58 217.58 "
      "0\n"
      "   268435456   67108864  float     sum    -1  1083.74 247.69 247.69 0 1083.74 247.69 247.69 "
      "0\n"
      "  1073741824  268435456  float     sum    -1  4304.97 249.42 249.42 " +
      wrong + " 4304.97 249.42 249.42 0\n# Out of bounds values : 0 OK\n";
  std::string ended;
  for (const std::string& line : lines_of(text)) ended += line + line_end;
  return ended;
}

TEST(ExitStatus, ZeroWhereNothingIsWrong) {
  const BinaryRun run = run_binary(
      {"calc", "all_reduce", "-n", "8", "-s", "1GB", "--alpha", "10us", "--beta", "25GB/s"});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(run.err, "") << run;
}

TEST(ExitStatus, OneWithAFinding) {
  const BinaryRun run = run_binary({"curve", "-", "--json"}, {.stdin_text = table("7", "\n")});
  EXPECT_EQ(run.status, 1) << run;
  const auto document = nlohmann::json::parse(run.out);
  EXPECT_THAT(document.at("findings").dump(), HasSubstr("wrong")) << run;
}

TEST(ExitStatus, TwoWhereNothingCouldBeRead) {
  const BinaryRun usage = run_binary({"calc", "all_reduce", "-n", "0", "-s", "1GB"});
  EXPECT_EQ(usage.status, 2) << usage;
  EXPECT_EQ(lines_of(usage.err).size(), 1U) << usage;
  for (const char* line : {"\"$COMM_PROBE\" curve - < /dev/null", "\"$COMM_PROBE\" curve - <&-",
                           "\"$COMM_PROBE\" curve - < /tmp"}) {
    const BinaryRun run = run_shell(line);
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_THAT(run.err, HasSubstr("standard input")) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
  }
}

TEST(ExitStatus, ThreeWhereSomethingIsMissingHere) {
  const BinaryRun run = run_binary({"bench", "all_reduce", "-e", "8", "--backend", "nccl"});
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_EQ(run.out, "") << run;
  EXPECT_THAT(run.err, HasSubstr("nccl")) << run;
  EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
}

// What design/cli.md names and this release has not: what is missing, not "unknown option".
TEST(ExitStatus, ThreeForWhatALaterReleaseWillHave) {
  const std::vector<std::vector<std::string>> later = {{"link", "--peer", "node07"}};
  for (const auto& words : later) {
    const BinaryRun run = run_binary(words);
    EXPECT_EQ(run.status, 3) << run;
    EXPECT_EQ(run.out, "") << run;
    EXPECT_THAT(run.err, HasSubstr("this release ")) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
  }
}

TEST(ExitStatus, FiveWhereTheConclusionIsLimited) {
  const BinaryRun run = run_binary({"curve", "-", "--json"}, {.stdin_text = table("0", "\r\n")});
  EXPECT_EQ(run.status, 5) << run;
  const auto document = nlohmann::json::parse(run.out);
  EXPECT_THAT(document.at("caveats").dump(), HasSubstr("input.line-endings")) << run;
  EXPECT_EQ(document.at("findings"), nlohmann::json::array()) << run;
}

}  // namespace
}  // namespace comm_probe::test
