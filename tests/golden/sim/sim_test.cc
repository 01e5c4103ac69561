// `sim OP`: what the command prints and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<std::string> words(const std::string& op, const std::string& ranks,
                               std::vector<std::string> more) {
  std::vector<std::string> all = {"sim",  op,        "-n",    ranks,    "-s",
                                  "1GiB", "--alpha", "500ns", "--beta", "50GB/s"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

json result_of(const std::string& ranks, std::vector<std::string> more) {
  more.emplace_back("--json");
  const BinaryRun run = run_binary(words("all_reduce", ranks, more));
  EXPECT_EQ(run.status, 0) << run;
  return json::parse(run.out).at("result");
}

// 2 x 4095 rounds of 262,144 B: 5.24288 us at 50 GB/s, twice that over the slow NIC.
TEST(Sim, OneSlowNicSetsTheRateOfTheRing) {
  const json result = result_of("4096", {"--slow-link", "17:*:0.5"});
  EXPECT_NEAR(result.at("alike_us").get<double>(), 47034.19, 0.01);  // spec/simulation-timing.md
  EXPECT_NEAR(result.at("time_us").get<double>(), 2 * 4095 * 2 * 5.24288, 20);
  EXPECT_EQ(result.at("without_slow_links_us"), result.at("alike_us"));
  EXPECT_TRUE(result.at("without_late_ranks_us").is_null());
  EXPECT_EQ(result.at("closed_form").at("algorithm"), "ring");
}

TEST(Sim, ALateRankCostsWhatItIsLate) {
  const json result = result_of("64", {"--late", "5:2ms", "--late", "6:1ms"});
  EXPECT_NEAR(result.at("time_us").get<double>() - result.at("alike_us").get<double>(), 2000, 1e-6);
}

TEST(Sim, BothCausesAreTakenApart) {
  const json result = result_of("64", {"--late", "5:2ms", "--slow-link", "9:10:0.9"});
  EXPECT_LT(result.at("without_slow_links_us"), result.at("time_us"));
  EXPECT_LT(result.at("without_late_ranks_us"), result.at("time_us"));
  EXPECT_GT(result.at("without_late_ranks_us"), result.at("alike_us"));
}

TEST(Sim, SaysWhatEachChangeCosts) {
  const BinaryRun run = run_binary(words("all_reduce", "8", {"--late", "5:2ms"}));
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_THAT(run.out, HasSubstr("all_reduce of 1 GiB on 8 ranks, ring: 39.59 ms; 37.59 ms where"));
  EXPECT_THAT(run.out, HasSubstr("cost 2 ms (+5.32 %); the latest comes 2 ms late"));
  EXPECT_THAT(run.out, HasSubstr("37.58 ms for the bytes, 500 ns for one message"));
}

#ifdef COMM_PROBE_SIMGRID_PEER
// SimGrid 3.32, cross-traffic off: the same to 1e-4 on links that are alike. A tree is given one
// chunk, because the peer does not cut messages, and all its leaves are at one depth: the peer lets
// two messages share a port where ours follow each other, so its first one comes later.
TEST(Sim, IsWhatSimGridSimulates) {
  struct Row {
    const char *op, *algorithm;
    std::vector<int> ranks;
    std::string bytes;
  };
  const Row rows[] = {{"all_reduce", "ring", {8, 64, 256}, "1073741824"},
                      {"all_reduce", "tree", {7, 63, 255}, "262144"},
                      {"all_to_all", "direct", {8, 64, 256}, "1073741824"}};
  for (const Row& row : rows)
    for (const int n : row.ranks) {
      const std::string ranks = std::to_string(n);
      const BinaryRun peer = run_shell(std::string(COMM_PROBE_SIMGRID_PEER) + " " + row.algorithm +
                                       " " + ranks + " " + row.bytes + " 5e-7 5e10 2>/dev/null");
      ASSERT_EQ(peer.status, 0) << peer;
      const BinaryRun ours =
          run_binary({"sim", row.op, "--algo", row.algorithm, "-n", ranks, "-s", row.bytes,
                      "--alpha", "500ns", "--beta", "50GB/s", "--json"});
      ASSERT_EQ(ours.status, 0) << ours;
      const double us = json::parse(ours.out).at("result").at("time_us");
      EXPECT_NEAR(us / (std::stod(peer.out) * 1e6), 1, 1e-4) << row.algorithm << " " << n;
    }
}
#else
TEST(Sim, IsWhatSimGridSimulates) { GTEST_SKIP() << "SimGrid (libsimgrid-dev) was not found"; }
#endif

TEST(Sim, RefusesWhatDoesNotExist) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--slow-link", "8:1:0.5"}, "--slow-link names rank 8, the ranks are 0 to 7"},
      {{"--slow-link", "1:8:0.5"}, "--slow-link names rank 8, the ranks are 0 to 7"},
      {{"--slow-link", "1:1:0.5"}, "--slow-link 1:1 is no link"},
      {{"--slow-link", "1:2:0"}, "a slow link has 0 times its bandwidth"},
      {{"--slow-link", "1:2:1.5"}, "a slow link has 1.5 times its bandwidth"},
      {{"--slow-link", "1:2:nan"}, "a slow link has nan times its bandwidth"},
      {{"--slow-link", "1:-1:0.5"}, "--slow-link 1:-1:0.5 is not A:B:FACTOR"},
      {{"--slow-link", "1:0.5"}, "--slow-link 1:0.5 is not A:B:FACTOR"},
      {{"--late", "9:2ms"}, "--late names rank 9, the ranks are 0 to 7"},
      {{"--late", "2ms"}, "--late 2ms is not RANK:TIME"},
      {{"--late", "2:2"}, "time '2' has no unit"},
      {{"--algo", "nvls"}, "all_reduce by nvls cannot be played"}};
  for (const auto& [more, message] : cases) {
    const BinaryRun run = run_binary(words("all_reduce", "8", more));
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_EQ(run.out, "") << run;
  }
}

}  // namespace
}  // namespace comm_probe::test
