// The time of computing a prompt, bound by arithmetic: every token meets the parameters and attends
// to the tokens before it.
//
//   parameters  2 FLOP per parameter and token
//   attention   GQA: 4 x heads x head_dim FLOP per layer for a token and one before it (Q K^T and
//               the sum of V); MLA, computed head by head: 2 x heads x ((128 + rope_dim) + 128);
//               a layer with a window looks no further back than that
//   time        FLOP / (prefill_efficiency x peak), the same share for both (assumed); never less
//               than reading the parameters once, 2 B each
//
// A prompt of T tokens has T (T + 1) / 2 pairs in a full layer. Worked example
// (tests/unit/model/prompt_compute_test.cc): qwen3-235b, 131072 tokens, 8 x 989 TFLOPS: 1.458 s
// for the parameters, 6.69 s for attention.
#pragma once

#include <cstdint>

#include "catalog/model_shape.h"
#include "core/quantity.h"

namespace comm_probe::model {

struct PromptCompute {
  core::Duration per_token = {};  // the parameters, or all that somebody measured
  core::Duration per_pair = {};   // of one layer; zero: attention is not counted
  core::Duration least = {};      // one pass reads all these parameters, however short the prompt
  int full_layers = 0;
  int window_layers = 0;
  int window = 0;

  core::Duration attention(std::uint64_t tokens) const;
  core::Duration time(std::uint64_t tokens) const;
};

// Attention is left out (per_pair zero) where the shape does not say its heads.
PromptCompute prompt_compute(const catalog::ModelShape& shape, double active_params,
                             double peak_flops);

}  // namespace comm_probe::model
