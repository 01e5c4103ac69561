// `nccl plan` through the program: the JSON of the contract, exit statuses, one line per refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"
#include "two_a100.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

void expect_refused(const std::vector<std::string>& arguments, const std::string& text,
                    const std::string& expected) {
  const BinaryRun run = run_binary(arguments, {.stdin_text = text});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_EQ(run.out, "") << run;
  EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
  EXPECT_THAT(run.err, HasSubstr(expected)) << run;
}

nlohmann::json plan(std::vector<std::string> more, int status = 0) {
  std::vector<std::string> arguments = {"nccl", "plan", "--topo", "-", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const BinaryRun run = run_binary(arguments, {.stdin_text = kTwoGpus});
  EXPECT_EQ(run.status, status) << run;
  return nlohmann::json::parse(run.out, nullptr, false);
}

// Golden G2-23: on AMD with at most two GPUs P2P goes up to SYS, else to PXB.
TEST(NcclPlan, AmdWithTwoGpusAllowsP2pThroughTheCpu) {
  const auto document = plan({});
  EXPECT_EQ(document["command"], "nccl");
  EXPECT_EQ(document["result"]["inputs"]["nodes"], 1);
  EXPECT_EQ(document["result"]["paths"]["transport_gpu_gpu"][0], "- P2P");
  EXPECT_EQ(document["result"]["paths"]["path_gpu_gpu"]["type"][0], "LOC PHB");
}

TEST(NcclPlan, SettingsDecide) {
  const auto off = plan({"--env", "NCCL_P2P_DISABLE=1"});
  EXPECT_EQ(off["result"]["paths"]["transport_gpu_gpu"][0], "- SHM");
  EXPECT_EQ(off["result"]["env"]["NCCL_P2P_DISABLE"], "1");
  const auto near = plan({"--nodes", "2"});
  EXPECT_EQ(near["result"]["paths"]["gdr_recv"][0], "0");  // PHB is beyond PXB
  const auto far = plan({"--nodes", "2", "--env", "NCCL_NET_GDR_LEVEL=PHB"});
  EXPECT_EQ(far["result"]["paths"]["gdr_recv"][0], "1");
}

TEST(NcclPlan, WhatDecidesNothingIsSaid) {
  const auto document = plan({"--env", "NCCL_DEBUG=INFO"});
  ASSERT_EQ(document["caveats"].size(), 1U);
  EXPECT_EQ(document["caveats"][0]["id"], "nccl.setting-unused");
  EXPECT_THAT(document["caveats"][0]["missing"], HasSubstr("NCCL_DEBUG"));
}

// Misspelt: a finding. Not modelled and able to change the network: the answer is limited.
TEST(NcclPlan, SettingsThatItCannotTakeIn) {
  const auto first_finding = [](const std::string& setting) {
    return plan({"--env", setting}, 1)["findings"][0]["id"];
  };
  EXPECT_EQ(first_finding("NCCL_P2P_LEVLE=NVL"), "nccl.env-misspelt");
  EXPECT_EQ(first_finding("NCCL_P2P_DISABLE=yes"), "nccl.env-not-a-number");
  EXPECT_EQ(first_finding("NCCL_ALGO=Tree"), "nccl.env-nothing-left");
  const auto limited = plan({"--env", "NCCL_IB_DISABLE=1"}, 5);
  EXPECT_EQ(limited["caveats"][0]["id"], "nccl.setting-unmodelled");
  const auto old = plan({"--version", "2.22", "--nodes", "2"});
  EXPECT_EQ(old["caveats"][0]["id"], "nccl.version-unproven");
  EXPECT_EQ(old["result"]["nccl_version"], "2.22");
}

std::string machine_file(const std::string& name) {
  const std::string path =
      testing::TempDir() + "/plan_" + name + "_" + std::to_string(::getpid()) + ".xml";
  std::ofstream(path) << run_binary({"machines", name, "--topo"}).out;
  return path;
}

TEST(NcclPlan, FitsOneScreen) {
  for (const char* nodes : {"1", "4"}) {
    const BinaryRun run =
        run_binary({"nccl", "plan", "--topo", machine_file("dgx-h100"), "--nodes", nodes});
    EXPECT_EQ(run.status, 0) << run;
    EXPECT_LE(lines_of(run.out).size(), 60U) << run;
  }
}

// Of a GPU by itself, and of many.
TEST(NcclPlan, CountsInPlainWords) {
  const BinaryRun one = run_binary({"nccl", "plan", "--topo", "-"}, {.stdin_text = kTwoGpus});
  EXPECT_THAT(one.out, HasSubstr("2 GPUs on 1 node: rings"));
  EXPECT_THAT(one.out, testing::Not(HasSubstr("receive by GPUDirect")));
}

std::string shared_xml(const std::string& machine) {
  const std::string path = COMM_PROBE_SHARED "/data/oracle/" + machine + "/system.xml";
  return std::filesystem::exists(path) ? path : "";
}

TEST(NcclPlan, LargeMachinesAreSummarised) {
  const std::string nvl72 = shared_xml("gb200-nvl72");
  if (nvl72.empty()) GTEST_SKIP() << "no oracle data";
  const BinaryRun run = run_binary({"nccl", "plan", "--topo", nvl72, "--nodes", "2"});
  EXPECT_LE(lines_of(run.out).size(), 80U) << run;
  EXPECT_THAT(run.out, HasSubstr("both ways: all 72 GPUs"));
  EXPECT_LE(lines_of(run_binary({"nccl", "plan", "--topo", nvl72, "--explain"}).out).size(), 700U);
  // NVLink between hosts came with 2.21
  expect_refused({"nccl", "plan", "--topo", nvl72, "--version", "2.18", "--nodes", "2"}, "",
                 "has no NVLink between hosts");
  expect_refused({"nccl", "plan", "--topo", nvl72, "--nodes", "60000"}, "",
                 "ranks, expected at most");
}

TEST(NcclPlan, RefusesWithOneLine) {
  const std::vector<std::string> from_stdin = {"nccl", "plan", "--topo", "-"};
  expect_refused({"nccl", "plan"}, "", "--topo");
  expect_refused({"nccl", "plan", "--topo", "/nowhere.xml"}, "", "/nowhere.xml");
  expect_refused(from_stdin, "", "an empty file");
  expect_refused(from_stdin, "hello", "expected an NCCL topology XML");
  expect_refused(from_stdin, "<system version=\"1\"></system>", "there is no GPU in this topology");
  expect_refused({"nccl", "plan", "--topo", "-", "--env", "x"}, kTwoGpus, "'x' is not NAME=VALUE");
  expect_refused({"nccl", "plan", "--topo", "-", "--nodes", "0"}, kTwoGpus, "--nodes");
  for (const char* name : {"--multicast", "--driver-p2p", "--collnet", "--mnnvl"})
    for (const char* value : {"5", "-1", "yes", ""})
      expect_refused({"nccl", "plan", "--topo", "-", name, value}, kTwoGpus, "is not 0 or 1");
}

// Reckoned by hand from spec parts 3 and 4: one ring over both nodes, depth 4 / 2 - 1 + 1.
TEST(NcclPlan, GraphsChannelsRingsAndTrees) {
  const auto result = plan({"--nodes", "2"})["result"];
  EXPECT_EQ(result["nccl_nodes"], 2);
  EXPECT_EQ(result["graphs"]["ring"]["pattern_name"], "RING");
  EXPECT_EQ(result["graphs"]["ring"]["channels"][0]["net"], nlohmann::json({0, 0}));
  EXPECT_EQ(result["rings"]["unique"][0], nlohmann::json({0, 1, 2, 3}));
  EXPECT_EQ(result["trees"]["depth"], 2);
  const int search = result["channels"]["search"];
  EXPECT_EQ(result["channels"]["coll"], 2 * search);
}

// Without P2P host memory is between the GPUs; PHB is beyond PXB: no GPUDirect RDMA.
TEST(NcclPlan, SaysWhatCarriesEachEdge) {
  const auto edges =
      plan({"--nodes", "2", "--env", "NCCL_P2P_DISABLE=1"})["result"]["ring_edges_node0"];
  ASSERT_EQ(edges.size() % 3, 0U);
  EXPECT_EQ(edges[0]["via"], "NET/0");
  EXPECT_EQ(edges[1]["via"], "SHM/direct/direct");
  EXPECT_EQ(edges[2]["from"], edges[1]["to"]);
}

TEST(NcclPlan, OtherVersionsHaveOtherRules) {
  const auto result = plan({"--nodes", "2", "--version", "2.24.3"})["result"];
  EXPECT_EQ(result["nccl_version"], "2.24.3");
}

TEST(NcclPlan, SettingsDecideChannels) {
  const auto document =
      plan({"--nodes", "2", "--env", "NCCL_MIN_NCHANNELS=24", "--env", "NCCL_MAX_NCHANNELS=8"}, 1);
  EXPECT_EQ(document["result"]["channels"]["coll"], 24);
  EXPECT_EQ(document["findings"][0]["id"], "nccl.env-minimum-wins");
}

TEST(NcclPlan, LargeJobsAreShortenedUnlessFull) {
  const auto cut = plan({"--nodes", "64"})["result"];
  EXPECT_EQ(cut["rings"]["full"], 0);
  EXPECT_EQ(cut["rings"]["unique"][0].size(), 4U);
  EXPECT_FALSE(cut["trees"].contains("unique"));
  const auto full = plan({"--nodes", "64", "--full"})["result"];
  EXPECT_EQ(full["rings"]["unique"][0].size(), 128U);
  EXPECT_EQ(full["rings"]["hash"], cut["rings"]["hash"]);
  EXPECT_TRUE(full["trees"].contains("unique"));
}

TEST(NcclPlan, HelpSaysForWhichVersion) {
  const BinaryRun run = run_binary({"nccl", "plan", "--help"});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_THAT(run.out, HasSubstr("2.28.9"));
  EXPECT_THAT(run.out, HasSubstr("Example:"));
}

}  // namespace
}  // namespace comm_probe::test
