// The public reports of spec users-hang.md: what a tool should have said, one test per pattern.
// Each job is written from the neutral description of the report; the number is that of the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job_writer.h"
#include "torch/readers/ras_json.h"

namespace comm_probe::test {
namespace {

using core::Confidence;
using diagnose::HangJudgement;
using diagnose::HangKind;
using diagnose::HangVerdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

bool has_alternative(const HangVerdict& verdict, HangKind kind) {
  for (const auto& other : verdict.alternatives)
    if (other.kind == kind) return true;
  return false;
}

std::vector<int> first(int count) {
  std::vector<int> ranks;
  for (int rank = 0; rank < count; ++rank) ranks.push_back(rank);
  return ranks;
}

// 1: the first all_reduce, one of eight passes twice as much
TEST(PublicReport, R01TwiceTheElements) {
  JobWriter job(8);
  for (int rank = 0; rank < 8; ++rank)
    job.call(rank, "0", "all_reduce", rank == 0 ? 200 : 100).open();
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kParamMismatch);
  EXPECT_THAT(verdict.culprits, ElementsAre(0));
  EXPECT_EQ(verdict.seq, 1U);
  EXPECT_THAT(verdict.summary, HasSubstr("[[200]]"));
  EXPECT_THAT(verdict.summary, HasSubstr("[[100]]"));
}

// 2: all_to_all whose splits do not pair up: only the totals can be proven
TEST(PublicReport, R02SplitSizes) {
  for (const bool totals_differ : {true, false}) {
    JobWriter job(2);
    (*job.call(0, "0", "all_to_all", 100).open().entry)["output_sizes"] = {
        {totals_differ ? 90 : 120}};
    (*job.call(1, "0", "all_to_all", 100).open().entry)["output_sizes"] = {{80}};
    const HangVerdict verdict = job.judge().verdict;
    EXPECT_THAT(verdict.culprits, IsEmpty());
    if (totals_differ) {
      EXPECT_EQ(verdict.kind, HangKind::kParamMismatch);
    } else {
      EXPECT_TRUE(has_alternative(verdict, HangKind::kParamMismatch)) << verdict.summary;
    }
  }
}

// 3: DETAIL mode: two sizes at one number, two ranks
TEST(PublicReport, R03DetailModeTwoSizes) {
  JobWriter job(2);
  job.log(
      0,
      "RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: "
      "CollectiveFingerPrint(SequenceNumber=485, OpType=ALLREDUCE, TensorShape=[195812480], "
      "TensorDtypes=BFloat16, TensorDeviceTypes=x), but Rank 0 is running collective: "
      "CollectiveFingerPrint(SequenceNumber=485, OpType=ALLREDUCE, TensorShape=[51123456], "
      "TensorDtypes=BFloat16, TensorDeviceTypes=x). Collectives differ in the following aspects:");
  const HangVerdict verdict = job.judge_logs().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kParamMismatch);
  EXPECT_EQ(verdict.seq, 485U);
  EXPECT_THAT(verdict.culprits, IsEmpty());
}

// 4: another operation from another line on one rank
TEST(PublicReport, R04RankDependentPath) {
  JobWriter job(4);
  for (int i = 0; i < 3; ++i) job.everyone("0", "all_reduce", 25);
  job.call(0, "0", "broadcast", 1, "Long").open().at("/app/checkpoint.py", 80);
  for (int rank = 1; rank < 4; ++rank)
    job.call(rank, "0", "all_reduce", 25).open().at("/app/train.py", 12);
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kParamMismatch);
  EXPECT_THAT(verdict.culprits, ElementsAre(0));
  EXPECT_TRUE(has_alternative(verdict, HangKind::kCountMismatch));
  EXPECT_EQ(verdict.sides.front().site, "checkpoint.py:80 step");
}

// 5, 8, 9: one rank skips a call; from then on it is one behind
TEST(PublicReport, R05SkippedCall) {
  JobWriter job(4);
  job.everyone("0", "all_reduce", 10);
  for (int rank = 0; rank < 4; ++rank) {
    if (rank != 3) job.call(rank, "0", "_reduce_scatter_base", 20).open();
    for (int size = 30; size <= 50; size += 10) job.call(rank, "0", "all_reduce", size).open();
  }
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kCountMismatch);
  EXPECT_THAT(verdict.culprits, ElementsAre(3));
  EXPECT_EQ(verdict.seq, 2U);
  EXPECT_THAT(verdict.summary, HasSubstr("1 call less"));
}

