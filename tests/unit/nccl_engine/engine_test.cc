// The whole engine on libraries that stand in for the driver and for NCCL (fake/): what moves the
// data is not the GPU, everything else is what runs there.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::vector<std::pair<std::string, std::string>> fakes(int version = 22809) {
  const std::string folder = COMM_PROBE_FAKE_NCCL_FOLDER;
  return {{"LD_LIBRARY_PATH", folder},
          {"COMM_PROBE_NCCL", folder + "/libnccl-" + std::to_string(version) + ".so"}};
}

BinaryRun bench(std::vector<std::string> arguments,
                const std::vector<std::pair<std::string, std::string>>& more = {},
                int version = 22809) {
  arguments.insert(arguments.begin(), "bench");
  arguments.insert(arguments.end(), {"--backend", "nccl"});
  BinarySurroundings surroundings = {.environment = fakes(version)};
  surroundings.environment.insert(surroundings.environment.end(), more.begin(), more.end());
  return run_binary(arguments, surroundings);
}

int wrong_of(const json& document) {
  int wrong = 0;
  for (const json& row : document["result"]["rows"])
    wrong += row["wrong"].is_null() ? 0 : row["wrong"].get<int>();
  return wrong;
}

class EveryOperation : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(EveryOperation, MovesTheRightDataBetweenProcesses) {
  const auto& [op, version] = GetParam();
  const BinaryRun run = bench(
      {op, "--one-gpu-ranks", "3", "-b", "12", "-e", "60000", "-f", "70", "--json"}, {}, version);
  ASSERT_EQ(run.status, 0) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(document["result"]["ranks"], 3);
  EXPECT_EQ(document["result"]["rows"].size(), 6u);  // 12, 840 and 58800 bytes, in place too
  EXPECT_EQ(wrong_of(document), 0) << run;
}
INSTANTIATE_TEST_SUITE_P(All, EveryOperation,
                         ::testing::Combine(::testing::Values("all_reduce", "all_gather",
                                                              "reduce_scatter", "broadcast",
                                                              "reduce", "all_to_all", "send_recv"),
                                            ::testing::Values(21800, 22809)));

class EveryType : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(EveryType, IsReducedAsItMustBe) {
  const auto& [type, reduction] = GetParam();
  const BinaryRun run = bench({"all_reduce", "--one-gpu-ranks", "3", "-b", "4K", "-e", "4K", "-d",
                               type, "-o", reduction, "--json"});
  ASSERT_EQ(run.status, 0) << run;
  EXPECT_EQ(wrong_of(json::parse(run.out)), 0) << run;
}
INSTANTIATE_TEST_SUITE_P(All, EveryType,
                         ::testing::Combine(::testing::Values("float", "double", "bfloat16", "half",
                                                              "int32", "uint8"),
                                            ::testing::Values("sum", "max", "avg")));

TEST(NcclEngine, ThreadsAndGpusOfOneProcessAreRanks) {
  const BinaryRun run =
      bench({"all_to_all", "-t", "2", "-g", "2", "-b", "1K", "-e", "4K", "-n", "3", "--json"},
            {{"FAKE_CUDA_DEVICES", "4"}});
  ASSERT_EQ(run.status, 0) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(document["result"]["ranks"], 4);
  EXPECT_EQ(wrong_of(document), 0);
}

TEST(NcclEngine, GraphsAndRegisteredBuffersGiveTheSame) {
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"-G", "3"}, {"-R", "1"}, {"-R", "2"}}) {
    std::vector<std::string> all = {"all_reduce", "--one-gpu-ranks", "2", "-b", "1K", "-e",
                                    "64K",        "--json"};
    all.insert(all.end(), flags.begin(), flags.end());
    const BinaryRun run = bench(all);
    ASSERT_EQ(run.status, 0) << run;
    EXPECT_EQ(wrong_of(json::parse(run.out)), 0);
  }
}

TEST(NcclEngine, WhatTheReleaseLacksIsOneLine) {
  const BinaryRun run = bench({"all_reduce", "--one-gpu-ranks", "2", "-R", "2"}, {}, 21903);
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_THAT(run.err, HasSubstr("-R 2: NCCL 2.19.3 has no ncclCommWindowRegister"));
  EXPECT_EQ(lines_of(run.err).size(), 1u);
}

