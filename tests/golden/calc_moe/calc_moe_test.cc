// `calc moe` as a user sees it: JSON fields, text, bad usage.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

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

// Backends are priced where they are known to run: an MI300X has no CUDA, an L40S no NVLink, a
// p5.48xlarge no mlx5 NIC.
TEST(CalcMoe, BackendsArePricedWhereTheyRun) {
  const auto priced_on = [](const char* machine) {
    std::set<std::string> names;
    const json result = result_of({"calc", "moe", "--hidden", "7168", "--topk", "8", "--nodes", "2",
                                   "--machine", machine, "--tokens", "128"});
    for (const char* framework : {"megatron", "vllm"})
      for (const json& stack : result[framework])
        if (stack.contains("time_us")) names.insert(stack["name"]);
    return names;
  };
  using Names = std::set<std::string>;
  const Names anywhere = {"allgather", "alltoall", "allgather_reducescatter"};
  EXPECT_EQ(priced_on("oci-mi300x"), anywhere);
  EXPECT_EQ(priced_on("8xl40s"), anywhere);
  Names on_efa = anywhere, on_mlx5 = anywhere;
  on_efa.merge(Names{"flex", "deepep_v2"});
  on_mlx5.merge(
      Names{"flex", "deepep_v2", "deepep_high_throughput", "deepep_low_latency", "nixl_ep"});
  EXPECT_EQ(priced_on("p5.48xlarge"), on_efa);
  EXPECT_EQ(priced_on("dgx-h100"), on_mlx5);
}

