#include "diagnose/bench.h"

#include <gtest/gtest.h>

namespace comm_probe::diagnose {
namespace {

using core::Duration;

measure::Row row(double bytes, double measured_us, double predicted_us) {
  measure::Row row;
  row.bytes = core::Bytes::of(bytes);
  row.algorithm = model::Algorithm::kOneShot;
  row.out_of_place = {.time = Duration::from_us(measured_us),
                      .fastest = Duration::from_us(measured_us * 0.99),
                      .slowest = Duration::from_us(measured_us * 1.01),
                      .wrong = 0};
  row.in_place = row.out_of_place;
  model::Ledger ledger;
  ledger.terms.push_back(
      {.name = "flags", .steps = 1, .link = {Duration::from_us(predicted_us), {}}});
  row.predicted = ledger;
  return row;
}

measure::Run run_of(std::vector<measure::Row> rows) {
  measure::Run run;
  run.context.cores = 2;
  run.rows = std::move(rows);
  return run;
}

TEST(JudgeBench, NothingIsSaidOfAGoodRun) {
  const BenchJudgement judgement = judge_bench(run_of({row(8, 1.24, 1), row(16, 0.76, 1)}));
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_TRUE(judgement.caveats.empty());
  EXPECT_EQ(
      judgement.verdict,
      "all_reduce on 2 ranks: 2 sizes measured, every result right, 2 of 2 within 25 % of the "
      "prediction");
}

TEST(JudgeBench, EveryReasonForBeingFarOffIsTold) {
  measure::Run run = run_of({row(8, 1, 1), row(16, 2, 1), row(32, 3, 1)});
  run.rows[2].out_of_place.slowest = Duration::from_us(9);
  const auto evidence = [&] { return judge_bench(run).findings.front().evidence; };
  ASSERT_EQ(judge_bench(run).findings.size(), 1u);
  EXPECT_EQ(judge_bench(run).findings.front().id, "bench.off-prediction");
  EXPECT_EQ(judge_bench(run).findings.front().severity, core::Severity::kInfo);
  ASSERT_EQ(evidence().size(), 2u);
  EXPECT_EQ(evidence()[0].source, "16 B");
  EXPECT_NE(evidence()[0].text.find("lacks a term"), std::string::npos);
  EXPECT_NE(evidence()[1].text.find("something else used the cores"), std::string::npos);
  run.rows[1].out_of_place.preemptions = 5;
  EXPECT_EQ(evidence()[0].text,
            "2.00 times the prediction; another process took the cores 5 times in 9 samples");
  run.context.drift = 1.6;
  EXPECT_NE(evidence()[0].text.find("changed by a factor of 1.6"), std::string::npos);
}

// One line per cause, with its sizes and ratios.
TEST(JudgeBench, SizesOfOneCauseAreOneLine) {
  measure::Run run = run_of({row(8, 2, 1), row(16, 1, 1), row(32, 3, 1), row(64, 0.5, 1)});
  const core::Finding finding = judge_bench(run).findings.front();
  EXPECT_NE(finding.summary.find("3 of 4 sizes are further than 25 %"), std::string::npos);
  ASSERT_EQ(finding.evidence.size(), 2u);
  EXPECT_EQ(finding.evidence[0].source, "8 B to 32 B");
  EXPECT_EQ(finding.evidence[0].text.find("2 sizes, 2.00 to 3.00 times the prediction; samples"),
            0u);
  EXPECT_EQ(finding.evidence[1].source, "64 B");
}

// Two GPUs of one thread: small sizes wait for the second launch; large ones do not.
TEST(JudgeBench, NcclModelIsOfNcclAndLaunchesAreNamed) {
  measure::Run run = run_of({row(8, 11.5, 6), row(16, 11.6, 6), row(1e9, 9000, 6000)});
  run.context.engine = "nccl";
  run.plan.gpus = 2;
  core::Finding finding = judge_bench(run).findings.front();
  EXPECT_EQ(finding.id, "bench.off-nccl-model");
  EXPECT_EQ(finding.layer, core::Layer::kNccl);
  ASSERT_EQ(finding.evidence.size(), 2u);
  EXPECT_NE(finding.evidence[0].text.find("one thread launches on 2 GPUs in turn"),
            std::string::npos);
  EXPECT_NE(finding.evidence[1].text.find("slower than NCCL's model"), std::string::npos);
  run.plan.gpus = 1;
  run.plan.threads = 2;
  finding = judge_bench(run).findings.front();
  ASSERT_EQ(finding.evidence.size(), 1u);
  EXPECT_EQ(finding.evidence[0].text.find("one thread"), std::string::npos);
}

TEST(JudgeBench, WrongResultsAndDeathAreErrors) {
  measure::Run run = run_of({row(8, 1, 1), row(16, 1, 1)});
  run.rows[1].in_place.wrong = 3;
  run.died = measure::RankDeath{1, 9, "rank 1 was killed by signal 9 (Killed)"};
  const BenchJudgement judgement = judge_bench(run);
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].id, "bench.rank-died");
  EXPECT_EQ(judgement.findings[0].ranks, std::vector<int>{1});
  EXPECT_EQ(judgement.findings[1].id, "bench.wrong-results");
  EXPECT_EQ(judgement.findings[1].observed->value, 3);
  for (const core::Finding& finding : judgement.findings)
    EXPECT_EQ(finding.severity, core::Severity::kError);
  EXPECT_EQ(judgement.verdict, "");
}