TEST(NcclEngine, WithoutNcclItIsOneLine) {
  const BinaryRun run = bench({"all_reduce"}, {{"COMM_PROBE_NCCL", "/nonexistent/libnccl.so.2"}});
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_THAT(run.err, HasSubstr("bench --backend nccl: /nonexistent/libnccl.so.2 does not load"));
  EXPECT_THAT(run.err, HasSubstr("COMM_PROBE_NCCL"));
  EXPECT_EQ(lines_of(run.err).size(), 1u);
}

TEST(NcclEngine, MoreRanksThanGpusAreRefusedWithTheWayOut) {
  const BinaryRun run = bench({"all_reduce", "-g", "4"});
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_THAT(run.err, HasSubstr("--one-gpu-ranks 4"));
}

TEST(NcclEngine, ABrokenDriverIsOneLine) {
  const BinaryRun run = bench({"all_reduce"}, {{"FAKE_CUDA_BROKEN", "1"}});
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_THAT(run.err, HasSubstr("cuInit"));
  EXPECT_EQ(lines_of(run.err).size(), 1u);
}

TEST(NcclEngine, AWrongElementIsFound) {
  const BinaryRun run =
      bench({"all_reduce", "--one-gpu-ranks", "3", "-b", "1K", "-e", "2K", "--json"},
            {{"FAKE_NCCL_FAULT", "wrong:1:2"}});
  EXPECT_EQ(run.status, 1) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(document["findings"][0]["id"], "bench.wrong-results");
  EXPECT_EQ(document["findings"][0]["observed"]["value"], 1);
}

// In the pass that checks every size is called twice, then every size is timed.
TEST(NcclEngine, ARankThatDiesIsNamed) {
  const BinaryRun run =
      bench({"all_reduce", "--one-gpu-ranks", "3", "-b", "1K", "-e", "4K", "--json"},
            {{"FAKE_NCCL_FAULT", "die:1:4"}});
  EXPECT_EQ(run.status, 1) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(document["findings"][0]["id"], "bench.rank-died");
  EXPECT_EQ(document["findings"][0]["ranks"], json({1}));
  EXPECT_THAT(document["findings"][0]["summary"].get<std::string>(), HasSubstr("signal 9"));
}

TEST(NcclEngine, ARankThatHangsEndsTheRunInTime) {
  const BinaryRun run = bench(
      {"all_reduce", "--one-gpu-ranks", "3", "-b", "1K", "-e", "4K", "--timeout", "1s", "--json"},
      {{"FAKE_NCCL_FAULT", "hang:1:4"}});
  EXPECT_EQ(run.status, 1) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(document["findings"][0]["id"], "bench.no-progress");
  EXPECT_THAT(document["findings"][0]["summary"].get<std::string>(),
              HasSubstr("did not end within 1 s"));
}

// Rank 1 hangs; its process drives rank 0 as well, and nobody can tell them apart.
TEST(NcclEngine, OfAProcessWithSeveralRanksNoneIsNamedForAHang) {
  const BinaryRun run = bench(
      {"all_reduce", "-t", "2", "-g", "1", "-b", "1K", "-e", "4K", "--timeout", "1s", "--json"},
      {{"FAKE_NCCL_FAULT", "hang:1:4"}, {"FAKE_CUDA_DEVICES", "2"}});
  EXPECT_EQ(run.status, 1) << run;
  const json finding = json::parse(run.out)["findings"][0];
  EXPECT_EQ(finding["id"], "bench.no-progress");
  EXPECT_TRUE(finding["ranks"].empty()) << finding;
  EXPECT_EQ(finding["confidence"], "likely");
}

TEST(NcclEngine, ARefusalOfNcclIsItsOwnWords) {
  const BinaryRun run =
      bench({"all_reduce", "--one-gpu-ranks", "2"}, {{"FAKE_NCCL_FAULT", "refuse:1:0"}});
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_THAT(run.err, HasSubstr("ncclCommInitRank on rank 1: invalid usage (Duplicate GPU"));
  EXPECT_EQ(lines_of(run.err).size(), 1u);
}

