// The ledger of MoE layers against shared spec moe.md: its tables of copies, bytes, dispatchers and
// buffers.
#include "model/moe/layer.h"

#include <gtest/gtest.h>

#include "model/moe/deepep.h"
#include "model/moe/issue.h"
#include "model/moe/stacks.h"

namespace comm_probe::model {
namespace {

using namespace core::literals;  // NOLINT

MoeLayer layer_on(int nodes, std::int64_t tokens = 4096) {
  return {.hidden = 7168, .topk = 8, .experts = 256, .nodes = nodes, .tokens = tokens};
}
const MoeLinks kLinks = {50_GBps, 450_GBps, {}};

struct CopiesRow {
  int nodes;
  double flat, independent, distinct;
};
// The copies table of section 1: k = 8, E = 256.
constexpr CopiesRow kCopies[] = {{2, 4.0, 0.9961, 0.9965},
                                 {4, 6.0, 2.6997, 2.7107},
                                 {8, 7.0, 4.5947, 4.6328},
                                 {16, 7.5, 6.0492, 6.1156},
                                 {32, 7.75, 6.9533, 7.0397}};

TEST(MoeLayer, CopiesAreThoseOfTheTable) {
  for (const CopiesRow& row : kCopies) {
    const MoeLayer layer = layer_on(row.nodes);
    const auto nic = [&](MoeScheme scheme, MoeDraw draw) {
      return moe_copies(layer, scheme, draw).nic;
    };
    EXPECT_NEAR(nic(MoeScheme::kFlat, MoeDraw::kIndependent), row.flat, 5e-5);
    EXPECT_NEAR(nic(MoeScheme::kDedup, MoeDraw::kIndependent), row.independent, 5e-5);
    EXPECT_NEAR(nic(MoeScheme::kDedup, MoeDraw::kDistinct), row.distinct, 5e-5) << row.nodes;
  }
}

// Section 2: bytes and milliseconds of the exact draw, and the NVLink term.
TEST(MoeLayer, TheExactDrawOfEightNodes) {
  MoeLayer layer = layer_on(8);
  layer.group_limit = 4;
  const MoePrice dedup = price_moe(layer, kLinks, MoeScheme::kDedup, MoeDraw::kDistinct);
  EXPECT_NEAR(dedup.dispatch.nic.count(), 140270834, 1);
  EXPECT_NEAR(dedup.combine.nic.count(), 272040406, 1);
  EXPECT_NEAR(dedup.time().in_ms(), 8.2462, 5e-5);
  const MoePrice group = price_moe(layer, kLinks, MoeScheme::kGroup, MoeDraw::kDistinct);
  EXPECT_NEAR(group.dispatch.nic.count(), 96143125, 1);
  EXPECT_NEAR(group.combine.nic.count(), 186459394, 1);
  EXPECT_NEAR(group.time().in_ms(), 5.6521, 5e-5);
  EXPECT_NEAR(dedup.copies.ranks, 7.676, 5e-4);
  const MoePrice loose = price_moe(layer, kLinks, MoeScheme::kDedup, MoeDraw::kIndependent);
  EXPECT_NEAR(loose.copies.ranks, 7.576, 5e-4);
  EXPECT_NEAR(loose.copies.nvlink, 6.63, 5e-3);
  EXPECT_NEAR(loose.dispatch.nvlink.count() / 1e6, 200.7, 0.05);
  EXPECT_NEAR(loose.dispatch.nvlink_time.in_ms(), 0.446, 5e-4);
  EXPECT_NEAR(loose.combine.nvlink.count() / 1e6, 389.3, 0.05);
}

// On H800 the two nodes of EP16 are bound by NVLink: 6.52 ranks and 1.99 nodes per token.
TEST(MoeLayer, TwoNodesOfH800AreBoundByNvlink) {
  const MoePrice price =
      price_moe(layer_on(2), {50_GBps, 160_GBps, {}}, MoeScheme::kDedup, MoeDraw::kDistinct);
  EXPECT_NEAR(price.copies.ranks / price.copies.nodes, 3.27, 0.03);
  EXPECT_FALSE(price.dispatch.is_nic_bound());
}

TEST(MoeLayer, WhatOneNodeOrOneRankPerNodeMoves) {
  const MoePrice one_node =
      price_moe(layer_on(1), {{}, 450_GBps, {}}, MoeScheme::kFlat, MoeDraw::kDistinct);
  EXPECT_EQ(one_node.dispatch.nic.count(), 0);
  EXPECT_DOUBLE_EQ(one_node.copies.nvlink, 7);
  MoeLayer flat = layer_on(8);
  flat.ranks_per_node = 1;
  const MoePrice one_rank =
      price_moe(flat, {50_GBps, {}, {}}, MoeScheme::kDedup, MoeDraw::kDistinct);
  EXPECT_EQ(one_rank.dispatch.nvlink.count(), 0);
  EXPECT_NEAR(one_rank.copies.nic, 4.6328, 5e-5);
}

TEST(MoeLayer, RefusesWhatCannotBe) {
  const auto refused = [](auto change) {
    MoeLayer layer = layer_on(8);
    change(layer);
    const auto checked = check_moe(layer);
    return checked ? std::string() : checked.error().one_line();
  };
  EXPECT_EQ(refused([](MoeLayer&) {}), "");
  EXPECT_NE(refused([](MoeLayer& l) { l.experts = 100; }).find("--experts 128"), std::string::npos);
  EXPECT_NE(refused([](MoeLayer& l) { l.topk = 257; }).find("257 different"), std::string::npos);
  EXPECT_NE(refused([](MoeLayer& l) { l.group_limit = 9; }).find("1 to 8"), std::string::npos);
  EXPECT_NE(refused([](MoeLayer& l) { l.group_limit = 1, l.topk = 33; }).find("have 32"),
            std::string::npos);
  EXPECT_NE(refused([](MoeLayer& l) { l.hidden = 0; }), "");
  EXPECT_NE(refused([](MoeLayer& l) { l.tokens = 0; }), "");
  EXPECT_NE(refused([](MoeLayer& l) { l.nodes = 1 << 30, l.ranks_per_node = 1 << 30; }), "");
}

TEST(MoeLayer, UsualExpertsDivideOverTheRanks) {
  EXPECT_EQ(usual_experts(64), 256);
  EXPECT_EQ(usual_experts(96), 288);
  EXPECT_EQ(usual_experts(144), 288);
  EXPECT_EQ(usual_experts(320), 320);
  EXPECT_EQ(usual_experts(std::int64_t{1} << 60), 256);
}

// Sections 2 and 6: decode of EP64.
TEST(MoeIssue, DecodeIsALedgerOfMessages) {
  const LowLatencyPrice price = price_low_latency(layer_on(8, 128), kLinks);
  EXPECT_DOUBLE_EQ(price.messages.all, 1024);
  EXPECT_DOUBLE_EQ(price.messages.remote, 896);
  EXPECT_EQ(price.dispatch.copy.whole(), 7408u);
  EXPECT_NEAR(price.dispatch.time().in_us(), 132.75, 5e-3);
  EXPECT_NEAR(price.combine.time().in_us(), 256.90, 5e-3);
  const auto published = core::Duration::from_us(moe_constant("EP64 dispatch").value);
  EXPECT_NEAR(issue_rate(price.messages.all, published), 5.92, 5e-3);
  EXPECT_NEAR(issue_rate(price.messages.remote, published), 5.18, 5e-3);
  EXPECT_NEAR(price.messages.remote / cpu_proxy().high, 299, 0.5);
  EXPECT_GT(ibgda().low, cpu_proxy().high);
}

// Section 8: both 411.04 MB on one node of 8; 3699 against 462 MB on 64 ranks.
TEST(MoeStacks, AllGatherDoesNotDependOnTopK) {
  const auto dispatched = [](int nodes, MoePattern pattern) {
    return price_pattern(layer_on(nodes), kLinks, pattern).dispatch_bytes().count() / 1e6;
  };
  EXPECT_NEAR(dispatched(1, MoePattern::kAllGather), 411.04, 5e-3);
  EXPECT_NEAR(dispatched(1, MoePattern::kAllToAll), 411.04, 5e-3);
  EXPECT_NEAR(dispatched(8, MoePattern::kAllGather), 3699, 0.5);
  EXPECT_NEAR(dispatched(8, MoePattern::kAllToAll), 462, 0.5);
}

TEST(MoeStacks, VariableSplitsCostTwoMoreAlphas) {
  const MoeLinks links = {50_GBps, 450_GBps, 10_us};
  const auto alltoall = price_pattern(layer_on(8), links, MoePattern::kAllToAll);
  EXPECT_NEAR(alltoall.dispatch.alpha.in_us(), 30, 1e-9);
  EXPECT_NEAR(alltoall.combine.alpha.in_us(), 10, 1e-9);
}

// Section 5: 4 x 256 x 128 x 14560 B = 1.91 GB, and 3.8 GB for 256 tokens.
TEST(MoeDeepEp, LowLatencyBuffersReserveTheWorstCase) {
  EXPECT_NEAR(low_latency_buffer(layer_on(8, 128)).count(), 4.0 * 256 * 128 * 14560, 4096);
  EXPECT_NEAR(low_latency_buffer(layer_on(8, 256)).count() / 1e9, 3.8, 0.05);
}

TEST(MoeDeepEp, BuffersOfTheNormalKernels) {
  const auto config = deepep_config(64);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->dispatch.nvlink_send, 32);
  const DeepEpBuffers buffers = deepep_buffers(*config, 7168, 20);
  const double slot = 14336 + 8 + 128 * 12 + 128 * 4;
  EXPECT_NEAR(buffers.nvlink.count(), 10 * 8 * ((2 * 8 + 3) * 4 + 288 * slot), 128);
  EXPECT_NEAR(buffers.rdma.count(), 10 * 8 * 2 * (18 * 4 + 128 * (slot + 16)), 128);
  // 128 is no multiple of the 20 that EP16 sends at once: 140 are received
  const DeepEpBuffers two_nodes = deepep_buffers(*deepep_config(16), 7168, 20);
  EXPECT_NEAR(two_nodes.rdma.count(), 10 * 2 * 2 * (18 * 4 + 140 * (slot + 16)), 128);
  EXPECT_EQ(deepep_buffers(*deepep_config(8), 7168, 20).rdma.count(), 0);
  EXPECT_FALSE(deepep_config(72));
}

TEST(MoeDeepEp, TheQueueHoldsTwoMessagesPerToken) {
  EXPECT_TRUE(fits_queue(511));
  EXPECT_FALSE(fits_queue(512));
}

}  // namespace
}  // namespace comm_probe::model
