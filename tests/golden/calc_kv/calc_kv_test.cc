// `calc kv` as a user calls it: catalog models, typed shapes, config.json files from anywhere.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;

json result_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"calc", "kv", "--json"});
  const BinaryRun run = run_binary(arguments);
  EXPECT_EQ(run.status, 0) << run;
  return run.status == 0 ? json::parse(run.out)["result"] : json();
}

// Golden G7-14 to G7-18, as the contract's command.
TEST(CalcKv, LlamaOfTheDocument) {
  const json result =
      result_of({"--model", "llama-3-70b", "--tokens", "4096", "--tp", "8", "--nic", "400Gb/s"});
  EXPECT_EQ(result["bytes_per_token"], 327680);
  EXPECT_EQ(result["bytes_per_token_and_layer"], 4096);
  EXPECT_EQ(result["bytes_per_request"], 1342177280);
  EXPECT_EQ(result["bytes_per_rank"], 167772160);
  EXPECT_NEAR(result["transfer"]["bandwidth_us"], 3355.4432, 1e-3);
  EXPECT_EQ(result["transfer"]["basis"], "assumed");
  EXPECT_EQ(result["transfer"]["source"], "given on the command line");
  EXPECT_EQ(result["model"]["basis"], "catalog");
}

TEST(CalcKv, TypedShapeIsTheSame) {
  const json typed = result_of({"--layers", "80", "--kv-heads", "8", "--head-dim", "128", "--dtype",
                                "bf16", "--tokens", "4096", "--tp", "8", "--nic", "50GB/s"});
  EXPECT_EQ(typed["bytes_per_rank"], 167772160);
  EXPECT_EQ(typed["model"]["basis"], "assumed");
  EXPECT_TRUE(typed["model"]["attention"].is_null());
}

// Terms add up, and every time says who knows it.
TEST(CalcKv, TimeIsTheSumOfItsTerms) {
  const json transfer = result_of({"--model", "deepseek-v3", "--tp", "8", "--decode-tp", "16",
                                   "--nic", "NDR", "--gpu", "H100"})["transfer"];
  double sum = 0;
  for (const json& term : transfer["terms"]) sum += term["time_us"].get<double>();
  EXPECT_NEAR(transfer["time_us"], sum, 1e-6 * sum);
  EXPECT_EQ(transfer["path"], "rdma-gdr");
}

// paths-ledger.md: an H100 with NDR reaches 49.7 GB/s straight, 30.7 through host memory.
TEST(CalcKv, ThroughHostMemoryIsSlower) {
  const std::vector<std::string> base = {"--model", "llama-3-70b", "--tp",  "8",
                                         "--nic",   "NDR",         "--gpu", "H100"};
  const json direct = result_of(base);
  auto staged_arguments = base;
  staged_arguments.insert(staged_arguments.end(), {"--path", "rdma"});
  const json staged = result_of(staged_arguments);
  EXPECT_NEAR(direct["transfer"]["rate_GBps"], 49.7, 0.05);
  EXPECT_NEAR(staged["transfer"]["rate_GBps"], 30.7, 0.05);
  EXPECT_EQ(direct["paths"].size(), 4u);
}

// kv-transfer.md 1: under pipeline parallelism a rank has its layers only. 80 layers on 2 stages
// halve everything, on 3 the fullest has 27.
TEST(CalcKv, PipelineStagesHoldTheirLayers) {
  const std::vector<std::string> base = {"--model", "llama-3-70b", "--tp", "8", "--nic", "50GB/s"};
  const auto with = [&](const char* pp) {
    auto words = base;
    words.insert(words.end(), {"--pp", pp});
    return result_of(words);
  };
  const json one = result_of(base), two = with("2"), three = with("3");
  EXPECT_EQ(one["bytes_per_rank"], 167772160);
  EXPECT_EQ(two["bytes_per_rank"], 167772160 / 2);
  EXPECT_EQ(two["bytes_per_request"], one["bytes_per_request"]);
  EXPECT_NEAR(two["transfer"]["bandwidth_us"], 3355.4432 / 2, 1e-3);
  EXPECT_EQ(two["move"]["descriptors"], one["move"]["descriptors"].get<int>() / 2);
  EXPECT_EQ(three["layers_per_stage"], 27);
  EXPECT_EQ(three["bytes_per_rank"], 167772160 / 80 * 27);
  for (const char* pp : {"0", "81", "-1"}) {
    auto words = base;
    words.insert(words.begin(), {"calc", "kv"});
    words.insert(words.end(), {"--pp", pp});
    EXPECT_EQ(run_binary(words).status, 2) << pp;
  }
}

