// Tests of links: the truth of the field files (INDEX.md), mutated twins of them, and matrices of
// machines that are regular without being uniform.
#include "diagnose/link_tests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "curve/curve.h"
#include "diagnose/outliers.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using curve::LinkMatrix;
using curve::LinkTest;

const std::string kField = COMM_PROBE_SHARED "/data/field/perftest/";
const std::string kSamples = COMM_PROBE_SHARED "/data/infer/";

std::vector<LinkTest> read_links(const std::string& path) {
  auto input = core::Input::open(path);
  EXPECT_TRUE(input.ok()) << path;
  auto reading = curve::read(*input);
  EXPECT_TRUE(reading.ok()) << path;
  return reading.ok() ? reading->links : std::vector<LinkTest>{};
}

Judgement judge_all(const std::vector<LinkTest>& tests, const LinkReference& reference = {}) {
  Judgement all;
  std::vector<ComparedTest> compared;
  for (const LinkTest& test : tests) {
    all.add(judge_link_test(test, reference));
    compared.push_back({&test, reference});
  }
  all.add(compare_link_tests(compared));
  return all;
}

bool is_quiet(const Judgement& judgement) {
  return std::all_of(judgement.findings.begin(), judgement.findings.end(),
                     [](const auto& finding) { return finding.severity == core::Severity::kInfo; });
}

LinkReference port(double Gbps) {
  LinkReference reference;
  reference.port = Bandwidth::from_Gbps(Gbps);
  reference.source = "test";
  return reference;
}

class LinkTruth : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kField)) GTEST_SKIP() << "no " << kField;
  }
};

// nixlbench: 64 MiB in 13.8 us would be 4863 GB/s, whatever is printed beside it.
TEST(NixlbenchRows, BlocksFasterThanTheirBandwidthAreSaid) {
  const auto judged = [](const char* row) {
    core::Input input = core::Input::from_memory(
        "nix.txt", std::string("Block Size (B)  Batch Size  B/W (GB/Sec)  Avg Lat. (us)  Avg Prep "
                               "(us)  P99 Prep (us)  Avg Post (us)  P99 Post (us)  Avg Tx (us)  "
                               "P99 Tx (us)\n----------\n") +
                       row + "\n");
    const auto reading = curve::read(input);
    EXPECT_TRUE(reading && reading->links.size() == 1);
    return judge_all(reading->links);
  };
  EXPECT_TRUE(judged("67108864 1 48.601437 13.8 20.0 25.0 1.5 2.1 1379.3 1448.3")
                  .has("curve.rate-contradicts-messages"));
  EXPECT_FALSE(judged("67108864 1 48.601437 1380.8 20.0 25.0 1.5 2.1 1379.3 1448.3")
                   .has("curve.rate-contradicts-messages"));
  EXPECT_FALSE(judged("67108864 1 97.2 1380.8 20.0 25.0 1.5 2.1 1379.3 1448.3")
                   .has("curve.rate-contradicts-messages"))
      << "two threads";
}

std::string nixlbench(const std::string& command, const std::string& rows) {
  return command +
         "Block Size (B)  Batch Size  B/W (GB/Sec)  Avg Lat. (us)  Avg Prep (us)  P99 Prep " +
         "(us)  Avg Post (us)  P99 Post (us)  Avg Tx (us)  P99 Tx (us)\n----------\n" + rows;
}

Judgement judged_nixlbench(const std::string& text) {
  core::Input input = core::Input::from_memory("nix.txt", text);
  const auto reading = curve::read(input);
  EXPECT_TRUE(reading) << text;
  return judge_all(reading->links);
}

// Batches of 16: latency x 16 is posting and moving together. 800 of 1048 us at 64 KiB are posting;
// at 4 KiB that is the nature of small blocks; the documentation's sample (1.3 of 26.9 us) is well.
TEST(NixlbenchRows, PostingOfLargeBlocksIsSaid) {
  const auto posting =
      judged_nixlbench(nixlbench("",
                                 "4096 16 0.1 41.0 20.0 25.0 400.0 500.0 256.0 300.0\n"
                                 "65536 16 1.0 65.5 20.0 25.0 800.0 900.0 248.0 300.0\n"));
  ASSERT_TRUE(posting.has("curve.transfer-posting"));
  EXPECT_NE(posting.findings[0].summary.find("64 KiB 76.3 %"), std::string::npos)
      << posting.findings[0].summary;
  EXPECT_TRUE(judged_nixlbench(nixlbench("",
                                         "4096 16 0.1 41.0 20.0 25.0 400.0 500.0 256.0 300.0\n"
                                         "1048576 1 38.980520 26.9 20.0 25.0 1.3 2.1 25.6 26.9\n"))
                  .findings.empty());
}

