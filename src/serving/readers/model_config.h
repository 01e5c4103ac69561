// The shape of a model from the config.json of its Hugging Face folder: layers, heads, what its
// attention caches, and the type of its weights. The file comes from anywhere: at most 4 MiB, every
// number bounded, one line about what is wrong.
//
//   num_hidden_layers, num_attention_heads, num_key_value_heads (absent: one per head), head_dim
//   (absent: hidden_size / heads), kv_lora_rank + qk_rope_head_dim (MLA), sliding_window with
//   layer_types or use_sliding_window; n_layer, n_head, n_embd of older models; `text_config` where
//   the model sees pictures too.
//
// Worked example (tests/unit/serving repeats it): {"num_hidden_layers": 80, "hidden_size": 8192,
// "num_attention_heads": 64, "num_key_value_heads": 8} -> 8 KV heads of 128.
#pragma once

#include <string>

#include "catalog/model_shape.h"
#include "core/input.h"
#include "core/result.h"

namespace comm_probe::serving {

struct ModelConfig {
  catalog::ModelShape shape = {};
  std::string type = {};  // "bfloat16"; empty: not said
  std::string path = {};  // of the file
  // Layers without a cache that grows (state space, linear attention): left out of the shape.
  int other_layers = 0;
};

core::Result<ModelConfig> read_model_config(core::Input& input);
// `path` is the file, or the folder that holds it.
core::Result<ModelConfig> read_model_config(const std::string& path);

}  // namespace comm_probe::serving
