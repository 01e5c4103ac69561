#include "diagnose/expectation.h"

#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "diagnose/machine_links.h"

namespace comm_probe::diagnose {
namespace {

using namespace core::literals;
using model::Op;

Links eight_ndr() {
  Links links;
  links.inside = 450_GBps;
  links.inside_class = PathClass::kNvswitchReducing;
  links.node_out = links.node_total = 400_GBps;
  links.single_nic = 50_GBps;
  return links;
}

// The worked example of expectation.h.
TEST(Expectation, TwoNodesWithEightNdrNics) {
  const auto expected = expect_from_links({Op::kAllReduce, 16, 2}, eight_ndr());
  ASSERT_TRUE(expected);
  EXPECT_NEAR(expected->ring.in_GBps(), 400, 1e-9);
  EXPECT_NEAR(expected->low.in_GBps(), 320, 1e-9);
  EXPECT_NEAR(expected->high.in_GBps(), 384, 1e-9);
  EXPECT_NEAR(expected->ceiling->in_GBps(), 750, 1e-9);
}

// Golden G6-07, G6-09..13, per GPU where the line is per GPU.
TEST(Expectation, ReproducesTheReferenceLines) {
  const auto inside = [](PathClass path, core::Bandwidth rate) {
    Links links;
    links.inside = rate;
    links.inside_class = path;
    return *expect_from_links({Op::kAllReduce, 8, 1}, links);
  };
  EXPECT_NEAR(inside(PathClass::kNvswitchReducing, 450_GBps).low.in_GBps(), 350, 1e-9);
  EXPECT_NEAR(inside(PathClass::kNvswitchReducing, 450_GBps).high.in_GBps(), 480, 1e-9);
  EXPECT_NEAR(inside(PathClass::kNvlink, 300_GBps).low.in_GBps(), 220, 1e-9);
  EXPECT_NEAR(inside(PathClass::kNvlink, 300_GBps).high.in_GBps(), 280, 1e-9);
  EXPECT_NEAR(inside(PathClass::kPcie, 32_GBps).low.in_GBps(), 10, 1e-9);
  EXPECT_NEAR(inside(PathClass::kPcie, 32_GBps).high.in_GBps(), 25, 1e-9);
  const auto per_gpu = [](core::Bandwidth node) {
    Links links;
    links.node_out = links.node_total = node;
    return expect_from_links({Op::kAllReduce, 16, 2}, links)->low.in_GBps() / 8;
  };
  EXPECT_NEAR(per_gpu(400_GBps), 40, 1e-9);
  EXPECT_NEAR(per_gpu(200_GBps), 20, 1e-9);
  EXPECT_NEAR(per_gpu(50_GBps), 5, 1e-9);
}

// The band of the switch that adds is for all_reduce; a healthy all_gather stays below it.
TEST(Expectation, OnlyAllReduceIsAddedInTheSwitch) {
  Links links = eight_ndr();
  EXPECT_FALSE(expect_from_links({Op::kAllReduce, 8, 1}, links)->is_priced);
  EXPECT_NEAR(expect_from_links({Op::kAllGather, 8, 1}, links)->low.in_GBps(), 330, 1e-9);
}

// The reference of 350-480 GB/s is one of 8 GPUs with NVLS. Two H200, NCCL 2.28.9: 287 GB/s at 128
// MiB, 317 at 512 MiB, 331 at 1 GiB by its ring; a copy 396 GB/s.
TEST(Expectation, APartOfANodeHasTheBandOfARing) {
  const auto pair = expect_from_links({Op::kAllReduce, 2, 1}, eight_ndr());
  EXPECT_EQ(pair->path, PathClass::kNvlinkRing);
  EXPECT_LT(pair->low.in_GBps(), 286.78);
  EXPECT_NEAR(pair->high.in_GBps(), 396, 1e-9);
  EXPECT_TRUE(pair->is_priced);  // NCCL takes no NVLS on two GPUs
  const auto four = expect_from_links({Op::kAllReduce, 4, 1}, eight_ndr());
  EXPECT_NEAR(four->low.in_GBps(), 330, 1e-9);   // 73 %, a ring on NVSwitch
  EXPECT_NEAR(four->high.in_GBps(), 480, 1e-9);  // NVLS may pass the ring
  EXPECT_EQ(expect_from_links({Op::kAllReduce, 8, 1}, eight_ndr())->path,
            PathClass::kNvswitchReducing);
}

TEST(Expectation, WithoutNvlsTheRingsBandCounts) {
  Expectation whole = *expect_from_links({Op::kAllReduce, 8, 1}, eight_ndr());
  drop_switch_adding(whole);
  EXPECT_NEAR(whole.low.in_GBps(), 280, 1e-9);
  EXPECT_NEAR(whole.high.in_GBps(), 396, 1e-9);
  Expectation network = *expect_from_links({Op::kAllReduce, 16, 2}, eight_ndr());
  drop_switch_adding(network);
  EXPECT_NEAR(network.low.in_GBps(), 320, 1e-9);
}

TEST(Expectation, SaysNothingWithoutLinks) {
  EXPECT_FALSE(expect_from_links({Op::kAllReduce, 8, 1}, {}));
  EXPECT_FALSE(expect_from_links({Op::kAllReduce, 16, 2}, {}));
  EXPECT_FALSE(expect_from_links({Op::kAllReduce, 9, 2}, eight_ndr()));
}

TEST(Expectation, GivenAlphaIsTheLatencyOfTheRing) {
  const Expectation expected = expect_given({Op::kAllReduce, 8, 1}, 10_us, 25_GBps);
  EXPECT_NEAR(expected.latency->in_us(), 140, 1e-9);  // golden G1-03
  EXPECT_NEAR(expected.low.in_GBps(), 20, 1e-9);
  EXPECT_FALSE(expect_given({Op::kAllReduce, 8, 1}, {}, 25_GBps).latency);
}

TEST(LinksOfMachine, CountTheNicsThatTheRanksReach) {
  const auto& catalog = catalog::Catalog::builtin();
  const auto* dgx = catalog.find_machine("dgx-h100");
  ASSERT_NE(dgx, nullptr);
  EXPECT_NEAR(links_of_machine(*dgx, 8).node_out.in_GBps(), 400, 1e-9);
  EXPECT_NEAR(links_of_machine(*dgx, 1).node_out.in_GBps(), 50, 1e-9);  // c74: 48.9 GB/s
  EXPECT_NEAR(links_of_machine(*dgx, 1).node_total.in_GBps(), 400, 1e-9);
  const auto* one = catalog.find_machine("hgx-h100-1nic");
  ASSERT_NE(one, nullptr);
  EXPECT_NEAR(links_of_machine(*one, 8).node_out.in_GBps(), 50, 1e-9);
  EXPECT_NEAR(links_of_machine(*one, 1).node_out.in_GBps(), 50, 1e-9);
  // NVL72: 18 trays of 4 GPUs are one island
  const auto* tray = catalog.find_machine("gb200-nvl72-tray");
  ASSERT_NE(tray, nullptr);
  EXPECT_NEAR(links_of_machine(*tray, 72).node_out.in_GBps(), 72 * 50, 1e-9);
}

}  // namespace
}  // namespace comm_probe::diagnose