// Ids of 0 to 127 only, each as often: a model of 128 experts. And tokens that go to all nodes keep
// no limit of one.
TEST(CalcMoe, ARoutingOfFewerExpertsThanAssumed) {
  const std::string file = testing::TempDir() + "of128.csv";
  std::ofstream out(file);
  for (int token = 0; token < 4096; ++token)
    out << token % 128 << "," << (token + 64) % 128 << "\n";
  out.close();
  const std::vector<std::string> base = {"calc",      "moe",      "--hidden",  "7168",
                                         "--topk",    "2",        "--nodes",   "2",
                                         "--machine", "dgx-h100", "--routing", file};
  const auto assumed = test::run_binary(with(base, {"--json"}));
  EXPECT_EQ(assumed.status, 5) << assumed;
  const json caveat = json::parse(assumed.out, nullptr, false)["caveats"][0];
  EXPECT_EQ(caveat["id"], "calc.routing-fewer-experts");
  EXPECT_NE(caveat["missing"].get<std::string>().find("--experts 128?"), std::string::npos)
      << caveat;
  const json right = result_of(with(base, {"--experts", "128"}));
  EXPECT_NEAR(right["routing"]["imbalance"].get<double>(), 1, 1e-9);
  const auto limited = test::run_binary(with(base, {"--experts", "128", "--group-limit", "1"}));
  EXPECT_NE(limited.out.find("go to 2 nodes, not to 1"), std::string::npos) << limited;
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

// Rank 1's two tokens go to rank 0, over NVLink; one of rank 2 over the NIC: with a slow NVLink it
// is those two copies that set the time, four times the mean of 2 / 4.
TEST(CalcMoe, TheSlowestLinkIsNamedWithItsOwnCopies) {
  const std::string file = testing::TempDir() + "nvlink.csv";
  std::ofstream(file) << "0\n0\n0\n0\n2\n0\n3\n3\n";
  const auto run = test::run_binary({"calc", "moe", "--hidden", "256", "--topk", "1", "--nodes",
                                     "2", "--gpus-per-node", "2", "--experts", "4", "--nic",
                                     "1GB/s", "--nvlink", "0.1GB/s", "--routing", file});
  EXPECT_EQ(run.status, 0) << run;
  std::string text = run.out;
  std::replace(text.begin(), text.end(), '\n', ' ');
  for (const char* scheme : {"flat", "dedup"})
    EXPECT_NE(text.find(std::string(scheme) + ": rank 0 sets the time (NVLink): 2 copies on its "
                                              "NVLink, 4.00 of the mean"),
              std::string::npos)
        << run;
}

std::string flat_text(const std::vector<std::string>& arguments) {
  std::string text = test::run_binary(arguments).out;
  std::replace(text.begin(), text.end(), '\n', ' ');
  text.erase(
      std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
      text.end());
  return text;
}

// 896 messages of 7408 B over 12.5 GB/s are 531 us, whatever posts them: 173 us of IBGDA are no
// end. A proxy with 1 to 3 per us takes 298.7 to 896 us: it may be slower than the bytes.
TEST(CalcMoe, PostersStandBesideTheBytes) {
  const auto over = [](const char* nic) {
    return flat_text({"calc", "moe", "--hidden", "7168", "--topk", "8", "--nodes", "8",
                      "--gpus-per-node", "8", "--nic", nic, "--nvlink", "450GB/s", "--tokens",
                      "128"});
  };
  const std::string slow = over("12.5GB/s"), fast = over("50GB/s"), crawl = over("5GB/s");
  EXPECT_NE(slow.find("the 531 us of the bytes set the pace"), std::string::npos) << slow;
  EXPECT_NE(slow.find("298.7 us to 896 us, the bytes lie between: it may set the pace"),
            std::string::npos)
      << slow;
  EXPECT_NE(fast.find("at most 173 us"), std::string::npos) << fast;  // 132.8 us of bytes
  EXPECT_NE(fast.find("more than the bytes take: it would set the pace"), std::string::npos);
  EXPECT_NE(crawl.find("298.7 us to 896 us, less than the bytes take"), std::string::npos) << crawl;
  for (const std::string& text : {slow, fast, crawl})
    EXPECT_EQ(text.find("bytes and all"), std::string::npos) << text;
}

std::vector<std::string> on_machine(const std::string& name, const std::string& nodes = "2") {
  return {"calc", "moe",     "--hidden", "7168",      "--topk", "8",        "--gpus-per-node",
          "4",    "--nodes", nodes,      "--machine", name,     "--tokens", "128"};
}

// What joins the GPUs of a node, by the product pages: an L40S, a 4090 and a PCIe A100 have PCIe,
// an MI300X has xGMI, and nothing of it is called NVLink.
TEST(CalcMoe, PeersAreJoinedByWhatTheMachineHas) {
  const std::pair<const char*, const char*> machines[] = {
      {"8xl40s", "PCIe"},     {"8x4090", "PCIe"},     {"aws-g5-48xlarge", "PCIe"},
      {"oci-mi300x", "xGMI"}, {"dgx-h100", "NVLink"}, {"gb200-nvl72-tray", "NVLink"}};
  for (const auto& [machine, link] : machines) {
    const auto run = test::run_binary(with(on_machine(machine), {"--json"}));
    ASSERT_EQ(run.status, 0) << run;
    const json document = json::parse(run.out, nullptr, false);
    EXPECT_EQ(document["result"]["links"]["peer_link"], link) << machine;
    EXPECT_EQ(document["caveats"].size(), std::string(link) == "PCIe" ? 1u : 0u) << machine;
    const std::string text = flat_text(on_machine(machine));
    EXPECT_NE(text.find("On its " + std::string(link) + " meanwhile"), std::string::npos) << text;
    EXPECT_EQ(text.find("NVLink 28.2 GB/s"), std::string::npos) << text;
    EXPECT_EQ(
        text.find("slower is NVLink, NVLink") == std::string::npos || std::string(link) == "NVLink",
        true)
        << text;
  }
  // a rate that was typed does not make another link of it
  EXPECT_EQ(result_of(with(on_machine("8xl40s"), {"--nvlink", "20GB/s"}))["links"]["peer_link"],
            "PCIe");
}

// moe.md 6 and 10: DeepEP V1 is CUDA over NVLink, and between nodes IBGDA of an mlx5 NIC: neither
// EFA nor Slingshot nor an AMD GPU has it.
TEST(CalcMoe, DeepEpOnlyWhereItRuns) {
  const auto has_deepep = [](const std::string& machine, std::vector<std::string> more,
                             const char* nodes = "2") {
    const json result = result_of(with(on_machine(machine, nodes), std::move(more)));
    for (const json& stack : result["vllm"])
      if (stack["name"] == "deepep_low_latency") {
        EXPECT_EQ(stack.contains("time_us"), !result["deepep"].contains("not_here")) << machine;
      }
    return !result["deepep"].contains("not_here");
  };
  for (const char* machine : {"aws-p5", "aws-p4d", "8xl40s", "8x4090", "oci-mi300x"})
    EXPECT_FALSE(has_deepep(machine, {})) << machine;
  EXPECT_TRUE(has_deepep("dgx-h100", {}));
  EXPECT_FALSE(has_deepep("dgx-h100", {"--combine", "fp8"})) << "moe.md 1: bf16 or LogFMT-10";
  EXPECT_TRUE(has_deepep("dgx-a100", {}));
  EXPECT_TRUE(has_deepep("aws-p5", {}, "1")) << "no NIC, no IBGDA";
  EXPECT_TRUE(has_deepep("aws-p5", {"--nic", "400Gb/s"})) << "another NIC";
  const std::string efa = flat_text(on_machine("aws-p5"));
  EXPECT_EQ(efa.find("as DeepEP"), std::string::npos) << efa;
  EXPECT_EQ(efa.find("IBGDA 5.18"), std::string::npos) << efa;
  EXPECT_EQ(efa.find("NVSHMEM_IB_ENABLE_IBGDA"), std::string::npos) << efa;
  EXPECT_NE(efa.find("CPU proxy"), std::string::npos) << efa;
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
