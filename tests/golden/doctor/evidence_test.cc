// Who is accused, and by which line; what is fine only where it was looked at.
#include <gmock/gmock.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Evidence : public Pile {
 protected:
  static const json* found(const json& document, const std::string& id) {
    for (const json& finding : document["findings"])
      if (finding["id"] == id) return &finding;
    return nullptr;
  }
  static std::string outcome(const json& document, const std::string& step) {
    for (const json& visit : document["result"]["path"])
      if (visit["step"] == step) return visit["outcome"];
    return "";
  }
};

std::string line(int node, int rank, const std::string& text) {
  const std::string pid = std::to_string(4000 + rank);
  return "node0" + std::to_string(node) + ":" + pid + ":" + pid + " [" + std::to_string(rank % 8) +
         "] NCCL INFO " + text + "\n";
}

// Two nodes of 8 GPUs; of every 8 connections so many have GPUDirect RDMA.
std::string network_log(int direct_of_8, const std::string& net = "IB") {
  std::string log;
  for (int rank = 0; rank < 16; ++rank) {
    const int node = 1 + rank / 8, peer = (rank + 8) % 16;
    const std::string gpu = std::to_string(rank % 8);
    const std::string init = " rank " + std::to_string(rank) + " nranks 16 cudaDev " + gpu +
                             " nvmlDev " + gpu + " busId " + gpu +
                             "a000 commId 0x915ebc8c87363555 - Init ";
    log += line(node, rank, "NCCL version 2.28.9+cuda12.8");
    log += line(node, rank, "Using network " + net);
    log += line(node, rank,
                "ncclCommInitRank comm 0x55c6d68d7b2" + std::to_string(rank) + init + "START");
    for (const char* channel : {"00/0", "01/0"})
      log += line(node, rank,
                  std::string("Channel ") + channel + " : " + std::to_string(rank) + "[" + gpu +
                      "] -> " + std::to_string(peer) + "[" + gpu + "] [send] via NET/" + net + "/" +
                      gpu + (rank % 8 < direct_of_8 ? "/GDRDMA" : ""));
    log += line(node, rank,
                "ncclCommInitRank comm 0x55c6d68d7b2" + std::to_string(rank) + init + "COMPLETE");
  }
  return log;
}

std::string eight_ports() {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += "CA 'mlx5_" + std::to_string(i) +
            "'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n"
            "\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tLink layer: InfiniBand\n";
  return text;
}

// 46.8 % of what the ports carry: staging through host memory gives 5 to 75 %.
TEST_F(Evidence, ConnectionsWithoutGdrExplainTheGap) {
  for (const int direct : {0, 4}) {
    const std::string name = "n" + std::to_string(direct);
    put(name + "/nccl.log", network_log(direct));
    put(name + "/node01/ibstat.txt", eight_ports());
    put(name + "/2n.txt", table(16, 2, 150));
    const json document = told({folder() + "/" + name});
    const json* finding = found(document, "job.gdr-unused");
    ASSERT_NE(finding, nullptr) << document["findings"];
    EXPECT_EQ((*finding)["severity"], "warning");
    EXPECT_EQ((*finding)["id"], document["findings"][0]["id"]);
    EXPECT_TRUE(finding->contains("explains")) << *finding;
    EXPECT_THAT((*finding)["summary"].get<std::string>(),
                HasSubstr(direct == 0 ? "none of 32" : "16 of 32"));
    EXPECT_THAT((*finding)["evidence"][0]["text"].get<std::string>(), Not(HasSubstr("GDRDMA")));
    EXPECT_EQ(outcome(document, "gdr"), "found");
  }
}

