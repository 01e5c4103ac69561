// Lines of PyTorch, the kernel and Python beside NCCL's: `log` names them and points to `hang`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string closed(int rank, const char* time) {
  return fmt::format(
      "\n[2026-11-29 {}] vm:{}:9374 [0] misc/socket.cc:72 NCCL WARN socketProgress: Connection "
      "closed by remote peer localhost<41338>\n",
      time, 8050 + rank);
}
std::string timed_out(int rank, const char* time, int call) {
  return fmt::format(
      "[rank{}]:[E1129 {}.036347354 ProcessGroupNCCL.cpp:689] [Rank 0] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum={}, OpType=_REDUCE_SCATTER_BASE, NumelIn=65536, "
      "NumelOut=16384, Timeout(ms)=12000) ran for 12075 milliseconds before timing out.\n",
      rank, time, call);
}
std::string raised(int rank, const char* last_line) {
  return fmt::format(
      "[rank{0}]: Traceback (most recent call last):\n"
      "[rank{0}]:   File \"/home/a/train.py\", line 34, in <module>\n"
      "[rank{0}]:     load()\n"
      "[rank{0}]:   File \"/home/a/loader.py\", line 7, in load\n"
      "[rank{0}]:     raise X\n"
      "[rank{0}]: {1}\n",
      rank, last_line);
}
constexpr const char* kVersion = "NCCL version 2.28.9+cuda13.0\n";

json judged(const std::string& text, int status) {
  const BinaryRun run = run_binary({"log", "-", "--json"}, {.stdin_text = text});
  EXPECT_EQ(run.status, status) << run;
  return json::parse(run.out);
}

TEST(LogOfTorch, ATracebackIsTheCauseAndNamesItsLine) {
  const json document = judged(kVersion + closed(0, "21:42:11") + closed(1, "21:42:12") +
                                   raised(6, "RuntimeError: loader failed: broken pipe"),
                               1);
  const json& first = document.at("findings").at(0);
  EXPECT_EQ(first.at("id"), "log.exception");
  EXPECT_EQ(first.at("ranks"), json({6}));
  const std::string summary = first.at("summary");
  EXPECT_NE(summary.find("rank 6 raised RuntimeError: loader failed: broken pipe (loader.py:7)"),
            std::string::npos)
      << summary;
  EXPECT_NE(summary.find("2 lines of NCCL are follow-ups"), std::string::npos) << summary;
  for (const json& finding : document.at("findings"))
    EXPECT_NE(finding.at("id"), "log.only-follow-ups");
}

TEST(LogOfTorch, ATimeOutBeforeTheFirstWarningComesFirst) {
  const json first = judged(kVersion + timed_out(2, "21:44:05", 25) + timed_out(0, "21:44:06", 25) +
                                closed(2, "21:44:24"),
                            1)
                         .at("findings")
                         .at(0);
  EXPECT_EQ(first.at("id"), "log.torch-watchdog");
  EXPECT_EQ(first.at("ranks"), json({0, 2}));
  const std::string summary = first.at("summary");
  EXPECT_NE(summary.find("12.1 s in _reduce_scatter_base (call 25)"), std::string::npos) << summary;
  EXPECT_NE(std::string(first.at("next").at(0)).find("comm-probe hang"), std::string::npos);
}

// The clocks count months of 31 days: no day of the year is a seam but the last.
TEST(LogOfTorch, ATimeOutOnTheLastOfNovemberIsBeforeTheFirstOfDecember) {
  std::string late = closed(2, "00:00:04");
  late.replace(late.find("11-29"), 5, "12-01");
  std::string early = timed_out(2, "23:59:58", 25);
  early.replace(early.find("E1129"), 5, "E1130");
  EXPECT_EQ(judged(kVersion + early + late, 1).at("findings").at(0).at("id"), "log.torch-watchdog");
}

TEST(LogOfTorch, ATimeOutBehindAClosedConnectionIsNotTheCause) {
  const json findings =
      judged(kVersion + closed(0, "21:42:11") + timed_out(1, "21:42:22", 25), 1).at("findings");
  EXPECT_EQ(findings.at(0).at("id"), "log.only-follow-ups");
  EXPECT_EQ(findings.back().at("id"), "log.torch-watchdog");
}

TEST(LogOfTorch, AFileWithoutALineOfNcclIsReadToo) {
  EXPECT_EQ(judged(timed_out(5, "21:44:05", 25), 1).at("findings").at(0).at("id"),
            "log.torch-watchdog");
  EXPECT_EQ(judged(raised(5, "ValueError"), 1).at("findings").at(0).at("id"), "log.exception");
  EXPECT_EQ(judged("[rank1]:[E1129 21:44:12.7 ProcessGroupNCCL.cpp:1914] [PG ID 0 PG GUID 0 Rank "
                   "1] Received a dump signal due to a collective timeout from  rank 4 and we will "
                   "try our best to dump the debug info.\n",
                   1)
                .at("findings")
                .at(0)
                .at("id"),
            "log.torch-watchdog");
}

// What only tells that the communication failed is no cause.
TEST(LogOfTorch, ExceptionsOfTheCommunicationBlameNobody) {
  for (const char* text :
       {"torch.distributed.DistBackendError: NCCL error in: x.cpp:1, remote process exited",
        "RuntimeError: NCCL Error 6: remote process exited", "KeyboardInterrupt",
        "RuntimeError: CUDA error: an illegal memory access was encountered"})
    EXPECT_EQ(
        judged(kVersion + closed(0, "21:42:11") + raised(1, text), 1).at("findings").at(0).at("id"),
        "log.only-follow-ups");
}

TEST(LogOfTorch, TheKernelsKillIsMappedToItsRank) {
  const std::string job =
      "node1:1003:1004 [1] NCCL INFO ncclCommInitRank comm 0xa3 rank 3 nranks 4 cudaDev 1 nvmlDev "
      "1 busId 4b000 commId 0x77 - Init COMPLETE\n";
  for (const char* killed : {"node1 kernel: Out of memory: Killed process 1003 (python)\n",
                             "torch.distributed.elastic.multiprocessing.api.SignalException: "
                             "Process 1003 got signal: 9\n"}) {
    const json first = judged(job + closed(0, "21:42:11") + killed, 1).at("findings").at(0);
    EXPECT_EQ(first.at("id"), "log.process-killed");
    EXPECT_EQ(first.at("ranks"), json({3}));
  }
}

// The text of an exception ends with the version; it is no second one of the job.
TEST(LogOfTorch, TheVersionInAnExceptionIsNoVersionLine) {
  const json versions =
      judged(std::string(kVersion) +
                 "RuntimeError: NCCL error: unhandled system error, NCCL version 2.28.9\n",
             0)
          .at("result")
          .at("versions");
  ASSERT_EQ(versions.size(), 1U) << versions;
  EXPECT_EQ(versions.at(0).at("value"), "2.28.9+cuda13.0");
}

}  // namespace
}  // namespace comm_probe::test
