#include "nccl/choice.h"

#include <gtest/gtest.h>

#include "hopper_job.h"
#include "nccl/nccl.h"

namespace comm_probe::nccl {
namespace {

using test::best_us;
using test::graph;

// Hopper nodes of 8 with a bus bandwidth of 390 GB/s, Intel hosts: the inputs of golden G4-12.
TuningJob hopper_job(int nodes, Pattern tree, const Environment& environment = {}) {
  TuningJob job =
      test::hopper_job(nodes, graph(Pattern::kRing, 16, 390.0F / 16), graph(tree, 16, 390.0F / 16));
  job.settings = read_tuning_settings(environment).value();
  return job;
}

double ring_over_tree(int nodes, Pattern tree, std::uint64_t bytes) {
  const Tuning tuning = tune(hopper_job(nodes, tree));
  return best_us(tuning, Algorithm::kRing, bytes) / best_us(tuning, Algorithm::kTree, bytes);
}

// Golden G4-07: NCCL's order of path types from 2.27.5 on.
TEST(Choice, PathTypesInOrder) {
  std::string order;
  for (int type = 0; type <= static_cast<int>(topology::PathType::kSys); ++type)
    order +=
        (type == 0 ? "" : "<") + std::string(path_type_name(static_cast<topology::PathType>(type)));
  EXPECT_EQ(order, "LOC<NVL<NVB<C2C<PIX<PXB<P2C<PXN<PHB<SYS");
}

// Golden G4-11 and G4-16: NVLS against Ring at 1 GB on one node, equal graph bandwidth.
TEST(Choice, NvlsBeatsRingByTheModelsOwnRatio) {
  const auto ratio = [](int channels) {
    TuningJob job = hopper_job(1, Pattern::kBalancedTree);
    job.agreement.ring = graph(Pattern::kRing, channels, 320.0F / static_cast<float>(channels));
    job.agreement.nvls = graph(Pattern::kNvls, channels, 320.0F / static_cast<float>(channels));
    job.agreement.nvls.bw_inter = {1000};  // does not bind on one node
    const Tuning tuning = tune(job);
    const auto rate = [&](Algorithm algorithm) {
      return tuning.cost(Function::kAllReduce, algorithm, Protocol::kSimple).bandwidth.GBps;
    };
    return rate(Algorithm::kNvls) / rate(Algorithm::kRing);
  };
  EXPECT_NEAR(ratio(8), 1.49, 0.005);
  EXPECT_NEAR(ratio(16), 1.59, 0.005);
}

// Golden G4-12, G4-13: 4.45 at 25 MB, between 5.4 and 7.0 from 256 KiB to 4 MiB.
TEST(Choice, TreeAgainstRingOn32Nodes) {
  EXPECT_NEAR(ring_over_tree(32, Pattern::kBalancedTree, 25000000), 4.445, 0.001);
  for (std::uint64_t bytes = 256 << 10; bytes <= 4 << 20; bytes *= 2) {
    const double ratio = ring_over_tree(32, Pattern::kBalancedTree, bytes);
    EXPECT_GT(ratio, 5.3) << bytes;
    EXPECT_LT(ratio, 7.1) << bytes;
  }
}

// Golden GB-01c: 8 nodes instead of 32: the tree still wins, by much less.
TEST(Choice, TreeAgainstRingOn8Nodes) {
  EXPECT_NEAR(ring_over_tree(8, Pattern::kBalancedTree, 25000000), 1.70, 0.01);
}

// Golden G4-15: with all of the NIC's traffic on one GPU (x 0.85) Ring overtakes between 512 MiB
// and 1 GiB; a balanced tree stays ahead up to 4 GB.
TEST(Choice, WhereRingOvertakesTree) {
  EXPECT_NEAR(ring_over_tree(32, Pattern::kTree, std::uint64_t{512} << 20), 1.10, 0.01);
  EXPECT_NEAR(ring_over_tree(32, Pattern::kTree, std::uint64_t{1} << 30), 0.98, 0.01);
  EXPECT_NEAR(ring_over_tree(32, Pattern::kBalancedTree, std::uint64_t{4} << 30), 1.03, 0.01);
}

TEST(Choice, TheLedgersAddUp) {
  const Tuning tuning = tune(hopper_job(2, Pattern::kTree));
  for (std::uint64_t bytes = 8; bytes <= std::uint64_t{1} << 33; bytes *= 2) {
    const auto choice = choose(tuning, call_of(Function::kAllReduce, bytes, 16));
    ASSERT_TRUE(choice.ok());
    EXPECT_FLOAT_EQ(choice->taken.latency.us + choice->taken.bandwidth.us, choice->taken.time.us);
    for (const Candidate& other : choice->others) EXPECT_GE(other.time, choice->taken.time);
  }
}

// NCCL_ALGO=Tree leaves nothing for AllGather from 2.24 on (spec nccl-5-tuning.md 5.7).
TEST(Choice, NothingLeftIsNcclsError) {
  const Tuning tuning = tune(hopper_job(2, Pattern::kTree, {{"NCCL_ALGO", "Tree"}}));
  EXPECT_TRUE(choose(tuning, {Function::kAllReduce, 1024}).ok());
  const auto refused = choose(tuning, {Function::kAllGather, 1024});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(
      refused.error().message,
      "Error : no algorithm/protocol available for function AllGather with datatype ncclInt8. "
      "NCCL_ALGO was set to Tree.");
}

// Before 2.24 Ring stood in; up to 2.21 even with protocols that were excluded (NVIDIA/nccl issue
// 1304: NCCL_ALGO=Tree NCCL_PROTO=Simple, a small broadcast ran as Ring LL).
TEST(Choice, OlderReleasesFallBackToRing) {
  const auto taken = [](topology::NcclVersion version) {
    TuningJob job = hopper_job(2, Pattern::kTree);
    job.settings =
        read_tuning_settings({{"NCCL_ALGO", "Tree"}, {"NCCL_PROTO", "Simple"}}, version).value();
    return choose(tune(job), {Function::kBroadcast, 6}).value().taken;
  };
  EXPECT_EQ(taken({2, 21, 5}).algorithm, Algorithm::kRing);
  EXPECT_EQ(taken({2, 21, 5}).protocol, Protocol::kLl);
  EXPECT_EQ(taken({2, 23, 4}).algorithm, Algorithm::kRing);
  EXPECT_EQ(taken({2, 23, 4}).protocol, Protocol::kSimple);
}

TEST(Choice, SaysWhyACombinationIsNotTaken) {
  const Tuning tuning = tune(hopper_job(2, Pattern::kTree, {{"NCCL_PROTO", "^LL128"}}));
  const auto choice = choose(tuning, {Function::kAllReduce, 1024});
  ASSERT_TRUE(choice.ok());
  std::map<std::string, std::string> reasons;
  for (const Declined& declined : choice->declined)
    reasons[std::string(table_name(declined.algorithm)) + " " + table_name(declined.protocol)] =
        declined.reason;
  EXPECT_EQ(reasons["Ring LL128"], "NCCL_PROTO excludes it");
  EXPECT_EQ(reasons["NVLS Simple"], "the search found no channels for it");
  EXPECT_EQ(reasons.count("PAT Simple"), 0u);  // AllReduce has no PAT
}

// NVLS reduces fp32 sums only in part of the types (spec nccl-5-tuning.md 5.8).
TEST(Choice, NvlsReducesSomeTypesOnly) {
  EXPECT_TRUE(is_nvls_reducible(DataType::kBfloat16, Reduction::kMax));
  EXPECT_TRUE(is_nvls_reducible(DataType::kFloat32, Reduction::kSum));
  EXPECT_FALSE(is_nvls_reducible(DataType::kFloat32, Reduction::kMax));
  EXPECT_FALSE(is_nvls_reducible(DataType::kFloat16, Reduction::kAvg));
  EXPECT_FALSE(is_nvls_reducible(DataType::kFloat8, Reduction::kSum));
}

TEST(Choice, ALoneRankCopies) {
  TuningJob job = hopper_job(1, Pattern::kTree);
  job.agreement.ranks = 1;
  const auto choice = choose(tune(job), {Function::kAllReduce, 1 << 20});
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->taken.algorithm, Algorithm::kRing);
  EXPECT_EQ(choice->taken.protocol, Protocol::kSimple);
  EXPECT_EQ(choice->taken.time.us, 0);
}

// Releases before the base: spec nccl-9-versions.md 9.7.
TEST(Tuning, OtherReleases) {
  const auto base_of_tree = [](topology::NcclVersion version) {
    return tuning_constants(version)
        .base_latency[index_of(Algorithm::kTree)][index_of(Protocol::kSimple)];
  };
  EXPECT_EQ(base_of_tree({2, 22, 3}), 0);
  EXPECT_EQ(base_of_tree({2, 23, 4}), 8.4F);
  const auto nvls_tree_net = [](topology::NcclVersion version) {
    return tuning_constants(version).hw_latency[index_of(Wire::kNet)][index_of(
        Algorithm::kNvlsTree)][index_of(Protocol::kSimple)];
  };
  EXPECT_EQ(nvls_tree_net({2, 18, 1}), 19);
  EXPECT_EQ(nvls_tree_net({2, 28, 3}), 14);
  EXPECT_EQ(nvls_tree_net({2, 28, 9}), 20.9F);
  EXPECT_EQ(tuning_constants({2, 23, 4}).pat_share, 0.85);
  EXPECT_EQ(tuning_constants({2, 29, 7}).ring_ll128_most[index_of(Generation::kBlackwell)][0], 40);
}

// No change of another release touches the base, which is proven by tests/oracle.
TEST(Tuning, NoChangeHoldsForTheBase) {
  const topology::NcclVersion base = {};
  for (const TuningChange& change : tuning_changes())
    EXPECT_FALSE(base >= change.from && base < change.until) << change.what;
}

TEST(TuningSettings, ThreadsAsNcclTakesThem) {
  const auto threads = [](const char* text) {
    return read_tuning_settings({{"NCCL_NTHREADS", text}}).value().threads;
  };
  EXPECT_EQ(threads("256"), 256);
  EXPECT_EQ(threads("0"), std::nullopt);
  EXPECT_EQ(threads("100"), 512);  // no whole number of warps
  EXPECT_EQ(threads("32"), 64);
  EXPECT_EQ(threads("1024"), 512);
}

TEST(TuningSettings, Thresholds) {
  const TuningSettings settings =
      read_tuning_settings({{"NCCL_THREAD_THRESHOLDS", "1 2 3 -2"}}).value();
  EXPECT_EQ(settings.thread_thresholds, (std::array<std::int64_t, 6>{1, 2, 3, -2, -2, -2}));
}

}  // namespace
}  // namespace comm_probe::nccl
