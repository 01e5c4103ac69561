// What is said of flat against dedup: an order that the calibration does not hold, or that single
// samples contradict, accuses nobody.
#include "diagnose/bench_routed.h"

#include <gtest/gtest.h>

namespace comm_probe::diagnose {
namespace {

using namespace core::literals;  // NOLINT
using measure::RoutedPhase;
using measure::RoutedRow;

struct Times {
  core::Duration predicted = {}, least = {}, most = {};
  core::Duration measured = {}, fastest = {}, slowest = {};
};
RoutedRow row_of(model::MoeScheme scheme, const Times& times) {
  RoutedRow row;
  row.scheme = scheme;
  row.dispatch.predicted = times.predicted;
  row.dispatch.predicted_least = times.least;
  row.dispatch.predicted_most = times.most;
  row.dispatch.time = times.measured;
  row.dispatch.fastest = times.fastest;
  row.dispatch.slowest = times.slowest;
  return row;
}

BenchJudgement judged(const Times& flat, const Times& dedup) {
  measure::RoutedRun run;
  run.is_limited = true;
  run.rows = {row_of(model::MoeScheme::kFlat, flat), row_of(model::MoeScheme::kDedup, dedup)};
  return judge_routed(run);
}

// A stage was calibrated with 19 ms on a busy machine and takes 3: dedup, which has more of them,
// is not accused of being faster than that.
TEST(BenchRoutedJudgement, ACalibrationThatSpreadsPredictsNoOrder) {
  const BenchJudgement busy = judged({150_ms, 140_ms, 160_ms, 148_ms, 145_ms, 152_ms},
                                     {370_ms, 102_ms, 400_ms, 126_ms, 120_ms, 131_ms});
  EXPECT_TRUE(busy.findings.empty());
  EXPECT_NE(busy.verdict.find("too far apart"), std::string::npos) << busy.verdict;
}

TEST(BenchRoutedJudgement, AnOrderThatHoldsIsHeldTo) {
  const Times flat = {100_ms, 95_ms, 105_ms, 200_ms, 190_ms, 210_ms};
  const Times dedup = {150_ms, 145_ms, 160_ms, 120_ms, 115_ms, 130_ms};
  const BenchJudgement off = judged(flat, dedup);
  ASSERT_EQ(off.findings.size(), 1u);
  EXPECT_EQ(off.findings[0].id, "bench.off-prediction");
  // one sample of dedup among those of flat: they are not apart
  Times wide = dedup;
  wide.slowest = 195_ms;
  EXPECT_TRUE(judged(flat, wide).findings.empty());
}

// A busy machine: combine took 19 us to 3.9 ms, or the calibration did. Both columns are void, and
// the measured order, the reverse of the predicted, is not left to be read out of them.
TEST(BenchRoutedJudgement, ATenfoldSpreadIsNoComparison) {
  const Times flat = {76_us, 70_us, 80_us, 99_us, 90_us, 110_us};
  const Times dedup = {64_us, 60_us, 66_us, 176_us, 19_us, 3900_us};
  const BenchJudgement measured = judged(flat, dedup);
  EXPECT_TRUE(measured.findings.empty());
  EXPECT_NE(measured.verdict.find("no comparison: samples differ 205-fold"), std::string::npos)
      << measured.verdict;
  measure::RoutedRun run;
  run.is_limited = true;
  run.rows = {row_of(model::MoeScheme::kFlat, {200_ms, 195_ms, 205_ms, 200_ms, 190_ms, 210_ms}),
              row_of(model::MoeScheme::kDedup, {100_ms, 95_ms, 105_ms, 120_ms, 115_ms, 130_ms})};
  run.even.dispatch.fastest = 18_us;
  run.even.dispatch.slowest = 8893_us;
  EXPECT_NE(judge_routed(run).verdict.find("no comparison"), std::string::npos);
}

// Where the order is not held to, the verdict says so, with both orders.
TEST(BenchRoutedJudgement, AnOrderThatIsNotHeldToIsSaid) {
  const Times flat = {100_ms, 95_ms, 105_ms, 200_ms, 190_ms, 210_ms};
  const Times wide = {150_ms, 145_ms, 160_ms, 120_ms, 115_ms, 195_ms};
  const BenchJudgement judgement = judged(flat, wide);
  EXPECT_NE(judgement.verdict.find("no comparison: dedup is faster, the prediction was that flat "
                                   "is faster, and their samples overlap"),
            std::string::npos)
      << judgement.verdict;
}

// Without a limit both are what the cores make of it, whichever order comes out.
TEST(BenchRoutedJudgement, WithoutALimitNothingIsCompared) {
  const Times slow = {200_ms, 195_ms, 205_ms, 200_ms, 190_ms, 210_ms};
  const Times fast = {100_ms, 95_ms, 105_ms, 120_ms, 115_ms, 130_ms};
  for (const bool dedup_is_fast : {true, false}) {
    measure::RoutedRun run;
    run.rows = {row_of(model::MoeScheme::kFlat, dedup_is_fast ? slow : fast),
                row_of(model::MoeScheme::kDedup, dedup_is_fast ? fast : slow)};
    const BenchJudgement judgement = judge_routed(run);
    EXPECT_TRUE(judgement.findings.empty());
    EXPECT_NE(judgement.verdict.find("no --nic limits them"), std::string::npos)
        << judgement.verdict;
    EXPECT_EQ(judgement.verdict.find("as predicted"), std::string::npos) << judgement.verdict;
  }
}

TEST(BenchRoutedJudgement, AsPredicted) {
  const BenchJudgement good = judged({200_ms, 195_ms, 205_ms, 200_ms, 190_ms, 210_ms},
                                     {100_ms, 95_ms, 105_ms, 120_ms, 115_ms, 130_ms});
  EXPECT_TRUE(good.findings.empty());
  EXPECT_NE(good.verdict.find("dedup is faster, as predicted"), std::string::npos) << good.verdict;
}

}  // namespace
}  // namespace comm_probe::diagnose
