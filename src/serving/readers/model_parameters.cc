#include "serving/readers/model_parameters.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "catalog/model_shape.h"
#include "serving/readers/config_fields.h"

namespace comm_probe::serving {
namespace {

constexpr int kMostWidth = catalog::kMostWidth;
constexpr int kMostWords = 1 << 24;
constexpr int kMostExperts = 1 << 16;

// Gated MLP (three matrices) in every layer, or experts of three matrices.
constexpr std::string_view kDense[] = {"llama", "mistral", "qwen2",  "qwen3",
                                       "phi3",  "gemma",   "gemma2", "gemma3_text"};
constexpr std::string_view kExperts[] = {"mixtral",     "qwen3_moe",    "gpt_oss", "deepseek_v2",
                                         "deepseek_v3", "deepseek_v32", "kimi_k2"};

template <std::size_t N>
bool is_among(const std::string_view (&names)[N], const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// What a file of this kind must have; the first that is missing makes the whole unknown.
class Members {
 public:
  explicit Members(const core::Json& text) : fields_(text, "") {}
  double of(std::initializer_list<const char*> names, int most = kMostWidth) {
    return fields_.number(names, most);
  }
  double or_else(const char* name, double otherwise) {
    return fields_.has(name) ? fields_.number({name}, kMostWidth) : otherwise;
  }
  // 0 and null count as absent.
  double or_none(const char* name, int most) { return fields_.number_from(name, 0, most, 0); }
  bool has(const char* name) const { return fields_.has(name); }
  bool has_list(const char* name) const { return !fields_.list(name).empty(); }
  bool is_whole() const { return !fields_.error(); }

 private:
  ConfigFields fields_;
};

double latent_attention(Members& members, double hidden, double heads) {
  const double rank = members.of({"kv_lora_rank"}), rope = members.of({"qk_rope_head_dim"});
  const double plain = members.of({"qk_nope_head_dim"}), value = members.of({"v_head_dim"});
  const double query_rank = members.or_none("q_lora_rank", kMostWidth);
  const double query = heads * (plain + rope);
  const double queries = query_rank > 0 ? hidden * query_rank + query_rank * query : hidden * query;
  return queries + hidden * (rank + rope) + rank * heads * (plain + value) + heads * value * hidden;
}

double attention(Members& members, double hidden) {
  const double heads = members.of({"num_attention_heads"});
  if (members.has("kv_lora_rank")) return latent_attention(members, hidden, heads);
  const double groups = members.or_else("num_key_value_heads", heads);
  const double each = members.or_else("head_dim", heads > 0 ? hidden / heads : 0);
  return 2 * hidden * each * (heads + groups);
}

// Of a layer with experts: those that a token picks, those that all tokens meet, the router.
double experts(Members& members, double hidden) {
  const double width = members.of(
      {members.has("moe_intermediate_size") ? "moe_intermediate_size" : "intermediate_size"});
  const double picked = members.of({"num_experts_per_tok"}, kMostExperts);
  const double shared = members.or_none("n_shared_experts", kMostExperts);
  const double all =
      members.of({"num_local_experts", "num_experts", "n_routed_experts"}, kMostExperts);
  return 3 * hidden * width * (picked + shared) + hidden * all;
}

// Layers that have experts only now and then, or by a list, are not counted here.
bool is_regular(Members& members) {
  return members.or_else("decoder_sparse_step", 1) == 1 &&
         members.or_else("moe_layer_freq", 1) == 1 && !members.has_list("mlp_only_layers");
}

double layers_of(Members& members, double hidden, bool has_experts) {
  const double layers = members.of({"num_hidden_layers"}, catalog::kMostLayers);
  const double first_dense =
      has_experts ? members.or_none("first_k_dense_replace", catalog::kMostLayers) : layers;
  const double dense = std::min(layers, first_dense);
  double all = layers * attention(members, hidden);
  if (dense > 0) all += dense * 3 * hidden * members.of({"intermediate_size"});
  if (dense < layers) all += (layers - dense) * experts(members, hidden);
  return all;
}

}  // namespace

double active_parameters(const core::Json& text, const std::string& model) {
  const bool has_experts = is_among(kExperts, model);
  if (!has_experts && !is_among(kDense, model)) return 0;
  Members members(text);
  if (has_experts && !is_regular(members)) return 0;
  const double hidden = members.of({"hidden_size"});
  const double all =
      layers_of(members, hidden, has_experts) + members.of({"vocab_size"}, kMostWords) * hidden;
  return members.is_whole() ? all : 0;
}

}  // namespace comm_probe::serving
