// Paths, peers and NICs against what NCCL's own code decides for 40 machines and their environment
// variants (../shared/data/oracle, version 2.28.9): every field equal.
#include <gtest/gtest.h>

#include "cli/plan_json.h"
#include "oracle_files.h"

namespace comm_probe {
namespace {

using oracle::Json;
namespace fs = std::filesystem;

std::vector<std::string> differences_of(const topology::Machine& machine, const fs::path& file) {
  Json expected = Json::parse(oracle::read_file(file));
  const auto plan = oracle::reach_of(machine, expected);
  if (!plan) return {plan.error().one_line()};
  for (const char* key : {"machine", "env_name", "env", "nccl_version", "end"}) expected.erase(key);
  std::vector<std::string> differences;
  oracle::compare(expected, cli::plan_paths_json(*plan), "paths", differences);
  return differences;
}

TEST(Oracle, PathsOfEveryMachineAndVariant) {
  const fs::path root = fs::path(COMM_PROBE_SHARED) / "data/oracle";
  if (!fs::exists(root)) GTEST_SKIP() << "no oracle data at " << root;
  int files = 0;
  int wrong = 0;
  for (const fs::path& folder : oracle::machines_of(root)) {
    const auto machine = oracle::machine_of(folder);
    ASSERT_TRUE(machine.ok()) << machine.error().one_line();
    for (const fs::path& file : oracle::files_of(folder, "paths")) {
      ++files;
      const auto differences = differences_of(*machine, file);
      if (differences.empty()) continue;
      ++wrong;
      for (std::size_t i = 0; i < differences.size() && i < 6; ++i)
        ADD_FAILURE() << folder.filename().string() << "/" << file.filename().string() << " "
                      << differences[i];
    }
  }
  EXPECT_EQ(files, 117);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace comm_probe
