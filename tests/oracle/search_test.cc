// Search results, channels, rings, trees and NVLink SHARP heads against what NCCL's own code
// decides for 40 machines, 1 to 128 nodes and 38 environment variants (../shared/data/oracle,
// version 2.28.9): every field of every file equal.
#include <gtest/gtest.h>

#include "cli/plan_graphs_json.h"
#include "oracle_files.h"

namespace comm_probe {
namespace {

using oracle::Json;

std::vector<std::string> differences_of(const topology::Machine& machine,
                                        const oracle::fs::path& file) {
  Json expected = Json::parse(oracle::read_file(file));
  const auto plan = oracle::plan_of(machine, expected);
  if (!plan) return {plan.error().one_line()};
  Json found = Json::object();
  cli::add_graphs_json(found, *plan, false);
  for (const char* key : {"machine", "env_name", "env", "nccl_version", "inputs", "domains",
                          "tuning", "choice", "end"})
    expected.erase(key);
  std::vector<std::string> differences;
  oracle::compare(expected, found, "plan", differences);
  for (const char* key : {"nvls", "ring_net_node0", "graphs_domain1"})
    if (found.contains(key) && !expected.contains(key))
      differences.push_back(std::string(key) + " is not expected");
  return differences;
}

TEST(Oracle, SearchAndConnectionOfEveryMachineNodeCountAndVariant) {
  const oracle::fs::path root = oracle::fs::path(COMM_PROBE_SHARED) / "data/oracle";
  if (!oracle::fs::exists(root)) GTEST_SKIP() << "no oracle data at " << root;
  int files = 0;
  int wrong = 0;
  for (const auto& folder : oracle::machines_of(root)) {
    const auto machine = oracle::machine_of(folder);
    ASSERT_TRUE(machine.ok()) << machine.error().one_line();
    for (const auto& file : oracle::files_of(folder, "n")) {
      ++files;
      const auto differences = differences_of(*machine, file);
      if (differences.empty()) continue;
      ++wrong;
      for (std::size_t i = 0; i < differences.size() && i < 4; ++i)
        ADD_FAILURE() << folder.filename().string() << "/" << file.filename().string() << " "
                      << differences[i];
    }
  }
  EXPECT_EQ(files, 485);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace comm_probe
