// Matrices of GPUs: machines that are healthy without being uniform, and every way in which one GPU
// or some pairs can be slow.
#include <gtest/gtest.h>

#include <algorithm>

#include "catalog/catalog.h"
#include "diagnose/link_matrices.h"
#include "diagnose/link_tests.h"

namespace comm_probe::diagnose {
namespace {

using curve::LinkMatrix;
using curve::LinkTest;

template <class Rate>
LinkTest machine(int gpus, Rate rate) {
  LinkTest test;
  test.tool = curve::LinkTool::kNvbandwidth;
  test.program = test.file = "nvbandwidth";
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

LinkMatrix host_copies(const std::vector<double>& GBps) {
  LinkMatrix host;
  host.name = "host_to_device_memcpy_ce";
  host.kind = curve::MatrixKind::kHostToDevice;
  host.rows = {0};
  host.row_lines = {40};
  for (std::size_t gpu = 0; gpu < GBps.size(); ++gpu) {
    host.columns.push_back(static_cast<int>(gpu));
    host.cells.emplace_back(GBps[gpu]);
  }
  return host;
}

bool has_fault(const Judgement& judgement) {
  return std::any_of(judgement.findings.begin(), judgement.findings.end(),
                     [](const auto& finding) { return finding.severity != core::Severity::kInfo; });
}

// The worked example of link_matrices.h.
TEST(LinkMatrix, APairWithoutAFigureIsMissing) {
  LinkTest test = machine(4, [](int, int) { return 376.0; });
  EXPECT_EQ(figures_between(test.matrices[0]).size(), 12U);
  EXPECT_TRUE(has_every_pair(test.matrices[0]));
  test.matrices[0].cells[1] = curve::OptionalFigure(0.0);
  EXPECT_EQ(figures_between(test.matrices[0]).size(), 11U);
  EXPECT_FALSE(has_every_pair(test.matrices[0]));
  const Judgement judgement = judge_link_test(test, {});
  ASSERT_EQ(judgement.caveats.size(), 1U);
  EXPECT_EQ(judgement.caveats[0].id, "curve.matrix-incomplete");
}

// Two sockets of any sizes are no fault of the GPUs of the smaller one.
TEST(GpuPeers, SocketsOfAnySizeAreNoFault) {
  for (int gpus = 4; gpus <= 8; ++gpus)
    for (int first = 1; first < gpus; ++first)
      for (const double far : {15.1, 21.9}) {
        const LinkTest test =
            machine(gpus, [&](int a, int b) { return (a < first) == (b < first) ? 26.3 : far; });
        EXPECT_FALSE(has_fault(judge_link_test(test, {})))
            << first << " + " << gpus - first << " GPUs, " << far;
      }
}

// One GPU far from all others: alone on its socket, or in a narrow slot. Its copies from the host
// decide; without them both are said.
TEST(GpuPeers, AGpuApartIsDecidedByItsWayToTheHost) {
  const LinkTest alone =
      machine(4, [](int a, int b) { return (a == 3) == (b == 3) ? 26.3 : 13.1; });
  const Judgement open = judge_link_test(alone, {});
  ASSERT_EQ(open.findings.size(), 1U);
  EXPECT_EQ(open.findings[0].id, "curve.gpu-apart");
  EXPECT_EQ(open.findings[0].severity, core::Severity::kInfo);
  EXPECT_EQ(open.findings[0].confidence, core::Confidence::kPossible);
  LinkTest good = alone;
  good.matrices.push_back(host_copies({26, 26, 26, 26}));
  EXPECT_TRUE(judge_link_test(good, {}).findings.empty());
  LinkTest narrow = alone;
  narrow.matrices.push_back(host_copies({26, 26, 26, 13}));
  EXPECT_TRUE(judge_link_test(narrow, {}).has("curve.gpu-slow"));
}

// `nvidia-smi topo -m` beside the matrix decides, too.
TEST(GpuPeers, AGpuApartIsDecidedByTheTopology) {
  const LinkTest test = machine(4, [](int a, int b) { return (a == 3) == (b == 3) ? 26.3 : 15.1; });
  const auto with_paths = [&](topology::PathType of_gpu_3) {
    topology::Survey survey;
    for (int gpu = 0; gpu < 4; ++gpu) {
      topology::SurveyDevice device;
      device.name = "GPU" + std::to_string(gpu);
      survey.devices.push_back(device);
    }
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b) {
        if (a == b) continue;
        topology::Road road;
        road.from = a;
        road.to = b;
        road.type = a == 3 || b == 3 ? of_gpu_3 : topology::PathType::kPix;
        survey.add(road);
      }
    LinkReference reference;
    reference.machine = &survey;
    return judge_link_test(test, reference);
  };
  EXPECT_TRUE(with_paths(topology::PathType::kSys).findings.empty());
  EXPECT_TRUE(with_paths(topology::PathType::kPix).has("curve.gpu-slow"));
}

// Slower than any path between sockets of this box: its own link.
TEST(GpuPeers, AGpuBelowTheFarPathIsSlow) {
  const LinkTest sockets = machine(8, [](int a, int b) {
    if (a == 2 || b == 2) return 13.1;
    return a / 4 == b / 4 ? 26.3 : 21.9;
  });
  const Judgement judgement = judge_link_test(sockets, {});
  ASSERT_TRUE(judgement.has("curve.gpu-slow"));
  EXPECT_NE(judgement.findings[0].summary.find("GPU 2"), std::string::npos);
  const LinkTest one = machine(8, [](int a, int b) { return a == 2 || b == 2 ? 6.5 : 26.3; });
  EXPECT_TRUE(judge_link_test(one, {}).has("curve.gpu-slow"));
}

// A card in a narrow slot is slow over PCIe although its NVLink partner is fast.
TEST(GpuPeers, ABridgedGpuInANarrowSlotIsSlow) {
  const LinkTest test = machine(8, [](int a, int b) {
    if (a / 2 == b / 2) return 230.0;
    return a == 5 || b == 5 ? 5.0 : 20.0;
  });
  const Judgement judgement = judge_link_test(test, {});
  ASSERT_TRUE(judgement.has("curve.gpu-slow"));
  EXPECT_NE(judgement.findings[0].summary.find("GPU 5"), std::string::npos);
}

// On one fabric every pair should have one rate: any number of slow pairs is seen, on any number of
// GPUs.
TEST(GpuPeers, AnySlowPairOfAFabricIsNamed) {
  for (int gpus = 4; gpus <= 16; ++gpus)
    for (int a = 0; a < gpus; ++a)
      for (int b = a + 1; b < gpus; ++b) {
        const LinkTest test = machine(gpus, [&](int from, int to) {
          return (from == a && to == b) || (from == b && to == a) ? 187.0 : 376.0;
        });
        const Judgement judgement = judge_link_test(test, {});
        ASSERT_EQ(judgement.findings.size(), 1U) << gpus << " GPUs, " << a << " and " << b;
        EXPECT_EQ(judgement.findings[0].id, "curve.gpu-pair-slow");
        EXPECT_NE(judgement.findings[0].summary.find("GPUs " + std::to_string(a) + " and " +
                                                     std::to_string(b)),
                  std::string::npos);
      }
}

TEST(GpuPeers, SeveralSlowPairsAreOneFinding) {
  const LinkTest apart = machine(8, [](int a, int b) {
    const int low = std::min(a, b), high = std::max(a, b);
    const bool slow = (low == 1 && high == 3) || (low == 2 && high == 5) || (low == 4 && high == 6);
    return slow ? 187.0 : 376.0;
  });
  const Judgement three = judge_link_test(apart, {});
  ASSERT_EQ(three.findings.size(), 1U);
  EXPECT_NE(three.findings[0].summary.find("3 of 28 pairs"), std::string::npos);
  const LinkTest of_one = machine(
      8, [](int a, int b) { return std::min(a, b) == 0 && std::max(a, b) <= 3 ? 187.0 : 376.0; });
  const Judgement shared = judge_link_test(of_one, {});
  ASSERT_EQ(shared.findings.size(), 1U);
  EXPECT_NE(shared.findings[0].summary.find("all of them GPU 0's"), std::string::npos);
}

// What is expected is what the others have, never the slow GPU's own figure.
TEST(GpuPeers, TheUsualRateIsThatOfTheOthers) {
  for (int gpus = 4; gpus <= 8; ++gpus) {
    const LinkTest test =
        machine(gpus, [](int a, int b) { return a == 2 || b == 2 ? 187.0 : 376.0; });
    const Judgement judgement = judge_link_test(test, {});
    ASSERT_EQ(judgement.findings.size(), 1U) << gpus;
    EXPECT_EQ(judgement.findings[0].id, "curve.gpu-slow");
    EXPECT_EQ(judgement.findings[0].expected->value, 376) << gpus;
    EXPECT_EQ(judgement.findings[0].observed->value, 187) << gpus;
  }
}

// Three GPUs with NVLink and one without: the bridge may not reach it.
TEST(GpuPeers, AGpuThatABridgeMayNotReachIsPossible) {
  const LinkTest test = machine(4, [](int a, int b) { return a == 3 || b == 3 ? 22.0 : 112.0; });
  const Judgement judgement = judge_link_test(test, {});
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].confidence, core::Confidence::kPossible);
  EXPECT_NE(judgement.findings[0].summary.find("bridge"), std::string::npos);
}