// nixl issue 922: GPU memory reaches 0.4 GB/s. Without the command nobody knows what was measured.
TEST(NixlbenchRows, AWayFarBelowTheBestIsSaid) {
  const std::string fast = "1048576 1 45.2 23.2 20.0 25.0 1.3 2.1 21.9 26.9\n";
  const std::string slow = "1048576 1 0.4 2621.4 20.0 25.0 1.3 2.1 2620.1 2700.0\n";
  const std::string host = "$ nixlbench --backend UCX --op_type WRITE\n";
  const std::string gpu =
      "$ nixlbench --backend UCX --initiator_seg_type VRAM --target_seg_type VRAM --op_type READ\n";
  const auto found = judged_nixlbench(nixlbench(host, fast) + nixlbench(gpu, slow));
  ASSERT_TRUE(found.has("curve.transfer-way-slow"));
  const core::Finding& way = found.findings.back();
  EXPECT_NE(way.summary.find("GPU memory, read reaches 400 MB/s"), std::string::npos)
      << way.summary;
  EXPECT_EQ(way.confidence, core::Confidence::kLikely);
  EXPECT_TRUE(judged_nixlbench(nixlbench(host, fast) + nixlbench(gpu, fast)).findings.empty());
  const auto unknown = judged_nixlbench(nixlbench("", fast) + nixlbench("", slow));
  ASSERT_TRUE(unknown.has("curve.transfer-way-slow"));
  EXPECT_EQ(unknown.findings.back().confidence, core::Confidence::kPossible);
}

// nixl issue 791: 1.8 GB/s is UCX over TCP. A disk has other rates, and small blocks are latency.
TEST(NixlbenchRows, WhatOnlyTcpGivesIsSaid) {
  const std::string slow =
      "1048576 1 1.980520 529.5 20.0 25.0 1.3 2.1 525.6 526.9\n"
      "67108864 1 1.81437 36988 20.0 25.0 1.5 2.1 36980 1448.3\n";
  const auto found = judged_nixlbench(nixlbench("", slow));
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].id, "curve.transfer-at-tcp-rate");
  EXPECT_NE(found.findings[0].summary.find("1.981 GB/s"), std::string::npos)
      << found.findings[0].summary;
  const std::string fast = "1048576 1 9.3 112.7 20.0 25.0 1.3 2.1 111.4 120.0\n";
  EXPECT_TRUE(judged_nixlbench(nixlbench("", fast)).findings.empty()) << "a NIC of 100 Gb/s";
  const std::string small = "65536 1 1.9 34.5 20.0 25.0 1.3 2.1 33.2 40.0\n";
  EXPECT_TRUE(judged_nixlbench(nixlbench("", small)).findings.empty());
  const std::string disk = "Backend (--backend=[UCX,GDS,POSIX])           : POSIX\n";
  EXPECT_TRUE(judged_nixlbench(nixlbench(disk, slow)).findings.empty());
  EXPECT_EQ(found.findings[0].confidence, core::Confidence::kPossible) << "it may be a disk";
}

// What the command says counts as much as what the configuration says.
TEST(NixlbenchRows, DisksOfTheCommandHaveOtherRates) {
  const std::string slow = "67108864 1 1.15 58355 20 25 1.5 2 58350 58400\n";
  for (const std::string command :
       {"$ nixlbench --backend POSIX --op_type READ\n", "+ nixlbench --backend=OBJ\n",
        "nixlbench --op_type READ \\\n   --backend 'GDS' \\\n  --initiator_seg_type VRAM\n",
        "root@a:/# nixlbench --backend=GDS_MT --backend_x=UCX\n"})
    EXPECT_TRUE(judged_nixlbench(nixlbench(command, slow)).findings.empty()) << command;
  for (const auto& [command, word] :
       {std::pair{"$ nixlbench --backend UCX\n", "UCX_PROTO_INFO"},
        std::pair{"$ nixlbench --op_type READ\n", "UCX_PROTO_INFO"},
        std::pair{"$ nixlbench \\\n --backend=LIBFABRIC\n", "FI_LOG_LEVEL"},
        std::pair{"$ nixlbench --backend Mooncake\n", "MC_FORCE_TCP"}}) {
    const auto found = judged_nixlbench(nixlbench(command, slow));
    ASSERT_EQ(found.findings.size(), 1u) << command;
    EXPECT_EQ(found.findings[0].confidence, core::Confidence::kLikely);
    EXPECT_NE(found.findings[0].next.front().find(word), std::string::npos) << command;
  }
}

// 376.9 GB/s over NVLink inside a host and 48.8 over its NIC of 400 Gb/s are both healthy; 0.5
// beside NVLink is what emulated reads have.
TEST(NixlbenchRows, NvlinkAndANicAreNotCompared) {
  const auto row = [](const char* rate) {
    return "67108864 1 " + std::string(rate) + " 1380.8 20 25 1.5 2.1 1379.3 1448.3\n";
  };
  EXPECT_FALSE(judged_nixlbench(nixlbench("", row("376.9")) + nixlbench("", row("48.82")))
                   .has("curve.transfer-way-slow"));
  EXPECT_FALSE(judged_nixlbench(nixlbench("", row("94.0")) + nixlbench("", row("12.1")))
                   .has("curve.transfer-way-slow"))
      << "two NICs at their rates";
  EXPECT_TRUE(judged_nixlbench(nixlbench("", row("376.9")) + nixlbench("", row("0.5")))
                  .has("curve.transfer-way-slow"));
}

