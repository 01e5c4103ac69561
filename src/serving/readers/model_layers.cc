#include "serving/readers/model_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "catalog/model_shape.h"

namespace comm_probe::serving {
namespace {

using core::Json;
using Kind = LayerKind;

constexpr int kMostTokens = 1 << 30;

struct LayerWord {
  std::string_view word;
  Kind kind;
};
constexpr std::array kWords = {
    LayerWord{"full_attention", Kind::kFull},
    LayerWord{"attention", Kind::kFull},
    LayerWord{"global_attention", Kind::kFull},
    LayerWord{"hybrid", Kind::kFull},
    LayerWord{"sliding_attention", Kind::kWindow},
    LayerWord{"sliding_window_attention", Kind::kWindow},
    LayerWord{"local_attention", Kind::kWindow},
    LayerWord{"chunked_attention", Kind::kChunk},
    LayerWord{"linear_attention", Kind::kState},
    LayerWord{"lightning_attention", Kind::kState},
    LayerWord{"mamba", Kind::kState},
    LayerWord{"mamba2", Kind::kState},
    LayerWord{"conv", Kind::kState},
    LayerWord{"recurrent", Kind::kState},
    LayerWord{"mlp", Kind::kNone},
    LayerWord{"moe", Kind::kNone},
};

Kind kind_of(const Json& item, ModelLayers& layers) {
  const std::string word = item.is_string() ? item.get<std::string>() : item.dump().substr(0, 20);
  for (const LayerWord& known : kWords)
    if (known.word == word) return known.kind;
  if (layers.strange.empty()) layers.strange = word.substr(0, 40);
  return Kind::kFull;
}

void set_all(ModelLayers& layers, const std::function<Kind(int)>& kind) {
  for (std::size_t i = 0; i < layers.kinds.size(); ++i) layers.kinds[i] = kind(static_cast<int>(i));
  layers.is_said = true;
}

// A list that is longer names layers behind the model's (multi-token prediction).
bool reaches(ConfigFields& fields, const char* key, std::size_t size, std::size_t layers) {
  if (size >= layers) return true;
  fields.fail(
      fmt::format("\"{}\" has {} entries, expected one for each of {} layers", key, size, layers));
  return false;
}

void take_words(ConfigFields& fields, const char* key, ModelLayers& layers) {
  const Json& list = fields.list(key);
  if (!reaches(fields, key, list.size(), layers.kinds.size())) return;
  set_all(layers, [&](int i) { return kind_of(list[static_cast<std::size_t>(i)], layers); });
  layers.is_single = layers.count(Kind::kNone) > 0;  // an MLP has a layer of its own
}

// RecurrentGemma: the pattern is repeated, and its attention has a window.
void take_block_types(ConfigFields& fields, ModelLayers& layers) {
  const Json& list = fields.list("block_types");
  if (list.empty()) return;
  layers.window = fields.number_or({"attention_window_size"}, kMostTokens, 0);
  set_all(layers, [&](int i) {
    const Kind kind = kind_of(list[static_cast<std::size_t>(i) % list.size()], layers);
    return kind == Kind::kFull && layers.window > 0 ? Kind::kWindow : kind;
  });
}

// Nemotron-H: "M-M*-": mamba, MLP, attention.
void take_letters(ConfigFields& fields, ModelLayers& layers) {
  const std::string pattern = fields.text("hybrid_override_pattern");
  if (!reaches(fields, "hybrid_override_pattern", pattern.size(), layers.kinds.size())) return;
  layers.is_single = true;
  set_all(layers, [&](int i) {
    const char letter = pattern[static_cast<std::size_t>(i)];
    return letter == '*' ? Kind::kFull : letter == 'M' ? Kind::kState : Kind::kNone;
  });
}

// MiniMax: 1 is softmax attention.
void take_numbers(ConfigFields& fields, ModelLayers& layers) {
  const Json& list = fields.list("attn_type_list");
  if (!reaches(fields, "attn_type_list", list.size(), layers.kinds.size())) return;
  set_all(layers, [&](int i) {
    const Json& item = list[static_cast<std::size_t>(i)];
    return item.is_number_integer() && item.get<std::int64_t>() == 1 ? Kind::kFull : Kind::kState;
  });
}

// The layers of the list, the first one being number `first`, have attention.
void take_indices(const Json& list, int first, ModelLayers& layers) {
  set_all(layers, [](int) { return Kind::kState; });
  for (const Json& item : list) {
    if (!item.is_number_integer()) continue;
    const auto index = item.get<std::int64_t>() - first;
    if (index >= 0 && index < static_cast<std::int64_t>(layers.kinds.size()))
      layers.kinds[static_cast<std::size_t>(index)] = Kind::kFull;
  }
}

// Jamba: layer i with i % period == offset.
void take_period(ConfigFields& fields, ModelLayers& layers) {
  constexpr int kUsual = 4;
  const int period = fields.number({"attn_layer_period"}, catalog::kMostLayers);
  const int offset = fields.number_from("attn_layer_offset", 0, catalog::kMostLayers, kUsual);
  if (period < 1) return;
  set_all(layers, [&](int i) { return i % period == offset ? Kind::kFull : Kind::kState; });
}

// Nemotron-NAS: a block may have no attention.
void take_blocks(ConfigFields& fields, ModelLayers& layers) {
  const Json& list = fields.list("block_configs");
  if (!reaches(fields, "block_configs", list.size(), layers.kinds.size())) return;
  layers.is_uneven = true;
  set_all(layers, [&](int i) {
    const Json& block = list[static_cast<std::size_t>(i)];
    const auto attention = block.is_object() ? block.find("attention") : block.end();
    if (!block.is_object() || attention == block.end() || !attention->is_object())
      return Kind::kNone;
    const ConfigFields its(*attention, fields.file());
    const bool none = its.flag_or("no_op", false) || its.flag_or("replace_with_linear", false);
    return none ? Kind::kNone : Kind::kFull;
  });
}

void take_interval(ConfigFields& fields, ModelLayers& layers) {
  const int every = fields.number({"full_attention_interval"}, catalog::kMostLayers);
  if (every < 1) return;
  set_all(layers, [every](int i) { return (i + 1) % every == 0 ? Kind::kFull : Kind::kState; });
}

// Which layers have attention at all; where the file says nothing, all.
void take_kinds(ConfigFields& fields, ModelLayers& layers) {
  const Json* linear = fields.object("linear_attn_config");
  if (!fields.list("layer_types").empty()) return take_words(fields, "layer_types", layers);
  if (!fields.list("layers_block_type").empty())
    return take_words(fields, "layers_block_type", layers);
  if (fields.has("block_types")) return take_block_types(fields, layers);
  if (fields.has("hybrid_override_pattern")) return take_letters(fields, layers);
  if (fields.has("attn_type_list")) return take_numbers(fields, layers);
  if (fields.has("block_configs")) return take_blocks(fields, layers);
  for (const char* key : {"attn_layer_indices", "full_attn_idxs"})  // Bamba, LFM2
    if (!fields.list(key).empty()) return take_indices(fields.list(key), 0, layers);
  if (linear != nullptr && linear->contains("full_attn_layers"))  // Kimi Linear counts from 1
    return take_indices((*linear)["full_attn_layers"], 1, layers);
  if (fields.has("full_attention_interval")) return take_interval(fields, layers);
  if (fields.has("attn_layer_period")) return take_period(fields, layers);
}

// Every n-th layer sees everything where the pattern is not written down: the default of the
// model's code.
struct UsualPattern {
  std::string_view model;
  int full_every;
};
constexpr std::array kPatterns = {
    UsualPattern{"gemma2", 2},  UsualPattern{"gemma3", 6},       UsualPattern{"gemma3_text", 6},
    UsualPattern{"gemma3n", 5}, UsualPattern{"gemma3n_text", 5}, UsualPattern{"cohere2", 4},
    UsualPattern{"gpt_oss", 2}, UsualPattern{"exaone4", 4},
};
// All layers have the window.
constexpr std::array<std::string_view, 6> kAllWindowed = {"mistral",    "mixtral", "phi3",
                                                          "starcoder2", "phimoe",  "ministral"};

void give_window(ModelLayers& layers, const std::function<bool(int)>& has_window) {
  for (std::size_t i = 0; i < layers.kinds.size(); ++i)
    if (layers.kinds[i] == Kind::kFull && has_window(static_cast<int>(i)))
      layers.kinds[i] = Kind::kWindow;
}

int pattern_of(ConfigFields& fields, const std::string& model) {
  for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"})
    if (fields.has(key)) return fields.number_or({key}, catalog::kMostLayers, 0);
  for (const UsualPattern& usual : kPatterns)
    if (usual.model == model) return usual.full_every;
  return 0;
}

void spread_window(ConfigFields& fields, const std::string& model, ModelLayers& layers) {
  // "LLLG": local and global
  if (const std::string letters = fields.text("sliding_window_pattern"); !letters.empty())
    return give_window(layers, [&](int i) {
      return letters[static_cast<std::size_t>(i) % letters.size()] == 'L';
    });
  if (const int every = pattern_of(fields, model); every > 0)
    return give_window(layers, [every](int i) { return (i + 1) % every != 0; });
  if (fields.has("max_window_layers")) {  // Qwen: from this one on
    const int first = fields.number_from("max_window_layers", 0, kMostTokens, 0);
    return give_window(layers, [first](int i) { return i >= first; });
  }
  if (std::find(kAllWindowed.begin(), kAllWindowed.end(), model) != kAllWindowed.end())
    return give_window(layers, [](int) { return true; });
  layers.open_window = layers.window;
}

void take_window(ConfigFields& fields, const std::string& model, ModelLayers& layers) {
  // Qwen's own default is off; other models have no such switch.
  const bool usual = !model.starts_with("qwen");
  if (!fields.has("sliding_window") || !fields.flag_or("use_sliding_window", usual)) return;
  layers.window = fields.number({"sliding_window"}, kMostTokens);
  if (!fields.list("layer_types").empty()) return;
  spread_window(fields, model, layers);
}

// Llama 4: a layer with rotary positions sees its chunk only.
void take_chunks(ConfigFields& fields, ModelLayers& layers) {
  if (!fields.has("attention_chunk_size")) return;
  layers.chunk = fields.number({"attention_chunk_size"}, kMostTokens);
  if (!fields.list("layer_types").empty()) return;
  constexpr int kUsualInterval = 4;
  const Json& rope = fields.list("no_rope_layers");
  const int every =
      fields.number_or({"no_rope_layer_interval"}, catalog::kMostLayers, kUsualInterval);
  if (every < 1) return;
  for (std::size_t i = 0; i < layers.kinds.size(); ++i) {
    const bool has_rope = i < rope.size() ? rope[i] == 1 : (static_cast<int>(i) + 1) % every != 0;
    if (layers.kinds[i] == Kind::kFull && has_rope) layers.kinds[i] = Kind::kChunk;
  }
}

// Gemma 3n: the last layers read the cache of earlier ones.
void drop_shared(ConfigFields& fields, ModelLayers& layers) {
  const int shared =
      fields.number_from("num_kv_shared_layers", 0, static_cast<int>(layers.kinds.size()), 0);
  std::fill(layers.kinds.end() - shared, layers.kinds.end(), Kind::kNone);
}

}  // namespace

int ModelLayers::count(LayerKind kind) const {
  return static_cast<int>(std::count(kinds.begin(), kinds.end(), kind));
}

ModelLayers read_model_layers(ConfigFields& fields, const std::string& model) {
  ModelLayers layers;
  const int all = fields.number({"num_hidden_layers", "n_layer", "n_layers", "num_layers"},
                                catalog::kMostLayers);
  layers.kinds.assign(static_cast<std::size_t>(all), Kind::kFull);
  take_kinds(fields, layers);
  take_window(fields, model, layers);
  take_chunks(fields, layers);
  if (fields.error()) return layers;
  drop_shared(fields, layers);
  if (layers.window == 0 && layers.count(Kind::kWindow) > 0)
    fields.fail("layers with a window, but no \"sliding_window\"");
  if (layers.chunk == 0 && layers.count(Kind::kChunk) > 0)
    fields.fail("layers with chunks, but no \"attention_chunk_size\"");
  return layers;
}

}  // namespace comm_probe::serving
