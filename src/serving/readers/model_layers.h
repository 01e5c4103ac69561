// What each layer of a model caches, by the ways in which models say it in their config.json.
//
//   named        layer_types, layers_block_type, block_types: one word a layer
//   listed       attn_type_list, attn_layer_indices, full_attn_idxs, linear_attn_config
//   by a rule    attn_layer_period, full_attention_interval, hybrid_override_pattern, block_configs
//   windows      sliding_window with a pattern, max_window_layers, or the default of the model's
//                code; attention_chunk_size with no_rope_layers
// Sources: the configuration classes of Hugging Face transformers and of the models.
// Worked example (tests/golden/calc_kv): gemma2 with 46 layers: 23 keep a window; jamba with 32
// layers, period 8, offset 4: 4 cache.
#pragma once

#include <string>
#include <vector>

#include "serving/readers/config_fields.h"

namespace comm_probe::serving {

enum class LayerKind {
  kFull,    // caches every token
  kWindow,  // the last tokens only
  kChunk,   // those of its chunk; engines may keep every token all the same
  kState,   // a state of constant size instead
  kNone     // nothing: an MLP alone, or the cache of another layer
};

struct ModelLayers {
  std::vector<LayerKind> kinds = {};
  int window = 0;  // tokens, of kWindow
  int chunk = 0;   // of kChunk
  // A window that is there, without a word on which layers have it: none was given it.
  int open_window = 0;
  std::string strange = {};  // the first word for a layer that is not known: taken as attention
  bool is_said = false;      // the file says which layers have attention
  bool is_single = false;    // a layer is one mixer or one MLP, not both
  bool is_uneven = false;    // some layers have both, some one of them

  int count(LayerKind kind) const;
};

// What is wrong is the error of `fields`.
ModelLayers read_model_layers(ConfigFields& fields, const std::string& model);

}  // namespace comm_probe::serving
