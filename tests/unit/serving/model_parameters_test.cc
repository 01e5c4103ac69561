// Parameters that a token is multiplied with, beside what model cards and reports print. The widths
// are those of the models' config.json on Hugging Face.
#include "serving/readers/model_parameters.h"

#include <gtest/gtest.h>

#include "serving/readers/model_config.h"

namespace comm_probe::serving {
namespace {

using core::Json;

Json dense(const char* type, int layers, int hidden, int heads, int groups, int width, int words) {
  return {
      {"model_type", type},           {"num_hidden_layers", layers},   {"hidden_size", hidden},
      {"num_attention_heads", heads}, {"num_key_value_heads", groups}, {"intermediate_size", width},
      {"vocab_size", words}};
}

double counted(const Json& config) {
  return active_parameters(config, config["model_type"].get<std::string>()) / 1e9;
}
// The table of embeddings, which a dense model's printed number has too.
double with_embeddings(const Json& config) {
  return counted(config) +
         config["vocab_size"].get<double>() * config["hidden_size"].get<double>() / 1e9;
}

Json with(Json config, const Json& more) {
  config.update(more);
  return config;
}

Json deepseek_v3() {
  return with(dense("deepseek_v3", 61, 7168, 128, 128, 18432, 129280),
              {{"q_lora_rank", 1536},
               {"kv_lora_rank", 512},
               {"qk_nope_head_dim", 128},
               {"qk_rope_head_dim", 64},
               {"v_head_dim", 128},
               {"moe_intermediate_size", 2048},
               {"n_routed_experts", 256},
               {"num_experts_per_tok", 8},
               {"n_shared_experts", 1},
               {"first_k_dense_replace", 3},
               {"moe_layer_freq", 1}});
}

// The numbers of safetensors that Hugging Face prints.
TEST(ModelParameters, DenseModelsAsPrinted) {
  EXPECT_NEAR(with_embeddings(dense("llama", 32, 4096, 32, 32, 11008, 32000)), 6.738, 0.001);
  EXPECT_NEAR(with_embeddings(dense("llama", 32, 4096, 32, 8, 14336, 128256)), 8.030, 0.001);
  EXPECT_NEAR(with_embeddings(dense("llama", 80, 8192, 64, 8, 28672, 128256)), 70.554, 0.002);
  EXPECT_NEAR(with_embeddings(dense("qwen2", 28, 3584, 28, 4, 18944, 152064)), 7.616, 0.001);
  const Json qwen3 = dense("qwen3", 64, 5120, 64, 8, 25600, 151936);
  EXPECT_NEAR(with_embeddings(with(qwen3, {{"head_dim", 128}})), 32.762, 0.001);
}

// Active parameters as the cards and reports of the models round them.
TEST(ModelParameters, ExpertsThatATokenPicks) {
  EXPECT_NEAR(counted(deepseek_v3()), 36.6, 0.05);
  EXPECT_NEAR(with_embeddings(deepseek_v3()), 37, 0.6);
  const Json kimi = with(deepseek_v3(), {{"model_type", "kimi_k2"},
                                         {"num_attention_heads", 64},
                                         {"n_routed_experts", 384},
                                         {"first_k_dense_replace", 1},
                                         {"vocab_size", 163840}});
  EXPECT_NEAR(counted(kimi), 32, 0.9);
  const Json oss = with(dense("gpt_oss", 36, 2880, 64, 8, 2880, 201088),
                        {{"head_dim", 64}, {"num_local_experts", 128}, {"num_experts_per_tok", 4}});
  EXPECT_NEAR(counted(oss), 5.13, 0.02);  // of the 120b, which counts no embeddings
  const Json qwen3 = with(dense("qwen3_moe", 94, 4096, 64, 4, 12288, 151936),
                          {{"head_dim", 128},
                           {"moe_intermediate_size", 1536},
                           {"num_experts", 128},
                           {"num_experts_per_tok", 8},
                           {"decoder_sparse_step", 1},
                           {"mlp_only_layers", Json::array()}});
  EXPECT_NEAR(with_embeddings(qwen3), 22, 0.3);
  const Json mixtral = with(dense("mixtral", 56, 6144, 48, 8, 16384, 32768),
                            {{"num_local_experts", 8}, {"num_experts_per_tok", 2}});
  EXPECT_NEAR(with_embeddings(mixtral), 39, 0.3);
}

// Other models, experts in some layers only, members that are missing or hostile: not known, and
// the rest of the file is read all the same.
TEST(ModelParameters, NotKnownIsZero) {
  const Json llama = dense("llama", 32, 4096, 32, 8, 14336, 128256);
  EXPECT_EQ(counted(with(llama, {{"model_type", "something_new"}})), 0);
  EXPECT_EQ(counted(with(deepseek_v3(), {{"moe_layer_freq", 2}})), 0);
  EXPECT_EQ(counted(with(deepseek_v3(), {{"mlp_only_layers", {1}}})), 0);
  for (const Json& wrong : {Json(nullptr), Json("wide"), Json(-1), Json(1e300), Json::array({1})}) {
    const Json config = with(llama, {{"intermediate_size", wrong}});
    EXPECT_EQ(counted(config), 0) << wrong;
    core::Input input = core::Input::from_memory("config.json", config.dump());
    const auto read = read_model_config(input);
    ASSERT_TRUE(read) << wrong;
    EXPECT_EQ(read->shape.active_millions, 0);
    EXPECT_FALSE(read->shape.is_counted);
  }
  const Json vast =
      with(dense("qwen3_moe", 10000, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 24),
           {{"head_dim", 1 << 20}, {"num_experts", 65536}, {"num_experts_per_tok", 65536}});
  core::Input input = core::Input::from_memory("config.json", vast.dump());
  const auto read = read_model_config(input);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->shape.active_millions, 0) << "beyond any model";
}

}  // namespace
}  // namespace comm_probe::serving
