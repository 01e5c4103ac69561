// On a machine with an NVIDIA GPU: what `link` measures is plausible. Skipped with a reason where
// there is none.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

TEST(GpuLinksHere, ArePlausible) {
  const BinaryRun run = run_binary({"link", "--only", "pcie,p2p", "--quick", "--json"},
                                   {.limit = std::chrono::seconds(100)});
  if (run.status == 3) GTEST_SKIP() << run.err;
  ASSERT_TRUE(run.status == 0 || run.status == 1) << run;
  const auto result = nlohmann::json::parse(run.out)["result"];
  int pinned = 0;
  for (const auto& link : result["links"]) {
    EXPECT_GT(link["rate_GBps"].is_number() ? link["rate_GBps"].get<double>() : 1.0, 0.1) << link;
    EXPECT_GT(link["alpha_us"].is_number() ? link["alpha_us"].get<double>() : 1.0, 0.05) << link;
    // Nothing carries more than its ceiling, but for what the MPS that is assumed hides.
    if (link["ceiling_GBps"].is_number() && link["memory"] == "pinned") {
      EXPECT_LT(link["rate_GBps"].get<double>(), 1.05 * link["ceiling_GBps"].get<double>()) << link;
      ++pinned;
    }
  }
  EXPECT_GE(pinned, 1);
  for (const auto& cost : result["gpus"]["costs"])
    EXPECT_GT(cost["median_us"].get<double>(), 0.01) << cost;
}

}  // namespace
}  // namespace comm_probe::test
