// What a review of `hang` found wrong: false "healthy", innocent ranks, sentences that the input
// contradicts. One test for each kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "job_writer.h"

namespace comm_probe::test {
namespace {

using core::Confidence;
using diagnose::HangKind;
using diagnose::HangVerdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

torch::JobLines lines_of_file(const std::string& name, const std::string& text) {
  torch::JobLines lines;
  auto input = core::Input::from_memory(name, text);
  torch::read_job_lines(input, lines);
  return lines;
}

HangVerdict verdict_of_file(const std::string& name, const std::string& text) {
  return diagnose::judge_logs(lines_of_file(name, text)).verdict;
}

std::string traceback(int rank, const std::string& error) {
  const std::string prefix = "[rank" + std::to_string(rank) + "]: ";
  return prefix + "Traceback (most recent call last):\n" + prefix +
         "  File \"train.py\", line 34, in <module>\n" + prefix + error + "\n" + "[rank" +
         std::to_string(rank) +
         "]:[W1129 21:42:10.2 ProcessGroupNCCL.cpp:1575] Warning: WARNING: "
         "destroy_process_group() was not called before program exit";
}

// Python prints the warning of an exit without destroy_process_group after an exception too.
TEST(Review, AnExceptionIsNoNormalEnd) {
  JobWriter job(4);
  job.everyone("0", "all_reduce", 10);
  for (const int rank : {0, 1, 3}) job.call(rank, "0", "all_reduce", 10).open();
  job.without_dump(2);
  job.log(2, traceback(2, "RuntimeError: loader failed"));
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_THAT(verdict.culprits, ElementsAre(2));
  EXPECT_THAT(verdict.summary, HasSubstr("RuntimeError: loader failed"));
  EXPECT_THAT(verdict.summary, Not(HasSubstr("normally")));
  EXPECT_THAT(verdict.evidence.front().text, HasSubstr("RuntimeError: loader failed"));
  EXPECT_STREQ(code_or_environment(verdict), "code");
  EXPECT_EQ(verdict.confidence, Confidence::kCertain);
}

// The prefix tells the rank, whatever the name of the file.
TEST(Review, TheLineTellsTheRankAndNotTheName) {
  const HangVerdict verdict =
      verdict_of_file("worker_2024.log", traceback(6, "ValueError: no batch") + "\n");
  EXPECT_EQ(verdict.kind, HangKind::kRankDeadOrStuck);
  EXPECT_THAT(verdict.culprits, ElementsAre(6));
}

TEST(Review, ALauncherWritesAboutOthers) {
  struct Written {
    std::string name;
    std::string text;
    std::vector<int> ranks;
    std::string says;
  };
  for (const Written& one : std::vector<Written>{
           {"srun2.log", "srun: error: node7: task 11: Killed\n", {11}, "signal 9"},
           {"out.3",
            "mpirun noticed that process rank 5 with PID 0 on node n3 exited on signal 9 "
            "(Killed).\n",
            {5},
            "signal 9"},
           {"dmesg.node4",
            "[1.2] Out of memory: Killed process 4324 (python3) total-vm:1kB\n",
            {},
            "out of memory"},
           {"node1.log",
            "E1129 failed (exitcode: -9) local_rank: 3 (pid: 4324) of binary: /usr/bin/python3\n",
            {},
            "local rank 3"},
           {"node1.log",
            "E1129 failed (exitcode: -9) local_rank: 3 (pid: 4324) of binary: /usr/bin/python3\n"
            "Root Cause (first observed failure):\n[0]:\n  host      : node7\n"
            "  rank      : 11 (local_rank: 3)\n  exitcode  : -9 (pid: 4324)\n",
            {11},
            "signal 9"}}) {
    SCOPED_TRACE(one.text);
    const HangVerdict verdict = verdict_of_file(one.name, one.text);
    EXPECT_EQ(verdict.kind, HangKind::kRankDeadOrStuck);
    EXPECT_EQ(verdict.culprits, one.ranks);
    EXPECT_THAT(verdict.summary, HasSubstr(one.says));
  }
}

TEST(Review, LogsThatTellOfTroubleAreNotHealthy) {
  for (const std::string text :
       {"[rank5]:[E1129 21:42:22.5 ProcessGroupNCCL.cpp:1849] [PG ID 0 PG GUID 0 Rank 5] Observed "
        "flight recorder dump signal from another rank via TCPStore.\n",
        "[rank5]:[F1129 21:42:55.5 ProcessGroupNCCL.cpp:1653] [PG ID 0 PG GUID 0 Rank 5] "
        "Terminating the process after attempting to dump debug info, due to collective timeout\n",
        "  Communicator ranks have different AllGather operation counts\n  30 ranks have launched "
        "up to operation 640\n  2 ranks have launched up to operation 641\n  Rank 12 -- GPU 4 "
        "managed by process 3 on node n\n  Rank 13 -- GPU 5 managed by process 4 on node n\n"}) {
    SCOPED_TRACE(text);
    const HangVerdict verdict = verdict_of_file("rank5.log", text);
    EXPECT_EQ(verdict.kind, HangKind::kNotDecidable);
    EXPECT_THAT(verdict.culprits, IsEmpty());
  }
}

TEST(Review, RasCountsAreInTheSentence) {
  const HangVerdict verdict = verdict_of_file(
      "ras.txt",
      "  Communicator ranks have different AllGather operation counts\n  30 ranks have launched up "
      "to operation 640\n  2 ranks have launched up to operation 641\n  Rank 12 -- GPU 4 managed\n "
      " "
      "Rank 13 -- GPU 5 managed\n");
  EXPECT_THAT(verdict.summary, HasSubstr("641"));
  EXPECT_THAT(verdict.summary, HasSubstr("ranks 12, 13"));
}

// "remote process exited or there was a network error" names no peer; who printed it is a victim.
TEST(Review, LostPeersAreNoNetworkVerdict) {
  JobWriter job(3);
  for (const int rank : {0, 1})
    job.log(rank, "[rank" + std::to_string(rank) +
                      "]:[E1129 12:00:40.0 ProcessGroupNCCL.cpp:612] [Rank 0] Collective "
                      "WorkNCCL(SeqNum=25, OpType=ALLREDUCE, NumelIn=6, NumelOut=6, "
                      "Timeout(ms)=600000) raised the following async exception: NCCL error: "
                      "remote process exited or there was a network error");
  EXPECT_EQ(job.judge_logs().verdict.kind, HangKind::kNotDecidable);
  job.log(2, "rank 2 has reached step 7");
  const HangVerdict verdict = job.judge_logs().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kRankDeadOrStuck);
  EXPECT_THAT(verdict.culprits, ElementsAre(2));
  EXPECT_NE(verdict.confidence, Confidence::kCertain);
  EXPECT_THAT(verdict.summary, Not(HasSubstr("names the peer")));
}

// A rank that timed out itself has something open, whatever the numbers of the first group are.
TEST(Review, ATimeoutOfItsOwnIsNotNothingOpen) {
  JobWriter job(3);
  for (int rank = 0; rank < 3; ++rank)
    job.log(rank,
            "[rank" + std::to_string(rank) +
                "]:[E1016 03:31:38.9 ProcessGroupNCCL.cpp:1] Received a dump signal due to a "
                "collective timeout from  rank 0 and we will try our best. Last enqueued NCCL "
                "work: " +
                std::to_string(rank == 2 ? 1 : 2) + ", last completed NCCL work: 1.");
  job.log(0, timeout_line(0, 2, "ALLREDUCE", 10));
  job.log(2, timeout_line(2, 11, "COALESCED", 10));
  EXPECT_THAT(job.judge_logs().verdict.culprits, Not(ElementsAre(2)));
}

// Dumps that the pipe asked for while training goes on.
TEST(Review, YoungCallsAndCleanLogsAreNoHang) {
  for (const bool is_young : {true, false}) {
    JobWriter job(4);
    job.call(0, "0", "all_reduce", 10);
    for (const int rank : {1, 2, 3}) job.call(rank, "0", "all_reduce", 10).open();
    for (int rank = 0; rank < 4; ++rank) {
      auto& entries = job.dump(rank)["entries"];
      entries.back()["time_created_ns"] = 1'760'000'000'000'000'000;  // 08:53:20 UTC
      job.log(rank, "[rank" + std::to_string(rank) + "]:[E1009 " +
                        (is_young ? "10:53:21" : "10:59:10") +
                        ".5 ProcessGroupNCCL.cpp:1628] ProcessGroupNCCL preparing to dump debug "
                        "info. Include stack trace: 1, only active collectives: 0");
    }
    const HangVerdict verdict = job.judge().verdict;
    EXPECT_EQ(verdict.kind, is_young ? HangKind::kHealthy : HangKind::kNotDecidable);
    if (!is_young) {
      EXPECT_THAT(verdict.summary, HasSubstr("completed on rank 0"));
      EXPECT_THAT(verdict.summary, Not(HasSubstr("nobody")));
    }
  }
}

TEST(Review, ADumpOfAnOlderRunBlamesNobody) {
  for (const bool is_open : {true, false}) {
    JobWriter job(4);
    for (int i = 0; i < 4; ++i) job.everyone("0", "all_reduce", 10);
    for (const int rank : {0, 2, 3}) job.call(rank, "0", "all_reduce", 10).open();
    for (auto& entry : job.dump(1)["entries"]) {
      entry["time_created_ns"] = entry["time_created_ns"].get<std::int64_t>() - 86'400'000'000'000;
      if (is_open && entry == job.dump(1)["entries"].back())
        entry.update({{"state", "scheduled"}, {"retired", false}, {"input_sizes", {{77}}}});
    }
    const HangVerdict verdict = job.judge().verdict;
    EXPECT_EQ(verdict.kind, HangKind::kNotDecidable) << verdict.summary;
    EXPECT_THAT(verdict.culprits, IsEmpty());
    EXPECT_THAT(verdict.summary, HasSubstr("older run"));
    EXPECT_THAT(job.job().stale, ElementsAre(1));
  }
}

// Done on all others, open on one rank that has the next call open too: its device is suspected.
TEST(Review, OneRankThatTheOthersHavePassed) {
  JobWriter job(4);
  for (int rank = 0; rank < 4; ++rank) {
    auto call = job.call(rank, "0", "all_reduce", 10);
    if (rank == 2) call.open();
    job.call(rank, "0", "all_reduce", 10).open();
  }
  HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kNetworkOrHardware);
  EXPECT_THAT(verdict.culprits, ElementsAre(2));
  EXPECT_EQ(verdict.confidence, Confidence::kPossible);
  EXPECT_THAT(verdict.summary, Not(HasSubstr("no difference")));
}

