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

TEST(Sim, TheDocumentSaysWhatWasAskedFor) {
  const json result = result_of("64", {"--late", "5:2ms", "--slow-link", "17:*:0.5"});
  EXPECT_EQ(result.at("late_ranks"), json::parse(R"([{"rank": 5, "late_us": 2000.0}])"));
  EXPECT_EQ(result.at("slow_links"), json::parse(R"([{"from": 17, "to": null, "factor": 0.5}])"));
  EXPECT_EQ(result.at("links").at("link").at("beta_GBps"), 50.0);
  EXPECT_EQ(result.at("links").at("basis"), "assumed");
}

TEST(Sim, SaysWhatEachChangeCosts) {
  const BinaryRun run = run_binary(words("all_reduce", "8", {"--late", "5:2ms"}));
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_THAT(run.out, HasSubstr("all_reduce of 1 GiB on 8 ranks, ring: 39.59 ms; 37.59 ms where"));
  EXPECT_THAT(run.out, HasSubstr("cost 2 ms (+5.32 %); the latest comes 2 ms late"));
  EXPECT_THAT(run.out, HasSubstr("37.58 ms for the bytes, 500 ns for one message"));
}

std::vector<std::string> on_fabric(std::vector<std::string> more) {
  std::vector<std::string> all = {"sim",       "all_reduce",
                                  "-n",        "32",
                                  "-s",        "256MiB",
                                  "--machine", "dgx-h100",
                                  "--fabric",  "fat-tree:nodes_per_leaf=2,oversubscription=2"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

json fabric_result(std::vector<std::string> more) {
  more.emplace_back("--json");
  const BinaryRun run = run_binary(on_fabric(more));
  EXPECT_EQ(run.status, 0) << run;
  return json::parse(run.out).at("result");
}

TEST(Sim, AFabricIsDescribedBesideItsResult) {
  const json result = fabric_result({});
  const json& fabric = result.at("fabric");
  EXPECT_EQ(fabric.at("kind"), "fat-tree");
  EXPECT_EQ(fabric.at("nodes"), 4);
  EXPECT_EQ(fabric.at("switches"), 2);
  // 32 NVLink ports, 32 NIC ports, 2 leaves with 16 NICs and 8 uplinks; in and out
  EXPECT_EQ(fabric.at("links"), 2 * (32 + 32 + 2 * 8));
  EXPECT_GE(result.at("time_us"), result.at("floors").at("bandwidth_us"));
  EXPECT_EQ(result.at("model"), "flows, max-min fair shares");
  EXPECT_TRUE(fabric.at("jobs").empty());
  double shares = 0;
  for (const json& kind : fabric.at("held_up_by")) shares += kind.at("share").get<double>();
  EXPECT_NEAR(shares, 1, 1e-9);
}

// 16 nodes of 8 GPUs with 8 NICs of 50 GB/s. The plain tree leaves the busiest node with 16 edges,
// each wave 16 x 1 GiB / 400 GB/s = 42.95 ms; the double tree with 3 x 1 GiB in all, 8.05 ms;
// NCCL's over the nodes with 2 x 1 GiB, 5.37 ms.
TEST(Sim, TreesOverNodesTakeWhatCalcSays) {
  const std::pair<const char*, double> trees[] = {
      {"tree", 85.90}, {"double-tree", 8.053}, {"nccl-tree", 5.369}};
  for (const auto& [algorithm, least_ms] : trees)
    for (const bool has_fabric : {false, true}) {
      std::vector<std::string> words = {"sim",    "all_reduce", "-n",        "128",
                                        "-s",     "1GiB",       "--machine", "dgx-h100",
                                        "--algo", algorithm,    "--json"};
      if (has_fabric) words.insert(words.end(), {"--fabric", "rail-optimised:nodes_per_leaf=32"});
      const BinaryRun run = run_binary(words);
      ASSERT_EQ(run.status, 0) << run;
      const json result = json::parse(run.out).at("result");
      EXPECT_GE(result.at("time_us").get<double>(), least_ms * 1e3 * (1 - 1e-3)) << algorithm;
      EXPECT_LE(result.at("time_us").get<double>(), least_ms * 1e3 * 1.06) << algorithm;
      EXPECT_NEAR(result.at("closed_form").at("bandwidth_us").get<double>(), least_ms * 1e3, 5)
          << algorithm;
    }
}

TEST(Sim, TheSeedChoosesTheWays) {
  const auto with = [](const char* seed) {
    return fabric_result({"--algo", "recursive-doubling", "--seed", seed});
  };
  const json one = with("1");
  EXPECT_EQ(one, with("1"));
  EXPECT_NE(one.at("time_us"), with("2").at("time_us"));
  EXPECT_FALSE(one.at("fabric").at("collisions").empty());
}

TEST(Sim, JobsBesideEachOtherAreLongerThanAlone) {
  const json result = fabric_result({"--jobs", "all_to_all,64MiB,0-31/2"});
  const json& jobs = result.at("fabric").at("jobs");
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[1].at("op"), "all_to_all");
  EXPECT_EQ(jobs[1].at("ranks"), 16);
  for (const json& job : jobs) EXPECT_GT(job.at("time_us"), job.at("alone_us"));
  EXPECT_EQ(jobs[0].at("time_us"), result.at("time_us"));
}

TEST(Sim, LateRanksAndSlowNicsCountOnAFabricToo) {
  const json result = fabric_result({"--late", "3:2ms", "--slow-link", "9:*:0.1"});
  EXPECT_GT(result.at("time_us"), 2000);
  EXPECT_GT(result.at("time_us"), result.at("without_late_ranks_us"));
  EXPECT_GT(result.at("without_late_ranks_us"), result.at("alike_us"));
}

TEST(Sim, RefusesFabricsThatDoNotExist) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--fabric", "nvlink"}, "one NVLink domain of 8 GPUs does not hold 32 ranks"},
      {{"--fabric", "torus:k=3"}, "torus:k=3"},
      {{"--fabric", "fat-tree"}, "'nodes_per_leaf' is missing"},
      {{"--on", "0-3"}, "32 ranks stand on 4 GPUs"},
      {{"--on", "0-30+30"}, "GPU 30 is named twice"},
      {{"--on", "3-1"}, "'3-1' names no GPUs"},
      {{"--jobs", "all_to_all,64MiB"}, "--jobs all_to_all,64MiB is not OP,SIZE,GPUS"},
      {{"--jobs", "all_to_all,64,0-999999999"}, "names no GPUs of a fabric"},
      {{"--jobs", "gather,64,0-7"}, "gather"}};
  for (const auto& [more, message] : cases) {
    std::vector<std::string> words = on_fabric({});
    if (more[0] == "--fabric") words.resize(words.size() - 2);
    words.insert(words.end(), more.begin(), more.end());
    const BinaryRun run = run_binary(words);
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_EQ(run.out, "") << run;
  }
}

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