// The documentation's sample cut in two: small blocks here, large ones there. And a disk beside a
// network. Only equal blocks of one backend say something about the way.
TEST(NixlbenchRows, TablesWithoutACommonBlockAreNotCompared) {
  const std::string small =
      "4096 1 0.630154 6.5 20 25 1.2 2 5.3 6\n65536 1 6.1 10.7 20 25 1.2 2 9.5 10\n";
  const std::string large = "67108864 1 48.601437 1380.8 20 25 1.5 2.1 1379.3 1448.3\n";
  const std::string host = "$ nixlbench --backend UCX --op_type WRITE\n";
  const std::string gpu = "$ nixlbench --backend UCX --initiator_seg_type VRAM --op_type READ\n";
  EXPECT_TRUE(judged_nixlbench(nixlbench(host, small) + nixlbench(gpu, large)).findings.empty());
  EXPECT_TRUE(judged_nixlbench(nixlbench("", small) + nixlbench("", large)).findings.empty());
  const std::string disk = "$ nixlbench --backend POSIX --op_type READ\n";
  const std::string slow = "67108864 1 1.15 58355 20 25 1.5 2 58350 58400\n";
  EXPECT_TRUE(judged_nixlbench(nixlbench(gpu, large) + nixlbench(disk, slow)).findings.empty());
  const std::string middle = "67108864 1 4.15 16170 20 25 1.5 2 16160 16200\n";
  const auto found = judged_nixlbench(nixlbench(gpu, middle) + nixlbench(host, small + large));
  ASSERT_TRUE(found.has("curve.transfer-way-slow")) << "64 MiB stand in both";
  EXPECT_NE(found.findings.back().summary.find("blocks of 64 MiB: GPU memory, read"),
            std::string::npos)
      << found.findings.back().summary;
}

TEST_F(LinkTruth, HealthyFilesAreQuiet) {
  for (const auto& entry : std::filesystem::directory_iterator(kField)) {
    const std::string name = entry.path().filename().string();
    const std::string id = name.substr(0, 3);
    const bool is_test = name.ends_with(".txt") && name[0] == 'p';
    if (!is_test || id == "p17" || id == "p19") continue;
    EXPECT_TRUE(is_quiet(judge_all(read_links(entry.path().string())))) << name;
  }
  for (const char* name : {"sample_ib_write_bw_gbits.txt", "sample_ib_write_bw_mib_cuda.txt",
                           "sample_ib_write_lat.txt", "sample_nvbandwidth.txt"})
    EXPECT_TRUE(is_quiet(judge_all(read_links(kSamples + name)))) << name;
}

TEST_F(LinkTruth, P2pThatIsSlowerIsPossiblyIommuOrAcs) {
  for (const char* name : {"p17_a6000_3gpu_p2p_enabled_slower_than_disabled.txt",
                           "p19_rtx4090_6gpu_p2p_enabled_halved.txt"}) {
    const Judgement judgement = judge_all(read_links(kField + name));
    ASSERT_EQ(judgement.findings.size(), 1U) << name;
    EXPECT_EQ(judgement.findings[0].id, "curve.p2p-slower");
    EXPECT_EQ(judgement.findings[0].confidence, core::Confidence::kPossible);
  }
}

// The twin of p17 with the cause gone: P2P as fast as without it.
TEST_F(LinkTruth, P2pThatIsAsFastIsQuiet) {
  auto tests = read_links(kField + "p17_a6000_3gpu_p2p_enabled_slower_than_disabled.txt");
  for (LinkMatrix& matrix : tests.at(0).matrices)
    if (matrix.peer_access == curve::PeerAccess::kEnabled)
      for (auto& cell : matrix.cells)
        if (cell && *cell < 100) cell = curve::OptionalFigure(26.3);
  EXPECT_TRUE(judge_all(tests).findings.empty());
}

TEST_F(LinkTruth, AProductWithoutP2pIsAnInfo) {
  const Judgement judgement = judge_all(read_links(kField + "p18_rtx5090_2gpu_no_p2p.txt"));
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.p2p-unavailable");
  EXPECT_EQ(judgement.findings[0].severity, core::Severity::kInfo);
}

TEST_F(LinkTruth, AColdFirstSizeIsAnInfo) {
  EXPECT_TRUE(judge_all(read_links(kField + "p22_fi_pingpong_efa.txt")).has("curve.cold-start"));
}