// The cause removed; slow with it; without it but fast; and transports of which it proves nothing.
TEST_F(Evidence, GdrIsNotBlamedWithoutReason) {
  const auto pile = [&](const std::string& name, const std::string& log, double busbw) {
    put(name + "/nccl.log", log);
    put(name + "/node01/ibstat.txt", eight_ports());
    put(name + "/2n.txt", table(16, 2, busbw));
    return told({folder() + "/" + name});
  };
  const json direct = pile("direct", network_log(8), 150);
  EXPECT_EQ(found(direct, "job.gdr-unused"), nullptr);
  EXPECT_EQ(outcome(direct, "gdr"), "fine");
  const json fast = pile("fast", network_log(0), 350);
  ASSERT_NE(found(fast, "job.gdr-unused"), nullptr);
  EXPECT_EQ((*found(fast, "job.gdr-unused"))["severity"], "info");
  EXPECT_EQ(outcome(fast, "gdr"), "noted");
  for (const char* net : {"Socket", "AWS Libfabric", "FasTrak"}) {
    const json other = pile(net, network_log(0, net), 150);
    EXPECT_EQ(found(other, "job.gdr-unused"), nullptr) << net;
    EXPECT_EQ(outcome(other, "gdr"), "not there") << net;
  }
}

// The healthy file is read first; the line that accuses stands in the other one.
TEST_F(Evidence, TheLineThatNamesTheWrongValueAccuses) {
  const auto provider = [](int node, const std::string& name) {
    return line(node, 0, "NET/OFI Selected Provider is " + name);
  };
  const std::string good = put("a.log", provider(1, "efa"));
  const std::string bad =
      put("b.log", line(2, 8, "Bootstrap : Using eth0") + provider(2, "tcp;ofi_rxm"));
  const json document = told({good, bad});
  const json* finding = found(document, "log.wrong-provider");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ((*finding)["evidence"][0]["source"], bad);
  EXPECT_EQ((*finding)["evidence"][0]["line"], 2);
  EXPECT_THAT((*finding)["evidence"][0]["text"].get<std::string>(), HasSubstr("tcp;ofi_rxm"));
  EXPECT_EQ(found(told({good}), "log.wrong-provider"), nullptr);
}

std::string counters(int downed, int symbols) {
  return "# Port extended counters: Lid 12 port 1 (CapMask: 0x5300)\n"
         "PortSelect:......................1\nCounterSelect:...................0x0000\n"
         "PortXmitData:....................1000000\nPortRcvData:.....................1000000\n"
         "SymbolErrorCounter:.............." +
         std::to_string(symbols) +
         "\nLinkErrorRecoveryCounter:........0\nLinkDownedCounter:..............." +
         std::to_string(downed) +
         "\nPortRcvErrors:...................0\nPortXmitDiscards:................0\n"
         "PortXmitWait:....................0\n";
}

// Whatever the order in which the files are read.
TEST_F(Evidence, NamesOrCountersTellWhichSnapshotWasFirst) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"before", "after"}, {"t0", "t1"}, {"c9", "c10"}, {"start", "end"}, {"zebra", "apple"}};
  for (const auto& [early, late] : pairs) {
    const std::string name = early + late;
    put(name + "/" + early + ".txt", counters(0, 0));
    put(name + "/" + late + ".txt", counters(3, 5021));
    const json document = told({folder() + "/" + name});
    EXPECT_TRUE(has_id(document["findings"], "topo.net-link-flap")) << name << document["findings"];
    EXPECT_EQ(outcome(document, "counters"), "found") << name;
  }
}

TEST_F(Evidence, AnUnknownOrderIsNotFine) {
  // each has a counter that the other one has lower
  const BinaryRun run =
      doctor({put("zebra.txt", counters(0, 5021)), put("apple.txt", counters(3, 0)), "--why"});
  EXPECT_EQ(run.status, 5) << run.out;
  EXPECT_THAT(run.out, HasSubstr("made first"));
  EXPECT_THAT(run.out, Not(HasSubstr("fine     do counters")));
  EXPECT_THAT(run.out, HasSubstr("do counters of the network rise?"));
  // names that say what the counters deny: reset between the two
  const BinaryRun reset =
      doctor({put("before.txt", counters(3, 5021)), put("after.txt", counters(0, 0)), "--why"});
  EXPECT_EQ(reset.status, 5) << reset.out;
  EXPECT_THAT(reset.out, Not(HasSubstr("fine     do counters")));
  // nothing rose: all the same which was first
  EXPECT_EQ(doctor({put("x.txt", counters(3, 7)), put("y.txt", counters(3, 7))}).status, 0);
}