Judgement against(const LinkTest& test, const char* name) {
  return judge_against_machine(
      test, machine_reference_of(*catalog::Catalog::builtin().find_machine(name)));
}

// A matrix in which all is equally slow contradicts nothing in it; the machine that was named does.
// 18 NVLinks of 25 GB/s are 450; nvbandwidth shows 376 to 393 of them on healthy machines (p26).
TEST(GpuPeers, AllEquallySlowIsHeldAgainstTheMachine) {
  const auto all = [](double GBps) { return machine(8, [=](int, int) { return GBps; }); };
  EXPECT_TRUE(against(all(376), "dgx-h100").findings.empty());
  EXPECT_TRUE(against(all(190), "dgx-h100").has("link.gpu-pair-below-links"));
  EXPECT_TRUE(against(all(20.5), "dgx-h100").has("link.gpu-pair-below-links"));
  LinkTest host = all(376);
  host.matrices.push_back(host_copies(std::vector<double>(8, 55.2)));
  EXPECT_TRUE(against(host, "dgx-h100").findings.empty());
  host.matrices.back() = host_copies(std::vector<double>(8, 13.0));
  EXPECT_TRUE(against(host, "dgx-h100").has("link.gpu-below-slot"));
  host.devices = {{0, "NVIDIA A100-SXM4-80GB", ""}};
  EXPECT_TRUE(against(host, "dgx-h100").findings.empty());
  EXPECT_EQ(against(host, "dgx-h100").caveats.at(0).id, "curve.hardware-differs");
}

}  // namespace
}  // namespace comm_probe::diagnose