// 6, 7: fewer batches on some ranks; they have ended, the others wait
TEST(PublicReport, R06UnevenBatches) {
  JobWriter job(4);
  for (int i = 0; i < 4; ++i) job.everyone("0", "all_reduce", 10);
  for (int rank = 0; rank < 3; ++rank) job.call(rank, "0", "all_reduce", 10).open();
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kRankDeadOrStuck);
  EXPECT_THAT(verdict.culprits, ElementsAre(3));
  EXPECT_EQ(verdict.seq, 5U);
  EXPECT_THAT(verdict.victims, ElementsAre(0, 1, 2));
}

TEST(PublicReport, R07ExitedRanksOfOneNode) {
  JobWriter job(8);
  for (int i = 0; i < 4; ++i) job.everyone("0", "all_reduce", 10);
  for (int rank = 0; rank < 6; ++rank) job.call(rank, "0", "all_reduce", 10).open();
  job.without_dump(6);
  job.without_dump(7);
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kRankDeadOrStuck);
  EXPECT_THAT(verdict.culprits, ElementsAre(6, 7));
  EXPECT_EQ(verdict.confidence, Confidence::kLikely);
  EXPECT_TRUE(has_alternative(verdict, HangKind::kNetworkOrHardware));
}

// 8: the drift is silent (equal sizes); with stacks the first line that differs is found
TEST(PublicReport, R08SilentDrift) {
  JobWriter job(2);
  for (int i = 0; i < 6; ++i)
    for (int rank = 0; rank < 2; ++rank) {
      if (rank == 1 && i == 2) continue;
      job.call(rank, "0", "all_reduce", 8).at("/app/engine.py", 100 + i);
    }
  for (int rank = 0; rank < 2; ++rank)
    job.call(rank, "0", "all_reduce", 8).at("/app/engine.py", 106);
  (*job.dump(0)["entries"].rbegin())["state"] = "scheduled";
  (*job.dump(0)["entries"].rbegin())["retired"] = false;
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kCountMismatch) << verdict.summary;
  EXPECT_THAT(verdict.culprits, ElementsAre(1));
  EXPECT_EQ(verdict.seq, 3U);
}

// 10: the id of a communicator was never published
TEST(PublicReport, R10StoreGet) {
  JobWriter job(4);
  for (const int rank : {2, 3})
    job.log(rank,
            "torch.distributed.DistStoreError: store->get('1:2') got error: wait timeout after "
            "600000ms");
  const HangVerdict verdict = job.judge_logs().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kNotDecidable);
  EXPECT_THAT(verdict.victims, ElementsAre(2, 3));
  EXPECT_THAT(verdict.summary, HasSubstr("first call"));
}

// 11, 13: the peer of an unbatched send has nothing; the host stands in the creation of the pair
TEST(PublicReport, R11LazyCommunicatorOfThePair) {
  JobWriter job(4);
  job.everyone("0", "all_reduce", 10);
  for (int rank = 1; rank < 4; ++rank) job.call(rank, "0", "all_reduce", 10).open();
  job.log(0,
          "[rank0]:[W1129 12:05:00.17 ProcessGroupNCCL.cpp:4094] Warning: An unbatched P2P op "
          "(send/recv) was called on this ProcessGroup with size 4.");
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kP2pUnpaired);
  EXPECT_THAT(verdict.culprits, ElementsAre(0));
}

// 12: a batch of hundreds, both sides complete
TEST(PublicReport, R12LargeBatch) {
  JobWriter job(2);
  for (int rank = 0; rank < 2; ++rank) {
    for (int i = 0; i < 300; ++i) {
      auto sent = job.send(rank, "0", rank, 1 - rank, 8).open();
      (*sent.entry)["p2p_seq_id"] = 1;
    }
    auto end = job.send(rank, "0", rank, 1 - rank, 8).open();
    (*end.entry)
        .update({{"p2p_seq_id", 1},
                 {"profiling_name", "nccl:coalesced"},
                 {"is_p2p", false},
                 {"input_sizes", nlohmann::json::array()},
                 {"output_sizes", nlohmann::json::array()}});
  }
  for (auto& entry : job.dump(1)["entries"])
    if (entry["is_p2p"] == true) entry["profiling_name"] = "nccl:recv 1<-0";
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kP2pUnpaired) << verdict.summary;
  EXPECT_THAT(verdict.summary, HasSubstr("300"));
}

