// `curve` on tests of links and on results of many nodes, as users call it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
const std::string kField = COMM_PROBE_SHARED "/data/field/perftest/";

class LinkCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("comm-probe-links-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  // ib_write_bw with this average, in a file of this name.
  void write_bandwidth(const std::string& name, double Gbps) const {
    write(name, fmt::format("                    RDMA_Write BW Test\n"
                            " Link type       : IB\n"
                            " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]\n"
                            " 65536      5000             {0:.2f}             {0:.2f}\n",
                            Gbps));
  }
  std::filesystem::path folder_;
};

class LinkFieldCommand : public LinkCommand {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kField)) GTEST_SKIP() << "no " << kField;
    LinkCommand::SetUp();
  }
};

TEST_F(LinkFieldCommand, EveryFileFitsTheScreenAndItsJsonIsOneDocument) {
  for (const auto& entry : std::filesystem::directory_iterator(kField)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".txt") || name[0] != 'p') continue;
    const std::string path = folder_ / name;
    std::filesystem::copy_file(entry.path(), path);
    const BinaryRun text = run_binary({"curve", path, "--explain"});
    for (const std::string& line : lines_of(text.out)) {
      const bool is_path = line.find(path) != std::string::npos;
      EXPECT_TRUE(line.size() <= 100 || is_path) << name << ": " << line;
    }
    const BinaryRun run = run_binary({"curve", path, "--json"});
    EXPECT_EQ(run.status, text.status) << run;
    const json document = json::parse(run.out);
    ASSERT_FALSE(document["result"]["links"].empty()) << name;
    for (const json& link : document["result"]["links"]) EXPECT_EQ(link["file"], path);
    const bool faulty = name.starts_with("p17") || name.starts_with("p19");
    EXPECT_EQ(run.status == 1, faulty) << run;
  }
}

TEST_F(LinkFieldCommand, AgainstItsPortATestIsHealthy) {
  const std::string file = kField + "p07_oci_ib_write_bw_4qp.txt";
  const BinaryRun unknown = run_binary({"curve", file});
  EXPECT_EQ(unknown.status, 5) << unknown;
  EXPECT_NE(unknown.out.find("curve.port-unknown"), std::string::npos) << unknown;
  EXPECT_NE(unknown.out.find("what a 100 Gb/s port carries (98 %)"), std::string::npos) << unknown;
  const BinaryRun known = run_binary({"curve", file, "--beta", "100Gb/s"});
  EXPECT_EQ(known.status, 0) << known;
  EXPECT_TRUE(known.out.starts_with("healthy: ib_write_bw on mlx5_5")) << known;
  const BinaryRun faster = run_binary({"curve", file, "--beta", "400Gb/s"});
  EXPECT_EQ(faster.status, 1) << faster;
}

// One node of eight H20: nothing of it is on a NIC.
TEST_F(LinkFieldCommand, DeepEpIsShownWithItsWire) {
  const std::string file = kField + "e03_deepep_low_latency_h20.txt";
  const BinaryRun run = run_binary({"curve", file, "--nodes", "1", "--json"});
  EXPECT_EQ(run.status, 0) << run;
  const json rows = json::parse(run.out)["result"]["deepep"];
  ASSERT_EQ(rows.size(), 5U) << run;
  EXPECT_EQ(rows[0]["printed_GBps"], 99.09);
  EXPECT_EQ(rows[0]["wire_GBps"], 0.0);
  EXPECT_EQ(rows[0]["kernel"], "low latency");
  // without the number of nodes the wire is not known, and the conclusion is limited; from a pipe
  const BinaryRun piped = run_shell("cat " + file + " | \"$COMM_PROBE\" curve -");
  EXPECT_EQ(piped.status, 5) << piped;
  EXPECT_NE(piped.out.find("moe.nodes-unknown"), std::string::npos) << piped;
}

TEST_F(LinkCommand, AFolderOfPairsNamesTheNode) {
  for (const auto& [a, b] : {std::pair{1, 2}, {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}})
    write_bandwidth(fmt::format("ib_write_bw_node{}-node{}.txt", a, b),
                    a == 4 || b == 4 ? 190 : 391 + a);
  const BinaryRun run = run_binary({"curve", folder_, "--beta", "400Gb/s", "--json"});
  EXPECT_EQ(run.status, 1) << run;
  const json document = json::parse(run.out);
  const auto& findings = document["findings"];
  const auto node = std::find_if(findings.begin(), findings.end(), [](const json& finding) {
    return finding["id"] == "curve.node-slow";
  });
  ASSERT_NE(node, findings.end()) << run;
  EXPECT_NE((*node)["summary"].get<std::string>().find("node4"), std::string::npos);
  EXPECT_EQ(document["result"]["fleet"]["pairs"][0]["measured"], 6);
  EXPECT_EQ(document["result"]["fleet"]["pairs"][0]["slow"], 3);
}

TEST_F(LinkCommand, AMatrixOfNodesNamesThePath) {
  write("matrix.csv", "GB/s,n1,n2,n3,n4\nn1,,48,47,48\nn2,48,,12,48\nn3,47,12,,48\nn4,48,48,47,\n");
  const BinaryRun run = run_binary({"curve", folder_ / "matrix.csv"});
  EXPECT_EQ(run.status, 1) << run;
  EXPECT_NE(run.out.find("curve.pair-slow"), std::string::npos) << run;
  EXPECT_NE(run.out.find("n2->n3"), std::string::npos) << run;
  EXPECT_EQ(run.out.find("curve.node-slow"), std::string::npos) << run;
}

TEST_F(LinkCommand, GpuMemoryBesideHostMemory) {
  const char* const kTest =
      "{}                    RDMA_Write BW Test\n Device         : mlx5_0\n Link type       : IB\n"
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      5000             {:.2f}             {:.2f}             {:.6f}\n";
  const auto test = [&](const char* preamble, double Gbps) {
    return fmt::format(fmt::runtime(kTest), preamble, Gbps, Gbps, Gbps * 1e3 / 8 / 65536);
  };
  write("both.txt", test("", 184) + test("Picking device No. 0\n", 88));
  const BinaryRun run = run_binary({"curve", folder_ / "both.txt"});
  EXPECT_EQ(run.status, 1) << run;
  EXPECT_NE(run.out.find("curve.gpu-memory-slow"), std::string::npos) << run;
}

}  // namespace
}  // namespace comm_probe::test
