// Machines of the pile that are no hosts of the job explain nothing of it, and neither does a port
// that an error does not name or that a job over TCP does not use.
#include <gtest/gtest.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

std::string started(const std::string& network, const std::string& nics, const std::string& via) {
  std::string log;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string gpu = std::to_string(rank % 2), pid = std::to_string(4000 + rank);
    const std::string prefix = "node0" + std::to_string(1 + rank / 2) + ":" + pid + ":" + pid +
                               " [" + gpu + "] NCCL INFO ";
    const std::string comm = "ncclCommInitRankConfig comm 0x55c6d68d7b2" + std::to_string(rank) +
                             " rank " + std::to_string(rank) + " nranks 4 cudaDev " + gpu +
                             " nvmlDev " + gpu + " busId " + std::to_string(rank % 2 + 7) +
                             "000 commId 0x915ebc8c87363555 - ";
    log += prefix + "NCCL version 2.28.9+cuda12.8\n" + prefix + nics + prefix + "Using network " +
           network + "\n" + prefix + comm + "Init START\n";
    log += prefix + "Channel 00/0 : " + std::to_string(rank) + "[" + gpu + "] -> " +
           std::to_string((rank + 2) % 4) + "[" + gpu + "] [send] via " + via + "\n";
    log += prefix + comm + "Init COMPLETE\n";
  }
  return log;
}

std::string failed_on(const std::string& hca) {
  return started("IB", "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:192.0.2.1<0>\n",
                 "NET/IB/0/GDRDMA") +
         "node01:4000:4100 [0] transport/net_ib.cc:2244 NCCL WARN NET/IB: Got completion from peer "
         "192.0.2.2<53908> with status=12 opcode=129 len=1048576 vendor err 129 (Recv) localGid "
         "fe80::1 remoteGids fe80::2 hca " +
         hca + "\n";
}

std::string explained(const json& document, const std::string& id) {
  for (const json& finding : document["findings"])
    if (finding["id"] == id) return finding["summary"];
  return "";
}

class Strangers : public Pile {
 protected:
  void put_hosts(bool is_second_up) {
    put("p/node01/ibstat.txt", ibstat(true));
    put("p/node02/ibstat.txt", ibstat(is_second_up));
  }
  json judged() { return told({folder() + "/p"}); }
};

TEST_F(Strangers, APortOfAnotherHostExplainsNoError) {
  for (const std::string name : {"node03", "spare"}) {
    put_hosts(true);
    put("p/" + name + "/ibstat.txt", ibstat(false));
    put("p/nccl.log", failed_on("mlx5_1"));
    const json document = judged();
    EXPECT_EQ(document["findings"][0]["id"], "log.ib-no-answer");
    EXPECT_EQ(explained(document, "log.ib-no-answer").find("(explained"), std::string::npos);
    for (const json& finding : document["findings"])
      if (finding["id"] == "topo.port-not-active") {
        EXPECT_EQ(finding["severity"], "info");
        EXPECT_NE(finding["summary"].get<std::string>().find("no host of this job"),
                  std::string::npos);
      }
    fs::remove_all(folder() + "/p");
  }
}

TEST_F(Strangers, APortExplainsTheErrorThatNamesItAndNoOther) {
  put_hosts(false);  // mlx5_1 of node02 is down
  put("p/nccl.log", failed_on("mlx5_1"));
  const json named = judged();
  EXPECT_EQ(named["findings"][0]["id"], "topo.port-not-active") << named["findings"].dump(1);
  put("p/nccl.log", failed_on("mlx5_0"));
  const json other = judged();
  EXPECT_EQ(other["findings"][0]["id"], "log.ib-no-answer") << other["findings"].dump(1);
  EXPECT_EQ(explained(other, "log.ib-no-answer").find("(explained"), std::string::npos);
}

TEST_F(Strangers, SlowPortsOfAnotherHostSetNoExpectation) {
  put_hosts(true);
  put("p/table.txt", table(16, 2, 90));
  const json before = judged();
  put("p/spare/ibstat.txt", std::string("CA 'mlx5_0'\n\tCA type: MT4123\n\tNumber of ports: 1\n") +
                                "\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n" +
                                "\t\tRate: 100\n\t\tLink layer: InfiniBand\n");
  EXPECT_EQ(explained(judged(), "job.gap"), explained(before, "job.gap"));
}

TEST_F(Strangers, OverSocketsADeadPortExplainsNothing) {
  put_hosts(false);
  put("p/nccl.log", started("Socket", "NET/Socket : Using [0]eth0:192.0.2.1<0>\n", "NET/Socket/0"));
  put("p/one.txt", table(8, 1, 460));
  put("p/two.txt", table(16, 2, 4));
  const json document = judged();
  EXPECT_EQ(document["findings"][0]["id"], "job.network-ignored") << document["findings"].dump(1);
  for (const json& finding : document["findings"])
    if (finding["id"] == "topo.port-not-active") {
      EXPECT_FALSE(finding.contains("explains"));
    }
}

// Two jobs on machines of two kinds: what one has and the other lacks is no fault.
TEST_F(Strangers, MachinesOfDifferentJobsAreNotCompared) {
  put("p/node01/ibstat.txt", ibstat(true));
  put("p/node02/ibstat.txt", ibstat(true));
  const std::string both = ibstat(true);
  put("p/other/ibstat.txt", both.substr(0, both.find("CA 'mlx5_1'")));
  const json document = judged();
  for (const json& finding : document["findings"])
    EXPECT_FALSE(finding["id"].get<std::string>().starts_with("topo.diff-")) << finding;
}

}  // namespace
}  // namespace comm_probe::test
