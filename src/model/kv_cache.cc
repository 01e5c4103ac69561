#include "model/kv_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace comm_probe::model {
namespace {

constexpr double kKeyAndValue = 2;
// FlashMLA's FP8 cache: the latent in FP8 with one fp32 scale for each 128, the rope part in BF16
// (vLLM kv_cache_dtype fp8_ds_mla): 512 + 16 + 128 = 656 B.
constexpr double kScaleOver = 128;
constexpr double kScaleBytes = 4;
constexpr double kRopeBytes = 2;

double item_bytes(KvType type) {
  switch (type) {
    case KvType::kFp32:
      return 4;
    case KvType::kBf16:
      return 2;
    case KvType::kFp8:
    case KvType::kFp8DsMla:
      return 1;
  }
  return 2;
}

std::uint64_t blocks_of(std::uint64_t tokens, int block) {
  const auto size = static_cast<std::uint64_t>(block);
  return (tokens + size - 1) / size;
}

// The KV heads that a rank holds; MLA has one for all.
std::set<int> heads_of(const KvCache& cache, int rank, int tp) {
  const int heads = cache.shape.kv_heads;
  std::set<int> held;
  const int first = static_cast<int>(static_cast<std::int64_t>(rank) * heads / tp);
  for (int head = first; head < first + std::max(1, heads / tp); ++head) held.insert(head);
  return held;
}

// One decode rank reads what it needs from the first prefill ranks in its range that hold it.
int read_into(const KvCache& cache, int rank, KvMove& move, std::vector<double>& sent) {
  std::set<int> wanted = heads_of(cache, rank, move.decode_tp);
  const int first =
      static_cast<int>(static_cast<std::int64_t>(rank) * move.prefill_tp / move.decode_tp);
  int sources = 0;
  for (int source = first; source < move.prefill_tp && !wanted.empty(); ++source) {
    const std::size_t before = wanted.size();
    for (const int head : heads_of(cache, source, move.prefill_tp)) wanted.erase(head);
    const double share = static_cast<double>(before - wanted.size()) / cache.shape.kv_heads;
    if (share == 0) continue;
    sent[static_cast<std::size_t>(source)] += share;
    move.total += share;
    ++sources;
  }
  return sources;
}

}  // namespace

core::Bytes KvCache::per_token_layer() const {
  if (type == KvType::kFp8DsMla)
    return core::Bytes::of(shape.kv_lora_rank + kScaleBytes * shape.kv_lora_rank / kScaleOver +
                           kRopeBytes * shape.rope_dim);
  if (shape.is_mla())
    return core::Bytes::of((shape.kv_lora_rank + shape.rope_dim) * item_bytes(type));
  return core::Bytes::of(kKeyAndValue * shape.kv_heads * shape.head_dim * item_bytes(type));
}

core::Bytes KvCache::per_token() const { return per_token_layer() * shape.layers; }

core::Result<KvCache> kv_cache(const catalog::ModelShape& shape, KvType type, int block) {
  if (type == KvType::kFp8DsMla && !shape.is_mla())
    return core::input_error(fmt::format("fp8_ds_mla is a type of MLA caches, and {} has {}",
                                         shape.name, catalog::attention_name(shape)),
                             "take fp8");
  constexpr int kLargestBlock = 1 << 20;
  if (block < 1 || block > kLargestBlock)
    return core::input_error(
        fmt::format("a block of {} tokens is outside 1 to {}", block, kLargestBlock));
  return KvCache{shape, type, block};
}

namespace {

struct LayerGroup {
  std::uint64_t layers;
  std::uint64_t blocks;  // of each
};
// The layers that keep all, and those with a window: their blocks lie apart.
std::array<LayerGroup, 2> layer_groups(const KvCache& cache, std::uint64_t tokens) {
  const catalog::ModelShape& shape = cache.shape;
  const std::uint64_t all = blocks_of(tokens, cache.block);
  const std::uint64_t kept =
      std::min(all, blocks_of(static_cast<std::uint64_t>(shape.window), cache.block) + 1);
  return {LayerGroup{static_cast<std::uint64_t>(shape.layers - shape.window_layers), all},
          LayerGroup{static_cast<std::uint64_t>(shape.window_layers), kept}};
}

}  // namespace

std::uint64_t kv_blocks(const KvCache& cache, std::uint64_t tokens) {
  std::uint64_t blocks = 0;
  for (const LayerGroup& group : layer_groups(cache, tokens)) blocks += group.layers * group.blocks;
  return blocks;
}

core::Bytes kv_bytes(const KvCache& cache, std::uint64_t tokens) {
  return cache.per_token_layer() * cache.block * static_cast<double>(kv_blocks(cache, tokens));
}

KvCache kv_stage(const KvCache& cache, int pp) {
  const auto spread = [pp](int layers) { return (layers + pp - 1) / pp; };
  KvCache stage = cache;
  stage.shape.layers = spread(cache.shape.layers);
  stage.shape.window_layers = std::min(spread(cache.shape.window_layers), stage.shape.layers);
  return stage;
}

double kv_share(const KvCache& cache, int tp) {
  if (cache.shape.is_mla()) return 1;
  return 1.0 / std::min(tp, cache.shape.kv_heads);
}

core::Result<bool> check_tensor_parallel(const KvCache& cache, int tp) {
  if (tp < 1 || tp > kMostTensorParallel)
    return core::input_error(
        fmt::format("tensor parallelism {} is outside 1 to {}", tp, kMostTensorParallel));
  const int heads = cache.shape.kv_heads;
  if (!cache.shape.is_mla() && heads % tp != 0 && tp % heads != 0)
    return core::input_error(
        fmt::format("{} KV heads do not spread evenly over {} ranks", heads, tp),
        "one must be a multiple of the other");
  return true;
}

core::Result<KvMove> kv_move(const KvCache& cache, int prefill_tp, int decode_tp) {
  for (const int tp : {prefill_tp, decode_tp})
    if (const auto fits = check_tensor_parallel(cache, tp); !fits) return fits.error();
  if (prefill_tp % decode_tp != 0 && decode_tp % prefill_tp != 0)
    return core::input_error(
        fmt::format("a cache cannot go from TP {} to TP {}", prefill_tp, decode_tp),
        "one must be a multiple of the other (vLLM's NixlConnector maps ranks so)");
  KvMove move{.prefill_tp = prefill_tp, .decode_tp = decode_tp};
  move.in_share = kv_share(cache, decode_tp);
  std::vector<double> sent(static_cast<std::size_t>(prefill_tp));
  for (int rank = 0; rank < decode_tp; ++rank) move.sources = read_into(cache, rank, move, sent);
  move.out_share = *std::max_element(sent.begin(), sent.end());
  return move;
}

std::uint64_t kv_descriptors(const KvCache& cache, std::uint64_t tokens, const KvMove& move,
                             int merge) {
  const std::uint64_t sides = cache.shape.is_mla() ? 1U : 2U;
  const auto joined = static_cast<std::uint64_t>(merge);
  std::uint64_t descriptors = 0;
  for (const LayerGroup& group : layer_groups(cache, tokens))
    descriptors += group.blocks * ((group.layers * sides + joined - 1) / joined);
  return descriptors * static_cast<std::uint64_t>(move.sources);
}

}  // namespace comm_probe::model