// Ranks of two groups each owe a call of their own.
TEST(Review, OneClauseForEveryGroup) {
  JobWriter job(4);
  job.group("1", {0, 1});
  job.group("2", {2, 3});
  job.everyone("1", "all_reduce", 10);
  job.everyone("2", "all_reduce", 10);
  job.call(0, "1", "all_reduce", 10).open();
  job.call(2, "2", "all_reduce", 10).open();
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_THAT(verdict.culprits, ElementsAre(1, 3));
  EXPECT_THAT(verdict.summary, HasSubstr("rank 1 has not issued"));
  EXPECT_THAT(verdict.summary, HasSubstr("rank 3 has not issued"));
}

// Ranks that wait for the id of a communicator are alive, in the first call of another group.
TEST(Review, RanksInTheFirstCallOfAnotherGroup) {
  JobWriter job(4);
  job.everyone("0", "all_reduce", 10);
  for (const int rank : {0, 2}) job.call(rank, "0", "all_reduce", 10).open();
  for (const int rank : {1, 3}) {
    job.without_dump(rank);
    job.log(
        rank,
        "[rank" + std::to_string(rank) +
            "]: torch.distributed.DistBackendError: [1] is setting up NCCL communicator and "
            "retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but "
            "store->get('0') got error: wait timeout after 12000ms, keys: /default_pg/0//cuda//0");
  }
  HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kCountMismatch);
  EXPECT_THAT(verdict.culprits, ElementsAre(1, 3));
  EXPECT_EQ(verdict.confidence, Confidence::kLikely);
  EXPECT_THAT(verdict.summary, HasSubstr("first call of another group"));
  ASSERT_FALSE(verdict.alternatives.empty());
  EXPECT_THAT(verdict.alternatives.front().ranks, ElementsAre(0, 2));
}