// The prompt would be computed again by the decode side: 8 GPUs do a token in 37.0 us, 4
// in 74.1: 35.7 for 2 x 70.6 G parameters and, over 4096 tokens, 1.36 for attention (half of 989
// TFLOPS each).
TEST(CalcKv, BreakEvenIsOfTheDecodeSide) {
  const auto against = [](const char* tp, const char* decode_tp) {
    return result_of({"--model", "llama-3-70b", "--tp", tp, "--decode-tp", decode_tp, "--gpu",
                      "H100", "--nic", "NDR"})["against"];
  };
  const json more = against("4", "8"), fewer = against("8", "4");
  EXPECT_NEAR(more["prefill_us_per_token"]["value"], 74.05, 0.01);
  EXPECT_NEAR(more["recompute_us_per_token"]["value"], 37.03, 0.01);
  EXPECT_NEAR(more["prefill_attention_us"], 2 * 5560.06, 0.1);
  // a token moves in 36.65 us, in blocks of 16: 3713 tokens are moved as 3728, 400 + 36.6496 x 3728
  // = 137030 us against 35.669 x 3713 + 3.3133e-4 x 3713 x 3714 = 137008; 3714 take 137046
  EXPECT_EQ(more["break_even_tokens"], 3714);
  EXPECT_NEAR(fewer["recompute_us_per_token"]["value"], 74.05, 0.01);
}

// One pass of Llama-3.1-405B reads 2 x 406 G bytes over 8 x 3.35 TB/s: 30.3 ms, however short the
// prompt; moving the cache of a few tokens takes less, so it pays from the first one on.
TEST(CalcKv, NoPassIsShorterThanItsWeights) {
  const json result = result_of({"--model", "llama-3.1-405b", "--tokens", "7", "--tp", "8", "--nic",
                                 "50GB/s", "--gpu", "H100"})["against"];
  EXPECT_NEAR(result["prefill_us"].get<double>() / 1e3, 2 * 406 / (8 * 3.35), 0.3);
  EXPECT_EQ(result["break_even_tokens"], 1);
  const json longer = result_of({"--model", "llama-3.1-405b", "--tokens", "8192", "--tp", "8",
                                 "--nic", "50GB/s", "--gpu", "H100"})["against"];
  EXPECT_GT(longer["prefill_us"], 1e6);  // bound by arithmetic
}

// What fits does not depend on the prompt that was asked for, and comes in whole blocks.
TEST(CalcKv, WhatFitsIntoAStepIsInWholeBlocks) {
  for (const char* tokens : {"1", "17", "4096"}) {
    const json result =
        result_of({"--model", "llama-3-70b", "--tp", "8", "--nic", "NDR", "--tokens", tokens});
    EXPECT_EQ(result["against"]["tokens_in_decode_step"], 544) << tokens;
  }
  EXPECT_EQ(result_of({"--model", "llama-3-70b", "--tp", "8", "--nic", "NDR", "--block",
                       "1000000"})["against"]["tokens_in_decode_step"],
            0);
}

// 16 ranks of 8 heads: two read the same ones, so that 2.5 GiB cross the network.
TEST(CalcKv, HeadsThatAreReplicatedCrossTwice) {
  const BinaryRun run =
      run_binary({"calc", "kv", "--model", "llama-3-70b", "--tp", "16", "--nic", "NDR"});
  EXPECT_NE(run.out.find("\nmoved "), std::string::npos) << run;
  EXPECT_EQ(result_of({"--model", "llama-3-70b", "--tp", "16", "--nic", "NDR"})["move"]["copies"],
            2);
}