// One snapshot each of two machines is no change of any port, whatever names them.
TEST_F(Evidence, SnapshotsOfTwoMachinesAreNoChange) {
  const auto ethtool = [](int downs, int drops) {
    return "Mon Nov 30 02:54:2" + std::to_string(downs) +
           " UTC 2026\n$ ethtool -S eth1\nNIC statistics:\n     rx_packets_phy: " +
           std::to_string(1000 * downs) + "\n     rx_discards_phy: " + std::to_string(drops) +
           "\n     rx_prio3_pause: 0\n     tx_prio3_pause: 0\n     link_down_events_phy: " +
           std::to_string(downs) + "\n";
  };
  for (const auto& [one, other] : {std::pair("m/node01/eth.txt", "m/node02/eth.txt"),
                                   {"n/gpu-a_eth.txt", "n/gpu-b_eth.txt"},
                                   {"o/eth_dgx01.txt", "o/eth_dgx02.txt"}}) {
    const json document = told({put(one, ethtool(3, 10)), put(other, ethtool(9, 812))});
    EXPECT_TRUE(document["findings"].empty()) << one << document["findings"];
  }
  // the twin: the same two of one machine
  const json document =
      told({put("p/eth_before.txt", ethtool(3, 10)), put("p/eth_after.txt", ethtool(9, 812))});
  EXPECT_TRUE(has_id(document["findings"], "topo.net-link-flap")) << document["findings"];
}

// A table of nodes is one at any size, though no word in it is of a benchmark.
TEST_F(Evidence, AMatrixOfManyNodes) {
  std::string text = "GB/s";
  for (int node = 0; node < 300; ++node) text += ",node" + std::to_string(node);
  for (int row = 0; row < 300; ++row) {
    text += "\nnode" + std::to_string(row);
    for (int node = 0; node < 300; ++node)
      text += row == node ? "," : row == 17 || node == 17 ? ",24.01" : ",48.02";
  }
  const json document = told({put("fleet.csv", text + "\n")});
  ASSERT_FALSE(document["findings"].empty());
  EXPECT_THAT(document["findings"][0]["summary"].get<std::string>(), HasSubstr("node17"));
}

// An unpacked recording (topo record) is a machine, given by itself or below another folder.
TEST_F(Evidence, AnUnpackedRecordingIsAMachine) {
  const std::string port = "b/node1/sys/class/infiniband/mlx5_0/ports/1/";
  put("b/node1/sys/class/infiniband/mlx5_0/hca_type", "MT4129\n");
  put(port + "state", "4: ACTIVE\n");
  put(port + "rate", "400 Gb/sec (4X NDR)\n");
  put(port + "link_layer", "InfiniBand\n");
  put("b/node1/recorded_at", "1795575263\n");
  for (const std::string path : {"/b/node1", "/b"}) {
    const json document = told({folder() + path});
    ASSERT_EQ(document["result"]["job"]["machines"].size(), 1U) << path;
    EXPECT_EQ(document["result"]["job"]["machines"][0]["nics"], 1) << path;
    EXPECT_EQ(document["inputs"].size(), 1U) << document["inputs"];
  }
}

// A fix that is older than what runs is no advice.
TEST_F(Evidence, NoUpdateToWhatIsRunning) {
  const auto advice = [&](const std::string& version) {
    const std::string log =
        line(1, 0, "NCCL version " + version + "+cuda12.8") +
        line(1, 0, "ncclMaxSharedMem 82240 exceeds device/fn maxSharedMem 79856") +
        "node01:4000:4000 [0] enqueue.cc:1500 NCCL WARN Cuda failure 1 "
        "'invalid argument'\n";
    const json document = told({put("x.log", log)});
    const json* finding = found(document, "log.shared-memory-limit");
    return finding == nullptr ? std::string("none") : finding->dump();
  };
  EXPECT_THAT(advice("2.25.1"), HasSubstr("update NCCL to 2.26 or later"));
  for (const char* version : {"2.26.2", "2.27.3", "2.28.9"}) {
    EXPECT_THAT(advice(version), Not(HasSubstr("update NCCL"))) << version;
    EXPECT_THAT(advice(version), Not(HasSubstr("a bug that"))) << version;
  }
}

}  // namespace
}  // namespace comm_probe::test