std::string timeout_text(int rank, int seq) {
  const std::string number = std::to_string(rank);
  return "[rank" + number + "]:[E1129 12:05:10.6 ProcessGroupNCCL.cpp:689] [Rank " + number +
         "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" + std::to_string(seq) +
         ", OpType=ALLREDUCE, NumelIn=10, NumelOut=10, Timeout(ms)=600000) ran for 600086 "
         "milliseconds before timing out.";
}

bool has_caveat(const diagnose::HangJudgement& judgement, const std::string& id) {
  return std::any_of(judgement.caveats.begin(), judgement.caveats.end(),
                     [&](const core::Caveat& caveat) { return caveat.id == id; });
}

// Dumps without an open call do not outweigh logs that tell of a fault; logs of another run do not
// outweigh the dumps.
TEST(Review, LogsTellOfAFaultBehindTheDumps) {
  JobWriter job(4);
  job.everyone("0", "all_reduce", 10);
  for (int rank = 0; rank < 4; ++rank) job.log(rank, timeout_text(rank, 2));
  const auto later = job.judge();
  EXPECT_EQ(later.verdict.kind, HangKind::kNotDecidable);
  EXPECT_THAT(later.verdict.summary, HasSubstr("no open call"));
  JobWriter killed(4);
  killed.everyone("0", "all_reduce", 10);
  killed.log(0, "srun: error: node7: task 2: Killed");
  EXPECT_THAT(killed.judge().verdict.culprits, ElementsAre(2));
  JobWriter other(4);
  other.everyone("0", "all_reduce", 10);
  for (int rank = 0; rank < 4; ++rank) other.log(rank, timeout_text(rank, 1));
  const auto foreign = other.judge();
  EXPECT_EQ(foreign.verdict.kind, HangKind::kHealthy);
  EXPECT_TRUE(has_caveat(foreign, "hang.log-foreign"));
}