// 14: receive before send on both sides
TEST(PublicReport, R14BothReceiveFirst) {
  JobWriter job(2);
  for (int rank = 0; rank < 2; ++rank) {
    job.receive(rank, "0", rank, 1 - rank, 8).open();
    job.send(rank, "0", rank, 1 - rank, 8).open();
  }
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kP2pUnpaired);
  EXPECT_THAT(verdict.culprits, ElementsAre(0, 1));
}

// 15: most ranks wait in the all_to_all, two in the all_reduce of their replica
TEST(PublicReport, R15OrderOfTwoGroups) {
  JobWriter job(8);
  job.group("1", first(8), "shard");
  job.group("2", {6, 7}, "replicate");
  job.group("3", {0, 6}, "other");
  for (int rank = 0; rank < 6; ++rank) job.call(rank, "1", "all_to_all", 10).open();
  job.call(6, "2", "all_reduce", 4).open();
  job.call(6, "1", "all_to_all", 10).open();
  job.call(7, "1", "all_to_all", 10).open();
  job.call(7, "2", "all_reduce", 4).open();
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kOrderInversion) << verdict.summary;
  EXPECT_NE(verdict.confidence, Confidence::kCertain);
}

// 16, 17: several communicators wait in one order everywhere: launch order below the host
TEST(PublicReport, R16LaunchOrder) {
  JobWriter job(4);
  job.group("1", first(4), "FSDP");
  job.group("2", first(4), "TP");
  for (int rank = 0; rank < 4; ++rank) {
    job.call(rank, "1", "_all_gather_base", 10).open();
    job.call(rank, "2", "all_reduce", 4).open();
  }
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_THAT(verdict.culprits, IsEmpty());
  EXPECT_TRUE(has_alternative(verdict, HangKind::kOrderInversion));
  EXPECT_NE(verdict.confidence, Confidence::kCertain);
}

// 18: rank 0 writes a checkpoint
TEST(PublicReport, R18CheckpointOfRankZero) {
  JobWriter job(4);
  for (int rank = 0; rank < 4; ++rank)
    job.call(rank, "0", "all_reduce", 10).at(rank == 0 ? "/app/save.py" : "/app/train.py", 7);
  for (int rank = 1; rank < 4; ++rank) {
    job.call(rank, "0", "all_reduce", 10).open();
    job.log(rank, timeout_line(rank, 2, "ALLREDUCE", 10));
  }
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kRankDeadOrStuck);
  EXPECT_THAT(verdict.culprits, ElementsAre(0));
  EXPECT_EQ(verdict.sides.front().site, "save.py:7 step");
}

// 19: all ranks of one node compile
TEST(PublicReport, R19OneNodeIsSlow) {
  JobWriter job(16);
  job.everyone("0", "all_reduce", 10);
  for (int rank = 0; rank < 8; ++rank) job.call(rank, "0", "all_reduce", 10).open();
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kRankDeadOrStuck);
  EXPECT_THAT(verdict.culprits, ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_TRUE(has_alternative(verdict, HangKind::kSlow));
}

// 20: the watchdog itself is stuck: no time-out line, a heartbeat and the GIL
TEST(PublicReport, R20Heartbeat) {
  JobWriter job(4);
  job.everyone("0", "all_reduce", 10);
  for (const int rank : {0, 1, 3}) job.call(rank, "0", "all_reduce", 10).open();
  job.log(
      2,
      "[rank2]:[E1016 03:31:38.9 ProcessGroupNCCL.cpp:1375] [PG ID 0 PG GUID 0(default_pg) Rank "
      "2] First PG on this rank that detected no heartbeat of its watchdog.");
  job.log(
      2,
      "[rank2]:[E1016 03:31:38.9 ProcessGroupNCCL.cpp:1413] ProcessGroupNCCL's watchdog got stuck "
      "for 480 seconds without making progress in monitoring enqueued collectives.");
  job.log(
      2,
      "[rank2]:[E1016 03:31:39.9 ProcessGroupNCCL.cpp:1333] Could not acquire GIL within 300 ms "
      "on exit, possible GIL induced hang");
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_THAT(verdict.culprits, ElementsAre(2));
  EXPECT_THAT(verdict.summary, HasSubstr("GIL"));
  EXPECT_EQ(job.judge_logs().verdict.kind, HangKind::kRankDeadOrStuck);
  EXPECT_THAT(job.judge_logs().verdict.culprits, ElementsAre(2));
}

