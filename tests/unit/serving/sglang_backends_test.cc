// Rows of SGLang's table of limits and of FlashInfer's rules, as their sources have them.
#include "serving/sglang_backends.h"

#include <gtest/gtest.h>

#include "serving/flashinfer_paths.h"

namespace comm_probe::serving {
namespace {

using namespace core::literals;

ServingJob job_of(int sm, int ranks, core::Bytes bytes) {
  ServingJob job;
  job.sm = sm;
  job.ranks = ranks;
  job.bytes = bytes;
  return job;
}

TEST(SglangV2, EightH100) {
  EXPECT_EQ(sglang_v2(job_of(90, 8, 128_KiB), true).kernel, "1shot_push");
  EXPECT_EQ(sglang_v2(job_of(90, 8, 256_KiB), true).kernel, "2shot_pull");
  EXPECT_EQ(sglang_v2(job_of(90, 8, 1_MiB), true).kernel, "2shot_pull with multicast");
  EXPECT_EQ(sglang_v2(job_of(90, 8, 32_MiB), true).kernel, "") << "above the cap of 16 MiB";
  EXPECT_EQ(sglang_v2(job_of(90, 8, 256_KiB), false).kernel, "2shot_pull with multicast");
  ServingJob without = job_of(90, 8, 1_MiB);
  without.has_multicast = false;
  EXPECT_EQ(sglang_v2(without, true).kernel, "2shot_pull");
}

TEST(SglangV2, OtherRowsOfTheTable) {
  EXPECT_EQ(sglang_v2(job_of(90, 2, 8_MiB), true).kernel, "1shot_push");
  EXPECT_EQ(sglang_v2(job_of(90, 4, 384_KiB), true).kernel, "1shot_push");
  EXPECT_EQ(sglang_v2(job_of(90, 4, 512_KiB), true).kernel, "2shot_pull");
  EXPECT_EQ(sglang_v2(job_of(100, 2, 16_MiB), true).kernel, "1shot_pull");
  EXPECT_EQ(sglang_v2(job_of(100, 4, 2_MiB), true).kernel, "2shot_lamport");
  EXPECT_EQ(sglang_v2(job_of(100, 8, 512_KiB), true).kernel, "1shot_push");
  EXPECT_EQ(sglang_v2(job_of(100, 16, 1_MiB), true).kernel, "2shot_pull with multicast");
  EXPECT_TRUE(sglang_limits(80, 8, true).is_default);
  EXPECT_EQ(sglang_v2(job_of(80, 8, 1_MiB), true).kernel, "1shot_push");
}

TEST(SglangV2, IsNotBuiltEverywhere) {
  for (auto change :
       {+[](ServingJob& job) {
          job.nodes = 2;
          job.one_domain = false;
        },
        +[](ServingJob& job) { job.fully_linked = false; },
        +[](ServingJob& job) { job.settings.custom = false; },
        +[](ServingJob& job) { job.ranks = 17; }, +[](ServingJob& job) { job.is_amd = true; }}) {
    ServingJob job = job_of(90, 8, 64_KiB);
    change(job);
    const SglangAnswer answer = sglang_v2(job, true);
    EXPECT_EQ(answer.kernel, "");
    EXPECT_FALSE(answer.limits);
    EXPECT_FALSE(answer.reason.empty());
  }
  ServingJob rack = job_of(100, 16, 1_MiB);  // four hosts of a GB200 NVL72
  rack.nodes = 4;
  EXPECT_EQ(sglang_v2(rack, true).kernel, "2shot_pull with multicast");
}

// 2, 4, 6 or 8 ranks, below 8 MiB, whatever vLLM's table for torch symmetric memory says.
TEST(SglangLegacy, IsTheObjectOfVllm) {
  EXPECT_EQ(sglang_legacy(job_of(90, 8, 128_KiB)).kernel, "one-shot");
  EXPECT_EQ(sglang_legacy(job_of(90, 8, 4_MiB)).kernel, "two-shot");
  EXPECT_EQ(sglang_legacy(job_of(90, 8, 8_MiB)).kernel, "");
  EXPECT_EQ(sglang_legacy(job_of(90, 5, 64_KiB)).kernel, "");
}

TEST(FlashInfer, OneShotOrTwo) {
  // 8 and 2048 tokens x 8192 of bf16 on 8 B200: 2.1 and 537 of 42 MB
  EXPECT_TRUE(flashinfer_choice(job_of(100, 8, 128_KiB), 8).answer->is_one_shot);
  EXPECT_FALSE(flashinfer_choice(job_of(100, 8, 32_MiB), 2048).answer->is_one_shot);
  EXPECT_TRUE(flashinfer_choice(job_of(90, 8, 2_MiB), 128).answer->is_one_shot);
  EXPECT_FALSE(flashinfer_choice(job_of(90, 8, 2_MiB), 129).answer->is_one_shot);
  ServingJob far = job_of(100, 8, 128_KiB);
  far.nodes = 2;
  EXPECT_EQ(flashinfer_choice(far, 8).answer->path, "mnnvl");
  EXPECT_TRUE(flashinfer_choice(far, 8).answer->is_one_shot);
  far.bytes = 256_KiB;
  EXPECT_FALSE(flashinfer_choice(far, 16).answer->is_one_shot);
  far.has_multicast = false;
  EXPECT_FALSE(flashinfer_choice(far, 16).answer);
  EXPECT_FALSE(flashinfer_choice(job_of(90, 6, 64_KiB), 8).answer);
}

}  // namespace
}  // namespace comm_probe::serving
