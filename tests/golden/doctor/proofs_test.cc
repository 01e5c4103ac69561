// What one artifact supposes and another one proves, refutes or explains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Proofs : public Pile {
 protected:
  json named(const json& document, const std::string& id) {
    for (const json& finding : document["findings"])
      if (finding["id"] == id) return finding;
    return {{"summary", ""}, {"confidence", ""}, {"severity", ""}};
  }
};

// ------------------------------------------------------------------------------------- GIDs
std::string gids(const std::string& address) {
  return "DEV     PORT    INDEX   GID                                     IPv4            VER     "
         "DEV\n---     ----    -----   ---                                     ------------    --- "
         " "
         "   ---\n"
         "mlx5_0  1       0       fe80:0000:0000:0000:0e42:a1ff:fe11:2233                 v1      "
         "eth1\n"
         "mlx5_0  1       1       fe80:0000:0000:0000:0e42:a1ff:fe11:2233                 v2      "
         "eth1\n" +
         address + "n_gids_found=4\n";
}
constexpr const char* kRoutable =
    "mlx5_0  1       4       0000:0000:0000:0000:0000:ffff:0a14:000b 10.20.0.11      v1      eth1\n"
    "mlx5_0  1       5       0000:0000:0000:0000:0000:ffff:0a14:000b 10.20.0.11      v2      "
    "eth1\n";

std::string no_answer(const std::string& setting, const std::string& local) {
  std::string log;
  if (!setting.empty())
    log = "h1:1:1 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to " + setting + ".\n";
  return log +
         "h1:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB ens1:10.20.0.11<0>\n"
         "h2:2:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB ens1:10.20.0.12<0>\n"
         "h1:1:1 [0] NCCL INFO Using network IB\n"
         "h1:1:1 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer "
         "10.20.0.12<4000> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid " +
         local + " remoteGids ::ffff:10.20.0.12 hca mlx5_0\n";
}

// By the setting, or by the address that the error names: the table says which index is right.
TEST_F(Proofs, TheTableOfGidsNamesTheIndex) {
  for (const std::string setting : {"0", "1", ""}) {
    const json document = told({put("p/nccl.log", no_answer(setting, "fe80::e42:a1ff:fe11:2233")),
                                put("p/show_gids.txt", gids(kRoutable))});
    const json& first = document["findings"][0];
    EXPECT_EQ(first["id"], "topo.gid-index") << document["findings"].dump(1);
    EXPECT_THAT(first["summary"].get<std::string>(), HasSubstr("index 5"));
    EXPECT_THAT(first["summary"].get<std::string>(), HasSubstr("10.20.0.11"));
    EXPECT_NE(first["confidence"], "possible");
    EXPECT_THAT(named(document, "log.ib-no-answer")["summary"].get<std::string>(),
                HasSubstr("explained by topo.gid-index"));
  }
}

TEST_F(Proofs, AGoodIndexOrATableWithoutAnotherAccusesNoGid) {
  const json good = told({put("p/nccl.log", no_answer("5", "::ffff:10.20.0.11")),
                          put("p/show_gids.txt", gids(kRoutable))});
  EXPECT_FALSE(has_id(good["findings"], "topo.gid-index")) << good["findings"].dump(1);
  EXPECT_EQ(good["findings"][0]["id"], "log.ib-no-answer");
}

// A job that runs is not accused, nor is the table of a port that it does not use.
TEST_F(Proofs, AGidThatNobodyComplainsOfIsOnlyNoted) {
  std::string log = no_answer("1", "fe80::e42:a1ff:fe11:2233");
  log = log.substr(0, log.find("h1:1:1 [0] transport"));
  const std::string table = put("p/show_gids.txt", gids(kRoutable));
  const json quiet = told({put("p/nccl.log", log), table});
  for (const json& finding : quiet["findings"]) EXPECT_EQ(finding["severity"], "info") << finding;
  const std::string other =
      std::regex_replace(no_answer("1", "fe80::99"), std::regex("mlx5_0"), "mlx5_7");
  const json unused = told({put("p/nccl.log", other), table});
  EXPECT_FALSE(has_id(unused["findings"], "topo.gid-index")) << unused["findings"].dump(1);
}

TEST_F(Proofs, AnAddressOfTheLogIsAHost) {
  const json document = told({put("nccl.log", no_answer("", "::ffff:10.20.0.11"))});
  EXPECT_THAT(document["findings"][0]["summary"].get<std::string>(),
              HasSubstr("peer 10.20.0.12 (h2)"));
}