TEST_F(LinkTruth, NeverAFindingWithoutEvidence) {
  for (const auto& entry : std::filesystem::directory_iterator(kField)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".txt") || name[0] != 'p') continue;
    for (const auto& finding : judge_all(read_links(entry.path().string())).findings) {
      ASSERT_FALSE(finding.evidence.empty()) << name << " " << finding.id;
      EXPECT_GT(finding.evidence[0].line.value_or(0), 0U) << name << " " << finding.id;
    }
  }
}

TEST_F(LinkTruth, AgainstItsPortASampleIsHealthyOrNot) {
  const auto tests = read_links(kSamples + "sample_ib_write_bw_gbits.txt");  // 392.6 Gb/s
  EXPECT_TRUE(judge_all(tests, port(400)).findings.empty());
  EXPECT_TRUE(judge_all(tests, port(400)).caveats.empty());
  EXPECT_TRUE(judge_all(tests, port(800)).has("curve.link-below-port"));
  EXPECT_TRUE(judge_all(tests, port(200)).has("curve.impossible"));
  EXPECT_TRUE(judge_all(tests).has("curve.port-unknown"));
}

// The worked example of link_ceiling.h; golden G3-10.
TEST(LinkCeiling, PortAndSlot) {
  LinkTest test;
  test.link_type = "IB";
  test.mtu = core::Bytes::of(4096);
  LinkReference reference = port(400);
  EXPECT_NEAR(link_ceiling(test, reference)->carries.in_GBps(), 49.66, 0.005);
  reference.slot = catalog::pcie(4, 16);
  EXPECT_NEAR(link_ceiling(test, reference)->carries.in_GBps(), 28.20, 0.005);
  EXPECT_TRUE(link_ceiling(test, reference)->slot_limits);
}

// The table of rdma.md section 7.
TEST(LinkCeiling, PacketEfficiencyByMtu) {
  const auto efficiency = [](Wire type, int mtu) {
    return packet_efficiency(type, core::Bytes::of(mtu));
  };
  EXPECT_NEAR(efficiency(Wire::kInfiniBand, 256), 0.901, 5e-4);
  EXPECT_NEAR(efficiency(Wire::kInfiniBand, 1024), 0.973, 5e-4);
  EXPECT_NEAR(efficiency(Wire::kInfiniBand, 4096), 0.993, 5e-4);
  EXPECT_NEAR(efficiency(Wire::kRoce, 256), 0.757, 5e-4);
  EXPECT_NEAR(efficiency(Wire::kRoce, 1024), 0.926, 5e-4);
  EXPECT_NEAR(efficiency(Wire::kRoce, 4096), 0.980, 5e-4);
}

LinkTest write_bandwidth(double Gbps, const std::string& file = "run.txt") {
  LinkTest test;
  test.program = "ib_write_bw";
  test.device = "mlx5_0";
  test.link_type = "IB";
  test.file = file;
  curve::LinkRow row;
  row.bytes = core::Bytes::of(65536);
  row.average = Bandwidth::from_Gbps(Gbps);
  row.line = 20;
  test.rows.push_back(row);
  return test;
}

// 28 GB/s of an NDR port is what a gen4 x16 slot carries: no fault.
TEST(LinkRates, NdrInAGen4SlotIsNoFault) {
  const Judgement unknown = judge_link_test(write_bandwidth(224), port(400));
  ASSERT_EQ(unknown.findings.size(), 1U);
  EXPECT_EQ(unknown.findings[0].id, "curve.link-fits-slot");
  EXPECT_EQ(unknown.findings[0].severity, core::Severity::kInfo);
  LinkReference known = port(400);
  known.slot = catalog::pcie(4, 16);
  EXPECT_TRUE(judge_link_test(write_bandwidth(224), known).findings.empty());
  known.slot = catalog::pcie(5, 16);
  EXPECT_TRUE(judge_link_test(write_bandwidth(224), known).has("curve.link-below-port"));
}

TEST(LinkRates, ATenthOfThePortIsAWarning) {
  EXPECT_TRUE(judge_link_test(write_bandwidth(40), port(400)).has("curve.link-below-port"));
}

TEST(LinkRates, RateAndMessagesMustBelongTogether) {
  LinkTest test = write_bandwidth(98.01);
  test.rows[0].message_rate = 0.186932e6;
  EXPECT_FALSE(judge_link_test(test, {}).has("curve.rate-contradicts-messages"));
  test.rows[0].message_rate = 2 * 0.186932e6;
  EXPECT_TRUE(judge_link_test(test, {}).has("curve.rate-contradicts-messages"));
}

TEST(LinkRates, GpuMemoryFarBelowHostMemoryIsThePath) {
  std::vector<LinkTest> tests = {write_bandwidth(184), write_bandwidth(88)};  // perftest issue 241
  tests[1].gpu.is_used = true;
  EXPECT_TRUE(judge_all(tests).has("curve.gpu-memory-slow"));
  tests[1].rows[0].average = Bandwidth::from_Gbps(180);
  EXPECT_FALSE(judge_all(tests).has("curve.gpu-memory-slow"));
  tests[1].rows[0].average = Bandwidth::from_Gbps(88);
  tests[1].device = "mlx5_1";  // another NIC
  EXPECT_FALSE(judge_all(tests).has("curve.gpu-memory-slow"));
}

