// Prints of DeepEP as they stand in public issues and in its documentation.
#include "serving/readers/deepep_lines.h"

#include <gtest/gtest.h>

namespace comm_probe::serving {
namespace {

DeepEpLines read(const std::string& text) {
  core::Input input = core::Input::from_memory("run.log", text);
  auto lines = read_deepep(input);
  EXPECT_TRUE(lines);
  return lines ? std::move(*lines) : DeepEpLines{};
}

TEST(DeepEpLines, TuningWithAndWithoutTimes) {
  const DeepEpLines lines = read(
      "[tuning] Best combine: SMs 24, NVL chunk 2, RDMA chunk 20: 44.37 GB/s (RDMA), 145.16 GB/s "
      "(NVL)\n"
      "node1: [tuning] SMs 24, NVL chunk 32, RDMA chunk 28: 24.19 GB/s (RDMA), 79.12 GB/s (NVL)\n"
      "[tuning] Best dispatch (FP8): SMs 24, NVL chunk 20, RDMA chunk 16: 61 + 1012 us, 43.24 GB/s "
      "(RDMA), 141.14 GB/s (NVL)\n");
  ASSERT_EQ(lines.rates.size(), 3u);
  EXPECT_EQ(lines.rates[0].op, DeepEpOp::kCombine);
  EXPECT_TRUE(lines.rates[0].is_best);
  EXPECT_EQ(lines.rates[0].sms, 24);
  EXPECT_DOUBLE_EQ(lines.rates[0].rdma->in_GBps(), 44.37);
  EXPECT_DOUBLE_EQ(lines.rates[0].nvlink->in_GBps(), 145.16);
  EXPECT_FALSE(lines.rates[0].time);
  EXPECT_FALSE(lines.rates[1].is_best);
  EXPECT_EQ(lines.rates[2].op, DeepEpOp::kDispatch);
  EXPECT_DOUBLE_EQ(lines.rates[2].time->in_us(), 1012);
  EXPECT_EQ(lines.rates[2].place.line, 3u);
}

TEST(DeepEpLines, LowLatency) {
  const DeepEpLines lines = read(
      "[rank 0] Dispatch + combine bandwidth: 45.72 GB/s, avg_t=487.00 us, min_t=480.00 us, "
      "max_t=495.00 us\n"
      "[rank 0] Dispatch bandwidth: 43.85 GB/s, avg_t=173.00 us | Combine bandwidth: 46.75 GB/s, "
      "avg_t=314.00 us\n"
      "[rank 0] Dispatch send/recv time: 14.00 + 12.00 us | Combine send/recv time: 16.00 + 21.00 "
      "us\n");
  ASSERT_EQ(lines.rates.size(), 3u);
  EXPECT_EQ(lines.rates[0].op, DeepEpOp::kBoth);
  EXPECT_DOUBLE_EQ(lines.rates[0].fastest->in_us(), 480);
  EXPECT_DOUBLE_EQ(lines.rates[0].slowest->in_us(), 495);
  EXPECT_EQ(lines.rates[1].op, DeepEpOp::kDispatch);
  EXPECT_DOUBLE_EQ(lines.rates[1].time->in_us(), 173);
  EXPECT_EQ(lines.rates[2].op, DeepEpOp::kCombine);
  EXPECT_DOUBLE_EQ(lines.rates[2].rdma->in_GBps(), 46.75);
}

TEST(DeepEpLines, Elastic) {
  const DeepEpLines lines = read(
      " * EP:   0/16 | dispatch: 90 GB/s (SO), 180 GB/s (SU), 1234.567 us, 123456 bytes | copy: "
      "900 "
      "GB/s, 50.000 us\n");
  ASSERT_EQ(lines.rates.size(), 1u);
  EXPECT_EQ(lines.rates[0].kernel, DeepEpKernel::kElastic);
  EXPECT_EQ(lines.rates[0].ranks, 16);
  EXPECT_DOUBLE_EQ(lines.rates[0].rdma->in_GBps(), 90);
  EXPECT_DOUBLE_EQ(lines.rates[0].nvlink->in_GBps(), 180);
  EXPECT_DOUBLE_EQ(lines.rates[0].time->in_us(), 1234.567);
}

TEST(DeepEpLines, TimeOutsAndFallbacks) {
  const DeepEpLines lines = read(
      "Warning: DeepEP timeout for dispatch receive, rank 2, local_expert_idx 1, src_rank 9\n"
      "Warning: DeepEP timeout for barrier, rank 2, dst_rank 9\n"
      "DeepEP timeout for dispatch senders, rank 2, responsible_channel = 3\n"
      "Global rank: 9, num_recv_tokens: -1, num_rdma_recv_tokens: -1\n"
      "Global rank: 8, num_recv_tokens: 12, num_rdma_recv_tokens: -1\n"
      "WARN: ibgda_alloc_and_map_qp_uar with GPU as handler failed. We may need to enter the CPU "
      "fallback path.\n");
  ASSERT_EQ(lines.timeouts.size(), 4u);
  EXPECT_EQ(lines.timeouts[0].rank, 2);
  EXPECT_EQ(lines.timeouts[0].peer, 9);
  EXPECT_EQ(lines.timeouts[1].peer, 9);
  EXPECT_FALSE(lines.timeouts[2].peer);
  EXPECT_TRUE(lines.timeouts[3].counts_missing);
  EXPECT_EQ(lines.timeouts[3].rank, 9);
  EXPECT_EQ(lines.fallbacks.size(), 1u);
}

TEST(DeepEpLines, ASignIsPartOfANumberAndNothingTakesNoTime) {
  const DeepEpLines lines = read(
      "[tuning] Best dispatch (FP8): SMs 24, NVL chunk 20, RDMA chunk 16: -5 GB/s (RDMA), 141.14 "
      "GB/s (NVL)\n"
      "[rank 0] Dispatch bandwidth: 43.85 GB/s, avg_t=0 us | Combine bandwidth: 46.75 GB/s, "
      "avg_t=314.00 us\n");
  for (const DeepEpRate& rate : lines.rates) {
    if (rate.kernel == DeepEpKernel::kNormal)
      EXPECT_FALSE(rate.rdma) << rate.place.text;
    else
      EXPECT_EQ(rate.time.has_value(), rate.op == DeepEpOp::kCombine) << rate.place.text;
  }
}

TEST(DeepEpLines, DamagedNumbersAreNoRates) {
  const DeepEpLines lines = read(
      "[tuning] Best combine: SMs 24: GB/s (RDMA), nan GB/s (NVL)\n"
      "[tuning] SMs 24: -5 GB/s (RDMA)\n"
      "[rank 0] Dispatch bandwidth: 1e300 GB/s, avg_t=1e300 us\n"
      "[tuning]\n | | bandwidth: avg_t=\n DeepEP\n");
  for (const DeepEpRate& rate : lines.rates) EXPECT_LE(rate.rdma->in_GBps(), 1e5);
  EXPECT_TRUE(lines.timeouts.empty());
}

}  // namespace
}  // namespace comm_probe::serving
