// Shapes of language models: what decides how many bytes a tensor-parallel all_reduce moves per
// step, and how many the attention cache holds per token.
//
//   MHA, GQA   K and V of `kv_heads` x `head_dim` for each layer
//   MLA        one latent vector of `kv_lora_rank` + `rope_dim` for each layer, shared by all heads
//   window     `window_layers` of the layers keep the last `window` tokens only
//
// Worked example: llama-3-70b has 80 layers and 8 KV heads of 128: 327680 B per token in BF16.
#pragma once

#include <string>
#include <vector>

namespace comm_probe::catalog {

inline constexpr int kMostLayers = 10'000;
inline constexpr int kMostWidth = 1 << 20;  // heads, dimensions

struct ModelShape {
  std::string name = {};  // "llama-3-70b"
  std::vector<std::string> aliases = {};
  int layers = 0;
  int hidden = 0;
  int heads = 0;     // of the queries
  int kv_heads = 0;  // 1 with MLA
  int head_dim = 0;  // 0 with MLA
  int kv_lora_rank = 0;
  int rope_dim = 0;
  int window = 0;
  int window_layers = 0;
  int active_millions = 0;  // parameters that one token meets, in millions; 0: not known
  bool is_counted = false;  // these, from the widths of its layers; else as its card prints them
  std::string source = {};
  std::string note = {};

  bool is_mla() const { return kv_lora_rank > 0; }
};

// "MHA" | "GQA" | "MQA" | "MLA"
const char* attention_name(const ModelShape& shape);

}  // namespace comm_probe::catalog