// In the text too: a constant of the model never stands without its source.
TEST(CalcKv, ConstantsInTheTextSayWhoKnowsThem) {
  const BinaryRun run =
      run_binary({"calc", "kv", "--model", "llama-3-70b", "--tp", "8", "--nic", "NDR"});
  for (const char* row : {"posting ", "fixed ", "decode step ", "registration "}) {
    const auto lines = lines_of(run.out);
    const auto begin = std::find_if(lines.begin(), lines.end(), [row](const std::string& line) {
      return line.starts_with(row);
    });
    ASSERT_NE(begin, lines.end()) << row << run;
    std::string text = *begin;  // and what is wrapped under it
    for (auto line = begin + 1; line != lines.end() && line->starts_with("  "); ++line)
      text += *line;
    EXPECT_NE(text.find("assumed"), std::string::npos) << text;
  }
  const json transfer =
      result_of({"--model", "llama-3-70b", "--tp", "8", "--nic", "NDR"})["transfer"];
  for (const json& term : transfer["terms"])
    EXPECT_FALSE(term["source"].get<std::string>().empty()) << term;
}

TEST(CalcKv, PromptIsComputedAgainOrMoved) {
  const json moved = result_of({"--model", "llama-3-70b", "--tp", "8", "--nic", "NDR", "--merge",
                                "160", "--prefill-rate", "20000"})["against"];
  // 50 us a token to compute; 40960 B / 50 GB/s + 2 x 80 / 16 / 160 descriptors x 3.5 us to move
  EXPECT_NEAR(moved["prefill_us_per_token"]["value"], 50, 1e-9);
  EXPECT_NEAR(moved["move_us_per_token"], 0.8192 + 0.21875, 1e-3);
  EXPECT_EQ(moved["break_even_tokens"], 9);
  const json never = result_of(
      {"--model", "llama-3-70b", "--tp", "8", "--nic", "NDR", "--prefill-rate", "1e8"})["against"];
  EXPECT_TRUE(never["break_even_tokens"].is_null());
}

// nccl-2-paths.md: consumer GPUs report no GPUDirect RDMA. Their caches go through host memory, and
// nobody can ask for the other way.
TEST(CalcKv, ConsumerGpusHaveNoGpuDirect) {
  const std::vector<std::string> base = {"--model", "llama-3-70b", "--tokens", "100",  "--tp",
                                         "8",       "--nic",       "NDR",      "--gpu"};
  for (const char* gpu : {"RTX-4090", "RTX-3090"}) {
    auto words = base;
    words.push_back(gpu);
    const json result = result_of(words);
    EXPECT_EQ(result["transfer"]["path"], "rdma") << gpu;
    for (const json& path : result["paths"])
      EXPECT_FALSE(path["path"].get<std::string>().starts_with("rdma-gdr")) << path;
    words.insert(words.begin(), {"calc", "kv"});
    words.insert(words.end(), {"--path", "rdma-gdr"});
    const BinaryRun run = run_binary(words);
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_NE(run.err.find("no GPUDirect RDMA"), std::string::npos) << run;
  }
  auto words = base;
  words.push_back("H100");
  EXPECT_EQ(result_of(words)["transfer"]["path"], "rdma-gdr");
}

// A GPU was named: what is missing is something else, and that is said.
TEST(CalcKv, WhyThereIsNoPrefill) {
  const BinaryRun run = run_binary({"calc", "kv", "--layers", "80", "--kv-heads", "8", "--head-dim",
                                    "128", "--tp", "8", "--nic", "NDR", "--gpu", "H100"});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(run.out.find("or --gpu"), std::string::npos) << run;
  EXPECT_NE(run.out.find("parameters"), std::string::npos) << run;
  EXPECT_NE(run.out.find("--prefill-rate"), std::string::npos) << run;
}

