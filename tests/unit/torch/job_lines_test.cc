// What logs say, line by line; texts from public logs and from the recorded jobs.
#include "torch/job_lines.h"

#include <gtest/gtest.h>

#include "torch/readers/line_words.h"

namespace comm_probe::torch {
namespace {

JobLines lines_of(const std::string& file, const std::string& text) {
  JobLines lines;
  auto input = core::Input::from_memory(file, text);
  read_job_lines(input, lines);
  return lines;
}

// The worked example of job_lines.h.
TEST(JobLines, Timeout) {
  const JobLines lines = lines_of(
      "train.log",
      "hello\n[rank3]:[E1129 12:05:10.683270986 ProcessGroupNCCL.cpp:689] [Rank 3] Watchdog caught "
      "collective operation timeout: WorkNCCL(SeqNum=32, OpType=ALLREDUCE, NumelIn=8192, "
      "NumelOut=8192, Timeout(ms)=15000) ran for 15086 milliseconds before timing out.\n");
  ASSERT_EQ(lines.lines.size(), 1U);
  const JobLine& line = lines.lines.front();
  EXPECT_EQ(line.event, JobEvent::kTimeout);
  EXPECT_EQ(line.rank, 3);
  EXPECT_EQ(line.seq, 32);
  EXPECT_EQ(line.op, "all_reduce");
  EXPECT_EQ(line.elements_in, 8192);
  EXPECT_EQ(line.limit_ms, 15000);
  EXPECT_EQ(line.ran_ms, 15086);
  EXPECT_EQ(line.line, 2U);
  EXPECT_EQ(line.file, "train.log");
  ASSERT_TRUE(line.clock_s.has_value());
}

TEST(JobLines, StatusOfAGroupInAllVersions) {
  for (
      const char* text :
      {"[Rank 0] Timeout at NCCL work: 7, last enqueued NCCL work: 9, last completed NCCL work: 6.",
       "[PG 1 Rank 0] Exception (either an error or timeout) detected by watchdog at work: 7, last "
       "enqueued NCCL work: 9, last completed NCCL work: 6.",
       "[PG ID 1 PG GUID 4(TP) Rank 0]  failure detected by watchdog at work sequence id: 7 PG "
       "status: "
       "last enqueued work: 9, last completed work: 6"}) {
    const JobLines lines = lines_of("rank_5.log", std::string("ray: ") + text + "\n");
    ASSERT_EQ(lines.lines.size(), 1U) << text;
    EXPECT_EQ(lines.lines.front().event, JobEvent::kWatchdogStatus);
    EXPECT_EQ(lines.lines.front().rank, 5) << "of the file";
    EXPECT_EQ(lines.lines.front().enqueued, 9);
    EXPECT_EQ(lines.lines.front().completed, 6);
  }
}

TEST(JobLines, ProcessesThatDied) {
  const JobLines lines =
      lines_of("launcher.txt",
               "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: rank 3 failed "
               "(exitcode: -9) "
               "local_rank: 3\nsrun: error: node7: task 12: Exited with exit code 1\n"
               "Out of memory: Killed process 4711 (python)\n");
  ASSERT_EQ(lines.lines.size(), 3U);
  EXPECT_EQ(lines.lines[0].code, -9);
  EXPECT_EQ(lines.lines[0].rank, 3);
  EXPECT_EQ(lines.lines[1].rank, 12);
  EXPECT_EQ(lines.lines[1].code, 1);
  EXPECT_EQ(lines.lines[2].event, JobEvent::kOutOfMemory);
}

TEST(JobLines, WarningsThatRepeatAreKeptTwentyTimes) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "NCCL WARN Connection closed by remote peer host<" + std::to_string(i) + ">\n";
  const JobLines lines = lines_of("rank_0.log", text);
  EXPECT_EQ(lines.lines.size(), 20U);
  EXPECT_EQ(lines.lines_read, 1000U);
}

TEST(LineWords, Lists) {
  EXPECT_EQ(numbers_in_list("0, 3, 12] are the lagging ranks 9"), (std::vector<int>{0, 3, 12}));
  EXPECT_EQ(number_behind("a SeqNum=-1,", "SeqNum="), -1);
  EXPECT_EQ(number_behind("a SeqNum=x", "SeqNum="), std::nullopt);
}

}  // namespace
}  // namespace comm_probe::torch
