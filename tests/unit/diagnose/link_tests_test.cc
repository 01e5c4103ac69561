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
  std::vector<const LinkTest*> pointers;
  for (const LinkTest& test : tests) {
    all.add(judge_link_test(test, reference));
    pointers.push_back(&test);
  }
  all.add(compare_link_tests(pointers));
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
  const auto efficiency = [](const char* type, int mtu) {
    return packet_efficiency(type, core::Bytes::of(mtu));
  };
  EXPECT_NEAR(efficiency("IB", 256), 0.901, 5e-4);
  EXPECT_NEAR(efficiency("IB", 1024), 0.973, 5e-4);
  EXPECT_NEAR(efficiency("IB", 4096), 0.993, 5e-4);
  EXPECT_NEAR(efficiency("Ethernet", 256), 0.757, 5e-4);
  EXPECT_NEAR(efficiency("Ethernet", 1024), 0.926, 5e-4);
  EXPECT_NEAR(efficiency("Ethernet", 4096), 0.980, 5e-4);
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