// 21: all agree at the first call
TEST(PublicReport, R21AllAgreeAtTheFirstCall) {
  JobWriter job(2);
  for (int rank = 0; rank < 2; ++rank) job.call(rank, "0", "all_reduce", 10).open();
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kNetworkOrHardware);
  EXPECT_EQ(verdict.seq, 1U);
  EXPECT_NE(verdict.confidence, Confidence::kCertain);
}

// 22: the same, with completion status 12
TEST(PublicReport, R22CompletionStatus) {
  JobWriter job(4);
  for (int rank = 0; rank < 4; ++rank) job.call(rank, "0", "all_reduce", 10).open();
  job.log(1,
          "host1:77:99 [0] transport/net_ib.cc:801 NCCL WARN NET/IB : Got completion from peer "
          "10.0.0.2<5000> with status=12 opcode=0 len=0 vendor err 129");
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kNetworkOrHardware);
  EXPECT_THAT(verdict.summary, HasSubstr("12"));
  EXPECT_EQ(job.judge_logs().verdict.kind, HangKind::kNetworkOrHardware);
}

// 23: one GPU stops executing its queue; its peers have finished calls that stay open on it
TEST(PublicReport, R23OneDeviceStops) {
  JobWriter job(4);
  for (int i = 0; i < 4; ++i)
    for (int rank = 0; rank < 4; ++rank) {
      auto call = job.call(rank, "0", "all_reduce", 10);
      if (rank == 2 && i > 1) call.open();
    }
  for (const int rank : {0, 1, 3}) job.call(rank, "0", "all_reduce", 10).open();
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kNetworkOrHardware);
  EXPECT_THAT(verdict.culprits, ElementsAre(2));
}

// 24: everybody agrees and nothing else is known: said as such
TEST(PublicReport, R24LibraryBug) {
  JobWriter job(4);
  for (int rank = 0; rank < 4; ++rank) job.call(rank, "0", "broadcast", 10).open();
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kNetworkOrHardware);
  EXPECT_STREQ(code_or_environment(verdict), "undecided");
}

// 25: the group that timed out has the default limit, another one two hours
TEST(PublicReport, R25TimeoutNotInherited) {
  JobWriter job(2);
  (*job.call(0, "0", "all_reduce", 10).entry)["timeout_ms"] = 7200000;
  (*job.call(1, "0", "all_reduce", 10).entry)["timeout_ms"] = 7200000;
  job.log(0, timeout_line(0, 1, "ALLREDUCE", 10, 600000));
  const auto findings = diagnose::findings_beside({}, job.job(), job.lines());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().id, "hang.timeout-shorter");
}

// 2, again: what one rank of an all_to_all passes is not shown for the others
TEST(PublicReport, R02RowsOfUnlikeSizes) {
  JobWriter job(4);
  for (int rank = 0; rank < 4; ++rank) {
    auto& entry = *job.call(rank, "0", "all_to_all", 100).open().entry;
    entry["input_sizes"] = {{100 + rank, 8}};
    entry["output_sizes"] = {{103 - rank, 8}};
  }
  const HangVerdict verdict = job.judge().verdict;
  ASSERT_FALSE(verdict.sides.empty());
  for (const auto& side : verdict.sides)
    if (side.ranks.size() > 1) {
      EXPECT_EQ(side.call, "all_to_all, sizes differ by rank");
    }
}