// A dump without entries: pg_status tells that calls are open, and nothing that they were made.
TEST(Review, CallsThatOnlyTheStatusKnows) {
  JobWriter all(4);
  JobWriter one(4);
  for (int rank = 0; rank < 4; ++rank) {
    all.call(rank, "0", "all_reduce", 10);
    for (int call = 0; call < 2; ++call) one.call(rank, "0", "all_reduce", 10);
    one.call(rank, "0", "all_reduce", 10).open();
  }
  const nlohmann::json status = {{"last_enqueued_collective", "3"},
                                 {"last_started_collective", "-1"},
                                 {"last_completed_collective", "2"}};
  for (int rank = 0; rank < 4; ++rank) {
    all.dump(rank)["entries"] = nlohmann::json::array();
    all.dump(rank)["pg_status"]["0"] = status;
  }
  EXPECT_EQ(all.judge().verdict.kind, HangKind::kNotDecidable);
  one.dump(2)["entries"] = nlohmann::json::array();
  one.dump(2)["pg_status"]["0"] = status;
  const HangVerdict verdict = one.judge().verdict;
  EXPECT_THAT(verdict.summary, Not(HasSubstr("completed on rank 2")));
  EXPECT_THAT(verdict.culprits, IsEmpty());
}

// The same as without their dumps: these ranks are elsewhere in the program, not stuck.
TEST(Review, IdleRanksInTheFirstCallOfAnotherGroup) {
  JobWriter job(4);
  job.everyone("0", "all_reduce", 10);
  for (const int rank : {0, 1}) job.call(rank, "0", "all_reduce", 10).open();
  for (const int rank : {2, 3})
    job.log(rank,
            "[rank" + std::to_string(rank) +
                "]: torch.distributed.DistBackendError: [1] is setting up NCCL communicator "
                "and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but "
                "store->get('0') got error: wait timeout after 12000ms, keys: /default_pg/0");
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kCountMismatch);
  EXPECT_EQ(verdict.confidence, Confidence::kLikely);
  EXPECT_THAT(verdict.culprits, ElementsAre(2, 3));
}

// Found by fuzzing: numbers that fall. Every call is found by its number all the same.
TEST(Review, NumbersThatFall) {
  JobWriter job(2);
  for (const int rank : {0, 1})
    for (const int seq : {5, 3, 4})
      (*job.call(rank, "0", "all_reduce", 10).open().entry)["collective_seq_id"] = seq;
  const auto judgement = job.judge();
  EXPECT_NE(judgement.verdict.kind, HangKind::kHealthy);
  const torch::Job aligned = job.job();
  for (const std::uint32_t seq : {3U, 4U, 5U})
    EXPECT_NE(aligned.groups.front().lane_of(1)->find(seq), nullptr) << seq;
}

// Four calls left out are a shift as one is.
TEST(Review, SeveralCallsLeftOut) {
  JobWriter job(4);
  for (int call = 0; call < 12; ++call)
    for (int rank = 0; rank < 4; ++rank) {
      if (rank == 2 && call >= 4 && call < 8) continue;
      auto written = job.call(rank, "0", "all_reduce", 100 + call);
      if (call >= 4) written.open();
    }
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kCountMismatch);
  EXPECT_THAT(verdict.culprits, ElementsAre(2));
}

}  // namespace
}  // namespace comm_probe::test
