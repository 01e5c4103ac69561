// Sent again and out of order: a number says nothing without what was sent in the meantime.
#include <gmock/gmock.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

// `rdma statistic show link` of a port, as a script collects it with the date above.
std::string statistic(const std::string& minute, long writes, long out_of_order, long again) {
  return "Mon Nov 30 02:" + minute + ":23 UTC 2026\n$ rdma statistic show link mlx5_0/1\n" +
         "link mlx5_0/1 rx_write_requests " + std::to_string(writes) +
         " rx_read_requests 1000 out_of_buffer 12 out_of_sequence " + std::to_string(out_of_order) +
         " duplicate_request 3 rnr_nak_retry_err 0 packet_seq_err " + std::to_string(again) +
         " local_ack_timeout_err 22 roce_adp_retrans 9 rp_cnp_handled 2000 np_cnp_sent 100\n";
}

class LossRate : public Pile {
 protected:
  json told_of(long out_of_order, long again) {
    put("before.txt", statistic("54", 1'000'000'000, 150, 140));
    put("after.txt", statistic("55", 1'060'000'000, 150 + out_of_order, 140 + again));
    const BinaryRun run = run_binary({"doctor", "--json", folder()});
    status = run.status;
    return json::parse(run.out);
  }
  int status = -1;
};

TEST_F(LossRate, ADozenOfSixtyMillionIsNoFault) {
  const json document = told_of(12, 11);
  EXPECT_EQ(status, 0) << document["findings"];
  for (const json& finding : document["findings"]) {
    EXPECT_EQ(finding["severity"], "info") << finding;
    EXPECT_THAT(finding["summary"].get<std::string>(), HasSubstr("too few to cost time"));
  }
}

TEST_F(LossRate, ManyAreAFault) {
  const json document = told_of(90'000, 40'000);
  EXPECT_EQ(status, 1);
  ASSERT_FALSE(document["findings"].empty());
  EXPECT_EQ(document["findings"][0]["id"], "topo.net-packet-loss");
  EXPECT_EQ(document["findings"][0]["severity"], "warning");
}

// Writes are counted, their packets are not: 5.7 million writes of 512 KiB are 730 million packets,
// and two of ten thousand writes say nothing either.
TEST_F(LossRate, WritesAreNoCountOfPackets) {
  const std::pair<long, long> rows[] = {{5'700'000, 700}, {10'000, 2}};
  for (const auto& [writes, out_of_order] : rows) {
    put("before.txt", statistic("54", 1'000'000'000, 150, 140));
    put("after.txt", statistic("55", 1'000'000'000 + writes, 150 + out_of_order, 140));
    const json document = told({folder()});
    EXPECT_FALSE(has_id(document["findings"], "topo.net-out-of-order")) << document["findings"];
  }
  // 1500 a second are many, whatever the size of the writes
  put("after.txt", statistic("55", 1'005'700'000, 150 + 90'000, 140));
  EXPECT_TRUE(has_id(told({folder()})["findings"], "topo.net-out-of-order"));
}

std::string drops(const std::string& minute, int discards) {
  return "Mon Nov 30 02:" + minute + ":00 UTC 2026\n$ ethtool -S ens1f0\nNIC statistics:\n" +
         "     rx_packets_phy: 700000000\n     rx_discards_phy: " + std::to_string(discards) +
         "\n     rx_prio3_pause: 0\n     tx_prio3_pause: 0\n";
}

std::string rdma_link(const std::string& netdev) {
  return "$ rdma link\nlink mlx5_0/1 state ACTIVE physical_state LINK_UP netdev " + netdev + "\n";
}

// spec/rdma.md 6: drops on the interface of an RDMA device while nothing was ever paused: packets
// do not match the class that is lossless. The interface's device stands in `rdma link`.
TEST_F(LossRate, WhatAnRdmaInterfaceDropsIsJoinedByRdmaLinkBesideTheCounters) {
  put("apart/before/ethtool.txt", drops("10", 0));
  put("apart/after/ethtool.txt", drops("11", 40));
  put("apart/before/link.txt", rdma_link("ens1f0"));
  put("apart/after/link.txt", rdma_link("ens1f0"));
  put("one/before.txt", drops("10", 0) + rdma_link("ens1f0"));
  put("one/after.txt", drops("11", 40) + rdma_link("ens1f0"));
  for (const char* pile : {"/apart", "/one"}) {
    const json document = told({folder() + pile});
    EXPECT_TRUE(has_id(document["findings"], "topo.net-class-mismatch"))
        << pile << document["findings"].dump(1) << document["caveats"].dump(1);
  }
}

// Two machines whose first device has another interface: whose counters these are is open.
TEST_F(LossRate, TwoMachinesThatDifferJoinNothing) {
  put("p/before/ethtool.txt", drops("10", 0));
  put("p/after/ethtool.txt", drops("11", 40));
  put("p/one/link.txt", rdma_link("ens1f0"));
  put("p/other/link.txt", rdma_link("ens9"));
  const json document = told({folder() + "/p"});
  EXPECT_FALSE(has_id(document["findings"], "topo.net-class-mismatch"));
  EXPECT_TRUE(has_id(document["caveats"], "topo.net-drops-open")) << document["caveats"].dump(1);
}

}  // namespace
}  // namespace comm_probe::test