TEST(NcclEngine, ProcessesOfALauncherMeetAndOnlyTheFirstSpeaks) {
  const std::string line =
      "for r in 2 1 0; do RANK=$r WORLD_SIZE=3 LOCAL_RANK=$r MASTER_ADDR=127.0.0.1 "
      "MASTER_PORT=$PORT \"$COMM_PROBE\" bench all_gather --backend nccl -b 120 -e 4K -f 8 -n 2 "
      "> $OUT/$r.txt & done; wait; cat $OUT/0.txt; wc -c < $OUT/1.txt; wc -c < $OUT/2.txt";
  BinarySurroundings surroundings = {.environment = fakes()};
  const std::string folder = ::testing::TempDir() + "nccl-launched";
  std::filesystem::create_directories(folder);
  surroundings.environment.emplace_back("OUT", folder);
  surroundings.environment.emplace_back("FAKE_CUDA_DEVICES", "3");
  surroundings.environment.emplace_back("PORT", std::to_string(20000 + ::getpid() % 20000));
  const BinaryRun run = run_shell(line, surroundings);
  ASSERT_EQ(run.status, 0) << run;
  EXPECT_THAT(run.out, HasSubstr("all_gather on 3 ranks: 2 sizes measured, every result right"));
  EXPECT_THAT(run.out, HasSubstr("\n0\n0\n")) << run;
}

TEST(NcclEngine, TheLogIsKeptWhereAskedAndElseGone) {
  const std::string folder = ::testing::TempDir() + "nccl-kept";
  std::filesystem::remove_all(folder);
  const std::string temporary = ::testing::TempDir() + "nccl-tmp";
  std::filesystem::create_directories(temporary);
  ASSERT_EQ(
      bench({"all_reduce", "--one-gpu-ranks", "2", "-b", "1K", "-e", "1K"}, {{"TMPDIR", temporary}})
          .status,
      0);
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
  const BinaryRun run =
      bench({"all_reduce", "--one-gpu-ranks", "2", "-b", "1K", "-e", "1K", "--keep", folder});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_TRUE(std::filesystem::exists(folder + "/rank1.log"));
  EXPECT_THAT(run.out, HasSubstr("ring/ll, 2 channels"));
}

const std::vector<std::string> kRouted = {
    "all_to_all", "--routing", "zipf:1.2", "--ranks", "4", "--ranks-per-node",
    "2",          "--tokens",  "16",       "--topk",  "4", "--experts",
    "32",         "--hidden",  "256",      "-n",      "2"};

TEST(NcclEngine, ARoutingComesBackWhole) {
  std::vector<std::string> arguments = kRouted;
  arguments.push_back("--json");
  const BinaryRun run = bench(arguments, {{"FAKE_CUDA_DEVICES", "4"}});
  ASSERT_EQ(run.status, 0) << run;
  const json result = json::parse(run.out)["result"];
  ASSERT_EQ(result["rows"].size(), 2u) << run;
  for (const json& row : result["rows"]) {
    EXPECT_EQ(row["picks_returned"], 2 * 4 * 16 * 4) << run;
    EXPECT_EQ(row["picks_missing"], 0) << run;
    EXPECT_EQ(row["tokens_twice"], 0) << run;
    EXPECT_EQ(row["wrong"], 0) << run;
  }
}

TEST(NcclEngine, ARoutingThatCannotBeSentIsOneLine) {
  const auto refused = [](std::vector<std::string> more, const char* devices) {
    std::vector<std::string> arguments = kRouted;
    arguments.insert(arguments.end(), more.begin(), more.end());
    const BinaryRun run = bench(arguments, {{"FAKE_CUDA_DEVICES", devices}});
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run;
    return run;
  };
  EXPECT_THAT(refused({}, "2").err, HasSubstr("4 ranks need 4 GPUs, and CUDA shows 2"));
  EXPECT_EQ(refused({}, "2").status, 3);
  EXPECT_EQ(refused({"--nic", "1GB/s"}, "4").status, 2);
  EXPECT_THAT(refused({"--one-gpu-ranks", "4"}, "4").err, HasSubstr("--one-gpu-ranks"));
}

}  // namespace
}  // namespace comm_probe::test
