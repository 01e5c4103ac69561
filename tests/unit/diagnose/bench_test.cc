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
