// Bytes of attention caches against the published table of model configurations; who moves what
// between tensor parallelisms.
#include "model/kv_cache.h"

#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "model/kv_transfer.h"

namespace comm_probe::model {
namespace {

using namespace core::literals;  // NOLINT

KvCache cache_of(const char* name, KvType type = KvType::kBf16, int block = 16) {
  const catalog::ModelShape* shape = catalog::Catalog::builtin().find_model(name);
  EXPECT_NE(shape, nullptr) << name;
  return shape == nullptr ? KvCache{} : *kv_cache(*shape, type, block);
}

struct Published {
  const char* model;
  std::uint64_t per_token;
  std::uint64_t at_tp8;  // of 4096 tokens, on one rank; windows not counted
};
// shared data/infer/kv_bytes_models.csv
class KvBytes : public testing::TestWithParam<Published> {};

TEST_P(KvBytes, AreWhatTheConfigurationSays) {
  const auto& [name, per_token, at_tp8] = GetParam();
  const KvCache cache = cache_of(name);
  EXPECT_EQ(cache.per_token().whole(), per_token);
  EXPECT_EQ((cache.per_token() * 4096 * kv_share(cache, 8)).whole(), at_tp8);
  if (cache.shape.window_layers == 0) {
    EXPECT_EQ(kv_bytes(cache, 4096).whole(), per_token * 4096);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, KvBytes,
    testing::Values(
        Published{"llama-2-7b", 524288, 268435456}, Published{"llama-3.1-8b", 131072, 67108864},
        Published{"llama-3-70b", 327680, 167772160}, Published{"llama-3.1-405b", 516096, 264241152},
        Published{"mixtral-8x22b", 229376, 117440512}, Published{"qwen2.5-7b", 57344, 58720256},
        Published{"qwen2.5-72b", 327680, 167772160}, Published{"qwen3-8b", 147456, 75497472},
        Published{"qwen3-32b", 262144, 134217728}, Published{"qwen3-235b", 192512, 197132288},
        Published{"gpt-oss-20b", 49152, 25165824}, Published{"gpt-oss-120b", 73728, 37748736},
        Published{"deepseek-v3", 70272, 287834112}, Published{"kimi-k2", 70272, 287834112}),
    [](const auto& row) {
      std::string name = row.param.model;
      for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      return name;
    });

// The same table's last row: 656 B per token and layer, every rank of TP 8 holds all of it.
TEST(KvCache, FlashMlaStoresScalesBesideFp8) {
  const KvCache cache = cache_of("deepseek-v3", KvType::kFp8DsMla, 64);
  EXPECT_EQ(cache.per_token_layer().whole(), 656u);
  EXPECT_EQ(cache.per_token().whole(), 40016u);
  EXPECT_EQ(kv_bytes(cache, 4096).whole(), 163905536u);
  EXPECT_EQ(kv_share(cache, 8), 1);
  EXPECT_FALSE(kv_cache(cache_of("llama-3-70b").shape, KvType::kFp8DsMla, 64).ok());
  EXPECT_EQ(cache_of("llama-3-70b", KvType::kFp8).per_token().whole(), 327680u / 2);
}

TEST(KvCache, IsMadeOfWholeBlocks) {
  const KvCache cache = cache_of("llama-3-70b");
  EXPECT_EQ(kv_bytes(cache, 1), kv_bytes(cache, 16));
  EXPECT_EQ(kv_bytes(cache, 17), kv_bytes(cache, 32));
  EXPECT_EQ(kv_bytes(cache, 16).whole(), 16u * 327680u);
}

// Long prompts of gpt-oss-120b: 36 KiB more per token (half of the layers), the other half is
// constant: 128 tokens and the rest of a block.
TEST(KvCache, WindowsStopGrowing) {
  const KvCache cache = cache_of("gpt-oss-120b");
  const core::Bytes step = kv_bytes(cache, 32768 + 16) - kv_bytes(cache, 32768);
  EXPECT_EQ(step.whole(), 16u * 36 * 1024);
  const core::Bytes windows = kv_bytes(cache, 32768) - core::Bytes::of(32768.0 * 36 * 1024);
  EXPECT_EQ(windows.whole(), 18u * (128 + 16) * 2048);
  EXPECT_EQ(kv_bytes(cache, 64).whole(), 64u * 73728u) << "shorter than the window";
}

// vLLM NixlConnector tp_mapping: who reads how much from whom.
TEST(KvMove, BetweenTensorParallelisms) {
  const KvCache gqa = cache_of("llama-3-70b");  // 8 KV heads
  const KvMove same = *kv_move(gqa, 8, 8);
  EXPECT_EQ(same.sources, 1);
  EXPECT_DOUBLE_EQ(same.in_share, 1.0 / 8);
  EXPECT_DOUBLE_EQ(same.out_share, 1.0 / 8);
  EXPECT_DOUBLE_EQ(same.total, 1);
  const KvMove wider = *kv_move(gqa, 4, 8);  // a prefill rank serves two decode ranks
  EXPECT_EQ(wider.sources, 1);
  EXPECT_DOUBLE_EQ(wider.in_share, 1.0 / 8);
  EXPECT_DOUBLE_EQ(wider.out_share, 1.0 / 4);
  const KvMove narrower = *kv_move(gqa, 8, 2);
  EXPECT_EQ(narrower.sources, 4);
  EXPECT_DOUBLE_EQ(narrower.in_share, 1.0 / 2);
  EXPECT_DOUBLE_EQ(narrower.out_share, 1.0 / 8);
  const KvMove replicated =
      *kv_move(gqa, 16, 4);  // pairs of prefill ranks hold one head: read once
  EXPECT_EQ(replicated.sources, 2);
  EXPECT_DOUBLE_EQ(replicated.total, 1);
  const KvMove copies = *kv_move(gqa, 8, 16);  // two decode ranks want the same head
  EXPECT_DOUBLE_EQ(copies.total, 2);
  EXPECT_DOUBLE_EQ(copies.out_share, 2.0 / 8);
}

TEST(KvMove, MlaIsCopiedToEveryDecodeRank) {
  const KvCache mla = cache_of("deepseek-v3");
  const KvMove move = *kv_move(mla, 1, 8);
  EXPECT_DOUBLE_EQ(move.in_share, 1);
  EXPECT_DOUBLE_EQ(move.out_share, 8);
  EXPECT_DOUBLE_EQ(move.total, 8);
  EXPECT_DOUBLE_EQ(kv_move(mla, 8, 8)->out_share, 1);
  EXPECT_DOUBLE_EQ(kv_move(mla, 8, 2)->total, 2) << "the other six prefill ranks send nothing";
}

TEST(KvMove, RefusesWhatDoesNotFit) {
  const KvCache gqa = cache_of("llama-3-70b");
  EXPECT_EQ(kv_move(gqa, 3, 3).error().message, "8 KV heads do not spread evenly over 3 ranks");
  EXPECT_FALSE(kv_move(gqa, 0, 8).ok());
  EXPECT_FALSE(kv_move(gqa, 8, 2048).ok());
  EXPECT_FALSE(kv_move(cache_of("deepseek-v3"), 3, 2).ok());
}

// The worked example of kv_transfer.h.
TEST(KvTime, PostingAndBytes) {
  const KvTime merged = kv_time({160_MiB, 512, 50_GBps});
  EXPECT_NEAR(merged.bandwidth.in_ms(), 3.3554, 1e-4);
  EXPECT_NEAR(merged.total().in_ms(), 5.55, 5e-3);
  EXPECT_FALSE(merged.is_descriptor_bound());
  const KvCache cache = cache_of("llama-3-70b");
  const std::uint64_t pieces = kv_descriptors(cache, 4096, *kv_move(cache, 8, 8), 1);
  EXPECT_EQ(pieces, 40960u);
  EXPECT_EQ(kv_descriptors(cache, 4096, *kv_move(cache, 8, 8), 80), 512u);
  // a block is one piece at best, whatever is merged; layers with a window have their own blocks
  EXPECT_EQ(kv_descriptors(cache, 4096, *kv_move(cache, 8, 8), 160), 256u);
  EXPECT_EQ(kv_descriptors(cache, 4096, *kv_move(cache, 8, 8), 1000), 256u);
  KvCache windows = cache;
  windows.shape.window = 128;
  windows.shape.window_layers = windows.shape.layers / 2;
  EXPECT_EQ(kv_descriptors(windows, 4096, *kv_move(cache, 8, 8), 80), 256u + 9u);
  EXPECT_NEAR(kv_time({160_MiB, pieces, 50_GBps}).total().in_ms(), 147.1, 0.05);
  EXPECT_TRUE(kv_time({160_MiB, pieces, 50_GBps}).is_descriptor_bound());
}

TEST(KvTime, BreakEven) {
  const auto prompt = [](core::Duration each, int block) {
    return KvPrompt{[each, block](std::uint64_t tokens) {
                      const auto size = static_cast<std::uint64_t>(block);
                      const std::uint64_t whole = (tokens + size - 1) / size * size;
                      return 400_us + each * static_cast<double>(whole);
                    },
                    block};
  };
  const auto of = [](core::Duration each) { return PromptCompute{.per_token = each}; };
  EXPECT_EQ(break_even_tokens(prompt(1_us, 1), of(41_us)), 10u);  // 400 us / 40 us
  EXPECT_EQ(break_even_tokens(prompt(41_us, 1), of(41_us)), std::nullopt);
  EXPECT_EQ(break_even_tokens(prompt(42_us, 1), of(41_us)), std::nullopt);
  EXPECT_EQ(tokens_in_step(prompt(1_us, 1), 20_ms), 19600u);
  EXPECT_EQ(tokens_in_step(prompt(1_us, 1), 300_us), 0u);
  // 10 tokens are a block of 16: 416 us, which 11 tokens of 41 us (451) reach and 10 do not
  EXPECT_EQ(break_even_tokens(prompt(1_us, 16), of(41_us)), 11u);
  EXPECT_EQ(tokens_in_step(prompt(1_us, 16), 20_ms), 19600u / 16 * 16);
  EXPECT_EQ(tokens_in_step(prompt(1_us, 1'000'000), 20_ms), 0u) << "not even one block fits";
  // with attention computing becomes slower than moving in the end: 400 + 42 n = 41 n + n (n + 1) /
  // 20 at n = 100 to 101 (by hand: 10 n (n + 1) / 2 = 4000 + 10 n)
  PromptCompute attends = of(41_us);
  attends.per_pair = core::Duration::from_us(0.1);
  attends.full_layers = 1;
  EXPECT_EQ(break_even_tokens(prompt(42_us, 1), attends), 100u);
}

}  // namespace
}  // namespace comm_probe::model