// What disturbs a collective makes it slower: a faster one has another reason, whatever its samples
// say.
TEST(JudgeBench, FasterThanPredictedIsNeverBlamedOnItsOwnSamples) {
  measure::Run run = run_of({row(8, 0.34, 1)});
  run.rows[0].out_of_place.preemptions = 69;
  run.rows[0].out_of_place.slowest = Duration::from_us(5);
  const auto evidence = [&] { return judge_bench(run).findings.front().evidence.front().text; };
  EXPECT_EQ(
      evidence(),
      "0.34 times the prediction; faster than its links: these were disturbed while they were "
      "measured, or the ledger counts something that this size does not pay");
  run.context.link_preemptions = 12;
  EXPECT_EQ(evidence(),
            "0.34 times the prediction; faster than its links: another process took the cores 12 "
            "times while these were measured");
  run.context.drift = 1.6;
  EXPECT_NE(evidence().find("changed by a factor of 1.6"), std::string::npos);
}

TEST(JudgeBench, ADeathSaysWhatToLookAtNext) {
  measure::Run run = run_of({row(8, 1, 1)});
  run.died = measure::RankDeath{1, 9, "rank 1 was killed by signal 9 (Killed)", false, 4711};
  core::Finding killed = judge_bench(run).findings.front();
  EXPECT_EQ(killed.summary,
            "rank 1 was killed by signal 9 (Killed) after 1 finished size; the others were ended");
  ASSERT_EQ(killed.evidence.size(), 1u);
  EXPECT_EQ(killed.evidence[0].source, "process 4711");
  ASSERT_FALSE(killed.next.empty());
  EXPECT_NE(killed.next[0].find("oom-kill"), std::string::npos);
  run.died = measure::RankDeath{1, 0, "rank 1 has not run for 5 s", true, 4711};
  const core::Finding still = judge_bench(run).findings.front();
  EXPECT_EQ(still.id, "bench.rank-stopped");
  EXPECT_EQ(still.severity, core::Severity::kError);
  ASSERT_FALSE(still.next.empty());
  EXPECT_NE(still.next[0].find("4711"), std::string::npos);
}

// 3 B hold no float: nothing was moved, and nothing can be right.
TEST(JudgeBench, SizesWithoutAnElementAreSaid) {
  measure::Run run = run_of({row(0, 1, 1)});
  run.plan.begin = run.plan.end = core::Bytes::of(3.0);
  BenchJudgement judgement = judge_bench(run);
  ASSERT_EQ(judgement.caveats.size(), 1u);
  EXPECT_EQ(judgement.caveats[0].id, "bench.no-element");
  EXPECT_TRUE(judgement.caveats[0].limits);
  EXPECT_EQ(judgement.caveats[0].missing, "1 of 1 size too small for one float of 4 bytes");
  EXPECT_EQ(judgement.verdict.find("right"), std::string::npos);
  EXPECT_NE(judgement.verdict.find("1 size measured"), std::string::npos);
  run.rows.push_back(row(8, 1, 1));
  run.plan.op = model::Op::kAllGather;
  judgement = judge_bench(run);
  EXPECT_FALSE(judgement.caveats[0].limits);
  EXPECT_NE(judgement.caveats[0].missing.find("of 4 bytes per rank"), std::string::npos);
  run.plan.begin = core::Bytes();  // -b 0 asks for an empty message
  EXPECT_TRUE(judge_bench(run).caveats.empty());
}

TEST(JudgeBench, OneRankCommunicatesNothing) {
  measure::Run run = run_of({row(8, 1, 1)});
  run.plan.ranks = 1;
  const BenchJudgement judgement = judge_bench(run);
  ASSERT_EQ(judgement.caveats.size(), 1u);
  EXPECT_EQ(judgement.caveats[0].id, "bench.one-rank");
  EXPECT_TRUE(judgement.caveats[0].limits);
  EXPECT_EQ(judgement.verdict.find("1 ranks"), std::string::npos);
}

TEST(JudgeBench, MoreRanksThanCoresAreNotPriced) {
  measure::Run run = run_of({});
  run.plan.ranks = 3;
  const BenchJudgement judgement = judge_bench(run);
  ASSERT_EQ(judgement.caveats.size(), 1u);
  EXPECT_EQ(judgement.caveats[0].id, "bench.not-priced");
  EXPECT_FALSE(judgement.caveats[0].limits);
}

}  // namespace
}  // namespace comm_probe::diagnose
