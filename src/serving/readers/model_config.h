// The shape of a model from the config.json of its Hugging Face folder: layers, heads, what its
// attention caches, and the type of its weights. The file comes from anywhere: at most 4 MiB, every
// number bounded, one line about what is wrong.
//
//   num_hidden_layers, num_attention_heads, num_key_value_heads (absent: one per head), head_dim
//   (absent: hidden_size / heads), kv_lora_rank + qk_rope_head_dim (MLA); KV heads also of
//   attn_config, block_configs, multi_query, multi_query_group_num; n_layer, n_head, n_embd of
//   older models; `text_config` where the model sees pictures too; which layers cache:
//   model_layers.h
// What the file leaves open is a note, with the other end of the range where there is one; what no
// number would be right for is an error.
//
// Worked example (tests/unit/serving repeats it): {"num_hidden_layers": 80, "hidden_size": 8192,
// "num_attention_heads": 64, "num_key_value_heads": 8} -> 8 KV heads of 128.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/model_shape.h"
#include "core/input.h"
#include "core/result.h"

namespace comm_probe::serving {

// What is not in the figures, or was taken without the file saying so.
struct ConfigNote {
  std::string text = {};
  std::optional<catalog::ModelShape> otherwise = {};  // the other end of the range
  int more_bytes = 0;    // per token and layer, that are not in the shape
  bool is_limit = true;  // the bytes may be others
};

struct ModelConfig {
  catalog::ModelShape shape = {};
  std::string type = {};  // "bfloat16"; empty: not said
  std::string path = {};  // of the file
  int other_layers = 0;   // without a cache that grows: left out of the shape
  int state_layers = 0;   // of these: a state of constant size (state space, linear attention)
  // all_reduce calls under tensor parallelism: mixer and MLP; 0: not the same for each layer
  int calls_per_layer = 2;
  std::vector<ConfigNote> notes = {};
};

core::Result<ModelConfig> read_model_config(core::Input& input);
// `path` is the file, or the folder that holds it.
core::Result<ModelConfig> read_model_config(const std::string& path);

}  // namespace comm_probe::serving
