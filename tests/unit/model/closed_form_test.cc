#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model.h"

namespace comm_probe::model {
namespace {

using namespace core::literals;  // NOLINT

const Fabric kInfiniBand = {.link = {10_us, 25_GBps}};

Ledger priced(const Collective& collective, const Method& method, const Fabric& fabric) {
  const auto ledger = price(collective, method, fabric);
  EXPECT_TRUE(ledger.ok()) << ledger.error().one_line();
  return ledger.ok() ? *ledger : Ledger{};
}

// the worked example of model.h, golden G1-01, G1-08
TEST(ClosedForm, RingOfEightRanks) {
  const Ledger ledger = priced({Op::kAllReduce, 8, 1_GB}, {Algorithm::kRing}, kInfiniBand);
  EXPECT_NEAR(ledger.time().in_ms(), 70.14, 1e-9);
  EXPECT_EQ(ledger.steps, 14);
  EXPECT_EQ(ledger.bytes_per_rank, core::Bytes::of(1750000000.0));
  EXPECT_NEAR(ledger.knee.count(), 2e6, 1e-3);
  EXPECT_NEAR(ledger.plateau90.count(), 18e6, 1e-2);
  EXPECT_NEAR(ledger.busbw().in_GBps(), 24.9500998, 1e-6);
}

// the worked example of advice.h, golden G1-03
TEST(Advice, SaysWhatHelpsAndWhatDoesNot) {
  const Ledger small = priced({Op::kAllReduce, 8, 64_KiB}, {Algorithm::kRing}, kInfiniBand);
  EXPECT_NEAR(savings(small).twice_beta.in_us(), 2.29376, 1e-9);
  EXPECT_NEAR(savings(small).half_alpha.in_us(), 70, 1e-9);
  EXPECT_THAT(advice(small), testing::Contains(testing::HasSubstr(
                                 "a faster link does not help: twice the bandwidth would save "
                                 "2.294 us of 144.6 us")));
  const Ledger big = priced({Op::kAllReduce, 8, 1_GB}, {Algorithm::kRing}, kInfiniBand);
  EXPECT_THAT(advice(big), testing::Contains(testing::HasSubstr(
                               "a faster link helps: twice the bandwidth would save 35 ms")));
}

// recursive doubling saves 40 us of 70.07 ms here: not worth a line (two ranks, 1.75 GB)
TEST(Advice, NamesOnlyAlgorithmsThatClearlySave) {
  Ledger ring =
      priced({Op::kAllReduce, 2, core::Bytes::of(1.75e9)}, {Algorithm::kRing}, kInfiniBand);
  ring.rejected = alternatives(ring, kInfiniBand);
  ASSERT_FALSE(ring.rejected.empty());
  for (const std::string& line : advice(ring))
    EXPECT_EQ(line.find("another algorithm helps"), std::string::npos) << line;
}

// one flat node: a hierarchy of one level is the flat algorithm again
TEST(Advice, NoHierarchyOnOneNode) {
  const Ledger bruck = priced({Op::kAllToAll, 8, 1_GB}, {Algorithm::kBruck}, kInfiniBand);
  for (const Rejected& other : alternatives(bruck, kInfiniBand))
    if (other.algorithm == Algorithm::kHierarchical) {
      EXPECT_EQ(other.time, core::Duration());
    }
}

TEST(Advice, SaysBothAtTheKnee) {
  const Ledger knee = priced({Op::kAllReduce, 8, 2_MB}, {Algorithm::kRing}, kInfiniBand);
  EXPECT_THAT(advice(knee),
              testing::Contains(testing::HasSubstr(
                  "both sides count here: half the alpha or half the steps would "
                  "save 70 us of 280 us, twice the bandwidth or half the bytes 70 us")));
}

TEST(ClosedForm, OneRankIsFree) {
  for (const Recipe& recipe : recipes()) {
    const Ledger ledger = priced({recipe.op, 1, 1_GB}, {recipe.algorithm}, kInfiniBand);
    EXPECT_EQ(ledger.time().in_us(), 0) << op_name(recipe.op) << algorithm_name(recipe.algorithm);
    EXPECT_TRUE(advice(ledger).empty());
  }
}

TEST(ClosedForm, RefusesCombinationsThatDoNotExist) {
  const auto refused = price({Op::kBroadcast, 8, 1_GB}, {Algorithm::kBruck}, kInfiniBand);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().one_line(),
            "bruck is not an algorithm for broadcast; known for it: ring, tree, double-tree, "
            "one-shot");
}

TEST(ClosedForm, RefusesPlacementsThatDoNotFit) {
  const Fabric uneven = {
      .link = {10_us, 200_GBps}, .inter = Link{10_us, 25_GBps}, .ranks_per_node = 8};
  EXPECT_FALSE(price({Op::kAllReduce, 12, 1_GB}, {Algorithm::kHierarchical}, uneven).ok());
  EXPECT_FALSE(price({Op::kAllReduce, 16, 1_GB}, {Algorithm::kNvls}, uneven).ok());
  EXPECT_FALSE(price({Op::kAllGather, 6, 1_GB}, {Algorithm::kRecursiveDoubling}, kInfiniBand).ok());
  EXPECT_FALSE(price({Op::kAllReduce, 0, 1_GB}, {Algorithm::kRing}, kInfiniBand).ok());
  EXPECT_FALSE(price({Op::kAllReduce, 8, 1_GB}, {Algorithm::kRing}, Fabric{}).ok());
}

TEST(ClosedForm, AutoKeepsWhatItRejected) {
  const auto small = price_fastest({Op::kAllReduce, 8, 64_KiB}, Protocol::kSimple, kInfiniBand);
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(small->algorithm, Algorithm::kRecursiveDoubling);
  EXPECT_EQ(small->rejected.size(), 8u);  // all others of all_reduce
  const auto big = price_fastest({Op::kAllReduce, 8, 1_GB}, Protocol::kSimple, kInfiniBand);
  ASSERT_TRUE(big.ok());
  EXPECT_EQ(big->algorithm, Algorithm::kRing);
}

TEST(ClosedForm, CostModelAlwaysAnswers) {
  const auto model = ClosedForm::create(kInfiniBand, Method{Algorithm::kTree});
  ASSERT_TRUE(model.ok());
  const Ledger ledger = model->price({Op::kAllToAll, 8, 1_GB});
  EXPECT_EQ(ledger.algorithm, Algorithm::kDirect);
  ASSERT_EQ(ledger.rejected.size(), 1u);
  EXPECT_EQ(ledger.rejected[0].algorithm, Algorithm::kTree);
  EXPECT_FALSE(ClosedForm::create(Fabric{}).ok());
}

}  // namespace
}  // namespace comm_probe::model
