// `calc decode` as a user calls it: message, backends, what is taken, what it saves, yes or no.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/small_all_reduce.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;

const std::vector<std::string> kLlama = {"--model", "llama-3-70b", "--batch",   "8",
                                         "--tp",    "8",           "--machine", "dgx-h100"};

BinaryRun decode(std::vector<std::string> arguments, const std::vector<std::string>& more = {}) {
  arguments.insert(arguments.begin(), {"calc", "decode"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_binary(arguments);
}

json result_of(std::vector<std::string> arguments, std::vector<std::string> more = {}) {
  more.push_back("--json");
  const BinaryRun run = decode(std::move(arguments), more);
  EXPECT_EQ(run.status, 0) << run;
  return run.status == 0 ? json::parse(run.out)["result"] : json();
}

std::map<std::string, json> backends_of(const json& result) {
  std::map<std::string, json> all;
  for (const json& backend : result["vllm"]["backends"]) all[backend["backend"]] = backend;
  return all;
}

// Golden G7-01, G7-02, G7-06; the worked example of small_all_reduce.h.
TEST(CalcDecode, TheDocumentsExample) {
  const json result = result_of(kLlama);
  EXPECT_EQ(result["bytes"], 131072);
  EXPECT_NEAR(result["bytes_over_link_us"], 0.291271111111, 1e-9);
  EXPECT_EQ(result["calls_per_step"], 160);
  EXPECT_EQ(result["backend"], "CUSTOM");
  EXPECT_EQ(result["way"], "one-shot");
  EXPECT_NEAR(result["time_us"], 8.8436, 1e-3);
  EXPECT_NEAR(result["step_us"], 160 * result["time_us"].get<double>(), 1e-6);
  EXPECT_GT(result["saving"]["per_step_us"], 0);
  EXPECT_NEAR(result["saving"]["per_step_us"], 160 * result["saving"]["per_call_us"].get<double>(),
              1e-6);
  EXPECT_NEAR(result["saving"]["per_token_us"], result["saving"]["per_step_us"].get<double>() / 8,
              1e-6);
}

// Golden G7-04, G7-07: NCCL 30 us, the custom kernel 10 us: 3.2 ms a step.
TEST(CalcDecode, MeasuredTimesTakeTheirPlace) {
  const json result = result_of(kLlama, {"--measured", "PYNCCL=30us", "--measured", "CUSTOM=10us"});
  EXPECT_NEAR(result["saving"]["per_call_us"], 20, 1e-9);
  EXPECT_NEAR(result["saving"]["per_step_us"], 3200, 1e-9);
  EXPECT_EQ(result["ways"][0]["basis"], "measured");
}

// Every way says who knows its time; NCCL's is its own price.
TEST(CalcDecode, EveryTimeHasASource) {
  for (const json& way : result_of(kLlama)["ways"]) {
    EXPECT_FALSE(way["source"].get<std::string>().empty()) << way;
    EXPECT_NEAR(way["time_us"], way["latency_us"].get<double>() + way["bandwidth_us"].get<double>(),
                1e-6);
  }
}

TEST(CalcDecode, EveryBackendSaysWhyNot) {
  const json result = result_of(kLlama, {"--disable-custom-all-reduce"});
  EXPECT_EQ(result["backend"], "SYMM_MEM");
  auto backends = backends_of(result);
  EXPECT_EQ(backends["CUSTOM"]["reason"], "--disable-custom-all-reduce");
  EXPECT_FALSE(backends["CUSTOM"]["in_start_up_list"]);
  EXPECT_EQ(result["vllm"]["start_up_line"],
            "Using ['SYMM_MEM', 'PYNCCL'] all-reduce backends (in dispatch order) for group 'tp:0' "
            "out of potential backends: ['NCCL_SYMM_MEM', 'QUICK_REDUCE', 'FLASHINFER', 'CUSTOM', "
            "'SYMM_MEM', 'PYNCCL']");
  for (const auto& [name, backend] : backends) EXPECT_FALSE(backend["reason"].empty()) << name;
}

TEST(CalcDecode, PipelineStagesShareTheCalls) {
  const json result = result_of(kLlama, {"--pp", "4"});
  EXPECT_EQ(result["calls_per_step"], 160);
  EXPECT_EQ(result["calls_per_step_and_rank"], 40);
  EXPECT_EQ(result["saving"], result_of(kLlama)["saving"]);
  EXPECT_EQ(decode(kLlama, {"--pp", "81"}).status, 2);
}

// Rows of SGLang's table for 8 x H100 in a CUDA graph, and what is not known is said.
TEST(CalcDecode, OtherEnginesOrThatTheyAreNotKnown) {
  const json engines = result_of(kLlama)["other_engines"];
  EXPECT_EQ(engines["sglang_v2"]["kernel"], "1shot_push");
  EXPECT_EQ(engines["sglang_v2"]["limits"]["push_bytes"], 131072);
  EXPECT_EQ(engines["sglang_v2"]["limits"]["all_bytes"], 16777216) << "the cap of its environment";
  EXPECT_EQ(engines["sglang_legacy"]["kernel"], "one-shot");
  EXPECT_EQ(engines["flashinfer"]["path"], "trtllm");
  EXPECT_TRUE(engines["tensorrt_llm"].is_null());
  const BinaryRun text = decode(kLlama);
  EXPECT_NE(text.out.find("TensorRT-LLM"), std::string::npos) << text;
  EXPECT_NE(text.out.find("not known here"), std::string::npos) << text;
}

// Across nodes nothing but NCCL is left, and the log would say so.
TEST(CalcDecode, AcrossNodes) {
  const json result =
      result_of({"--model", "llama-3-70b", "--batch", "8", "--tp", "16", "--machine", "dgx-h100"});
  EXPECT_EQ(result["backend"], "PYNCCL");
  EXPECT_EQ(backends_of(result)["CUSTOM"]["log_line"],
            "Custom allreduce is disabled because this process group spans across nodes.");
  EXPECT_FALSE(result["own_primitive"]["worth"]);
}

// Golden GA-09: 32 x 4096 x 2 B on four cards, 60 layers.
TEST(CalcDecode, FourCards) {
  const json result = result_of({"--layers", "60", "--hidden", "4096", "--batch", "32", "--tp", "4",
                                 "--machine", "dgx-h100"});
  EXPECT_EQ(result["bytes"], 262144);
  EXPECT_EQ(result["calls_per_step"], 120);
  EXPECT_EQ(result["backend"], "CUSTOM");
}

TEST(CalcDecode, OwnPrimitiveIsYesOrNo) {
  EXPECT_FALSE(result_of(kLlama)["own_primitive"]["worth"]) << "CUSTOM has it already";
  const json without = result_of({"--model", "llama-3-70b", "--batch", "8", "--tp", "8",
                                  "--machine", "dgx-a100", "--disable-custom-all-reduce"});
  EXPECT_EQ(without["backend"], "PYNCCL");
  EXPECT_TRUE(without["own_primitive"]["worth"]);
  const json eager = result_of(kLlama, {"--eager", "--must-survive"});
  EXPECT_FALSE(eager["own_primitive"]["worth"]);
  std::map<std::string, bool> holds;
  for (const json& condition : eager["own_primitive"]["conditions"])
    holds[condition["name"]] = condition["holds"];
  EXPECT_EQ(holds, (std::map<std::string, bool>{{"small", true},
                                                {"reachable", true},
                                                {"fixed addresses", false},
                                                {"often", true},
                                                {"restartable", false}}));
}

// A GPU that NCCL does not run on: said, and the rest is still there.
TEST(CalcDecode, AmdHasNoPrice) {
  const BinaryRun run = decode(
      {"--model", "llama-3-70b", "--batch", "8", "--tp", "8", "--machine", "oci-mi300x", "--json"});
  EXPECT_EQ(run.status, 5) << run;
  // no table whose header stands over nothing
  for (const char* flag : {"-q", "-v"}) {
    const BinaryRun text = decode(
        {"--model", "llama-3-70b", "--batch", "8", "--tp", "8", "--machine", "oci-mi300x", flag});
    EXPECT_EQ(text.out.find("per rank"), std::string::npos) << text;
  }
  const BinaryRun text =
      decode({"--model", "llama-3-70b", "--batch", "8", "--tp", "8", "--machine", "oci-mi300x"});
  EXPECT_NE(text.out.find("No time is known for oci-mi300x"), std::string::npos) << text;
}

std::vector<std::string> llama(const char* batch, const char* tp, const char* machine) {
  return {"--model", "llama-3-70b", "--batch", batch, "--tp", tp, "--machine", machine};
}
json whole(const std::vector<std::string>& arguments, const std::vector<std::string>& more = {}) {
  auto all = more;
  all.push_back("--json");
  const BinaryRun run = decode(arguments, all);
  EXPECT_TRUE(run.status == 0 || run.status == 5) << run;
  return json::parse(run.out);
}

// vLLM quick_all_reduce.py: off without its variable, and 16 MiB is its least on 8 ranks.
TEST(CalcDecode, QuickReduceIsOffAndForLargeCalls) {
  const char* kOn = "VLLM_ROCM_QUICK_REDUCE_QUANTIZATION=FP";
  const auto mi300 = [](const char* batch) { return llama(batch, "8", "oci-mi300x"); };
  EXPECT_EQ(whole(mi300("8"))["result"]["backend"], "CUSTOM");
  EXPECT_EQ(whole(mi300("8"), {"--env", kOn})["result"]["backend"], "CUSTOM");
  EXPECT_EQ(whole(mi300("2048"), {"--env", kOn})["result"]["backend"], "QUICK_REDUCE");
  EXPECT_EQ(decode(mi300("8"), {"--env", "VLLM_ROCM_QUICK_REDUCE_QUANTIZATION=FP4"}).status, 2);
  auto nvidia = backends_of(result_of(kLlama));
  EXPECT_TRUE(nvidia["QUICK_REDUCE"]["log_line"].is_null()) << "vLLM makes it on AMD only";
}

// FI_ALLREDUCE_FUSION_MAX_SIZE_MB of vLLM: 0.5 on 8 x H100; compute capability 8.0 has no row.
TEST(CalcDecode, FlashInferHasALimit) {
  const std::vector<std::string> on = {"--env", "VLLM_ALLREDUCE_USE_FLASHINFER=1"};
  EXPECT_EQ(whole(llama("32", "8", "dgx-h100"), on)["result"]["backend"], "FLASHINFER");
  EXPECT_NE(whole(llama("33", "8", "dgx-h100"), on)["result"]["backend"], "FLASHINFER");
  EXPECT_FALSE(backends_of(
      whole(llama("8", "8", "dgx-a100"), on)["result"])["FLASHINFER"]["in_start_up_list"]);
}

// A time that is not known is neither zero nor a saving.
TEST(CalcDecode, WhatIsNotKnownIsNotZero) {
  const auto arguments = llama("8", "8", "dgx-h100");
  const std::vector<std::string> on = {"--env", "VLLM_ALLREDUCE_USE_FLASHINFER=1"};
  EXPECT_TRUE(whole(arguments, on)["result"]["own_primitive"]["left_us_per_call"].is_null());
  const BinaryRun text = decode(arguments, on);
  EXPECT_NE(text.out.find("left to gain is not known"), std::string::npos) << text;
  EXPECT_EQ(text.out.find(" 0 us per call"), std::string::npos) << text;
}

// NCCL's model of its symmetric kernels is half of what was published: no time, no advice.
TEST(CalcDecode, AModelForChoosingIsNoClock) {
  const std::vector<std::string> on = {"--env", "VLLM_USE_NCCL_SYMM_MEM=1"};
  const json taken = whole(llama("16", "8", "dgx-h100"), on)["result"];
  EXPECT_EQ(taken["backend"], "NCCL_SYMM_MEM");
  EXPECT_TRUE(taken["saving"].is_null()) << taken["saving"];
  for (const json& way : taken["ways"])
    EXPECT_EQ(way["is_clock"], way["backend"] != "NCCL_SYMM_MEM") << way;
  for (const char* batch : {"2", "4", "8", "16"})
    for (const auto& more : {std::vector<std::string>{}, on}) {
      const BinaryRun text = decode(llama(batch, "8", "dgx-h100"), more);
      EXPECT_EQ(text.out.find("symmetric kernel (NCCL_SYMM_MEM):"), std::string::npos) << text;
    }
}

// custom-allreduce.md 6: symmetric kernels need NVLink to every peer. Over two hosts of a DGX NCCL
// runs the kernel that it runs anyway: nothing is saved. In one NVL72 domain it has them.
TEST(CalcDecode, SymmetricKernelsNeedNvlinkToAll) {
  const std::vector<std::string> on = {"--env", "VLLM_USE_NCCL_SYMM_MEM=1"};
  const json two = whole(llama("8", "16", "dgx-h100"), on)["result"];
  EXPECT_EQ(two["backend"], "NCCL_SYMM_MEM");
  EXPECT_NEAR(two["time_us"], whole(llama("8", "16", "dgx-h100"))["result"]["time_us"], 1e-9);
  EXPECT_NE(backends_of(two)["NCCL_SYMM_MEM"]["reason"].get<std::string>().find("ordinary kernel"),
            std::string::npos);
  const BinaryRun text = decode(llama("8", "16", "dgx-h100"), on);
  EXPECT_NE(text.out.find("nothing: NCCL takes the call"), std::string::npos) << text;
  const json rack = whole(llama("8", "16", "gb200-nvl72-tray"), on)["result"];
  EXPECT_EQ(backends_of(rack)["NCCL_SYMM_MEM"]["reason"].get<std::string>().find("ordinary"),
            std::string::npos);
}

struct PublishedRow {
  int sm = 0;
  double predicted_us = 0, published_us = 0;
};
// Of NCCL, to 4 MiB: "| vllm PR#37756 | B300 | 8? | 16 KiB | pynccl | 15.10 | 29 | -48% |"
std::vector<PublishedRow> published_nccl() {
  std::ifstream file(COMM_PROBE_SOURCE_DIR "/docs/measured/published-inference.md");
  std::vector<PublishedRow> rows;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream words(line);
    for (std::string cell; std::getline(words, cell, '|');)
      cells.push_back(cell.size() > 2 ? cell.substr(1, cell.size() - 2) : "");
    if (cells.size() < 9 || (cells[5] != "nccl" && cells[5] != "pynccl")) continue;
    const bool is_large = cells[4].ends_with("MiB") && std::stod(cells[4]) > 4;
    const bool is_hopper = cells[2] == "H100" || cells[2] == "Hopper";
    if (!is_large) rows.push_back({is_hopper ? 90 : 100, std::stod(cells[6]), std::stod(cells[7])});
  }
  return rows;
}

// What the models may be off by holds every time that somebody published.
TEST(CalcDecode, TheErrorOfNcclsModelHoldsEveryPublishedTime) {
  const auto rows = published_nccl();
  ASSERT_GT(rows.size(), 40u);
  for (const PublishedRow& row : rows)
    EXPECT_LE(std::abs(row.published_us - row.predicted_us),
              row.predicted_us * model::nccl_error_share(row.sm) * 1.001)
        << row.sm << ": " << row.published_us << " published, " << row.predicted_us;
}

// Two models make a range, and none where they differ by less than they may be off by: on a B300
// NCCL took twice what is predicted.
TEST(CalcDecode, ASavingByModelsIsARange) {
  const BinaryRun text = decode(kLlama, {"-q"});
  const auto at = text.out.find("NCCL would take ");
  ASSERT_NE(at, std::string::npos) << text;
  double least = 0, most = 0;
  ASSERT_EQ(std::sscanf(text.out.c_str() + at, "NCCL would take %lf us to %lf ms", &least, &most),
            2)
      << text;
  EXPECT_LT(least / 1000, most);
  const BinaryRun blackwell = decode(
      {"--model", "llama-3-70b", "--batch", "8", "--tp", "8", "--machine", "dgx-b300", "-q"});
  EXPECT_NE(blackwell.out.find("the models cannot tell"), std::string::npos) << blackwell;
  const BinaryRun measured =
      decode(kLlama, {"--measured", "PYNCCL=30us", "--measured", "CUSTOM=10us", "-q"});
  EXPECT_NE(measured.out.find("NCCL would take 3.2 ms more"), std::string::npos) << measured;
}

// 7 x 128 KiB at 450 GB/s are 2.04 us: no custom kernel takes 0.5 (NCCL issue 1984).
TEST(CalcDecode, AMeasuredTimeIsNotBelowItsBytes) {
  const BinaryRun run = decode(kLlama, {"--measured", "CUSTOM=0.5us"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_NE(run.err.find("2.039 us"), std::string::npos) << run;
  EXPECT_EQ(decode(kLlama, {"--measured", "CUSTOM=2.1us"}).status, 0);
  EXPECT_EQ(decode(kLlama, {"--measured", "PYNCCL=0.2us"}).status, 2) << "128 KiB: 0.29 us";
}

// Two models whose errors are larger than their difference decide nothing; published on a B300:
// 23 us against 27 at 512 KiB, where the models say the opposite.
TEST(CalcDecode, ADifferenceWithinTheErrorsIsNoSaving) {
  const json saving = whole(llama("32", "8", "dgx-b300"))["result"]["saving"];
  EXPECT_EQ(saving["is_certain"], false);
  EXPECT_EQ(whole(kLlama)["result"]["saving"]["is_certain"], true);
  for (const char* machine : {"dgx-h100", "dgx-b300", "dgx-a100"})
    for (const char* batch : {"1", "32", "256", "4096", "16384"}) {
      const BinaryRun text = decode(llama(batch, "8", machine));
      EXPECT_EQ(text.out.find("take -"), std::string::npos) << text;
      EXPECT_EQ(text.out.find("against NCCL  -"), std::string::npos) << text;
    }
}

// The border between one-shot and two-shot is compiled in: nobody can switch it.
TEST(CalcDecode, FasterHereIsWhatTheEngineWouldTake) {
  for (const char* machine : {"dgx-h100", "dgx-b300"})
    for (const char* batch : {"16", "32", "64", "4096"}) {
      const BinaryRun text = decode(llama(batch, "8", machine));
      EXPECT_EQ(text.out.find("faster here      one-shot"), std::string::npos) << text;
      EXPECT_EQ(text.out.find("faster here   one-shot"), std::string::npos) << text;
    }
}

TEST(CalcDecode, ReachableIsSaidOfTheHardware) {
  const auto reachable = [](const json& document) {
    for (const json& condition : document["result"]["own_primitive"]["conditions"])
      if (condition["name"] == "reachable") return condition;
    return json();
  };
  const json pcie = whole(llama("8", "2", "8xa100-pcie"));
  EXPECT_EQ(reachable(pcie)["holds"], true);
  EXPECT_NE(reachable(pcie)["reason"].get<std::string>().find("PCIe"), std::string::npos);
  bool warned = false;
  for (const json& caveat : pcie["caveats"]) warned |= caveat["id"] == "calc.pcie-kernel";
  EXPECT_TRUE(warned);
  EXPECT_TRUE(pcie["result"]["saving"].is_null()) << "never timed over PCIe";
  const json amd = reachable(whole(llama("8", "8", "oci-mi300x")));
  EXPECT_EQ(amd["reason"].get<std::string>().find("NVLink"), std::string::npos) << amd;
  EXPECT_EQ(reachable(whole(llama("8", "8", "gb200-nvl72-tray")))["holds"], true)
      << "one NVLink domain";
}

// Nemotron-H: each layer is a mixer or an MLP, with one all_reduce; elsewhere a layer has two.
TEST(CalcDecode, CallsOfALayerThatIsOneMixer) {
  const std::string folder = testing::TempDir() + "/one_mixer";
  std::filesystem::create_directories(folder);
  const auto calls = [&](const std::string& more) {
    std::ofstream(folder + "/config.json")
        << R"({"num_hidden_layers": 10, "hidden_size": 4096, "num_attention_heads": 32, )"
        << R"("num_key_value_heads": 8, )" << more << "}";
    return result_of({"--config", folder, "--batch", "8", "--tp", "8"})["calls_per_step"];
  };
  EXPECT_EQ(calls(R"("hybrid_override_pattern": "M-M*-M-M*-")"), 10);
  EXPECT_EQ(calls(R"("attn_layer_period": 5, "attn_layer_offset": 1)"), 20);
  std::ofstream(folder + "/config.json")  // Nemotron-NAS: a block without attention
      << R"({"num_hidden_layers": 2, "hidden_size": 4096, "num_attention_heads": 32, )"
      << R"("block_configs": [{"attention": {"no_op": true}},
            {"attention": {"n_heads_in_group": 8}}]})";
  const BinaryRun run = decode({"--config", folder, "--batch", "8", "--tp", "8"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_NE(run.err.find("--calls-per-layer"), std::string::npos) << run;
}

TEST(CalcDecode, FitsAHundredColumns) {
  for (const auto& more : std::vector<std::vector<std::string>>{{}, {"--explain"}, {"--eager"}}) {
    const BinaryRun run = decode(kLlama, more);
    for (const std::string& line : lines_of(run.out)) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST(CalcDecode, SaysWhatIsWrong) {
  const auto error = [](std::vector<std::string> arguments) {
    const BinaryRun run = decode(std::move(arguments));
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run;
    return run.err;
  };
  EXPECT_NE(error({}).find("calc decode needs a model"), std::string::npos);
  EXPECT_NE(error({"--model", "llama-3-70b"}).find("--batch is missing"), std::string::npos);
  EXPECT_NE(error({"--model", "llama-3-70b", "--batch", "8", "--tp", "3"})
                .find("64 heads of llama-3-70b do not spread evenly"),
            std::string::npos);
  EXPECT_NE(error({"--model", "llama-3-70b", "--batch", "8"}).find("--tp is missing"),
            std::string::npos);
  EXPECT_NE(error({"--layers", "80", "--batch", "8", "--tp", "8"}).find("--hidden is missing"),
            std::string::npos);
  error({"--model", "llama-3-70b", "--batch", "8", "--tp", "1"});
  error({"--model", "llama-3-70b", "--batch", "8", "--tp", "-3"});
  error({"--model", "llama-3-70b", "--batch", "8", "--tp", "8", "--vllm", "one"});
  error(
      {"--model", "llama-3-70b", "--batch", "8", "--tp", "8", "--env", "VLLM_USE_NCCL_SYMM_MEM=x"});
  error({"--model", "llama-3-70b", "--batch", "8", "--tp", "8", "--env", "HOME=1"});
  error({"--model", "llama-3-70b", "--batch", "8", "--tp", "8", "--machine", "dgx-h1000"});
  error({"--model", "llama-3-70b", "--batch", "8", "--tp", "8", "--measured", "CUSTOM"});
  error({"--model", "llama-3-70b", "--batch", "8", "--tp", "8", "--measured", "FAST=1us"});
  error({"--model", "llama-3-70b", "--batch", "8", "--tp", "8", "--measured", "CUSTOM=1"});
  error({"--model", "llama-3-70b", "--batch", "8", "--tp", "8", "--measured", "CUSTOM=0us"});
  EXPECT_NE(error({"--model", "llama-3-70b", "--batch", "8", "--tp", "8", "--calls-per-layer", "0"})
                .find("outside"),
            std::string::npos);
}

}  // namespace
}  // namespace comm_probe::test
