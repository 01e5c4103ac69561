#include "diagnose/machine_links.h"

#include <gtest/gtest.h>

#include "diagnose/curve_reference.h"

namespace comm_probe::diagnose {
namespace {

using model::Op;

const catalog::Catalog& builtin() { return catalog::Catalog::builtin(); }

std::vector<double> rates(const char* machine, Op op, int ranks) {
  std::vector<double> found;
  for (const Links& way : inside_ways(*builtin().find_machine(machine), op, ranks))
    found.push_back(way.inside.in_GBps());
  return found;
}
using Rates = std::vector<double>;

// The worked example of machine_links.h.
TEST(MachineLinks, PartOfAnEvenMeshHasPartOfItsLinks) {
  EXPECT_EQ(rates("hgx-a100-4gpu", Op::kAllReduce, 2), Rates{100});
  EXPECT_EQ(rates("hgx-a100-4gpu", Op::kAllReduce, 4), Rates{300});
  EXPECT_EQ(rates("hgx-a100-4gpu", Op::kSendRecv, 2), Rates{100});
  EXPECT_EQ(rates("hgx-a100-4gpu", Op::kSendRecv, 4), Rates{100});
  EXPECT_EQ(rates("dgx-h100", Op::kSendRecv, 2), Rates{450});
}

TEST(MachineLinks, WhereItDependsOnWhichGpusThereAreSeveralWays) {
  EXPECT_EQ(rates("4xh100-nvl", Op::kAllReduce, 2).size(), 2U);  // joined, or over PCIe
  EXPECT_EQ(rates("dgx-1v", Op::kSendRecv, 2).size(), 3U);       // no link, one, two
  EXPECT_TRUE(rates("dgx-1v", Op::kAllReduce, 4).empty());
  EXPECT_EQ(rates("dgx-1v", Op::kAllReduce, 8), Rates{150});
}

curve::Curve curve_on(const char* gpu, Op op, int ranks, int hosts = 1) {
  curve::Curve curve;
  curve.file = "run.txt";
  curve.op = op;
  curve.ranks = ranks;
  curve.nodes = hosts;
  for (int rank = 0; rank < ranks; ++rank) {
    curve::Device device;
    device.rank = rank;
    device.host = "node" + std::to_string(rank * hosts / ranks);
    device.device = rank;
    device.bus_id = std::to_string(rank);
    device.name = gpu;
    curve.devices.push_back(device);
  }
  curve.rows.resize(1);
  return curve;
}

ReferenceChoice choose(const curve::Curve& curve, const char* machine = nullptr, int nodes = 0) {
  Reference reference{.catalog = &builtin()};
  if (machine != nullptr) reference.machine = builtin().find_machine(machine);
  if (nodes > 0) reference.nodes = nodes;
  return choose_reference(curve, reference);
}

// An engineer pulls a cable because of a warning: the name of a GPU says nothing about two of them.
TEST(MachineLinks, AGpuNameAloneDoesNotJudgeAPair) {
  for (const char* gpu : {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-32GB",
                          "NVIDIA GH200 120GB", "NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL"})
    for (const Op op : {Op::kSendRecv, Op::kAllReduce}) {
      const ReferenceChoice choice = choose(curve_on(gpu, op, 2));
      EXPECT_FALSE(choice.expectation) << gpu;
      ASSERT_EQ(choice.caveats.size(), 1U) << gpu;
      EXPECT_EQ(choice.caveats.front().id, "curve.no-reference") << gpu;
    }
  EXPECT_TRUE(choose(curve_on("NVIDIA A100-SXM4-40GB", Op::kAllReduce, 8)).expectation);
}

TEST(MachineLinks, TheHeaderGivesNoOtherBandThanTheMachine) {
  const auto header = choose(curve_on("NVIDIA H100 80GB HBM3", Op::kAllReduce, 4)).expectation;
  ASSERT_TRUE(header);
  for (const char* machine : {"dgx-h100", "hgx-h100-4gpu"}) {
    const auto named =
        choose(curve_on("NVIDIA H100 80GB HBM3", Op::kAllReduce, 4), machine).expectation;
    ASSERT_TRUE(named);
    EXPECT_LE(header->low, named->low) << machine;  // the header leaves both open
    EXPECT_GE(header->high, named->high) << machine;
  }
  const auto eight = choose(curve_on("NVIDIA H100 80GB HBM3", Op::kAllReduce, 8)).expectation;
  const auto dgx =
      choose(curve_on("NVIDIA H100 80GB HBM3", Op::kAllReduce, 8), "dgx-h100").expectation;
  EXPECT_EQ(eight->low, dgx->low);
  EXPECT_EQ(eight->high, dgx->high);
}

TEST(MachineLinks, AJoinedPairOfABridgeIsNotImpossible) {
  const ReferenceChoice choice =
      choose(curve_on("NVIDIA H100 NVL", Op::kAllReduce, 2), "4xh100-nvl");
  ASSERT_TRUE(choice.expectation);
  EXPECT_NEAR(choice.expectation->ceiling->in_GBps(), 300, 1e-9);
  EXPECT_EQ(choice.caveats.front().id, "curve.path-unknown");
  EXPECT_TRUE(choice.expectation->depends_on_gpus);
  EXPECT_FALSE(choose(curve_on("NVIDIA H100 80GB HBM3", Op::kAllReduce, 4))
                   .expectation->depends_on_gpus);  // 450 GB/s in a mesh and behind NVSwitch
}

TEST(MachineLinks, AContradictionIsNotJudged) {
  const ReferenceChoice gpu =
      choose(curve_on("NVIDIA A100-SXM4-40GB", Op::kAllReduce, 8), "dgx-h100");
  EXPECT_FALSE(gpu.expectation);
  EXPECT_EQ(gpu.caveats.front().id, "curve.hardware-differs");
  EXPECT_TRUE(gpu.caveats.front().limits);
  const ReferenceChoice nodes =
      choose(curve_on("NVIDIA H100 80GB HBM3", Op::kAllReduce, 16, 2), "dgx-h100", 4);
  EXPECT_FALSE(nodes.expectation);
  EXPECT_EQ(nodes.caveats.front().id, "curve.nodes-differ");
  EXPECT_TRUE(nodes.caveats.front().limits);
  EXPECT_TRUE(choose(curve_on("NVIDIA A100-SXM4-40GB", Op::kAllReduce, 8), "dgx-a100").expectation);
}

TEST(MachineLinks, WhatIsMissingIsNamed) {
  curve::Curve curve = curve_on("NVIDIA H100 80GB HBM3", Op::kAllReduce, 8);
  curve.op.reset();
  const ReferenceChoice choice = choose(curve, "dgx-h100");
  EXPECT_NE(choice.caveats.front().missing.find("the operation is not in the text"),
            std::string::npos);
  EXPECT_EQ(choice.caveats.front().missing.find("ranks is not"), std::string::npos);
}

}  // namespace
}  // namespace comm_probe::diagnose