// the same from the dumps alone, where the waiting call has just the default
TEST(PublicReport, R25TimeoutNotInheritedWithoutLogs) {
  for (const int limit : {600000, 1200000}) {
    JobWriter job(4);
    job.group("1", {0, 1});
    job.everyone("0", "all_reduce", 10);
    for (int rank = 0; rank < 4; ++rank)
      (*job.call(rank, "0", "all_reduce", 10).entry)["timeout_ms"] = 7200000;
    for (const int rank : {0, 1})
      (*job.call(rank, "1", "all_reduce", 10).open().entry)["timeout_ms"] = limit;
    const auto findings = diagnose::findings_beside(job.judge().verdict, job.job(), job.lines());
    ASSERT_EQ(findings.size(), limit == 600000 ? 1U : 0U);
    if (findings.empty()) continue;
    EXPECT_EQ(findings.front().id, "hang.timeout-shorter");
    EXPECT_NE(findings.front().summary.find("600 s, another one of 7200 s"), std::string::npos);
  }
}

// pytorch 152623: the desync report names the rank that did not join
TEST(PublicReport, DesyncReport) {
  JobWriter job(4);
  job.log(0,
          "[rank0]:[E1016 03:31:38.9 ProcessGroupNCCL.cpp:607] [2] finished collective #182, but "
          "didn't join collective #183 (count from 1)");
  const HangVerdict verdict = job.judge_logs().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kRankDeadOrStuck);
  EXPECT_THAT(verdict.culprits, ElementsAre(2));
}

// pytorch 140563: the odd rank's file is read first; the others are not blamed
TEST(PublicReport, ReversedBlame) {
  JobWriter job(8);
  for (int rank = 0; rank < 8; ++rank)
    job.call(rank, "0", "all_reduce", rank == 0 ? 1025 : 262144).open();
  EXPECT_THAT(job.judge().verdict.culprits, ElementsAre(0));
}

// nccl 1730: everything launched everywhere, 119 works queued behind
TEST(PublicReport, QueueBehindTheCall) {
  JobWriter job(4);
  for (int rank = 0; rank < 4; ++rank)
    for (int i = 0; i < 120; ++i) job.call(rank, "0", "all_reduce", 10 + i).open();
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kNetworkOrHardware);
  EXPECT_EQ(verdict.seq, 1U);
}

// Megatron-Bridge 943: the size of a coalesced work is unknown, 2^64 - 1
TEST(PublicReport, CoalescedSizeIsUnknown) {
  JobWriter job(2);
  job.log(0,
          "[rank0]:[E1016 03:31:38.9 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective "
          "operation timeout: WorkNCCL(SeqNum=7, OpType=COALESCED, NumelIn=18446744073709551615, "
          "NumelOut=18446744073709551615, Timeout(ms)=600000) ran for 600031 milliseconds before "
          "timing out.");
  const auto lines = job.lines();
  ASSERT_EQ(lines.lines.size(), 1U);
  EXPECT_EQ(lines.lines.front().elements_in, std::nullopt);
  EXPECT_EQ(lines.lines.front().op, "coalesced");
}

// pytorch 196968, vllm 5484: the rank that leaves no dump is named, the reporting ones are not
TEST(PublicReport, TheReportingRanksAreVictims) {
  JobWriter job(4);
  job.everyone("0", "all_reduce", 10);
  for (const int rank : {0, 1, 3}) {
    job.call(rank, "0", "_all_gather_base", 10).open();
    job.log(rank, timeout_line(rank, 2, "_ALLGATHER_BASE", 10));
  }
  job.without_dump(2);
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kRankDeadOrStuck);
  EXPECT_THAT(verdict.culprits, ElementsAre(2));
  EXPECT_NE(verdict.confidence, Confidence::kCertain);
}

// One odd call among many that are alike fits any shift: it is no skipped call.
TEST(CountOrArguments, OddCallAmongEqualOnes) {
  JobWriter job(4);
  job.everyone("0", "all_reduce", 10);
  for (int i = 0; i < 6; ++i)
    for (int rank = 0; rank < 4; ++rank)
      job.call(rank, "0", "all_reduce", rank == 3 && i == 0 ? 9 : 10).open().at("/app/layer.py", 5);
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kParamMismatch) << verdict.summary;
  EXPECT_THAT(verdict.culprits, ElementsAre(3));
  EXPECT_EQ(verdict.seq, 2U);
}

