#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe {
namespace {

using nlohmann::json;
using test::run_binary;

const std::vector<std::string> kFrontExample = {"calc", "all_reduce", "-n",   "8",      "-s",
                                                "1GB",  "--alpha",    "10us", "--beta", "25GB/s"};

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(Calc, FrontExampleIsTheLedgerOfTheContract) {
  const auto run = run_binary(with(kFrontExample, {"--json"}));
  ASSERT_EQ(run.status, 0) << run;
  EXPECT_EQ(run.err, "");
  const json result = json::parse(run.out).at("result");
  EXPECT_NEAR(result.at("time_us").get<double>(), 70140, 0.01);
  const json expected = {{"op", "all_reduce"},
                         {"algorithm", "ring"},
                         {"protocol", "simple"},
                         {"ranks", 8},
                         {"bytes", 1000000000},
                         {"steps", 14},
                         {"alpha_us", 10.0},
                         {"beta_GBps", 25.0},
                         {"bytes_per_rank", 1750000000},
                         {"latency_us", 140.0},
                         {"bandwidth_us", 70000.0},
                         {"knee_bytes", 2000000},
                         {"plateau90_bytes", 18000000},
                         {"ledger", "bandwidth"}};
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(result.at(key), value) << key;
  EXPECT_NEAR(result.at("latency_share").get<double>(), 0.001996, 1e-6);
  EXPECT_NEAR(result.at("algbw_GBps").get<double>(), 14.2572, 1e-4);
  EXPECT_NEAR(result.at("busbw_GBps").get<double>(), 24.9501, 1e-4);
  EXPECT_FALSE(result.at("advice").empty());
  double sum = 0;
  for (const json& term : result.at("terms")) sum += term.at("time_us").get<double>();
  EXPECT_NEAR(sum, 70140, 0.01);
}

TEST(Calc, TextFitsAndExplains) {
  const auto run = run_binary(with(kFrontExample, {"--explain"}));
  ASSERT_EQ(run.status, 0) << run;
  for (const char* part :
       {"70.14 ms", "bandwidth ledger", "What helps", "Cost tree", "Not taken", "double-tree"})
    EXPECT_NE(run.out.find(part), std::string::npos) << part << "\n" << run;
  for (const std::string& line : test::lines_of(run.out)) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Calc, BadUsageIsOneLineAndStatus2) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"calc"}, "calc needs an operation"},
      {{"calc", "all_redcue", "-n", "8"}, "did you mean 'all_reduce'"},
      {{"calc", "all_reduce", "-n", "0", "-s", "1GB"}, "-n 0 is not a number of ranks"},
      {{"calc", "all_reduce", "-n", "-3", "-s", "1GB"}, "-n -3 is not a number of ranks"},
      {{"calc", "all_reduce", "-s", "1GB"}, "the number of ranks is missing"},
      {{"calc", "all_reduce", "-n", "8", "-s", "1GB"}, "alpha is missing"},
      {{"calc", "all_reduce", "-n", "8", "-s", "1GB", "--alpha", "1us"}, "beta is missing"},
      {{"calc", "all_reduce", "-n", "8", "-s", "8Q"}, "unknown unit 'Q'"},
      {{"calc", "all_reduce", "-n", "8", "--alpha", "1us", "--beta", "1GB/s"},
       "the size is missing"},
      {with(kFrontExample, {"--algo", "dobule-tree"}), "did you mean 'double-tree'"},
      {with(kFrontExample, {"--algo", "bruck"}), "known for it: ring, tree"},
      {with(kFrontExample, {"--proto", "ll12"}), "did you mean 'll128'"},
      {with(kFrontExample, {"--inter-beta", "1GB/s"}), "--gpus-per-node"},
      {{"calc", "all_reduce", "-n", "8", "-s", "1GB", "--alpha", "1us", "--beta", "1e-300B/s"},
       "below 1 B/s"},
  };
  for (const auto& [arguments, message] : cases) {
    const auto run = run_binary(arguments);
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(run.out, "") << run;
    EXPECT_EQ(test::lines_of(run.err).size(), 1u) << run;
    EXPECT_NE(run.err.find(message), std::string::npos) << message << "\n" << run;
  }
}

}  // namespace
}  // namespace comm_probe
