// The attention cache of a request: how many bytes, on which rank, and what moves where when it
// goes from prefill ranks to decode ranks of another tensor parallelism.
//
//   MHA, GQA  per token = 2 (K, V) x layers x kv_heads x head_dim x item; a rank of TP t holds
//             kv_heads / t heads, one where t is larger: heads are replicated then
//   MLA       per token = layers x (kv_lora_rank + rope_dim) x item; every rank holds all of it
//   whole blocks: ceil(tokens / block) x block tokens; a layer with a window keeps no more than
//   ceil(window / block) + 1 blocks, since a window may begin inside one
//   a descriptor is one contiguous piece: one block of one layer, K and V apart with MHA and GQA
//
// Sources: vLLM vllm/distributed/kv_transfer (NixlConnector), model configurations; the table of
// published models is tests/unit/model/kv_cache_test.cc.
// Worked example (golden G7-14..18): llama-3-70b, BF16: 320 KiB per token; 4096 tokens 1.25 GiB;
// 160 MiB on each of 8 ranks; 3.355 ms at 50 GB/s.
#pragma once

#include <cstdint>

#include "catalog/model_shape.h"
#include "core/quantity.h"
#include "core/result.h"

namespace comm_probe::model {

// How one element is stored.
enum class KvType { kFp32, kBf16, kFp8, kFp8DsMla };

struct KvCache {
  catalog::ModelShape shape = {};
  KvType type = KvType::kBf16;
  int block = 16;  // tokens

  core::Bytes per_token_layer() const;
  core::Bytes per_token() const;  // without regard to windows
};

// Fails where the type is not one of the attention's (fp8_ds_mla is FlashMLA's and needs MLA).
core::Result<KvCache> kv_cache(const catalog::ModelShape& shape, KvType type, int block);

// Of all layers together: one request, in whole blocks.
std::uint64_t kv_blocks(const KvCache& cache, std::uint64_t tokens);  // blocks x layers
core::Bytes kv_bytes(const KvCache& cache, std::uint64_t tokens);
// What the fullest of `pp` pipeline stages caches: its layers only, the windowed ones in the same
// proportion. 1 <= pp <= layers.
KvCache kv_stage(const KvCache& cache, int pp);
// Of the cache on one rank of `tp`.
double kv_share(const KvCache& cache, int tp);

// Who reads how much from whom. Shares are of the whole cache.
struct KvMove {
  int prefill_tp = 1;
  int decode_tp = 1;
  double in_share = 0;   // into each decode rank
  double out_share = 0;  // out of the busiest prefill rank
  double total = 0;      // over the network together: 1 = every byte once
  int sources = 1;       // prefill ranks that one decode rank reads from
  double busiest() const { return in_share > out_share ? in_share : out_share; }
};

inline constexpr int kMostTensorParallel = 1024;

// Fails where tp is outside 1..kMostTensorParallel, where heads do not spread evenly over the
// ranks, or one of the two is no multiple of the other.
core::Result<bool> check_tensor_parallel(const KvCache& cache, int tp);
core::Result<KvMove> kv_move(const KvCache& cache, int prefill_tp, int decode_tp);

// Pieces that one decode rank posts; `merge` neighbouring ones are joined (cross-layer blocks: the
// layers, or twice that).
std::uint64_t kv_descriptors(const KvCache& cache, std::uint64_t tokens, const KvMove& move,
                             int merge);

}  // namespace comm_probe::model