// A rank that left out the last bucket of a step waits in the next group's call: no inversion where
// that call has always followed the bucket.
TEST(CountOrOrder, SkippedCallBeforeAnotherGroup) {
  JobWriter job(4);
  job.group("1", first(4), "DP");
  for (int step = 0; step < 3; ++step) {
    job.everyone("1", "all_reduce", 100);
    job.everyone("1", "all_reduce", 200);
    job.everyone("0", "all_reduce", 1);
  }
  job.everyone("1", "all_reduce", 100);
  for (int rank = 0; rank < 3; ++rank) job.call(rank, "1", "all_reduce", 200).open();
  job.call(3, "0", "all_reduce", 1).open();
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kCountMismatch) << verdict.summary;
  EXPECT_THAT(verdict.culprits, ElementsAre(3));
  EXPECT_EQ(verdict.seq, 8U);
  EXPECT_TRUE(has_alternative(verdict, HangKind::kOrderInversion));
}

// One rank of a pair left no dump, fifteen others did: that is one missing rank of sixteen.
TEST(MissingDump, OneOfAPair) {
  JobWriter job(16);
  job.group("1", {14, 15}, "TP");
  job.everyone("0", "all_reduce", 10);
  job.call(14, "1", "all_reduce", 10).open();
  for (int rank = 0; rank < 14; ++rank) job.call(rank, "0", "all_reduce", 10).open();
  job.without_dump(15);
  const HangVerdict verdict = job.judge().verdict;
  EXPECT_EQ(verdict.kind, HangKind::kRankDeadOrStuck);
  EXPECT_THAT(verdict.culprits, ElementsAre(15));
}

// ncclras: the rank with the lower count, and the process that does not answer
TEST(Ras, CountsAndDeadProcesses) {
  const auto verdict_of = [](const std::string& text) {
    torch::JobLines lines;
    auto input = core::Input::from_memory("ras.json", text);
    EXPECT_TRUE(torch::read_ras(input, lines));
    return diagnose::judge_logs(lines).verdict;
  };
  const std::string head =
      R"({"nccl_version": "2.28.9", "communicators": [{"hash": "0x1", "size": 3, )";
  const auto member = [](int rank, int count) {
    return R"({"rank": )" + std::to_string(rank) + R"(, "collective_counts": {"AllReduce": )" +
           std::to_string(count) + "}}";
  };
  const HangVerdict behind = verdict_of(head + "\"ranks\": [" + member(0, 32) + "," +
                                        member(1, 31) + "," + member(2, 32) + "]}]}");
  EXPECT_EQ(behind.kind, HangKind::kRankDeadOrStuck);
  EXPECT_THAT(behind.culprits, ElementsAre(1));
  EXPECT_EQ(behind.confidence, Confidence::kPossible);
  const HangVerdict dead =
      verdict_of(head + "\"ranks\": [" + member(0, 32) + "," + member(1, 32) +
                 R"(], "missing_ranks": [{"rank": 2, "status": {"considered_dead": true}}]}]})");
  EXPECT_THAT(dead.culprits, ElementsAre(2));
  const HangVerdict fine =
      verdict_of(head + "\"ranks\": [" + member(0, 32) + "," + member(1, 32) + "]}]}");
  EXPECT_EQ(fine.kind, HangKind::kHealthy);
}

// A file of yesterday's run among fresh ones is left out and said so; its rank has no dump then.
TEST(StaleDump, IsLeftOut) {
  JobWriter job(4);
  job.everyone("0", "all_reduce", 10);
  for (const int rank : {0, 1, 2}) job.call(rank, "0", "all_reduce", 10).open();
  for (auto& entry : job.dump(3)["entries"])
    entry["time_created_ns"] = entry["time_created_ns"].get<std::int64_t>() - 86'400'000'000'000;
  const torch::Job aligned = job.job();
  EXPECT_THAT(aligned.missing, ElementsAre(3));
  ASSERT_EQ(aligned.caveats.size(), 1U);
  EXPECT_EQ(aligned.caveats.front().id, "hang.dump-stale");
  const HangVerdict verdict = job.judge().verdict;  // an old file is no proof of a fault
  EXPECT_EQ(verdict.kind, HangKind::kNotDecidable);
  EXPECT_THAT(verdict.culprits, IsEmpty());
}

}  // namespace
}  // namespace comm_probe::test
