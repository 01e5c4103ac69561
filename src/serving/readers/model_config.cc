#include "serving/readers/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/input.h"
#include "core/json.h"
#include "serving/readers/config_fields.h"
#include "serving/readers/model_layers.h"
#include "serving/readers/model_parameters.h"

namespace comm_probe::serving {
namespace {

using core::Json;

constexpr std::uint64_t kLargestConfig = 4 << 20;
constexpr const char* kExpected = "expected the config.json of a Hugging Face model";

core::Error at_file(const std::string& file, std::string message, std::string hint = "") {
  core::Error error = core::input_error(std::move(message), std::move(hint));
  error.where = {.file = file, .line = {}, .offset = {}};
  return error;
}

// What the model's code takes where a nested text_config leaves the field out; a file of its own
// has them all.
struct UsualShape {
  std::string_view model;
  int heads, kv_heads, head_dim;  // 0: no value of its own
};
constexpr std::array kUsualShapes = {
    UsualShape{"gemma", 16, 16, 256},     UsualShape{"gemma2", 8, 4, 256},
    UsualShape{"gemma3_text", 8, 4, 256}, UsualShape{"gemma3n_text", 8, 2, 256},
    UsualShape{"mistral", 32, 8, 0},      UsualShape{"mixtral", 32, 8, 0},
    UsualShape{"qwen3", 0, 0, 128},       UsualShape{"llama", 0, 0, 0},
    UsualShape{"qwen2", 0, 0, 0},
};

const UsualShape* usual_shape(std::string_view model) {
  for (const UsualShape& usual : kUsualShapes)
    if (usual.model == model) return &usual;
  return nullptr;
}

// Members of the file: the part that is about text, the whole, and what attention says of itself.
struct Parts {
  ConfigFields& text;
  ConfigFields whole;
  ConfigFields attention;
  std::string model;  // model_type
  bool is_nested;
};

constexpr int kMostWidth = catalog::kMostWidth;

// Falcon, GPT BigCode: one head, unless it has Falcon's new decoder.
bool is_multi_query(const ConfigFields& fields) {
  return fields.flag_or("multi_query", false) && !fields.flag_or("new_decoder_architecture", false);
}

void read_kv_heads(Parts& parts, ModelConfig& config) {
  ConfigFields& fields = parts.text;
  catalog::ModelShape& shape = config.shape;
  const UsualShape* usual = usual_shape(parts.model);
  if (is_multi_query(fields)) {
    shape.kv_heads = 1;
  } else if (parts.attention.has("kv_n_heads")) {  // DBRX, MPT
    shape.kv_heads = fields.number_in(parts.attention, "kv_n_heads", kMostWidth);
  } else if (fields.flag_or("multi_query_attention", false)) {  // ChatGLM
    shape.kv_heads = fields.number({"multi_query_group_num"}, kMostWidth);
  } else if (fields.has("num_key_value_heads") || fields.has("num_kv_heads")) {
    shape.kv_heads = fields.number({"num_key_value_heads", "num_kv_heads"}, kMostWidth);
  } else {
    shape.kv_heads =
        usual && usual->kv_heads > 0 && parts.is_nested ? usual->kv_heads : shape.heads;
    if (!parts.is_nested || usual != nullptr) return;
    ConfigNote note{"\"text_config\" has no \"num_key_value_heads\": one for each head was taken"};
    note.otherwise = shape;
    note.otherwise->kv_heads = 1;
    config.notes.push_back(note);
  }
}

void read_heads(Parts& parts, ModelConfig& config) {
  ConfigFields& fields = parts.text;
  catalog::ModelShape& shape = config.shape;
  const UsualShape* usual = usual_shape(parts.model);
  const bool has_heads =
      fields.has("num_attention_heads") || fields.has("n_head") || fields.has("n_heads");
  if (!has_heads && fields.has("state_size"))  // Mamba: a state and no attention
    return fields.fail("no layer of it has an attention cache");
  shape.hidden = fields.number({"hidden_size", "n_embd", "d_model"}, kMostWidth);
  shape.heads = usual && usual->heads > 0 && parts.is_nested
                    ? fields.number_or({"num_attention_heads"}, kMostWidth, usual->heads)
                    : fields.number({"num_attention_heads", "n_head", "n_heads"}, kMostWidth);
  if (fields.has("kv_lora_rank")) {
    shape.kv_lora_rank = fields.number({"kv_lora_rank"}, kMostWidth);
    shape.rope_dim = fields.number({"qk_rope_head_dim"}, kMostWidth);
    shape.kv_heads = 1;
    return;
  }
  const int each = shape.heads > 0 ? shape.hidden / shape.heads : 0;
  shape.head_dim = fields.number_or({"head_dim", "kv_channels"}, kMostWidth,
                                    usual && usual->head_dim > 0 ? usual->head_dim : each);
  if (!fields.has("block_configs")) read_kv_heads(parts, config);
  if (shape.head_dim == 0 && !fields.error())
    fields.fail(fmt::format("\"hidden_size\" {} is smaller than \"num_attention_heads\" {}",
                            shape.hidden, shape.heads));
}

constexpr const char* kByHand =
    "give --layers, --kv-heads and --head-dim that come to the same bytes";

// Nemotron-NAS: heads by block; those of a block without attention do not count.
void read_block_heads(ConfigFields& fields, const ModelLayers& layers, ModelConfig& config) {
  int group = 0;
  for (std::size_t i = 0; i < layers.kinds.size() && !fields.error(); ++i) {
    if (layers.kinds[i] != LayerKind::kFull) continue;
    const ConfigFields its(fields.list("block_configs")[i]["attention"], fields.file());
    const int heads = fields.number_in(its, "n_heads_in_group", kMostWidth);
    if (group != 0 && group != heads)
      fields.fail("\"block_configs\" has layers of different KV heads, which is not read", kByHand);
    group = heads;
  }
  config.shape.kv_heads = group > 0 ? config.shape.heads / group : 0;
}

// Models whose layers, or whose K and V, are not alike: no number of theirs would be right.
void refuse_unlike(ConfigFields& fields, const catalog::ModelShape& shape) {
  if (shape.is_mla()) return;
  const std::pair<const char*, int> members[] = {{"swa_num_key_value_heads", shape.kv_heads},
                                                 {"num_global_key_value_heads", shape.kv_heads},
                                                 {"swa_head_dim", shape.head_dim},
                                                 {"global_head_dim", shape.head_dim},
                                                 {"v_head_dim", shape.head_dim},
                                                 {"swa_v_head_dim", shape.head_dim}};
  for (const auto& [key, usual] : members)
    if (fields.has(key) && fields.number({key}, kMostWidth) != usual)
      fields.fail(
          fmt::format("\"{}\" differs from the other layers' or from K's, which is not read", key),
          kByHand);
  if (fields.has("num_key_value_heads_per_layer"))
    fields.fail("\"num_key_value_heads_per_layer\" is not read", kByHand);
}

void note_layers(const Parts& parts, const ModelLayers& layers, ModelConfig& config) {
  const auto note = [&config](std::string text) -> ConfigNote& {
    config.notes.push_back({std::move(text)});
    return config.notes.back();
  };
  if (layers.open_window > 0) {
    catalog::ModelShape all = config.shape;
    all.window = layers.open_window;
    all.window_layers = all.layers;
    note(fmt::format("which layers of {} keep the last {} tokens only (\"sliding_window\") is not "
                     "said: none was taken to",
                     parts.model.empty() ? "the model" : parts.model, layers.open_window))
        .otherwise = all;
  }
  if (layers.count(LayerKind::kChunk) > 0) {
    catalog::ModelShape local = config.shape;
    local.window = layers.chunk;
    local.window_layers = layers.count(LayerKind::kChunk);
    note(fmt::format(
             "{} layers attend to a chunk of {} tokens only (\"attention_chunk_size\"): they "
             "are counted with all tokens, as vLLM keeps them with "
             "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE=0, the default of older releases",
             local.window_layers, layers.chunk))
        .otherwise = local;
  }
  if (!layers.strange.empty())
    note(fmt::format("a layer of kind '{}' is not known: it was taken as attention",
                     layers.strange));
  for (const char* prefix : {"mamba_", "ssm_", "linear_", "rwkv", "conv_L_cache"})
    if (!layers.is_said && parts.text.has_prefix(prefix)) {
      note(
          fmt::format("\"{}...\" speaks of layers with a state, but no list says which: all were "
                      "taken as attention, which is the most that they cache",
                      prefix));
      break;
    }
}

// DeepSeek-V3.2: in vLLM the keys of the indexer in FP8, a scale of 4 B for each 128.
void note_indexer(ConfigFields& fields, ModelConfig& config) {
  if (!fields.has("index_head_dim")) return;
  const int dim = fields.number({"index_head_dim"}, kMostWidth);
  constexpr int kScaled = 128, kScaleBytes = 4;
  ConfigNote note{
      fmt::format("the cache of its indexer (\"index_head_dim\" {}) is not counted", dim)};
  note.more_bytes = dim + dim / kScaled * kScaleBytes;
  config.notes.push_back(note);
}

void note_cross_layers(ConfigFields& fields, ModelConfig& config) {
  if (!fields.flag_or("use_cla", false)) return;
  const int factor = fields.number_or({"cla_share_factor"}, catalog::kMostLayers, 2);
  if (factor < 1) return;
  ConfigNote note{"layers that share the cache of another one (\"use_cla\") are counted"};
  note.otherwise = config.shape;
  note.otherwise->layers = (config.shape.layers + factor - 1) / factor;
  config.notes.push_back(note);
}

void note_quantization(const Parts& parts, ModelConfig& config) {
  for (const ConfigFields* each : {static_cast<const ConfigFields*>(&parts.text), &parts.whole}) {
    const Json* quantization = each->object("quantization_config");
    if (quantization == nullptr || !quantization->contains("kv_cache_scheme") ||
        (*quantization)["kv_cache_scheme"].is_null())
      continue;
    config.notes.push_back(
        {"its \"quantization_config\" has a type for the cache "
         "(\"kv_cache_scheme\"), which is not read: --dtype fp8 counts half"});
    return;
  }
}

// Models of which each field was compared with the model's code.
constexpr std::string_view kKnownModels[] = {"lfm2",
                                             "exaone4",
                                             "gemma3n",
                                             "llama",
                                             "mistral",
                                             "mixtral",
                                             "ministral",
                                             "qwen2",
                                             "qwen2_moe",
                                             "qwen3",
                                             "qwen3_moe",
                                             "qwen3_next",
                                             "gemma",
                                             "gemma2",
                                             "gemma3",
                                             "gemma3_text",
                                             "gemma3n_text",
                                             "gpt_oss",
                                             "deepseek_v2",
                                             "deepseek_v3",
                                             "deepseek_v32",
                                             "kimi_k2",
                                             "kimi_linear",
                                             "glm4",
                                             "glm4_moe",
                                             "chatglm",
                                             "phi3",
                                             "phimoe",
                                             "cohere",
                                             "cohere2",
                                             "jamba",
                                             "bamba",
                                             "nemotron_h",
                                             "nemotron-nas",
                                             "minimax",
                                             "minimax_text_01",
                                             "minimax_m2",
                                             "granitemoehybrid",
                                             "recurrent_gemma",
                                             "dbrx",
                                             "falcon",
                                             "gpt_bigcode",
                                             "starcoder2",
                                             "llama4_text",
                                             "gpt2",
                                             "gpt_neox",
                                             "opt"};

void note_unknown(const std::string& model, ModelConfig& config) {
  if (model.empty() ||
      std::find(std::begin(kKnownModels), std::end(kKnownModels), model) != std::end(kKnownModels))
    return;
  ConfigNote note{
      fmt::format("\"model_type\" {} is not one that was checked here: its members were "
                  "read as those of other models",
                  model)};
  note.is_limit = false;
  config.notes.push_back(note);
}

void take_layers(const ModelLayers& layers, ModelConfig& config) {
  catalog::ModelShape& shape = config.shape;
  config.state_layers = layers.count(LayerKind::kState);
  shape.window_layers = layers.count(LayerKind::kWindow);
  shape.window = shape.window_layers > 0 ? layers.window : 0;
  shape.layers =
      layers.count(LayerKind::kFull) + layers.count(LayerKind::kChunk) + shape.window_layers;
  config.other_layers = static_cast<int>(layers.kinds.size()) - shape.layers;
  if (layers.is_single) config.calls_per_layer = 1;
  if (layers.is_uneven) config.calls_per_layer = 0;
}

void take_parameters(const Json& text, const std::string& model, catalog::ModelShape& shape) {
  constexpr double kMillion = 1e6, kMostMillions = 1e8;
  const double millions = active_parameters(text, model) / kMillion;
  if (!(millions >= 1 && millions <= kMostMillions)) return;
  shape.active_millions = static_cast<int>(std::lround(millions));
  shape.is_counted = true;
}

std::string first_text(const Parts& parts, const char* key) {
  const std::string text = parts.text.text(key);
  return text.empty() ? parts.whole.text(key) : text;
}

core::Result<ModelConfig> config_of(const Json& document, const std::string& file) {
  static const Json kNothing = Json::object();
  const bool nested = document.contains("text_config") && document["text_config"].is_object();
  ConfigFields fields(nested ? document["text_config"] : document, file);
  const Json* attention = fields.object("attn_config");
  Parts parts{fields, ConfigFields(document, file),
              ConfigFields(attention == nullptr ? kNothing : *attention, file), "", nested};
  parts.model = first_text(parts, "model_type");
  ModelConfig config;
  config.path = file;
  const ModelLayers layers = read_model_layers(fields, parts.model);
  take_layers(layers, config);
  read_heads(parts, config);
  if (fields.has("block_configs")) read_block_heads(fields, layers, config);
  refuse_unlike(fields, config.shape);
  if (config.shape.layers < 1 || config.shape.kv_heads < 1)
    fields.fail("no layer of it has an attention cache");
  note_layers(parts, layers, config);
  note_indexer(fields, config);
  note_cross_layers(fields, config);
  if (fields.error()) return *fields.error();
  note_quantization(parts, config);
  note_unknown(parts.model, config);
  take_parameters(nested ? document["text_config"] : document, parts.model, config.shape);
  config.type = first_text(parts, "torch_dtype");
  if (config.type.empty()) config.type = first_text(parts, "dtype");
  config.shape.name = fields.text("_name_or_path");
  if (config.shape.name.empty()) config.shape.name = parts.whole.text("model_type");
  if (config.shape.name.empty()) config.shape.name = "the model";
  config.shape.source = file;
  return config;
}

}  // namespace

core::Result<ModelConfig> read_model_config(core::Input& input) {
  const auto text = input.read_all(kLargestConfig);
  if (!text) return text.error();
  Json document;
  try {
    document = Json::parse(*text);
  } catch (const Json::exception& fault) {
    const std::string found = core::describe_content(*text);
    core::Error error = at_file(
        input.name(),
        found == "JSON" ? "its JSON is cut or broken" : found + " is no JSON document", kExpected);
    if (const auto* where = dynamic_cast<const Json::parse_error*>(&fault); where && !text->empty())
      error.where.offset = where->byte;
    return error;
  }
  if (!document.is_object())
    return at_file(input.name(),
                   fmt::format("the JSON document is no object but {}", document.type_name()),
                   kExpected);
  return config_of(document, input.name());
}

core::Result<ModelConfig> read_model_config(const std::string& path) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  auto input =
      core::Input::open(is_folder ? (std::filesystem::path(path) / "config.json").string() : path);
  if (!input) return input.error();
  return read_model_config(*input);
}

}  // namespace comm_probe::serving
