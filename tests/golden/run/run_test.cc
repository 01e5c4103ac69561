#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

// Times are this machine's own; what is tested is the document.
TEST(Run, WalksFromTopologyToCollectives) {
  const BinaryRun run =
      run_binary({"run", "--quick", "--accept", "--contrast", "dgx-h100", "--json"},
                 {.limit = std::chrono::seconds(60)});
  ASSERT_TRUE(run.status == 0 || run.status == 1 || run.status == 5) << run;
  const auto document = nlohmann::json::parse(run.out);
  EXPECT_EQ(document["command"], "run");
  for (const auto& check : document["result"]["accept"])
    EXPECT_TRUE(run.status != 0 || check["outcome"] == "pass" || check["outcome"] == "not here")
        << check;
  const auto& steps = document["result"]["steps"];
  ASSERT_GE(steps.size(), 5U) << run;
  EXPECT_EQ(steps[0]["name"], "topology");
  EXPECT_EQ(steps[1]["name"], "links");
  for (const auto& step : steps) {
    for (const char* key : {"name", "ledger", "measured", "gap", "explained_by"})
      EXPECT_TRUE(step.contains(key)) << key << step;
  }
  for (std::size_t i = 2; i < steps.size(); ++i) {
    const auto& step = steps[i];
    EXPECT_GT(step["measured"]["time_us"].get<double>(), 0) << step;
    EXPECT_EQ(step["measured"]["wrong"], 0) << step;
    EXPECT_FALSE(step["explained_by"].empty()) << step;
    EXPECT_EQ(step["contrast"]["ranks"], 8) << step;
    if (step["ledger"].is_null()) continue;  // one CPU: not priced
    double sum = 0;
    for (const auto& term : step["ledger"]["terms"]) sum += term["time_us"].get<double>();
    EXPECT_NEAR(sum, step["ledger"]["time_us"].get<double>(), 1e-3 * sum) << step;
  }
  EXPECT_GE(document["result"]["accept"].size(), 4U);
}

TEST(Run, AnUnknownMachineIsBadUsage) {
  const BinaryRun run = run_binary({"run", "--contrast", "dgx-h1000"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_NE(run.err.find("dgx-h100"), std::string::npos) << run;
  EXPECT_TRUE(run.out.empty()) << run;
}

}  // namespace
}  // namespace comm_probe::test
