#include "serving/readers/model_config.h"

#include <fmt/format.h>

#include <filesystem>
#include <initializer_list>
#include <optional>

#include "core/input.h"
#include "core/json.h"

namespace comm_probe::serving {
namespace {

using core::Json;

constexpr std::uint64_t kLargestConfig = 4 << 20;
constexpr const char* kExpected = "expected the config.json of a Hugging Face model";

// Reads numbers of one object and keeps the first thing that is wrong.
class ConfigFields {
 public:
  ConfigFields(const Json& object, std::string file) : object_(object), file_(std::move(file)) {}

  bool has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }
  // The first of the names that is there; 0 and an error where none is.
  int number(std::initializer_list<const char*> names, int most) {
    for (const char* name : names)
      if (has(name)) return checked(name, most);
    fail(fmt::format("no \"{}\"", *names.begin()), kExpected);
    return 0;
  }
  int number_or(std::initializer_list<const char*> names, int most, int otherwise) {
    for (const char* name : names)
      if (has(name)) return checked(name, most);
    return otherwise;
  }
  bool flag_or(const char* key, bool otherwise) const {
    return has(key) && object_[key].is_boolean() ? object_[key].get<bool>() : otherwise;
  }
  std::string text(const char* key) const {
    return has(key) && object_[key].is_string() ? object_[key].get<std::string>() : "";
  }
  // How many of the list under `key` are `word`; nothing without such a list.
  std::optional<int> count_of(const char* key, std::initializer_list<const char*> words) const {
    if (!has(key) || !object_[key].is_array()) return std::nullopt;
    int count = 0;
    for (const Json& item : object_[key])
      for (const char* word : words)
        if (item.is_string() && item.get_ref<const std::string&>() == word) ++count;
    return count;
  }
  void fail(std::string message, std::string hint = "") {
    if (error_) return;
    error_ = core::input_error(std::move(message), std::move(hint));
    error_->where = {.file = file_, .line = {}, .offset = {}};
  }
  const std::optional<core::Error>& error() const { return error_; }

 private:
  int checked(const char* name, int most) {
    const Json& value = object_[name];
    const double number = value.is_number() ? value.get<double>() : -1;
    if (number >= 1 && number <= most && number == static_cast<int>(number))
      return static_cast<int>(number);
    fail(fmt::format("\"{}\" is {}, expected a whole number from 1 to {}", name,
                     value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 40),
                     most));
    return 0;
  }

  const Json& object_;
  std::string file_;
  std::optional<core::Error> error_ = {};
};

core::Error at_file(const std::string& file, std::string message, std::string hint = "") {
  core::Error error = core::input_error(std::move(message), std::move(hint));
  error.where = {.file = file, .line = {}, .offset = {}};
  return error;
}

void read_heads(ConfigFields& fields, catalog::ModelShape& shape) {
  constexpr int kMost = catalog::kMostWidth;
  shape.hidden = fields.number({"hidden_size", "n_embd", "d_model"}, kMost);
  shape.heads = fields.number({"num_attention_heads", "n_head", "n_heads"}, kMost);
  if (fields.has("kv_lora_rank")) {
    shape.kv_lora_rank = fields.number({"kv_lora_rank"}, kMost);
    shape.rope_dim = fields.number({"qk_rope_head_dim"}, kMost);
    shape.kv_heads = 1;
    return;
  }
  const int usual = fields.flag_or("multi_query", false) ? 1 : shape.heads;
  shape.kv_heads = fields.number_or({"num_key_value_heads", "num_kv_heads"}, kMost, usual);
  const int head = shape.heads > 0 ? shape.hidden / shape.heads : 0;
  shape.head_dim = fields.number_or({"head_dim"}, kMost, head);
  if (shape.head_dim == 0 && !fields.error())
    fields.fail(fmt::format("\"hidden_size\" {} is smaller than \"num_attention_heads\" {}",
                            shape.hidden, shape.heads));
}

// Layers that keep a window only, and layers that cache nothing which grows.
void read_layers(ConfigFields& fields, ModelConfig& config) {
  catalog::ModelShape& shape = config.shape;
  shape.layers = fields.number({"num_hidden_layers", "n_layer", "n_layers"}, catalog::kMostLayers);
  config.other_layers = fields.count_of("layer_types", {"linear_attention", "mamba"}).value_or(0);
  shape.layers -= config.other_layers;
  if (shape.layers < 1 && !fields.error())
    fields.fail("\"layer_types\" leaves no layer with an attention cache");
  if (!fields.has("sliding_window") || !fields.flag_or("use_sliding_window", true)) return;
  // Gemma: every n-th layer sees everything.
  const int pattern = fields.number_or({"sliding_window_pattern"}, catalog::kMostLayers, 0);
  const int full = pattern > 0 ? shape.layers / pattern : 0;
  const auto listed = fields.count_of("layer_types", {"sliding_attention"});
  shape.window_layers = std::min(listed.value_or(shape.layers - full), shape.layers);
  if (shape.window_layers > 0) shape.window = fields.number({"sliding_window"}, 1 << 30);
}

core::Result<ModelConfig> config_of(const Json& document, const std::string& file) {
  const bool nested = document.contains("text_config") && document["text_config"].is_object();
  ConfigFields fields(nested ? document["text_config"] : document, file);
  ModelConfig config;
  config.path = file;
  read_layers(fields, config);
  read_heads(fields, config.shape);
  if (fields.error()) return *fields.error();
  config.type = fields.text(fields.has("torch_dtype") ? "torch_dtype" : "dtype");
  if (config.type.empty()) config.type = ConfigFields(document, file).text("torch_dtype");
  config.shape.name = fields.text("_name_or_path");
  if (config.shape.name.empty())
    config.shape.name = ConfigFields(document, file).text("model_type");
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
    core::Error error =
        at_file(input.name(), fmt::format("{} is no JSON document", core::describe_content(*text)),
                kExpected);
    if (const auto* where = dynamic_cast<const Json::parse_error*>(&fault))
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
