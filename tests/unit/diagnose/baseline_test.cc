#include "diagnose/baseline.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "core/input.h"

namespace comm_probe::diagnose {
namespace {

const std::string kFolder = std::string(COMM_PROBE_SHARED) + "/data/field/curves/";

struct Read {
  curve::Reading reading = {};
  JudgedReading judged = {};
};

// The judgement points at the reading, so both stay where they are.
std::unique_ptr<Read> read_curves(const std::string& prefix, double slower = 1) {
  auto read = std::make_unique<Read>();
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    auto input = core::Input::open(entry.path().string());
    if (input)
      if (auto reading = curve::read(*input)) read->reading = std::move(*reading);
  }
  for (auto& curve : read->reading.curves)
    for (auto& row : curve.rows)
      for (auto* timing : {&row.out_of_place, &row.in_place})
        if (*timing) (*timing)->time = (*timing)->time * slower;
  read->judged = judge_reading(read->reading, {});
  return read;
}

int count(const std::vector<Comparison>& comparisons, const char* id) {
  int found = 0;
  for (const auto& comparison : comparisons)
    for (const auto& finding : comparison.judgement.findings) found += finding.id == id ? 1 : 0;
  return found;
}

class Baseline : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder))
      GTEST_SKIP() << "the field data is not there: " << kFolder;
  }
};

TEST_F(Baseline, ARepeatOnAQuietHostIsNoDifference) {
  const auto before = read_curves("c80"), after = read_curves("c83");
  const auto comparisons = compare({after->judged}, before->judged);
  ASSERT_EQ(comparisons.size(), 1U);
  EXPECT_EQ(comparisons[0].sizes.size(), 31U);
  EXPECT_TRUE(comparisons[0].judgement.findings.empty());
  EXPECT_TRUE(comparisons[0].judgement.caveats.empty());
  const auto& plateau = comparisons[0].regions[2];
  ASSERT_TRUE(plateau.test);
  EXPECT_NEAR(plateau.test->ratio, 1, 0.005);
  EXPECT_LT(plateau.test->detectable, 0.01);
}

TEST_F(Baseline, FivePercentInEveryRegionAreSeen) {
  const auto before = read_curves("c60"), after = read_curves("c60", 1.05);
  const auto slower = compare({after->judged}, before->judged);
  EXPECT_GE(count(slower, "curve.regression"), 2);
  for (const auto& result : slower[0].regions)
    if (result.test) {
      EXPECT_NEAR(result.test->ratio, 1.05, 1e-9);
    }
  const auto faster = compare({before->judged}, after->judged);
  EXPECT_EQ(count(faster, "curve.regression"), 0);
  EXPECT_GE(count(faster, "curve.improvement"), 2);
}

// The worked example of baseline.h.
TEST_F(Baseline, TheSlowPairIsSlowerInBothOperations) {
  const auto good = read_curves("c70"), slow = read_curves("c71");
  const auto comparisons = compare({slow->judged}, good->judged);
  ASSERT_EQ(comparisons.size(), 2U);
  EXPECT_EQ(count(comparisons, "curve.regression"), 2);
  for (const auto& comparison : comparisons) EXPECT_GT(comparison.regions[2].test->ratio, 1.5);
}

TEST_F(Baseline, AnotherOperationIsNoBaseline) {
  const auto reduce = read_curves("c80"), gather = read_curves("c81");
  const auto comparisons = compare({gather->judged}, reduce->judged);
  ASSERT_EQ(comparisons.size(), 1U);
  EXPECT_EQ(comparisons[0].baseline, nullptr);
  EXPECT_EQ(comparisons[0].judgement.caveats.at(0).id, "curve.baseline-unmatched");
}

// c61 and c66 differ by 2.4 % of latency, and beyond chance; that is below what counts.
TEST_F(Baseline, AVersionThatChangesTwoPercentIsNoRegression) {
  const auto before = read_curves("c61"), after = read_curves("c66");
  const auto comparisons = compare({after->judged}, before->judged);
  EXPECT_TRUE(comparisons[0].judgement.findings.empty());
  EXPECT_LT(comparisons[0].regions[0].test->p, 0.01);
}

}  // namespace
}  // namespace comm_probe::diagnose