// A block of one stage has K and V of its layers, 27 of 80 on three stages; the layers with a
// window (18 of the 36 of gpt-oss, 128 tokens) have blocks of their own: 9 beside the 256.
TEST(CalcKv, BlocksAreMergedInsideAStageAndAGroup) {
  const BinaryRun stage = run_binary(
      {"calc", "kv", "--model", "llama-3-70b", "--tp", "8", "--pp", "3", "--nic", "NDR"});
  EXPECT_NE(stage.out.find("(--merge 54)"), std::string::npos) << stage;
  const std::vector<std::string> gpt = {"--model", "gpt-oss-120b", "--tp",   "8",
                                        "--nic",   "NDR",          "--merge"};
  for (const char* merge : {"36", "72", "1000"}) {
    auto words = gpt;
    words.push_back(merge);
    EXPECT_EQ(result_of(words)["move"]["descriptors"], 265) << merge;
  }
  EXPECT_EQ(result_of({"--model", "llama-3-70b", "--tp", "8", "--pp", "3", "--nic", "NDR",
                       "--merge", "160"})["move"]["descriptors"],
            256);
}

class ConfigFolder : public testing::Test {
 protected:
  std::string folder() const { return testing::TempDir() + "/model"; }
  void write(const std::string& text) const {
    std::filesystem::create_directories(folder());
    std::ofstream(folder() + "/config.json", std::ios::binary) << text;
  }
  std::string error_of(const std::string& text) const {
    write(text);
    const BinaryRun run = run_binary({"calc", "kv", "--config", folder()});
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run;
    EXPECT_TRUE(run.out.empty()) << run;
    return run.err;
  }
};

TEST_F(ConfigFolder, SaysTheShape) {
  write(R"({"model_type": "llama", "num_hidden_layers": 80, "hidden_size": 8192,
            "num_attention_heads": 64, "num_key_value_heads": 8, "torch_dtype": "bfloat16"})");
  const json result = result_of({"--config", folder(), "--tp", "8"});
  EXPECT_EQ(result["bytes_per_token"], 327680);
  EXPECT_EQ(result["model"]["basis"], "read");
  EXPECT_EQ(result["dtype"], "bfloat16");
  EXPECT_EQ(result_of({"--config", folder() + "/config.json", "--dtype", "fp8"})["bytes_per_token"],
            163840);
}

TEST_F(ConfigFolder, AStateIsNoCache) {
  EXPECT_NE(error_of(R"({"model_type": "mamba2", "num_hidden_layers": 64, "hidden_size": 2560,
                         "state_size": 128})")
                .find("no layer of it has an attention cache"),
            std::string::npos);
}

TEST_F(ConfigFolder, MlaAndNestedAndWindows) {
  write(R"({"text_config": {"num_hidden_layers": 61, "hidden_size": 7168,
            "num_attention_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64}})");
  EXPECT_EQ(result_of({"--config", folder()})["bytes_per_token"], 70272);
  write(R"({"num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 2, "head_dim": 64,
            "num_key_value_heads": 2, "sliding_window": 128, "layer_types":
            ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]})");
  const json result = result_of({"--config", folder()});
  EXPECT_EQ(result["model"]["window_layers"], 2);
  EXPECT_EQ(result["model"]["window"], 128);
  write(R"({"num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28,
            "num_key_value_heads": 4, "sliding_window": 131072, "use_sliding_window": false})");
  EXPECT_FALSE(result_of({"--config", folder()})["model"].contains("window"));
  write(R"({"n_layer": 12, "n_head": 12, "n_embd": 768})");
  EXPECT_EQ(result_of({"--config", folder()})["model"]["attention"], "MHA");
}

TEST_F(ConfigFolder, LayersWithAStateAreSaid) {
  write(R"({"num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 2,
            "layer_types": ["linear_attention", "linear_attention", "linear_attention",
            "full_attention"]})");
  const BinaryRun run = run_binary({"calc", "kv", "--config", folder(), "--json"});
  EXPECT_EQ(run.status, 0) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(document["result"]["model"]["layers"], 1);
  EXPECT_EQ(document["caveats"][0]["id"], "calc.kv-state-layers");
}

