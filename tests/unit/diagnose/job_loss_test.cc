#include "diagnose/job_loss.h"

#include <gtest/gtest.h>

#include "core/finding_table.h"

namespace comm_probe::diagnose {
namespace {

torch::RankBreakdown rank_losing(std::int64_t exposed_ns, std::int64_t idle_ns) {
  torch::RankBreakdown rank;
  rank.total.ops = 10;
  rank.total.exposed_communication = exposed_ns;
  rank.total.idle = idle_ns;
  rank.steps.resize(2);
  return rank;
}

core::Finding costing(const char* id, double us, const char* source) {
  core::Finding finding = core::make_finding(id, "it costs");
  finding.observed = core::Figure{us, "us", core::Basis::kMeasured, source};
  return finding;
}

TEST(JobLoss, IsExposedCommunicationAndIdleTime) {
  const auto loss =
      find_loss({rank_losing(3'000'000, 1'000'000), rank_losing(4'000'000, 2'000'000)});
  ASSERT_TRUE(loss);
  EXPECT_DOUBLE_EQ(loss->per_step.in_us(), 3000);
  EXPECT_DOUBLE_EQ(loss->of_all_ranks.in_us(), 10000);
  EXPECT_FALSE(find_loss({}));
}

TEST(JobLoss, IsExplainedByWhatCostsTimeAndNeverByMoreThanIsLost) {
  std::vector<core::Finding> findings = {
      costing("trace.device-sync", 2000, "cost per step on rank 1, the most"),
      costing("trace.item-sync", 5000, "cost per step on rank 1, the most"),
      costing("trace.straggler", 8000, "waiting that it caused"),
      costing("trace.tail-bucket", 900, "cost per step on rank 1, the least")};
  explain_loss({core::Duration::from_us(3000), core::Duration::from_us(10000)}, findings);
  ASSERT_TRUE(findings[0].explains && findings[1].explains && findings[2].explains);
  EXPECT_DOUBLE_EQ(findings[0].explains->value, 2000);
  EXPECT_DOUBLE_EQ(findings[1].explains->value, 3000);
  EXPECT_DOUBLE_EQ(findings[2].explains->value, 8000);
  EXPECT_EQ(findings[2].explains->unit, "us");
  EXPECT_FALSE(findings[3].explains) << "a remark accounts for nothing";
}

}  // namespace
}  // namespace comm_probe::diagnose
