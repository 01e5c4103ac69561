// `calc moe` as a user sees it: JSON fields, text, bad usage.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe {
namespace {

using nlohmann::json;

const std::vector<std::string> kPrefill = {
    "calc",    "moe",     "--hidden",        "7168",    "--topk",        "8",
    "--nodes", "8",       "--gpus-per-node", "8",       "--tokens",      "4096",
    "--nic",   "400Gb/s", "--nvlink",        "450GB/s", "--group-limit", "4"};

std::vector<std::string> with(std::vector<std::string> arguments, std::vector<std::string> more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json result_of(const std::vector<std::string>& arguments) {
  const auto run = test::run_binary(with(arguments, {"--json"}));
  EXPECT_EQ(run.status, 0) << run;
  return json::parse(run.out, nullptr, false)["result"];
}

TEST(CalcMoe, PrefillOfEightNodes) {
  const json result = result_of(kPrefill);
  ASSERT_EQ(result["schemes"].size(), 3u);
  const std::pair<double, double> wanted[] = {
      {7.0, 12459.70}, {4.594738, 8178.44}, {3.149605, 5606.16}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(result["schemes"][i]["copies_nic"], wanted[i].first, 1e-6);
    EXPECT_NEAR(result["schemes"][i]["time_us"], wanted[i].second, 0.01);
    EXPECT_EQ(result["schemes"][i]["dispatch"]["limited_by"], "nic");
  }
  EXPECT_NEAR(result["schemes"][1]["distinct_draw"]["copies_nic"], 4.6328, 5e-5);
  EXPECT_EQ(result["bytes_per_token"]["dispatch"], 59136);
  EXPECT_EQ(result["bytes_per_token"]["combine"], 114688);
  EXPECT_EQ(result["flows"]["all"], 4032);
  EXPECT_EQ(result["deepep"]["normal"]["channels"], 10);
  EXPECT_EQ(result["vllm"][0]["name"], "allgather_reducescatter");
  EXPECT_NEAR(result["megatron"][0]["bytes_per_rank"], 3699e6, 1e6);
}

TEST(CalcMoe, DecodeOverAMachineOfTheCatalog) {
  const json result = result_of({"calc", "moe", "--hidden", "7168", "--topk", "8", "--nodes", "8",
                                 "--machine", "dgx-h100", "--tokens", "128", "--alpha", "20us"});
  EXPECT_EQ(result["links"]["nic_GBps"], 50.0);
  EXPECT_EQ(result["links"]["nvlink_GBps"], 450.0);
  EXPECT_EQ(result["layer"]["gpus_per_node"], 8);
  EXPECT_NEAR(result["schemes"][0]["time_us"], 429.37, 0.01);  // golden G8-21
  EXPECT_EQ(result["messages"]["per_rank"], 1024);
  EXPECT_EQ(result["messages"]["remote"], 896);
  EXPECT_NEAR(result["messages"]["posters"][0]["time_us"][0], 298.7, 0.05);
}

// The fixed cost was seen on 2 to 8 nodes: beyond, that is said. A backend without a ledger is
// named.
TEST(CalcMoe, ConstantsSayWhereTheyWereSeen) {
  const auto on = [](const char* nodes) {
    std::string text =
        test::run_binary({"calc", "moe", "--hidden", "7168", "--topk", "8", "--nodes", nodes,
                          "--machine", "dgx-h100", "--tokens", "128"})
            .out;
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  };
  EXPECT_EQ(on("8").find("seen on 2 to 8"), std::string::npos);
  EXPECT_NE(on("32").find("seen on 2 to 8"), std::string::npos) << on("32");
  EXPECT_NE(on("8").find("mori"), std::string::npos);
}

// A recording that does not divide over the ranks says so; one without any pick is none.
TEST(CalcMoe, RoutingsThatCannotBeShared) {
  const std::string folder = testing::TempDir();
  const std::vector<std::string> base = {
      "calc",    "moe",   "--hidden",        "256",   "--topk",    "2",
      "--nodes", "2",     "--gpus-per-node", "2",     "--experts", "4",
      "--nic",   "1GB/s", "--nvlink",        "9GB/s", "--routing"};
  std::ofstream(folder + "five.csv") << "0,1\n2,3\n0,2\n1,3\n0,3\n";
  const auto uneven = test::run_binary(with(base, {folder + "five.csv", "--json"}));
  EXPECT_EQ(uneven.status, 5) << uneven;
  const json caveat = json::parse(uneven.out, nullptr, false)["caveats"][0];
  EXPECT_EQ(caveat["id"], "calc.routing-uneven");
  EXPECT_NE(
      caveat["missing"].get<std::string>().find("5 tokens do not divide over 4 ranks: 1 or 2"),
      std::string::npos)
      << caveat;
  std::ofstream(folder + "none.csv") << "-1,-1\n-1,-1\n-1,-1\n-1,-1\n";
  const auto none = test::run_binary(with(base, {folder + "none.csv"}));
  EXPECT_EQ(none.status, 2) << none;
  EXPECT_NE(none.err.find("none of its 4 tokens picks an expert"), std::string::npos) << none;
  std::ofstream(folder + "four.csv") << "0,1\n2,3\n0,2\n1,3\n";
  EXPECT_EQ(test::run_binary(with(base, {folder + "four.csv"})).status, 0);
}

// Four GPUs share a host of a GB200 NVL72, 72 an NVLink domain (its product page: 18 trays): both
// commands say which of the two they count, and DeepEP V1's groups of 8 (its config.hpp) have no
// price over more.
TEST(CalcMoe, ANodeMayBeAnNvlinkDomainOfManyHosts) {
  const std::vector<std::string> rack = {
      "calc", "moe",       "--hidden",         "7168",     "--topk", "8", "--nodes",
      "2",    "--machine", "gb200-nvl72-tray", "--tokens", "4096"};
  const json domains = result_of(rack);
  EXPECT_EQ(domains["layer"]["gpus_per_node"], 72);
  EXPECT_EQ(domains["layer"]["node"], "nvlink-domain");
  EXPECT_EQ(domains["layer"]["gpus_per_host"], 4);
  for (const json& stack : domains["vllm"])
    EXPECT_EQ(stack.contains("time_us"),
              stack["name"] != "deepep_high_throughput" && stack.contains("pattern"))
        << stack;
  const json hosts = result_of(with(rack, {"--gpus-per-node", "4"}));
  EXPECT_EQ(hosts["layer"]["node"], "host");
  EXPECT_TRUE(hosts["vllm"][1].contains("time_us")) << hosts["vllm"][1];
  const auto text = test::run_binary(rack);
  EXPECT_NE(text.out.find("72 ranks of an NVLink domain, over 18 hosts of 4 GPUs"),
            std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("not here: its NVLink groups hold 8 ranks, a node has 72"),
            std::string::npos)
      << text.out;
  const auto decode = test::run_binary({"calc", "decode", "--model", "llama-3-70b", "--batch", "8",
                                        "--tp", "8", "--machine", "gb200-nvl72-tray"});
  EXPECT_NE(decode.out.find("on 2 hosts of 4 GPUs (one NVLink domain holds 72)"), std::string::npos)
      << decode.out;
}

// What was seen is 896 remote messages in 173 us: the whole dispatch, no rate beside it.
TEST(CalcMoe, IbgdaIsSeenWithRemoteMessages) {
  const json result = result_of({"calc", "moe", "--hidden", "7168", "--topk", "8", "--nodes", "8",
                                 "--machine", "dgx-h100", "--tokens", "128"});
  for (const json& poster : result["messages"]["posters"])
    if (poster["name"] == "IBGDA") {
      EXPECT_NEAR(poster["per_us"][0], 5.18, 0.005);
      EXPECT_NEAR(poster["time_us"][0], 173, 1e-6);
    }
}

// Megatron sends bf16 by each of its dispatchers: 7.46 ms with flex on 4 of 8 nodes, not 5.65.
TEST(CalcMoe, MegatronIsPricedInOneFormat) {
  const json result = result_of({"calc", "moe", "--hidden", "7168", "--topk", "8", "--nodes", "8",
                                 "--gpus-per-node", "8", "--tokens", "4096", "--group-limit", "4",
                                 "--nic", "50GB/s", "--nvlink", "450GB/s"});
  for (const json& stack : result["megatron"])
    if (stack["name"] == "flex") {
      EXPECT_NEAR(stack["time_us"], 2 * 3729, 2);
    }
}

TEST(CalcMoe, EachLinkSaysWhoKnowsIt) {
  const json links =
      result_of({"calc", "moe", "--hidden", "7168", "--topk", "8", "--nodes", "8", "--machine",
                 "dgx-h100", "--tokens", "128", "--nic", "1GB/s"})["links"];
  EXPECT_EQ(links["nic_source"], "given on the command line");
  EXPECT_EQ(links["nvlink_source"], "dgx-h100");
  EXPECT_EQ(links["nvlink_basis"], "catalog");
}

TEST(CalcMoe, TextFitsAHundredColumns) {
  for (const auto& more : {std::vector<std::string>{}, std::vector<std::string>{"--explain"}}) {
    const auto run = test::run_binary(with(kPrefill, more));
    EXPECT_EQ(run.status, 0) << run;
    std::size_t start = 0;
    for (std::size_t end; (end = run.out.find('\n', start)) != std::string::npos; start = end + 1)
      EXPECT_LE(end - start, 100u) << run.out.substr(start, end - start);
  }
}

TEST(CalcMoe, BadUsageIsOneLine) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--experts", "100"}, "do not divide over 64 ranks"},
      {{"--group-limit", "9"}, "outside 1 to 8 nodes"},
      {{"--topk", "300"}, "wants 300 different experts"},
      {{"--tokens", "0"}, "number of tokens 0"},
      {{"--dispatch", "int4"}, "expected fp8|bf16"},
      {{"--nodes", "99999999999"}, "--nodes"}};
  for (const auto& [arguments, message] : cases) {
    std::vector<std::string> all = kPrefill;
    const auto at = std::find(all.begin(), all.end(), arguments[0]);
    if (at != all.end()) all.erase(at, at + 2);
    const auto run = test::run_binary(with(all, arguments));
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_NE(run.err.find(message), std::string::npos) << run;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run;
  }
  const auto no_nic = test::run_binary({"calc", "moe", "--hidden", "7168", "--topk", "8", "--nodes",
                                        "8", "--tokens", "128", "--nvlink", "450GB/s"});
  EXPECT_EQ(no_nic.status, 2) << no_nic;
  EXPECT_NE(no_nic.err.find("--nic"), std::string::npos) << no_nic;
}

}  // namespace
}  // namespace comm_probe