// Each model says in its own way which layers cache, which keep a window, and with how many heads.
// Figures: the models' own code.
TEST_F(ConfigFolder, EveryModelSaysItInItsOwnWay) {
  struct Case {
    const char* config;
    int layers, window_layers, kv_heads;
  };
  const std::string common = R"("hidden_size": 4096, "num_attention_heads": 32, )";
  const Case cases[] = {
      {R"("model_type": "gemma2", "num_hidden_layers": 46, "num_key_value_heads": 16,
          "head_dim": 128, "sliding_window": 4096)",
       46, 23, 16},
      {R"("model_type": "gemma3_text", "num_hidden_layers": 62, "num_key_value_heads": 16,
          "sliding_window": 1024)",
       62, 52, 16},
      {R"("model_type": "qwen2", "num_hidden_layers": 28, "num_key_value_heads": 4,
          "sliding_window": 4096, "use_sliding_window": true, "max_window_layers": 21)",
       28, 7, 4},
      {R"("model_type": "mistral", "num_hidden_layers": 32, "num_key_value_heads": 8,
          "sliding_window": 4096)",
       32, 32, 8},
      {R"("model_type": "jamba", "num_hidden_layers": 32, "num_key_value_heads": 8,
          "attn_layer_period": 8, "attn_layer_offset": 4)",
       4, 0, 8},
      {R"("model_type": "qwen3_next", "num_hidden_layers": 48, "num_key_value_heads": 2,
          "full_attention_interval": 4)",
       12, 0, 2},
      {R"("model_type": "nemotron_h", "num_hidden_layers": 10, "num_key_value_heads": 8,
          "hybrid_override_pattern": "M-M*-M-M*-")",
       2, 0, 8},
      {R"("model_type": "minimax_text_01", "num_hidden_layers": 8, "num_key_value_heads": 8,
          "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1])",
       1, 0, 8},
      {R"("model_type": "kimi_linear", "num_hidden_layers": 27, "num_key_value_heads": 8,
          "linear_attn_config": {"full_attn_layers": [4, 8, 12, 16, 20, 24, 27]})",
       7, 0, 8},
      {R"("model_type": "dbrx", "n_layers": 40, "n_heads": 48, "d_model": 6144,
          "attn_config": {"kv_n_heads": 8})",
       40, 0, 8},
      {R"("model_type": "falcon", "num_hidden_layers": 32, "multi_query": true,
          "new_decoder_architecture": false, "num_kv_heads": 71)",
       32, 0, 1},
      {R"("model_type": "falcon", "num_hidden_layers": 60, "multi_query": true,
          "new_decoder_architecture": true, "num_kv_heads": 8)",
       60, 0, 8},
      {R"("model_type": "nemotron-nas", "num_hidden_layers": 3, "num_key_value_heads": null,
          "block_configs": [{"attention": {"n_heads_in_group": 8}}, {"attention": {"no_op": true}},
          {"attention": {"n_heads_in_group": 8}}])",
       2, 0, 4},
  };
  for (const Case& one : cases) {
    const bool is_dbrx = std::string(one.config).find("d_model") != std::string::npos;
    write("{" + (is_dbrx ? std::string() : common) + one.config + "}");
    const json model = result_of({"--config", folder()})["model"];
    EXPECT_EQ(model["layers"], one.layers) << one.config;
    EXPECT_EQ(model.value("window_layers", 0), one.window_layers) << one.config;
    EXPECT_EQ(model["kv_heads"], one.kv_heads) << one.config;
  }
}