TEST(LinkRates, OneNicBehindSevenOthers) {
  std::vector<LinkTest> tests;
  for (int i = 0; i < 8; ++i) {
    tests.push_back(write_bandwidth(392 + 0.1 * i));
    tests.back().device = "mlx5_" + std::to_string(i);
  }
  EXPECT_FALSE(judge_all(tests).has("curve.link-test-slow"));
  tests[5].rows[0].average = Bandwidth::from_Gbps(196);
  const Judgement judgement = judge_all(tests);
  ASSERT_TRUE(judgement.has("curve.link-test-slow"));
  EXPECT_NE(judgement.findings[0].summary.find("mlx5_5"), std::string::npos);
}

TEST(LinkLatency, AboveTheRangeOnly) {
  LinkTest test;
  test.program = "ib_write_lat";
  test.link_type = "IB";
  test.is_latency = true;
  curve::LinkRow row;
  row.bytes = core::Bytes::of(2);
  row.t_typical = core::Duration::from_us(1.6);
  row.line = 9;
  test.rows.push_back(row);
  EXPECT_TRUE(judge_link_test(test, {}).findings.empty());
  test.rows[0].t_typical = core::Duration::from_us(12);
  EXPECT_TRUE(judge_link_test(test, {}).has("curve.link-latency-high"));
  test.gpu.is_used = true;
  test.rows[0].t_typical = core::Duration::from_us(5);
  EXPECT_TRUE(judge_link_test(test, {}).findings.empty());
}

TEST(LinkErrors, AStatusIsTranslated) {
  LinkTest test;
  test.program = "ib_write_bw";
  test.errors = {{"run.txt", 7, "Completion with error at client"},
                 {"run.txt", 8, "Failed status 12: wr_id 0 syndrom 0x81"}};
  const Judgement judgement = judge_link_test(test, {});
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.link-failed");
  EXPECT_NE(judgement.findings[0].summary.find("RETRY_EXC_ERR"), std::string::npos);
}

// perftest compares no data (its sources print these lines where a call, a peer or a device fails),
// so none of its error lines may be called wrong data; each has something to do.
TEST(LinkErrors, NoErrorLineOfPerftestIsWrongData) {
  for (const char* line : {"Couldn't allocate MR",
                           "failed to create mr",
                           "Failed to create MR",
                           "Couldn't create IB resources",
                           "Failed to modify QP 0x1 to RTR",
                           "Unable to Connect the HCA's through the link",
                           "Unable to init the socket connection",
                           "Couldn't connect to node2:18515",
                           "Couldn't get device attributes",
                           "Couldn't get context for the device",
                           "Unable to find the Infiniband/RoCE device",
                           "IB device mlx5_9 not found",
                           "Completion with error at client",
                           "Failed status 5: wr_id 0",
                           "Port number 1 state is Down",
                           "Couldn't set the link layer",
                           "Failed to exchange data between server and clients",
                           "Unexpected CM event bl blka 8",
                           "Unable to perform rdma_client function",
                           "cuda init failed",
                           "cuMemAlloc error=2",
                           "Failed to complete run_iter_bw function successfully"}) {
    LinkTest test;
    test.program = "ib_write_bw";
    test.errors = {{"run.txt", 7, line}};
    const Judgement judgement = judge_link_test(test, {});
    ASSERT_EQ(judgement.findings.size(), 1U) << line;
    const core::Finding& finding = judgement.findings[0];
    EXPECT_EQ(finding.id, "curve.link-failed") << line;
    EXPECT_EQ(finding.summary.find("data that arrived"), std::string::npos) << finding.summary;
    EXPECT_NE(finding.summary.find("; "), std::string::npos) << finding.summary;  // a meaning
    EXPECT_FALSE(finding.next.empty()) << line;
  }
}

TEST(LinkErrors, WhatTheGpuSaysIsNoFaultOfTheNetwork) {
  for (const char* line : {"cuda init failed", "cuMemAlloc error=2",
                           "CUDA_ERROR_OUT_OF_MEMORY in expression", "NVML_ERROR_UNKNOWN in nvml",
                           "Cuda failure p2pBandwidthLatencyTest.cu:91: 'unknown error'"}) {
    LinkTest test;
    test.program = "nvbandwidth";
    test.errors = {{"run.txt", 7, line}};
    const Judgement judgement = judge_link_test(test, {});
    ASSERT_EQ(judgement.findings.size(), 1U) << line;
    EXPECT_EQ(judgement.findings[0].layer, core::Layer::kHardware) << line;
  }
}