// ------------------------------------------------------------------------------------- modules
std::string without_gdr(const std::string& version) {
  return "h1:1:2 [3] NCCL INFO NCCL version " + version +
         "\nh1:1:2 [3] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n"
         "h1:1:2 [3] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1'\n";
}
std::string lsmod(const std::string& module) {
  return "Module                  Size  Used by\n" + module +
         "nvidia              56823808  200\nmlx5_core             2105344  1 mlx5_ib\n";
}

TEST_F(Proofs, ListOfModules) {
  struct Case {
    const char* version;
    const char* module;
    const char* says;
    const char* confidence;
  };
  for (const Case& each :
       {Case{"2.20.5+cuda12.4", "nvidia_peermem         16384  0\n", "old name nv_peer_mem only",
             "likely"},
        Case{"2.20.5+cuda12.4", "", "no nvidia_peermem and no nv_peer_mem is loaded", "likely"},
        Case{"2.28.9+cuda12.8", "", "no nvidia_peermem and no nv_peer_mem is loaded", "likely"},
        Case{"2.20.5+cuda12.4", "nv_peer_mem            16384  0\n", "another node", "possible"},
        Case{"2.28.9+cuda12.8", "nvidia_peermem         16384  0\n", "another node", "possible"}}) {
    const json document = told(
        {put("p/nccl.log", without_gdr(each.version)), put("p/modules.txt", lsmod(each.module))});
    EXPECT_TRUE(document["result"]["unrecognised"].empty());
    EXPECT_EQ(document["findings"][0]["id"], "log.gdr-unavailable");
    const json conjecture = named(document, "log.possible-peermem");
    EXPECT_THAT(conjecture["summary"].get<std::string>(), HasSubstr(each.says));
    EXPECT_EQ(conjecture["confidence"], each.confidence) << each.version << each.module;
  }
}

// The end of a list says nothing of what is missing in it, nor does another table.
TEST_F(Proofs, ACutListOfModulesIsNone) {
  const json document = told({put("p/nccl.log", without_gdr("2.28.9+cuda12.8")),
                              put("p/modules.txt", "nvidia              56823808  200\n")});
  EXPECT_EQ(named(document, "log.possible-peermem")["confidence"], "possible");
}

// ------------------------------------------------------------------------------------- links
std::string write_bw(const std::string& memory, double Gbps) {
  char row[128];
  std::snprintf(row, sizeof row,
                " 65536      5000             %.2f             %.2f             %.6f\n",
                Gbps * 1.004, Gbps, Gbps * 1e3 / 8 / 65536);
  return "$ ib_write_bw -d mlx5_0 -F " + memory + "--report_gbits node02\n" +
         "---------------------------------------------------------------------------------------\n"
         "                    RDMA_Write BW Test\n"
         " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
         " Number of qps   : 1\t\tTransport type : IB\n Mtu             : 4096[B]\n"
         " Link type       : IB\n"
         "---------------------------------------------------------------------------------------\n"
         " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n" +
         std::string(row);
}

TEST_F(Proofs, GpuMemoryAgainstHostMemoryExplainsTheFormerAlone) {
  const std::string ports = put("p/node01/ibstat.txt", ibstat(true));
  const json gpu = told({put("p/gpu.txt", write_bw("--use_cuda=0 ", 190)),
                         put("p/host.txt", write_bw("", 392)), ports});
  EXPECT_EQ(gpu["findings"][0]["id"], "curve.gpu-memory-slow") << gpu["findings"].dump(1);
  EXPECT_THAT(named(gpu, "curve.link-below-port")["summary"].get<std::string>(),
              HasSubstr("explained by curve.gpu-memory-slow"));
  // both are below the port: that of host memory is a fault of its own
  const json both = told({put("p/gpu.txt", write_bw("--use_cuda=0 ", 90)),
                          put("p/host.txt", write_bw("", 190)), ports});
  int unexplained = 0;
  for (const json& finding : both["findings"])
    if (finding["id"] == "curve.link-below-port" || finding["id"] == "curve.link-fits-slot")
      unexplained += finding["summary"].get<std::string>().find("explained") == std::string::npos;
  EXPECT_EQ(unexplained, 1) << both["findings"].dump(1);
}