TEST_F(ConfigFolder, LayersByListsAndRules) {
  struct Case {
    const char* config;
    int layers, window_layers;
  };
  // LFM2, Bamba: indices; Exaone 4: "LLLG"; RecurrentGemma: a pattern, all attention has the
  // window; Gemma 3n: the last layers share; Qwen without a word has no window
  const Case cases[] = {
      {R"("model_type": "lfm2", "full_attn_idxs": [2, 5])", 2, 0},
      {R"("model_type": "bamba", "attn_layer_indices": [7])", 1, 0},
      {R"("model_type": "exaone4", "sliding_window": 4096, "sliding_window_pattern": "LLLG")", 8,
       6},
      {R"("model_type": "cohere2", "sliding_window": 4096, "sliding_window_pattern": 4)", 8, 6},
      {R"("model_type": "gemma3_text", "sliding_window": 512, "_sliding_window_pattern": 6)", 8, 7},
      {R"("model_type": "recurrent_gemma", "attention_window_size": 2048,
          "block_types": ["recurrent", "recurrent", "attention"])",
       2, 2},
      {R"("model_type": "gemma3n_text", "sliding_window": 512, "num_kv_shared_layers": 3,
          "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention",
          "sliding_attention", "full_attention", "sliding_attention", "sliding_attention",
          "full_attention"])",
       5, 4},
      {R"("model_type": "qwen2", "sliding_window": 4096, "max_window_layers": 4)", 8, 0},
      {R"("model_type": "nemotron_h", "layers_block_type": ["mamba", "moe", "attention", "mlp",
          "mamba", "moe", "attention", "moe"])",
       2, 0},
  };
  for (const Case& one : cases) {
    write(R"({"hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
              "num_hidden_layers": 8, )" +
          std::string(one.config) + "}");
    const json model = result_of({"--config", folder()})["model"];
    EXPECT_EQ(model["layers"], one.layers) << one.config;
    EXPECT_EQ(model.value("window_layers", 0), one.window_layers) << one.config;
  }
}

// gemma-3-4b-it: its text_config leaves out what is the default of the code: 34 layers, 4 KV heads
// of 256, 136 KiB per token.
TEST_F(ConfigFolder, ANestedFileLeavesDefaultsOut) {
  write(R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
            "hidden_size": 2560, "num_hidden_layers": 34, "sliding_window": 1024}})");
  const json result = result_of({"--config", folder()});
  EXPECT_EQ(result["bytes_per_token"], 136 * 1024);
  EXPECT_EQ(result["model"]["window_layers"], 29);
}

// What the file leaves open is said, with both ends of the range, and the status with it. 4096
// tokens of 8 layers of 8 heads of 128: 128 MiB.
TEST_F(ConfigFolder, WhatIsNotCountedIsSaid) {
  const std::string common = R"({"num_hidden_layers": 8, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 8, )";
  const auto caveat = [this](const std::string& text) {
    write(text);
    const BinaryRun run = run_binary({"calc", "kv", "--config", folder(), "--json"});
    EXPECT_EQ(run.status, 5) << text << run;
    const json document = json::parse(run.out);
    for (const json& each : document["caveats"])
      if (each["id"] == "calc.kv-config-assumed") return each.dump();
    return std::string();
  };
  const std::pair<const char*, const char*> open[] = {
      // 8 x (128 / 16 + 1) blocks of 64 KiB
      {R"("model_type": "new", "sliding_window": 128)", "128 MiB here, 4.5 MiB"},
      // 132 B per token and layer
      {R"("index_head_dim": 128)", "128 MiB here, 132.1 MiB"},
      {R"("use_cla": true, "cla_share_factor": 2)", "128 MiB here, 64 MiB"},
      // every fourth layer keeps all, six 65 blocks
      {R"("attention_chunk_size": 1024)", "128 MiB here, 56.38 MiB"},
      {R"("mamba_d_state": 16)", "the most that they cache"},
      {R"("layer_types": ["attention", "x", "x", "x", "x", "x", "x", "x"])", "kind 'x'"},
      {R"("quantization_config": {"kv_cache_scheme": {"num_bits": 8}})", "--dtype fp8"}};
  for (const auto& [config, expected] : open) {
    const std::string said = caveat(common + config + "}");
    EXPECT_NE(said.find(expected), std::string::npos) << config << "\n" << said;
  }
  EXPECT_NE(caveat(R"({"text_config": {"num_hidden_layers": 8, "hidden_size": 4096,
                       "num_attention_heads": 32}})")
                .find("512 MiB here, 16 MiB"),
            std::string::npos);
}