// Wrong numbers are never the network's: it checks every packet.
TEST(LinkErrors, WrongDataIsNoFaultOfTheLink) {
  LinkTest test;
  test.tool = curve::LinkTool::kOsu;
  test.program = "osu_allreduce";
  test.collective = test.is_latency = true;
  test.wrong_results = {{"osu.txt", 5, "8   3.51   Fail"}};
  const Judgement judgement = judge_link_test(test, {});
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.wrong-results");
  EXPECT_EQ(judgement.findings[0].layer, core::Layer::kApplication);
}

// perftest calls the link of EFA "IB" (it has no name of its own), and iWARP "Ethernet".
TEST(LinkLatency, WhatIsNoInfiniBandHasNoLimitOfIt) {
  LinkTest test;
  test.program = "ib_write_lat";
  test.link_type = "IB";
  test.is_latency = true;
  curve::LinkRow row;
  row.bytes = core::Bytes::of(2);
  row.t_typical = core::Duration::from_us(12.4);
  test.rows.push_back(row);
  test.device = "mlx5_0";
  EXPECT_TRUE(judge_link_test(test, {}).has("curve.link-latency-high"));
  LinkTest efa = test;
  efa.device = "rdmap0s6";
  EXPECT_TRUE(judge_link_test(efa, {}).findings.empty());
  efa.device = "efa_0";
  EXPECT_TRUE(judge_link_test(efa, {}).findings.empty());
  LinkTest srd = test;
  srd.connection = "SRD";
  EXPECT_TRUE(judge_link_test(srd, {}).findings.empty());
  LinkTest iwarp = test;
  iwarp.link_type = "Ethernet";
  iwarp.transport = "IW";
  EXPECT_TRUE(judge_link_test(iwarp, {}).findings.empty());
  LinkTest events = test;  // -e: an interrupt per message
  events.uses_events = true;
  EXPECT_TRUE(judge_link_test(events, {}).findings.empty());
}

// perftest prints the whole round trip for reads and atomics (print_report_lat: rtt_factor 1).
TEST(LinkLatency, ARoundTripHasTwiceTheLimit) {
  LinkTest test;
  test.program = "ib_atomic_lat";
  test.link_type = "IB";
  test.is_latency = test.round_trip = true;
  curve::LinkRow row;
  row.bytes = core::Bytes::of(8);
  row.t_typical = core::Duration::from_us(3.9);
  test.rows.push_back(row);
  EXPECT_TRUE(judge_link_test(test, {}).findings.empty());
  test.rows[0].t_typical = core::Duration::from_us(7);
  EXPECT_TRUE(judge_link_test(test, {}).has("curve.link-latency-high"));
}

TEST(LinkRates, TwoPortsCarryTwice) {
  LinkTest test = write_bandwidth(195.1);
  EXPECT_TRUE(judge_link_test(test, port(100)).has("curve.impossible"));
  test.dual_port = true;
  EXPECT_TRUE(judge_link_test(test, port(100)).findings.empty());
  test.rows[0].average = Bandwidth::from_Gbps(98);  // one port of two carries nothing
  EXPECT_TRUE(judge_link_test(test, port(100)).has("curve.link-below-port"));
}

LinkTest osu_bandwidth(double GBps) {
  LinkTest test = write_bandwidth(GBps * 8);
  test.tool = curve::LinkTool::kOsu;
  test.program = "osu_bw";
  test.device = test.link_type = "";
  return test;
}

// OSU prints no host: NVLink (244 GB/s) and shared memory (12 GB/s) say nothing of a port.
TEST(LinkRates, RanksThatMayShareANodeAreNoTestOfAPort) {
  for (const double GBps : {244.5, 12.4}) {
    const Judgement judgement = judge_link_test(osu_bandwidth(GBps), port(400));
    EXPECT_TRUE(judgement.findings.empty()) << GBps;
    ASSERT_EQ(judgement.caveats.size(), 1U);
    EXPECT_EQ(judgement.caveats[0].id, "curve.ends-unknown");
  }
  LinkTest placed = osu_bandwidth(9);
  placed.ends = curve::Ends::kTwoNodes;
  EXPECT_FALSE(is_quiet(judge_link_test(placed, port(400))));
  placed.pairs = 8;  // the sum of eight pairs, over ports that are not named
  EXPECT_TRUE(judge_link_test(placed, port(100)).findings.empty());
}

std::vector<LinkTest> eight_nics() {
  std::vector<LinkTest> tests;
  for (int i = 0; i < 8; ++i) {
    tests.push_back(write_bandwidth(392 + 0.1 * i));
    tests.back().device = "mlx5_" + std::to_string(i);
  }
  return tests;
}

