#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model.h"

namespace comm_probe::model {
namespace {

using namespace core::literals;  // NOLINT
using core::Bandwidth;
using core::Duration;

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

// Two DGX H100 (450 GB/s inside, 8 NICs of 50 GB/s): of 6.389 ms for the bytes of 1 GB, 2 x 875 MB
// / 450 GB/s pass inside and 2 x 62.5 MB / 50 GB/s between the nodes. A link is bought for one
// place.
TEST(Advice, NamesTheSavingOfEveryPlaceAlone) {
  Fabric fabric{.link = {Duration::from_us(3.4), Bandwidth::from_GBps(450)},
                .inter = Link{14_us, Bandwidth::from_GBps(50)},
                .ranks_per_node = 8,
                .rails = 8};
  const Ledger two = priced({Op::kAllReduce, 16, 1_GB}, {Algorithm::kHierarchical}, fabric);
  ASSERT_EQ(two.by_place.size(), 2U);
  EXPECT_NEAR(two.by_place[0].twice_beta.in_ms(), 1750.0 / 450 / 2, 1e-9);
  EXPECT_NEAR(two.by_place[1].twice_beta.in_ms(), 1.25, 1e-9);
  EXPECT_NEAR(two.by_place[0].half_alpha.in_us(), 14 * 3.4 / 2, 1e-9);
  EXPECT_NEAR(two.by_place[1].half_alpha.in_us(), 14, 1e-9);
  EXPECT_THAT(advice(two), testing::Contains(testing::HasSubstr(
                               "twice the bandwidth inside the node (450 GB/s) would save 1.944 "
                               "ms, between nodes (50 GB/s) 1.25 ms")));
  // a flat ring crosses with 400 GB/s: the links inside wait for it
  const Ledger ring = priced({Op::kAllReduce, 16, 1_GB}, {Algorithm::kRing}, fabric);
  EXPECT_EQ(ring.by_place[0].twice_beta, Duration());
  EXPECT_NEAR(ring.by_place[1].twice_beta.in_ms(), 1875.0 / 400 - 1875.0 / 450, 1e-9);
  EXPECT_THAT(advice(ring), testing::Contains(testing::HasSubstr(
                                "inside the node (450 GB/s) would save nothing, between")));
}

TEST(Advice, EverySavingIsOfOneChangedFabric) {
  const Fabric fabric{.link = {2_us, 100_GBps}, .inter = Link{9_us, 10_GBps}, .ranks_per_node = 4};
  Fabric inside = fabric, between = fabric;
  inside.link.beta = 200_GBps;
  between.inter->beta = 20_GBps;
  for (const Recipe& recipe : recipes())
    for (const int ranks : {8, 16, 32}) {
      const Collective same{recipe.op, ranks, 64_MiB};
      const auto ledger = price(same, {recipe.algorithm}, fabric);
      if (!ledger) continue;
      ASSERT_EQ(ledger->by_place.size(), 2U);
      const auto a = price(same, {recipe.algorithm}, inside);
      const auto b = price(same, {recipe.algorithm}, between);
      EXPECT_EQ(ledger->by_place[0].twice_beta, ledger->time() - a->time());
      EXPECT_EQ(ledger->by_place[1].twice_beta, ledger->time() - b->time());
      for (const std::string& line : advice(*ledger))
        EXPECT_EQ(line.find("1 steps"), std::string::npos) << line;
    }
}

// A collective of one step cannot have fewer.
TEST(Advice, OneStepCannotBecomeFewer) {
  for (const core::Bytes bytes : {1_KB, 250_KB, 1_GB}) {
    const Ledger one = priced({Op::kSendRecv, 2, bytes}, {Algorithm::kDirect}, kInfiniBand);
    ASSERT_EQ(one.steps, 1);
    ASSERT_FALSE(advice(one).empty());
    for (const std::string& line : advice(one)) {
      EXPECT_EQ(line.find("steps"), std::string::npos) << line;
    }
  }
}

// The bytes that a slower link hides are in the tree, and cost nothing.
TEST(ClosedForm, HiddenBytesAreNotLost) {
  const Fabric fabric{.link = {2_us, 100_GBps}, .inter = Link{9_us, 10_GBps}, .ranks_per_node = 8};
  const Ledger direct = priced({Op::kAllToAll, 16, 16_MB}, {Algorithm::kDirect}, fabric);
  ASSERT_EQ(direct.terms.size(), 2U);
  EXPECT_EQ(direct.terms[0].hidden, 7_MB);
  EXPECT_EQ(direct.terms[0].bandwidth(), Duration());
  EXPECT_EQ(direct.terms[1].hidden, core::Bytes());
  const Ledger tree = priced({Op::kAllReduce, 16, 16_MB}, {Algorithm::kNcclTree}, fabric);
  EXPECT_EQ(tree.terms[0].hidden, 32_MB);
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
