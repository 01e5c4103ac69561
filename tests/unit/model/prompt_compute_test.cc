// The time of computing a prompt, against sums by hand.
#include "model/prompt_compute.h"

#include <gtest/gtest.h>

#include "catalog/catalog.h"

namespace comm_probe::model {
namespace {

catalog::ModelShape shape_of(const char* name) {
  const catalog::ModelShape* shape = catalog::Catalog::builtin().find_model(name);
  EXPECT_NE(shape, nullptr) << name;
  return shape == nullptr ? catalog::ModelShape{} : *shape;
}

// 2 x 70.554 G on half of 8 x 989 TFLOPS: 35.67 us; attention of token p: 80 layers x 4 x 64 x 128
// FLOP x p, so 80 x 32768 x 4096 x 4097 / 2 / 3.956e15 = 5.56 ms for 4096 tokens.
TEST(PromptCompute, ParametersAndAttention) {
  const PromptCompute compute = prompt_compute(shape_of("llama-3-70b"), 70.554e9, 8 * 989e12);
  EXPECT_NEAR(compute.per_token.in_us(), 35.67, 0.01);
  EXPECT_NEAR(compute.attention(4096).in_ms(), 5.560, 0.001);
  EXPECT_NEAR(compute.time(4096).in_ms(), 35.669 * 4.096 + 5.560, 0.01);
  EXPECT_NEAR(compute.attention(1) / compute.per_pair, 80, 1e-9) << "a token looks at itself";
}

// 94 layers x 4 x 64 x 128 x 131072^2 / 2 FLOP on half of 8 x 989 TFLOPS.
TEST(PromptCompute, LongPromptsAreAttention) {
  const PromptCompute compute = prompt_compute(shape_of("qwen3-235b"), 22e9, 8 * 989e12);
  EXPECT_NEAR(compute.time(131072).in_ms() - compute.attention(131072).in_ms(), 1457.9, 0.5);
  EXPECT_NEAR(compute.attention(131072).in_ms(), 6688, 2);
}

// gpt-oss-20b: 12 of 24 layers look back 128 tokens; of 1000: 128 x 129 / 2 + 872 x 128 pairs.
TEST(PromptCompute, WindowsLookNoFurther) {
  const PromptCompute compute = prompt_compute(shape_of("gpt-oss-20b"), 3.6e9, 989e12);
  EXPECT_EQ(compute.full_layers, 12);
  EXPECT_EQ(compute.window_layers, 12);
  EXPECT_NEAR(compute.attention(1000) / compute.per_pair, 12 * 500500.0 + 12 * (8256.0 + 872 * 128),
              1e-3);
  EXPECT_NEAR(compute.attention(100) / compute.per_pair, 24 * 5050.0, 1e-6);
}

// DeepSeek-V3 head by head: 128 heads x 2 x (192 + 128) FLOP a pair and layer.
TEST(PromptCompute, LatentAttentionIsComputedHeadByHead) {
  const PromptCompute compute = prompt_compute(shape_of("deepseek-v3"), 37e9, 989e12);
  EXPECT_NEAR(compute.per_pair.in_ns() * 0.5 * 989e12 * 1e-9, 128 * 2 * 320.0, 1e-3);
  EXPECT_EQ(compute.full_layers, 61);
}

TEST(PromptCompute, UnknownHeadsAreNotCounted) {
  catalog::ModelShape shape;
  shape.layers = 10;
  shape.kv_heads = 8;
  shape.head_dim = 128;
  EXPECT_EQ(prompt_compute(shape, 1e9, 1e15).per_pair, core::Duration());
}

}  // namespace
}  // namespace comm_probe::model
