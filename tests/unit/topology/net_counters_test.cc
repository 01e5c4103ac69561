// Counters as commands print them: values are those that stand in the texts. Layouts: perfquery of
// infiniband-diags, ethtool -S of mlx5_core, rdma of iproute2, files of sysfs.
#include "topology/net_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/net_change.h"

namespace comm_probe::topology {
namespace {

using core::Input;
using testing::HasSubstr;
using Source = PortCounters::Source;
using Kind = CounterChange::Kind;

NetReading reading_of(const std::string& text, const std::string& command = "") {
  Input input = Input::from_memory("paste", text);
  auto reading = read_net_counters(input, command);
  EXPECT_TRUE(reading.ok()) << (reading ? "" : reading.error().one_line());
  return reading ? std::move(*reading) : NetReading{};
}

constexpr const char* kPerfquery =
    "$ perfquery -C mlx5_2 -P 1\n"
    "# Port counters: Lid 6 port 1 (CapMask: 0x5300)\n"
    "PortSelect:......................1\n"
    "CounterSelect:...................0x0000\n"
    "SymbolErrorCounter:..............3\n"
    "LinkErrorRecoveryCounter:........0\n"
    "LinkDownedCounter:...............255\n"
    "VL15Dropped:.....................2\n"
    "PortXmitData:....................4294967295\n"
    "PortXmitWait:....................17\n"
    "$ perfquery -x -C mlx5_2 -P 1\n"
    "# Port extended counters: Lid 6 port 1 (CapMask: 0x5300 CapMask2: 0x0000002)\n"
    "PortSelect:......................1\n"
    "CounterSelect:...................0x0000\n"
    "PortXmitData:....................98765432109\n"
    "PortUnicastXmitPkts:.............12\n";

TEST(NetCounters, PerfqueryWithItsWideCounters) {
  const NetReading reading = reading_of(kPerfquery);
  ASSERT_EQ(reading.snapshots.size(), 1U);
  ASSERT_EQ(reading.snapshots[0].ports.size(), 1U);
  const PortCounters& port = reading.snapshots[0].ports[0];
  EXPECT_EQ(port.name(), "mlx5_2");
  EXPECT_EQ(port.lid, 6);
  EXPECT_EQ(port.source, Source::kPerfquery);
  EXPECT_EQ(port.value("symbol_error"), 3U);
  EXPECT_EQ(port.value("port_xmit_data"), 98765432109U);
  EXPECT_EQ(port.value("VL15_dropped"), 2U);
  EXPECT_EQ(port.value("unicast_xmit_packets"), 12U);
  EXPECT_EQ(port.counters.at("symbol_error").line, 5U);
}

TEST(NetCounters, PerfqueryWithoutItsCommandIsNamedByLid) {
  const std::string text = kPerfquery;
  const NetReading reading = reading_of(text.substr(text.find("# Port")));
  EXPECT_EQ(reading.snapshots.at(0).ports.at(0).name(), "LID 6 port 1");
}

TEST(NetCounters, EthtoolOfSeveralInterfacesInOnePaste) {
  const NetReading reading = reading_of(
      "[root@node07 ~]# ethtool -S ens1f0np0\n"
      "NIC statistics:\n"
      "     rx_packets: 10\n"
      "     rx0_packets: 4\n"
      "     rx_discards_phy: 812\n"
      "     rx_prio3_pause: 0\n"
      "[root@node07 ~]# ethtool -S ens2f0np0\n"
      "NIC statistics:\n"
      "     rx_discards_phy: 7\n"
      "=== ens3f0np0 ===\n"
      "NIC statistics:\n"
      "     rx_discards_phy: 9\n");
  ASSERT_EQ(reading.snapshots.size(), 1U);
  const auto& ports = reading.snapshots[0].ports;
  ASSERT_EQ(ports.size(), 3U);
  EXPECT_EQ(ports[0].netdev, "ens1f0np0");
  EXPECT_EQ(ports[0].host, "node07");
  EXPECT_EQ(ports[0].value("rx_discards_phy"), 812U);
  EXPECT_EQ(ports[0].value("rx0_packets"), std::nullopt);  // of one queue
  EXPECT_EQ(ports[1].netdev, "ens2f0np0");
  EXPECT_EQ(ports[2].netdev, "ens3f0np0");
  EXPECT_TRUE(reading.caveats.empty());
}

TEST(NetCounters, InterfacesWithoutNamesStayApart) {
  const NetReading reading =
      reading_of("NIC statistics:\n     rx_bytes: 1\nNIC statistics:\n     rx_bytes: 2\n");
  ASSERT_EQ(reading.snapshots.size(), 1U);  // not one interface twice
  EXPECT_EQ(reading.snapshots[0].ports.size(), 2U);
  ASSERT_EQ(reading.caveats.size(), 1U);
  EXPECT_EQ(reading.caveats[0].id, "topo.counters-unnamed");
}

TEST(NetCounters, TheSamePortAgainIsTheNextSnapshot) {
  const NetReading reading = reading_of(
      "Mon Nov 30 02:54:23 UTC 2026\n$ ethtool -S eth2\nNIC statistics:\n     rx_bytes: 1\n"
      "Mon Nov 30 02:55:23 UTC 2026\n$ ethtool -S eth2\nNIC statistics:\n     rx_bytes: 5\n");
  ASSERT_EQ(reading.snapshots.size(), 2U);
  const NetChange change = change_between(reading.snapshots[0], reading.snapshots[1]);
  ASSERT_EQ(change.ports.size(), 1U);
  EXPECT_EQ(change.ports[0].elapsed->in_seconds(), 60);
  EXPECT_EQ(change.ports[0].more("rx_bytes"), 4U);
  EXPECT_THAT(change.ports[0].counters.at("rx_bytes").from.text, HasSubstr("rx_bytes 1 -> 5"));
  EXPECT_EQ(change.ports[0].counters.at("rx_bytes").from.line, 8U);
}

TEST(NetCounters, RdmaStatisticAsTextAndAsJson) {
  const NetReading text = reading_of(
      "link mlx5_0/1 rx_write_requests 5 out_of_sequence 7\n"
      "link mlx5_1/1 \n    rx_write_requests 6 \n    out_of_sequence 8 \n"
      "link mlx5_2/1 cntn 4 pid 2609 comm client lqpn 178\n");
  ASSERT_EQ(text.snapshots.size(), 1U);
  ASSERT_EQ(text.snapshots[0].ports.size(), 2U);
  EXPECT_EQ(text.snapshots[0].ports[0].value("out_of_sequence"), 7U);
  EXPECT_EQ(text.snapshots[0].ports[1].value("out_of_sequence"), 8U);
  const NetReading json = reading_of(
      R"([{"ifindex":0,"ifname":"mlx5_0","port":1,"rx_write_requests":5,"out_of_sequence":7}])");
  ASSERT_EQ(json.snapshots.size(), 1U);
  EXPECT_EQ(json.snapshots[0].ports.at(0).value("out_of_sequence"), 7U);
  EXPECT_EQ(json.snapshots[0].ports.at(0).value("ifindex"), std::nullopt);
}

TEST(NetCounters, PastedFilesOfSysfs) {
  const NetReading reading = reading_of(
      "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data:1000\n"
      "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:12\n"
      "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan:10\n"
      "/sys/class/infiniband/mlx5_1/ports/1/counters/port_xmit_data:2000\n");
  ASSERT_EQ(reading.snapshots.size(), 1U);
  ASSERT_EQ(reading.snapshots[0].ports.size(), 2U);
  EXPECT_EQ(reading.snapshots[0].ports[0].value("out_of_sequence"), 12U);
  EXPECT_EQ(reading.snapshots[0].ports[0].value("lifespan"), std::nullopt);
  EXPECT_EQ(reading.snapshots[0].ports[1].value("port_xmit_data"), 2000U);
}

TEST(NetCounters, HostsByTheNameBeforeTheLine) {
  const NetReading reading = reading_of(
      "node07: link mlx5_0/1 out_of_sequence 7\n"
      "node08: link mlx5_0/1 out_of_sequence 8\n");
  std::vector<std::string> names;
  for (const NetSnapshot& snapshot : reading.snapshots)
    for (const PortCounters& port : snapshot.ports) names.push_back(port.host);
  EXPECT_THAT(names, testing::ElementsAre("node07", "node08"));
}

TEST(NetCounters, OtherTextIsRefusedInOneLine) {
  for (const char* text : {"", "hello\n", "link mlx5_0/1 state ACTIVE physical_state LINK_UP\n",
                           "rx_bytes: 5\n", "PortXmitData:....5\n", "[{\"ifname\":\"eth0\"}]"}) {
    EXPECT_FALSE(looks_like_net_counters(text)) << text;
    Input input = Input::from_memory("paste", text);
    const auto reading = read_net_counters(input);
    ASSERT_FALSE(reading.ok()) << text;
    EXPECT_THAT(reading.error().one_line(), HasSubstr("paste: ")) << text;
  }
  EXPECT_TRUE(looks_like_net_counters(kPerfquery));
}

TEST(NetChange, NeverNegative) {
  const auto kind = [](std::string_view name, Source source, std::uint64_t before,
                       std::uint64_t after) { return change_of(name, source, before, after).kind; };
  EXPECT_EQ(kind("out_of_sequence", Source::kSysfs, 5, 9), Kind::kCounted);
  EXPECT_EQ(kind("out_of_sequence", Source::kSysfs, 4294967290, 10), Kind::kWrapped);
  EXPECT_EQ(change_of("out_of_sequence", Source::kSysfs, 4294967290, 10).more, 16U);
  EXPECT_EQ(kind("out_of_sequence", Source::kSysfs, 9, 5), Kind::kWentBack);
  // 64 bits: a step back is no wrap; the management agent's counters stop at the top
  EXPECT_EQ(kind("rx_bytes_phy", Source::kEthtool, 4294967290, 10), Kind::kWentBack);
  EXPECT_EQ(kind("port_xmit_data", Source::kPerfquery, 4294967290, 10), Kind::kWentBack);
  EXPECT_EQ(kind("link_downed", Source::kPerfquery, 255, 255), Kind::kAtCeiling);
  // it may have counted any number beyond: PortXmitData of 100 Gb/s is full after 1.4 s
  EXPECT_EQ(kind("port_xmit_data", Source::kPerfquery, 1000, 4294967295), Kind::kFilled);
  EXPECT_EQ(kind("link_downed", Source::kPerfquery, 254, 255), Kind::kFilled);
  // zero is what a reset leaves; half the range in one interval is no wrap of events
  EXPECT_EQ(kind("rp_cnp_ignored", Source::kSysfs, 4294967290, 0), Kind::kWentBack);
  EXPECT_EQ(kind("rp_cnp_ignored", Source::kSysfs, 2300000000, 10), Kind::kWentBack);
}

// Of a port that was rebooted nothing is a wrap, whatever each counter looks like by itself.
TEST(NetChange, AResetOfThePortIsNoWrap) {
  const auto kind_beside = [](const std::string& others_before, const std::string& others_after) {
    const std::string place = "/sys/class/infiniband/mlx5_0/ports/1/";
    const std::string counter = place + "hw_counters/rp_cnp_ignored:";
    const NetReading before = reading_of(counter + "4294967290\n" + place + others_before + "\n");
    const NetReading after = reading_of(counter + "10\n" + place + others_after + "\n");
    return change_between(before.snapshots.at(0), after.snapshots.at(0))
        .ports.at(0)
        .counters.at("rp_cnp_ignored")
        .kind;
  };
  EXPECT_EQ(kind_beside("counters/port_xmit_data:900000000000", "counters/port_xmit_data:2000"),
            Kind::kWentBack);
  EXPECT_EQ(kind_beside("hw_counters/np_cnp_sent:4294967295", "hw_counters/np_cnp_sent:7"),
            Kind::kWentBack);
  EXPECT_EQ(
      kind_beside("counters/port_xmit_data:900000000000", "counters/port_xmit_data:900000000009"),
      Kind::kWrapped);
}

// Parts of an output, a quote of mail, and a date in German.
TEST(NetCounters, PipedAndQuotedOutputs) {
  const NetReading piped = reading_of(
      "root@node07:~# ethtool -S eth1 | grep discard\n     rx_discards_phy: 7\n"
      "     tx_discards_phy: 0\n");
  ASSERT_EQ(piped.snapshots.size(), 1U);
  EXPECT_EQ(piped.snapshots[0].ports.at(0).netdev, "eth1");
  EXPECT_EQ(piped.snapshots[0].ports.at(0).host, "node07");
  EXPECT_EQ(piped.snapshots[0].ports.at(0).value("rx_discards_phy"), 7U);
  const NetReading quoted = reading_of(
      "> Mo 30. Nov 02:54:23 CET 2026\n> $ ethtool -S eth1\n> NIC statistics:\n"
      ">> rx_discards_phy: 7\n");
  ASSERT_EQ(quoted.snapshots.size(), 1U);
  EXPECT_EQ(quoted.snapshots[0].ports.at(0).value("rx_discards_phy"), 7U);
  ASSERT_TRUE(quoted.snapshots[0].time.has_value());
  EXPECT_EQ(quoted.snapshots[0].time->in_seconds(), 1796007263);
}

// A text that ends within a number, of every source: that one is not read, and that is said.
TEST(NetCounters, ANumberAtTheEndOfACutText) {
  for (const std::string& text :
       {std::string("$ ethtool -S eth1\nNIC statistics:\n     rx_discards_phy: 1\n     "
                    "link_down_events_phy: 12\n"),
        std::string("link mlx5_0/1 rx_write_requests 900 packet_seq_err 200\n"),
        std::string("/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data:7\n"
                    "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed:12\n"),
        std::string(kPerfquery).substr(0, std::string(kPerfquery).find('\n', 200) + 1)}) {
    const NetReading whole = reading_of(text);
    EXPECT_TRUE(whole.caveats.empty()) << text;
    const NetReading cut = reading_of(text.substr(0, text.size() - 1));
    ASSERT_EQ(cut.caveats.size(), 1U) << text;
    EXPECT_EQ(cut.caveats[0].id, "topo.counters-cut-end");
    EXPECT_TRUE(cut.caveats[0].limits);
    EXPECT_EQ(cut.snapshots.at(0).ports.at(0).counters.size() + 1,
              whole.snapshots.at(0).ports.at(0).counters.size())
        << text;
  }
}

TEST(NetChange, JoinsAnInterfaceWithItsDevice) {
  const NetReading before = reading_of(
      "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent:1\n"
      "$ ethtool -S eth2\nNIC statistics:\n     rx_discards_phy: 1\n");
  const NetReading after = reading_of(
      "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent:4\n"
      "$ ethtool -S eth2\nNIC statistics:\n     rx_discards_phy: 9\n");
  const RdmaPortFacts facts{.device = "mlx5_0", .link_layer = "Ethernet", .interface = "eth2"};
  const NetChange joined = change_between(before.snapshots.at(0), after.snapshots.at(0), {facts});
  ASSERT_EQ(joined.ports.size(), 1U);
  EXPECT_EQ(joined.ports[0].more("np_cnp_sent"), 3U);
  EXPECT_EQ(joined.ports[0].more("rx_discards_phy"), 8U);
  EXPECT_EQ(change_between(before.snapshots.at(0), after.snapshots.at(0)).ports.size(), 2U);
}

// iproute2 6.1 and 5.4 (its columns stand otherwise), `ip addr` lines between; a pair of a
// namespace and loopback, whose packets are counted elsewhere too, are left out.
TEST(NetCounters, IpLinkOfSeveralVersions) {
  const NetReading reading = reading_of(
      "Mon Nov 30 02:10:00 UTC 2026\n"
      "$ ip -s -s link\n"
      "2: ens1f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT\n"
      "    link/ether 98:03:9b:00:a1:b2 brd ff:ff:ff:ff:ff:ff\n"
      "    inet 10.0.0.4/24 brd 10.0.0.255 scope global ens1f0np0\n"
      "    RX:  bytes packets errors dropped  missed   mcast           \n"
      "     123456789   70001      5       6       7       8 \n"
      "    RX errors:  length    crc   frame    fifo overrun           \n"
      "                     1      2       3       4       9 \n"
      "    TX:  bytes packets errors dropped carrier collsns           \n"
      "    1000000000   80001     10      11      12      13 \n"
      "    TX errors: aborted   fifo  window heartbt transns           \n"
      "                     0      0       0       0      14 \n"
      "    altname enp27s0f0np0\n"
      "6: veth0@if8: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP\n"
      "    RX: bytes  packets  errors  dropped overrun mcast   \n"
      "    1          2        3       4       5       6       \n"
      "7: eth0: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP\n"
      "    RX: bytes  packets  errors  dropped overrun mcast   \n"
      "    15         16       17      18      19      20      \n"
      "    TX: bytes  packets  errors  dropped carrier collsns \n"
      "    21         22       23      24      25      26      \n");
  ASSERT_EQ(reading.snapshots.size(), 1U);
  ASSERT_EQ(reading.snapshots[0].ports.size(), 2U);
  const PortCounters& port = reading.snapshots[0].ports[0];
  EXPECT_EQ(port.source, Source::kIpLink);
  EXPECT_EQ(port.name(), "ens1f0np0");
  ASSERT_TRUE(port.time);
  const std::pair<const char*, std::uint64_t> values[] = {
      {"rx_bytes", 123456789}, {"rx_packets", 70001},     {"rx_errors", 5},
      {"rx_dropped", 6},       {"rx_missed_errors", 7},   {"multicast", 8},
      {"rx_length_errors", 1}, {"rx_crc_errors", 2},      {"rx_frame_errors", 3},
      {"rx_fifo_errors", 4},   {"rx_over_errors", 9},     {"tx_bytes", 1000000000},
      {"tx_errors", 10},       {"tx_carrier_errors", 12}, {"carrier_changes", 14}};
  for (const auto& [name, value] : values) EXPECT_EQ(port.value(name), value) << name;
  EXPECT_EQ(port.counters.at("rx_errors").line, 7U);
  const PortCounters& other = reading.snapshots[0].ports[1];
  EXPECT_EQ(other.name(), "eth0");
  EXPECT_EQ(other.value("rx_over_errors"), 19U);
  EXPECT_EQ(other.value("rx_missed_errors"), std::nullopt);
  EXPECT_EQ(other.value("collisions"), 26U);
}

TEST(NetCounters, IpLinkTwiceIsTwoSnapshots) {
  std::string text;
  for (const char* minute : {"10", "11"})
    text += std::string("Mon Nov 30 02:") + minute +
            ":00 UTC 2026\nnode07: 2: ens1f0: <UP> mtu 9000 state UP\n"
            "node07:     RX:  bytes packets errors dropped  missed   mcast\n"
            "node07:     1000 10 " +
            minute + " 0 0 0\n";
  const NetReading reading = reading_of(text);
  ASSERT_EQ(reading.snapshots.size(), 2U);
  EXPECT_EQ(reading.snapshots[0].ports[0].name(), "ens1f0");
  EXPECT_EQ(reading.snapshots[0].ports[0].host, "node07");
  EXPECT_EQ(reading.snapshots[1].ports[0].value("rx_errors"), 11U);
}

}  // namespace
}  // namespace comm_probe::topology
