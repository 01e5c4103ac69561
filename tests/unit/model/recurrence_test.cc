#include "model/recurrence.h"

#include <gtest/gtest.h>

#include "model/schedules.h"

namespace comm_probe::model {
namespace {

using namespace core::literals;  // NOLINT
using core::Bytes;
using core::Duration;

const Fabric kOne{.link = {1_us, 1_GBps}};
const Fabric kNodes{.link = {1_us, 400_GBps}, .inter = Link{5_us, 50_GBps}, .ranks_per_node = 8};

Duration played(const Collective& what, const Played& how, const Network& network,
                const std::vector<Duration>& late = {}) {
  Recurrence ranks(network, late);
  const auto done = play(what, how, network, ranks);
  EXPECT_TRUE(done) << done.error().message;
  return ranks.finished();
}

TEST(Network, HasALinkForEveryPair) {
  const Network network(16, kNodes, Crossing::kOwnShare, {{8, 9, 0.5}, {3, kAnyRank, 0.25}});
  EXPECT_EQ(network.between(0, 7).beta, 400_GBps);
  EXPECT_EQ(network.between(7, 8).beta, 50_GBps);
  EXPECT_EQ(network.between(7, 8).alpha, 5_us);
  EXPECT_EQ(network.between(9, 8).beta, 200_GBps);
  EXPECT_EQ(network.between(3, 4).beta, 400_GBps);  // the NIC is slow, not the NVLink
  EXPECT_EQ(network.between(11, 3).beta, 12.5_GBps);
  EXPECT_EQ(network.smallest_alpha(), 1_us);
}

// 8 rails of 50 GB/s; one NIC of node 0 at half its rate slows all that leave or enter it.
TEST(Network, OfARingHasAllRailsOfANode) {
  Fabric fabric = kNodes;
  fabric.rails = 8;
  const Network network(24, fabric, Crossing::kAllRails, {{3, kAnyRank, 0.5}});
  EXPECT_EQ(network.between(15, 16).beta, 400_GBps);
  EXPECT_EQ(network.between(7, 8).beta, 200_GBps);
  EXPECT_EQ(network.between(23, 0).beta, 200_GBps);
  EXPECT_EQ(network.between(2, 3).beta, 400_GBps);
}

TEST(Network, OfOneNodeHasASlowRank) {
  const Network network(4, kOne, Crossing::kAllRails, {{2, kAnyRank, 0.5}});
  EXPECT_EQ(network.between(1, 2).beta, 0.5_GBps);
  EXPECT_EQ(network.between(0, 1).beta, 1_GBps);
  EXPECT_EQ(network.most_of(2), 0.5_GBps);
}

// spec/simulation-timing.md, section C: closed form, LogGOPSim, SimGrid agree on these.
TEST(Recurrence, RingTimesOfThreeOtherEngines) {
  const Fabric fabric{.link = {Duration::from_ns(500), 50_GBps}};
  const std::pair<int, double> rows[] = {
      {8, 37.58796}, {64, 42.34158}, {512, 43.37679}, {1024, 43.93073}, {4096, 47.03419}};
  for (const auto& [n, ms] : rows)
    EXPECT_NEAR(
        played({Op::kAllReduce, n, 1_GiB}, {}, Network(n, fabric, Crossing::kAllRails, {})).in_ms(),
        ms, 6e-6)
        << n;
}

// 4 ranks, 6 rounds of 1 MB: 1 us + 1 ms each; the link 1 -> 2 needs 2 ms for each of its 6.
TEST(Recurrence, ASlowLinkIsTheRateOfTheRing) {
  const Network network(4, kOne, Crossing::kAllRails, {{1, 2, 0.5}});
  EXPECT_NEAR(played({Op::kAllReduce, 4, 4_MB}, {}, network).in_us(), 6 * 2000 + 1, 1e-6);
}

// What is late by 5 ms shifts all by that: nobody can finish without the part of that rank.
TEST(Recurrence, ALateRankIsWaitedFor) {
  const Network network(4, kOne, Crossing::kAllRails, {});
  std::vector<Duration> late(4);
  late[2] = 5_ms;
  EXPECT_NEAR(played({Op::kAllReduce, 4, 4_MB}, {}, network, late).in_us(), 5000 + 6 * 1001, 1e-6);
  late[2] = 10_us;
  const double on_time = played({Op::kAllReduce, 4, 4_MB}, {}, network).in_us();
  EXPECT_NEAR(played({Op::kAllReduce, 4, 4_MB}, {}, network, late).in_us(), on_time + 10, 1e-6);
}

// Rank 3 sends nothing that rank 0 needs: a broadcast does not wait for a late leaf.
TEST(Recurrence, ALateLeafIsNotWaitedForByOthers) {
  const Network network(4, kOne, Crossing::kAllRails, {});
  std::vector<Duration> late(4);
  late[3] = 50_ms;
  Recurrence ranks(network, late);
  ASSERT_TRUE(play({Op::kBroadcast, 4, 4_MB}, {}, network, ranks));
  EXPECT_LT(ranks.ready(2), 10_ms);
  EXPECT_EQ(ranks.ready(3), 50_ms);
}

// Both messages pass the one port into rank 0.
TEST(Recurrence, MessagesShareAPort) {
  const Network network(3, kOne, Crossing::kAllRails, {});
  Recurrence ranks(network, {});
  const Recurrence::Message both[] = {{1, 0, 1_MB}, {2, 0, 1_MB}};
  ranks.messages(both);
  EXPECT_NEAR(ranks.finished().in_us(), 2001, 1e-9);
}

TEST(Schedules, AChainFillsItsPipeline) {
  const Network network(4, kOne, Crossing::kAllRails, {});
  const Played how{.algorithm = Algorithm::kRing, .chunk = 1_MB};
  EXPECT_NEAR(played({Op::kBroadcast, 4, 8_MB}, how, network).in_us(), 3 + 8000 + 2 * 1000, 1e-6);
  EXPECT_NEAR(played({Op::kReduce, 4, 8_MB}, how, network).in_us(), 3 + 8000 + 2 * 1000, 1e-6);
}

TEST(Schedules, WhatCannotBePlayedIsRefusedWithWhatCan) {
  const Network network(8, kOne, Crossing::kAllRails, {});
  Recurrence ranks(network, {});
  const auto nvls = play({Op::kAllReduce, 8, 1_MB}, {Algorithm::kNvls, 1_MB}, network, ranks);
  ASSERT_FALSE(nvls);
  EXPECT_EQ(nvls.error().message, "all_reduce by nvls cannot be played");
  EXPECT_NE(nvls.error().hint.find("recursive-doubling"), std::string::npos);
  const Network uneven(7, kNodes, Crossing::kAllRails, {});
  EXPECT_FALSE(
      play({Op::kAllGather, 7, 1_MB}, {Algorithm::kRecursiveDoubling, 1_MB}, uneven, ranks));
}

}  // namespace
}  // namespace comm_probe::model