TEST_F(ConfigFolder, WhatIsOnlySaidHasNoStatus) {
  write(R"({"model_type": "llama", "num_hidden_layers": 80, "hidden_size": 8192,
            "num_attention_heads": 64, "num_key_value_heads": 8, "torch_dtype": "float32"})");
  EXPECT_EQ(result_of({"--config", folder()})["bytes_per_token"], 327680) << "served in 16 bit";
  EXPECT_EQ(result_of({"--config", folder(), "--dtype", "fp32"})["bytes_per_token"], 655360);
  write(R"({"model_type": "brandnew", "num_hidden_layers": 80, "hidden_size": 8192,
            "num_attention_heads": 64, "num_key_value_heads": 8})");
  const BinaryRun run = run_binary({"calc", "kv", "--config", folder()});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_NE(run.out.find("brandnew"), std::string::npos) << run;
}

// Where no one number would be right there is none.
TEST_F(ConfigFolder, LayersThatAreNotAlikeAreRefused) {
  const std::string common = R"({"num_hidden_layers": 8, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, )";
  for (const char* unlike :
       {R"("swa_num_key_value_heads": 4)", R"("global_head_dim": 512)", R"("v_head_dim": 64)",
        R"("num_key_value_heads_per_layer": [8, 4])", R"("num_global_key_value_heads": 2)"})
    EXPECT_NE(error_of(common + unlike + "}").find("not read"), std::string::npos) << unlike;
  write(common + R"("v_head_dim": 128})");
  EXPECT_EQ(result_of({"--config", folder()})["model"]["layers"], 8);
}

TEST_F(ConfigFolder, RulesThatCannotBe) {
  const std::string common = R"({"num_hidden_layers": 8, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 8, )";
  for (const char* broken :
       {R"("block_configs": [{"attention": {"n_heads_in_group": "x"}}])",
        R"("block_configs": [1, 2, 3, 4, 5, 6, 7, {"attention": 2}])",
        R"("block_configs": [1, 2, 3, 4, 5, 6, {"attention": {"n_heads_in_group": 8}},
           {"attention": {"n_heads_in_group": 4}}])",
        R"("attn_layer_period": 8, "attn_layer_offset": -1)",
        R"("attn_layer_period": 8, "attn_layer_offset": 9)", R"("attn_layer_period": 0)",
        R"("full_attention_interval": "x")", R"("full_attention_interval": 100)",
        R"("attention_chunk_size": 64, "no_rope_layer_interval": 0)", R"("attn_type_list": [0, 0])",
        R"("hybrid_override_pattern": "MMMM")", R"("hybrid_override_pattern": "MMMMMMMM")",
        R"("layer_types": ["full_attention"])", R"("num_kv_shared_layers": 9)",
        R"("num_kv_shared_layers": 8)", R"("sliding_window": 0, "model_type": "mistral")",
        R"("attn_config": {"kv_n_heads": "all"})"})
    error_of(common + broken + "}");
}

// Whatever comes as config.json ends with one line that names file and fault.
TEST_F(ConfigFolder, HostileFiles) {
  EXPECT_NE(error_of("").find("an empty file"), std::string::npos);
  EXPECT_NE(error_of("{\"num_hidden_layers\": 8").find("cut or broken"), std::string::npos);
  EXPECT_NE(error_of("[1, 2]").find("is no object but array"), std::string::npos);
  EXPECT_NE(error_of("{}").find("no \"num_hidden_layers\""), std::string::npos);
  EXPECT_NE(error_of(R"({"num_hidden_layers": 1e300})").find("expected a whole number from 1"),
            std::string::npos);
  for (const char* value : {"-3", "0", "\"8\"", "[8]", "2.5", "99999999999", "true", "{}"})
    EXPECT_NE(error_of(std::string(R"({"num_hidden_layers": 2, "hidden_size": )") + value +
                       R"(, "num_attention_heads": 2})")
                  .find("\"hidden_size\" is "),
              std::string::npos)
        << value;
  EXPECT_NE(error_of(R"({"num_hidden_layers": 2, "hidden_size": 4, "num_attention_heads": 8})")
                .find("is smaller than"),
            std::string::npos);
  error_of(std::string(100000, '['));
  error_of(std::string("\x89PNG\r\n\x1a\n\0\0", 10));
  error_of("{\"num_hidden_layers\": \"" + std::string(200000, 'x') + "\"}");
  error_of("{\"num_hidden_layers\": \"\xff\xfe\"}");
  error_of(std::string(5 << 20, ' '));
}