// Whatever the user changed between two tests of one NIC: the NIC is not slow because of it.
TEST(LinkCompared, OtherSettingsAreNoFault) {
  const auto with = [](auto change) {
    auto tests = eight_nics();
    LinkTest other = write_bandwidth(196);
    change(other);
    tests.push_back(other);
    return judge_all(tests);
  };
  EXPECT_TRUE(is_quiet(with([](LinkTest& test) { test.tx_depth = 1; })));
  EXPECT_TRUE(is_quiet(with([](LinkTest& test) { test.mtu = core::Bytes::of(1024); })));
  EXPECT_TRUE(is_quiet(with([](LinkTest& test) { test.qps = 4; })));
  EXPECT_TRUE(is_quiet(with([](LinkTest& test) { test.connection = "UD"; })));
  EXPECT_TRUE(is_quiet(with([](LinkTest& test) { test.relaxed_ordering = "OFF"; })));
  EXPECT_TRUE(
      is_quiet(with([](LinkTest& test) { test.rows[0].bytes = core::Bytes::of(1 << 20); })));
}

// Slow once and fast another time: the run, not the cable.
TEST(LinkCompared, ARepeatOfTheSameNicIsNoCable) {
  std::vector<LinkTest> tests(4, write_bandwidth(392.6));
  tests[0].rows[0].average = Bandwidth::from_Gbps(120);
  const Judgement judgement = judge_all(tests);
  EXPECT_FALSE(judgement.has("curve.link-test-slow"));
  EXPECT_TRUE(judgement.has("curve.link-unsteady"));
}

TEST(LinkCompared, AFarGpuIsNoCable) {
  auto tests = eight_nics();
  for (LinkTest& test : tests) {
    test.gpu.is_used = true;
    test.gpu.device = test.device.back() - '0';
  }
  LinkTest far = tests[3];
  far.gpu.device = 0;
  far.rows[0].average = Bandwidth::from_Gbps(190);
  tests.push_back(far);
  const Judgement judgement = judge_all(tests);
  EXPECT_TRUE(is_quiet(judgement));
  EXPECT_TRUE(judgement.has("curve.gpu-far-from-nic"));
}

// Storage NICs of half the rate beside eight others: at their own port they are fine; where the
// port is not known both explanations are said.
TEST(LinkCompared, NicsOfAnotherRateAreComparedWithTheirOwnPort) {
  auto tests = eight_nics();
  tests[3].rows[0].average = Bandwidth::from_Gbps(196.9);
  std::vector<ComparedTest> compared;
  for (const LinkTest& test : tests) compared.push_back({&test, port(400)});
  compared[3].reference = port(200);
  EXPECT_TRUE(compare_link_tests(compared).findings.empty());
  const Judgement unknown = judge_all(tests);
  ASSERT_EQ(unknown.findings.size(), 1U);
  EXPECT_EQ(unknown.findings[0].id, "curve.link-test-slow");
  EXPECT_EQ(unknown.findings[0].confidence, core::Confidence::kPossible);
  EXPECT_NE(unknown.findings[0].summary.find("200 Gb/s port"), std::string::npos);
  EXPECT_EQ(unknown.findings[0].next.at(0), "ibstat mlx5_3");
}

LinkTest sweep(const std::vector<double>& Gbps) {
  LinkTest test = write_bandwidth(0);
  test.rows.clear();
  double bytes = 65536;
  for (const double rate : Gbps) {
    curve::LinkRow row;
    row.bytes = core::Bytes::of(bytes);
    row.average = Bandwidth::from_Gbps(rate);
    row.line = 20 + test.rows.size();
    test.rows.push_back(row);
    bytes *= 2;
  }
  return test;
}

TEST(LinkRates, ALinkThatFallsWithTheSizeIsNotHealthy) {
  const Judgement fallen = judge_link_test(sweep({390, 391, 390, 120, 45, 22, 20, 19}), port(400));
  ASSERT_TRUE(fallen.has("curve.collapse"));
  EXPECT_NE(fallen.findings[0].summary.find("512 KiB"), std::string::npos);
  EXPECT_TRUE(judge_link_test(sweep({380, 391, 392, 390, 385, 388}), port(400)).findings.empty());
  EXPECT_TRUE(judge_link_test(sweep({200, 391, 150, 390}), port(400)).findings.empty());  // one dip
  LinkTest in_memory = sweep({96, 99, 99, 60, 58});  // the caches of one node
  in_memory.tool = curve::LinkTool::kOsu;
  EXPECT_TRUE(judge_link_test(in_memory, {}).findings.empty());
}

TEST(LinkRates, RepeatsOfOneSizeThatDifferAreUnsteady) {
  LinkTest test = sweep({392, 92, 392});
  for (curve::LinkRow& row : test.rows) row.bytes = core::Bytes::of(65536);
  EXPECT_TRUE(judge_link_test(test, port(400)).has("curve.link-unsteady"));
}

// GPU memory far below the port: its path comes before cables and slots.
TEST(LinkRates, GpuMemoryBelowThePortNamesThePathToTheGpu) {
  LinkTest test = write_bandwidth(200);
  test.gpu.is_used = true;
  const Judgement judgement = judge_link_test(test, port(400));
  ASSERT_TRUE(judgement.has("curve.link-below-port"));
  EXPECT_NE(judgement.findings[0].summary.find("path between GPU and NIC"), std::string::npos);
  EXPECT_EQ(judgement.findings[0].next.at(0), "the same test without GPU memory");
}

