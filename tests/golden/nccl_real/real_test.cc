// What NCCL 2.28.9 itself decided, logged by `bench --backend nccl` on 2026-11-30 with the topology
// that it dumped in the same run (tests/inputs/nccl_real): two H200 joined by NVLink, and 4 and 16
// ranks that share one. Every decision must be that of the plan.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;

struct Recording {
  const char* folder;
  std::map<std::string, int> compared;  // values by what was decided
};
void PrintTo(const Recording& recording, std::ostream* out) { *out << recording.folder; }

class RealNccl : public ::testing::TestWithParam<Recording> {};

TEST_P(RealNccl, DecidedWhatThePlanSays) {
  const Recording& recording = GetParam();
  const std::string folder =
      std::string(COMM_PROBE_SOURCE_DIR "/tests/inputs/nccl_real/") + recording.folder;
  std::vector<std::string> arguments = {"log", "--json", "--topo", folder + "/topology.xml"};
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".log") arguments.push_back(entry.path());
  const BinaryRun run = run_binary(arguments);
  const json plan = json::parse(run.out)["result"]["plan"];
  EXPECT_TRUE(plan["equal"]) << run;
  std::map<std::string, int> compared;
  for (const json& row : plan["rows"]) {
    compared[row["what"]] = row["compared"];
    EXPECT_EQ(row["compared"], row["equal"]) << row;
  }
  for (const auto& [what, count] : recording.compared) EXPECT_EQ(compared[what], count) << what;
}

INSTANTIATE_TEST_SUITE_P(
    All, RealNccl,
    ::testing::Values(
        Recording{"two_h200",
                  {{"rings", 24}, {"trees", 48}, {"tuning table", 105}, {"choices", 14}}},
        Recording{"gather_4", {{"rings", 2}, {"trees", 8}, {"tuning table", 105}, {"choices", 8}}},
        Recording{"sixteen",
                  {{"rings", 2}, {"trees", 32}, {"tuning table", 105}, {"choices", 12}}}),
    [](const auto& info) { return std::string(info.param.folder); });

}  // namespace
}  // namespace comm_probe::test
