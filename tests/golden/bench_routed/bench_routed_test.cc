// `bench all_to_all --routing`: every token comes back, whatever sends it; the bytes are those of
// the routing. No time is judged here (bench/moe_all_to_all.cc does).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe {
namespace {

using nlohmann::json;

std::vector<std::string> small(std::vector<std::string> more) {
  std::vector<std::string> all = {"bench",     "all_to_all", "--hidden", "256", "--topk", "4",
                                  "--experts", "32",         "--json",   "-n",  "2"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

void expect_all_back(const json& result, std::uint64_t picks) {
  ASSERT_EQ(result["rows"].size(), 2u) << result.dump(1);
  for (const json& row : result["rows"]) {
    EXPECT_EQ(row["picks_returned"], picks) << row.dump(1);
    EXPECT_EQ(row["picks_missing"], 0) << row.dump(1);
    EXPECT_EQ(row["tokens_twice"], 0) << row.dump(1);
    EXPECT_EQ(row["wrong"], 0) << row.dump(1);
    EXPECT_GT(row["dispatch"]["predicted_us"], 0) << row.dump(1);
  }
}

TEST(BenchRouted, LocalRanksOnEmulatedNodes) {
  const auto run = test::run_binary(small({"--ranks", "8", "--ranks-per-node", "2", "--routing",
                                           "zipf:1.2", "--tokens", "16", "--nic", "100MB/s"}));
  ASSERT_TRUE(run.status == 0 || run.status == 5) << run;
  const json result = json::parse(run.out, nullptr, false)["result"];
  expect_all_back(result, 2 * 8 * 16 * 4);
  // dedup sends the fullest rank no more over the NIC than flat does
  EXPECT_LT(result["rows"][1]["dispatch"]["nic_bytes_most"],
            result["rows"][0]["dispatch"]["nic_bytes_most"]);
}

// The routing of a file is sent as it stands: two tokens of rank 0 that both want rank 1.
TEST(BenchRouted, SendsExactlyTheRoutingOfAFile) {
  const std::string path = testing::TempDir() + "routing.csv";
  std::ofstream(path) << "16,17,18,19\n20,21,22,23\n0,1,2,3\n0,1,2,-1\n";
  const auto run = test::run_binary(small({"--ranks", "2", "--routing", path}));
  ASSERT_EQ(run.status, 0) << run;
  const json document = json::parse(run.out, nullptr, false);
  EXPECT_EQ(document["inputs"][0]["kind"], "moe-routing");
  const json& result = document["result"];
  expect_all_back(result, 2 * 15);
  // flat: 8 records from rank 0 to 1; 16 + 264 bytes, up to a multiple of 16
  EXPECT_EQ(result["rows"][0]["dispatch"]["nic_bytes_most"], 8 * 288);
  // dedup: 2, each with three further picks of 8 bytes
  EXPECT_EQ(result["rows"][1]["dispatch"]["nic_bytes_most"], 2 * 304);
}

TEST(BenchRouted, WhatCannotBeIsOneLine) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--routing", "zipf:1", "--backend", "cuda"}, "cuda sends no routing"},
      {{"--routing", "zipf:11"}, "no skew"},
      {{"--routing", "nowhere.npy"}, "nowhere.npy"},
      {{"--routing", "zipf:1", "--algo", "direct"}, "--algo"},
      {{"--routing", "zipf:1", "--ranks", "3", "--ranks-per-node", "2"}, "does not divide"},
      {{"--routing", "zipf:1", "--experts", "31"}, "do not divide over"},
      {{"--routing", "zipf:1", "--tokens", "100000000"}, "number of tokens"},
      {{"--routing", "zipf:1", "--tokens", "9000000", "--ranks", "8"}, "picks"}};
  for (const auto& [arguments, message] : cases) {
    std::vector<std::string> all = {"bench", "all_to_all"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto run = test::run_binary(all);
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_NE(run.err.find(message), std::string::npos) << run;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run;
  }
}

}  // namespace
}  // namespace comm_probe