// A machine of `gpus` GPUs whose pairs have what `rate` says.
template <class Rate>
LinkTest machine(int gpus, Rate rate) {
  LinkTest test;
  test.tool = curve::LinkTool::kNvbandwidth;
  test.file = "nvbandwidth.txt";
  LinkMatrix matrix;
  matrix.name = "device_to_device_memcpy_write_ce";
  matrix.kind = curve::MatrixKind::kDeviceToDevice;
  for (int a = 0; a < gpus; ++a) {
    matrix.columns.push_back(a);
    matrix.rows.push_back(a);
    matrix.row_lines.push_back(static_cast<std::uint64_t>(10 + a));
    for (int b = 0; b < gpus; ++b)
      matrix.cells.push_back(a == b ? curve::OptionalFigure() : curve::OptionalFigure(rate(a, b)));
  }
  test.matrices.push_back(matrix);
  return test;
}

TEST(LinkMatrices, RegularMachinesAreQuiet) {
  // eight GPUs of an NVSwitch, with the noise of p26
  EXPECT_TRUE(judge_link_test(machine(8, [](int a, int b) { return 376.0 + (a * 7 + b) % 9; }), {})
                  .findings.empty());
  // two sockets of four (p15 has two of three)
  EXPECT_TRUE(
      judge_link_test(machine(8, [](int a, int b) { return a / 4 == b / 4 ? 26.3 : 21.9; }), {})
          .findings.empty());
  // three GPUs on one socket, one on the other
  EXPECT_TRUE(judge_link_test(
                  machine(4, [](int a, int b) { return (a == 3) == (b == 3) ? 26.3 : 21.9; }), {})
                  .findings.empty());
  // NVLink in pairs (case 11)
  EXPECT_TRUE(
      judge_link_test(machine(8, [](int a, int b) { return a / 2 == b / 2 ? 230.0 : 20.0; }), {})
          .findings.empty());
  // DGX-1: two partners with two links, two with one, three over PCIe
  EXPECT_TRUE(judge_link_test(machine(8,
                                      [](int a, int b) {
                                        const int apart = (b - a + 8) % 8;
                                        const int d = std::min(apart, 8 - apart);
                                        return d == 1 ? 48.0 : d == 2 ? 24.0 : 9.5;
                                      }),
                              {})
                  .findings.empty());
}

TEST(LinkMatrices, AGpuOffTheFabricIsNamed) {
  const LinkTest test =
      machine(8, [](int a, int b) { return a == 2 || b == 2 ? 45.0 : 376.0 + (a + b) % 3; });
  const Judgement judgement = judge_link_test(test, {});
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.gpu-slow");
  EXPECT_EQ(judgement.findings[0].evidence.at(0).line, 12U);
}

TEST(LinkMatrices, OneDirectionOfOneGpuIsSaid) {
  const LinkTest test = machine(8, [](int a, int) { return a == 5 ? 200.0 : 376.0; });
  const Judgement judgement = judge_link_test(test, {});
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_NE(judgement.findings[0].summary.find("rows' direction only"), std::string::npos);
}

TEST(LinkMatrices, OnePairIsAPair) {
  const LinkTest test = machine(
      8, [](int a, int b) { return (a == 1 && b == 6) || (a == 6 && b == 1) ? 190.0 : 376.0; });
  const Judgement judgement = judge_link_test(test, {});
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.gpu-pair-slow");
  EXPECT_NE(judgement.findings[0].summary.find("GPUs 1 and 6"), std::string::npos);
}

TEST(LinkMatrices, AGpuInAHalfSlotIsSeenFromTheHost) {
  LinkTest test = machine(8, [](int, int) { return 376.0; });
  LinkMatrix host;
  host.name = "host_to_device_memcpy_ce";
  host.kind = curve::MatrixKind::kHostToDevice;
  host.rows = {0};
  host.row_lines = {40};
  for (int gpu = 0; gpu < 8; ++gpu) {
    host.columns.push_back(gpu);
    host.cells.emplace_back(gpu == 3 ? 27.4 : 55.3);
  }
  test.matrices.push_back(host);
  const Judgement judgement = judge_link_test(test, {});
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.host-link-slow");
  test.matrices.back().cells[3] = curve::OptionalFigure(55.1);
  EXPECT_TRUE(judge_link_test(test, {}).findings.empty());
}

// The worked example of outliers.h.
TEST(Outliers, NoiseSetsTheScale) {
  EXPECT_TRUE(is_low(60, typical_of({100, 101, 99, 100, 60}), 0.9));
  EXPECT_FALSE(is_low(60, typical_of({100, 140, 60, 80, 120}), 0.9));
  EXPECT_EQ(typical_of({}).median, 0);
}

}  // namespace
}  // namespace comm_probe::diagnose
