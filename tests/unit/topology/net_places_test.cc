// Which texts without a host are of one machine: names that differ by time only. Everything else
// may be two machines, whose counters are no change of each other.
#include "topology/net_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/net_change.h"

namespace comm_probe::topology {
namespace {

using testing::ElementsAre;
using Source = PortCounters::Source;

NetSnapshot text(const std::string& name, std::uint64_t downs,
                 std::optional<core::Duration> time = {}) {
  NetSnapshot snapshot{.source = name, .time = time};
  snapshot.ports.push_back({.source = Source::kEthtool,
                            .netdev = "eth1",
                            .time = time,
                            .counters = {{"link_down_events_phy", {downs, 3}}}});
  return snapshot;
}

NetEnds ends(std::vector<NetSnapshot> snapshots) {
  return ends_of(std::move(snapshots), GivenOrder::kMeansNothing);
}

TEST(NetPlaces, NamesWithoutTime) {
  EXPECT_EQ(without_time("snap_2.txt"), without_time("snap_1.txt"));
  EXPECT_EQ(without_time("d/eth_before.txt"), without_time("d/eth_after.txt"));
  EXPECT_EQ(without_time("t0/eth.txt"), without_time("t1/eth.txt"));
  EXPECT_EQ(without_time("eth_2026-11-30_02-54-23.txt"),
            without_time("eth_2026-12-01_10-00-01.txt"));
  EXPECT_EQ(without_time("eth_20261130T025423Z.txt"), without_time("eth_20261130T025523Z.txt"));
  EXPECT_EQ(without_time("eth.1795575263"), without_time("eth.1795575323"));
  EXPECT_NE(without_time("node01.txt"), without_time("node02.txt"));
  EXPECT_NE(without_time("gpu-a.txt"), without_time("gpu-b.txt"));
  EXPECT_NE(without_time("1.txt"), without_time("2.txt"));
  EXPECT_NE(without_time("dgx-2024.txt"), without_time("dgx-17.txt"));
}

// However two machines are told apart, dated or not, a lifetime of one is no change of the other.
// Folders are machines (docs/doctor.md); files of one folder might be one machine's.
TEST(NetPlaces, TwoMachinesAreNoChange) {
  struct Case {
    const char* one;
    const char* other;
    bool is_open;
  };
  for (const Case& each : {Case{"d/node01/ethtool.txt", "d/node02/ethtool.txt", false},
                           {"r/1/e.txt", "r/2/e.txt", false},
                           {"gpu-a_eth.txt", "gpu-b_eth.txt", true},
                           {"d/ethtool_node01.txt", "d/ethtool_node02.txt", true},
                           {"e1.txt", "e2.txt", true}})
    for (const bool has_time : {false, true}) {
      const auto at = [&](double seconds) {
        return has_time ? std::optional(core::Duration::from_seconds(seconds)) : std::nullopt;
      };
      const NetEnds both = ends({text(each.one, 3, at(1e9)), text(each.other, 9, at(1e9 + 60))});
      EXPECT_TRUE(both.first.ports.empty()) << each.one;
      ASSERT_EQ(both.last.ports.size(), 2U) << each.one;
      EXPECT_NE(both.last.ports[0].host, both.last.ports[1].host) << each.one;
      EXPECT_EQ(!both.open.empty(), each.is_open) << each.one;
    }
}

// A date that was copied along says nothing of the order; the names do.
TEST(NetPlaces, TextsOfOneTimeAreOrderedByTheirNames) {
  const auto time = core::Duration::from_seconds(1e9);
  const NetEnds both = ends({text("d/after.txt", 9, time), text("d/before.txt", 3, time)});
  ASSERT_EQ(both.first.ports.size(), 1U);
  ASSERT_EQ(both.last.ports.size(), 1U);
  EXPECT_EQ(both.first.source, "d/before.txt");
  EXPECT_EQ(both.last.ports[0].value("link_down_events_phy"), 9U);
}

TEST(NetPlaces, EachMachineWithItsOwnTwoTexts) {
  const NetEnds both = ends({text("before/node1.txt", 3), text("before/node2.txt", 9),
                             text("after/node1.txt", 4), text("after/node2.txt", 9)});
  EXPECT_TRUE(both.open.empty());
  const NetChange change = change_between(both.first, both.last);
  ASSERT_EQ(change.ports.size(), 2U);
  EXPECT_EQ(change.ports[0].name, "node1 eth1");
  EXPECT_EQ(change.ports[0].more("link_down_events_phy"), 1U);
  EXPECT_EQ(change.ports[1].more("link_down_events_phy"), 0U);
}

TEST(NetPlaces, AKnownHostOrALidIsOneMachine) {
  std::vector<NetSnapshot> of_host = {text("node07_x.txt", 3), text("node07_y.txt", 4)};
  for (NetSnapshot& snapshot : of_host) snapshot.ports[0].host = "node07";
  EXPECT_EQ(ends(of_host).first.ports.size(), 1U);
  std::vector<NetSnapshot> of_lid = {text("x.txt", 3), text("y.txt", 4)};
  for (NetSnapshot& snapshot : of_lid) snapshot.ports[0].lid = 6;
  EXPECT_EQ(ends(of_lid).first.ports.size(), 1U);
}

// A port that only the first snapshot shows is missing in the second, not the other way round.
TEST(NetPlaces, UnpairedPortsStandWhereTheyAre) {
  NetSnapshot before = text("b", 1);
  NetSnapshot after = text("a", 1);
  before.ports.push_back({.device = "mlx5_3", .port = 1, .counters = {{"link_downed", {1}}}});
  const NetEnds both = ends_of({before, after}, GivenOrder::kIsOfTime);
  const NetChange change = change_between(both.first, both.last);
  EXPECT_EQ(change.only_before, 1);
  EXPECT_EQ(change.only_after, 0);
}

}  // namespace
}  // namespace comm_probe::topology