// ------------------------------------------------------------------------------------- failures
TEST_F(Proofs, ARunThatStoppedIsNotCalledSlow) {
  const std::string whole = table(4, 1, 40);
  for (const char* error : {"unhandled system error", "unhandled cuda error", "internal error"}) {
    const std::string failed = whole.substr(0, whole.find("#       size")) +
                               "node00: Test NCCL failure common.cu:393 '" + error +
                               "'\n .. node00 pid 17997: Test failure common.cu:596\n";
    const json document = told({put("table.txt", failed)});
    EXPECT_EQ(document["findings"][0]["id"], "curve.failed-run");
    EXPECT_THAT(document["verdict"].get<std::string>(), testing::StartsWith("failed ("));
    for (const json& symptom : document["result"]["symptoms"]) EXPECT_NE(symptom, "slow");
  }
}

// ------------------------------------------------------------------------------------- counters
std::string counters(int minute, int discards) {
  return "# Mon Nov 30 10:0" + std::to_string(minute) + ":00 UTC 2026\n" +
         "# Port extended counters: Lid 12 port 1 (CapMask: 0x5A00)\n"
         "PortSelect:......................1\nPortXmitData:....................25000000" +
         std::to_string(minute) + "\nPortXmitDiscards:................" + std::to_string(discards) +
         "\nLinkDownedCounter:..............." + std::to_string(discards) + "\n";
}

// All hosts of the job are known: what a third one counts is no fault of it.
TEST_F(Proofs, CountersOfAStrangerWeighNothing) {
  put("p/table.txt", table(4, 2, 40));
  for (const bool is_member : {true, false}) {
    const std::string host = is_member ? "node02" : "node03";
    put("p/" + host + "/before.txt", counters(0, 0));
    put("p/" + host + "/after.txt", counters(1, 900));
    const json document = told({folder() + "/p"});
    bool is_weighty = false, is_said = false;
    for (const json& finding : document["findings"]) {
      if (!finding["id"].get<std::string>().starts_with("topo.net-")) continue;
      is_said = true;
      is_weighty = is_weighty || finding["severity"] != "info";
    }
    EXPECT_TRUE(is_said) << document.dump(1);
    EXPECT_EQ(is_weighty, is_member) << document["findings"].dump(1);
    fs::remove_all(folder() + "/p/" + host);
  }
}

// ------------------------------------------------------------------------------------- references
// The ports of its nodes say what a table should reach: then it is judged, well or ill.
TEST_F(Proofs, PortsOfThePileAreAReference) {
  const std::string text = put("p/table.txt", table(4, 2, 75));
  const auto is_unjudged = [](const json& document) {
    for (const json& caveat : document["caveats"])
      if (caveat["id"] == "curve.no-reference") return true;
    return false;
  };
  EXPECT_TRUE(is_unjudged(told({text})));
  for (const char* host : {"node01", "node02"})
    put(std::string("p/") + host + "/ibstat.txt", ibstat(true));
  const json document = told({folder() + "/p"});
  EXPECT_FALSE(is_unjudged(document)) << document["caveats"].dump(1);
  EXPECT_FALSE(has_id(document["findings"], "job.gap")) << document["findings"].dump(1);
}

// ------------------------------------------------------------------------------------- gaps
std::string eight_ports(int rate_of_last) {
  std::string text;
  for (int port = 0; port < 8; ++port)
    text += "CA 'mlx5_" + std::to_string(port) +
            "'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n"
            "\t\tPhysical state: LinkUp\n\t\tRate: " +
            std::to_string(port == 7 ? rate_of_last : 400) + "\n\t\tLink layer: InfiniBand\n";
  return text;
}

// Data is shared evenly over the rails: one at a quarter of the rate leaves a quarter of it all. A
// port that accounts for the gap explains it; one that is not slow enough does not.
TEST_F(Proofs, ASlowRailExplainsTheGap) {
  put("p/node01/ibstat.txt", eight_ports(400));
  put("p/node02/ibstat.txt", eight_ports(100));
  put("p/table.txt", table(16, 2, 85));
  const json slow = told({folder() + "/p"});
  EXPECT_EQ(slow["findings"][0]["id"], "topo.port-slow") << slow["findings"].dump(1);
  EXPECT_THAT(slow["findings"][0]["evidence"][0]["text"].get<std::string>(),
              HasSubstr("mlx5_7: Rate: 100"));
  EXPECT_THAT(named(slow, "job.gap")["summary"].get<std::string>(),
              HasSubstr("explained by topo.port-slow"));
  put("p/node02/ibstat.txt", eight_ports(200));  // a half of it all would be left
  put("p/table.txt", table(16, 2, 20));
  EXPECT_THAT(named(told({folder() + "/p"}), "job.gap")["summary"].get<std::string>(),
              Not(HasSubstr("explained by topo.port-slow")));
}

}  // namespace
}  // namespace comm_probe::test