// Every model of the catalog has a source, and calc takes all of them.
TEST(CalcKv, TakesEveryModelOfTheCatalog) {
  const BinaryRun run = run_binary({"machines", "--models", "--json"});
  ASSERT_EQ(run.status, 0) << run;
  const json models = json::parse(run.out)["result"]["models"];
  EXPECT_GE(models.size(), 14u);
  for (const json& model : models) {
    EXPECT_TRUE(model["source"].get<std::string>().starts_with("config.json of ")) << model;
    EXPECT_GT(result_of({"--model", model["name"], "--tokens", "16"})["bytes_per_request"], 0);
  }
  const BinaryRun one = run_binary({"machines", "deepseek-r1"});
  EXPECT_EQ(one.status, 0) << one;
  EXPECT_NE(one.out.find("model deepseek-v3: 61 layers of 7168, MLA 512 + 64"), std::string::npos)
      << one;
}

TEST(CalcKv, FitsAHundredColumns) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--model", "llama-3-70b", "--tp", "8", "--gpu", "H100", "--nic", "NDR"},
           {"--model", "deepseek-v3", "--tp", "4", "--decode-tp", "8", "--nic", "NDR"},
           {"--model", "gpt-oss-120b", "--tp", "16"}}) {
    std::vector<std::string> all = {"calc", "kv"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const BinaryRun run = run_binary(all);
    EXPECT_EQ(run.status, 0) << run;
    for (const std::string& line : lines_of(run.out)) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST(CalcKv, SaysWhatIsWrong) {
  const auto error = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"calc", "kv"});
    const BinaryRun run = run_binary(arguments);
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run;
    return run.err;
  };
  EXPECT_NE(error({}).find("calc kv needs a model"), std::string::npos);
  EXPECT_NE(error({"--model", "llama-3-70"}).find("did you mean 'llama-3-70b'"), std::string::npos);
  EXPECT_NE(error({"--model", "llama-3-70b", "--layers", "8"}).find("described twice"),
            std::string::npos);
  EXPECT_NE(error({"--model", "llama-3-70b", "--tp", "3"}).find("do not spread evenly"),
            std::string::npos);
  EXPECT_NE(error({"--model", "llama-3-70b", "--dtype", "fp9"}).find("did you mean 'fp8'"),
            std::string::npos);
  EXPECT_NE(error({"--model", "llama-3-70b", "--dtype", "fp8_ds_mla"}).find("MLA"),
            std::string::npos);
  error({"--model", "llama-3-70b", "--tokens", "0"});
  error({"--model", "llama-3-70b", "--tokens", "99999999999999999999"});
  error({"--model", "llama-3-70b", "--block", "0"});
  error({"--model", "llama-3-70b", "--nic", "XYZ"});
  error({"--model", "llama-3-70b", "--gpu", "H100"});
  error({"--model", "llama-3-70b", "--nic", "NDR", "--path", "tcp"});
  error({"--model", "llama-3-70b", "--nic", "NDR", "--prefill-rate", "0"});
  error({"--layers", "-1", "--kv-heads", "8", "--head-dim", "128"});
  error({"--layers", "1", "--kv-heads", "99999999", "--head-dim", "128"});
  EXPECT_NE(error({"--layers", "10000", "--kv-heads", "1048576", "--head-dim", "1048576"})
                .find("expected less than 1 PB"),
            std::string::npos);
}

}  // namespace
}  // namespace comm_probe::test
