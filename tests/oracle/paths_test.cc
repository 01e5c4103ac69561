// Paths, peers and NICs against what NCCL's own code decides for 40 machines and their environment
// variants (../shared/data/oracle, version 2.28.9): every field equal.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/plan_json.h"
#include "topology/readers/nccl_xml.h"

namespace comm_probe {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Numbers may differ by 1e-5, the oracle's own precision; everything else is equal.
void compare(const Json& expected, const Json& found, const std::string& where,
             std::vector<std::string>& differences) {
  if (expected.is_number() && found.is_number()) {
    const double a = expected.get<double>();
    const double b = found.get<double>();
    if (std::abs(a - b) > 1e-5 * std::max(std::abs(a), std::abs(b)))
      differences.push_back(where + ": expected " + expected.dump() + ", found " + found.dump());
    return;
  }
  if (expected.type() != found.type() || expected.size() != found.size() ||
      (expected.is_primitive() && expected != found)) {
    differences.push_back(where + ": expected " + expected.dump().substr(0, 300) + ", found " +
                          found.dump().substr(0, 300));
    return;
  }
  if (expected.is_array())
    for (std::size_t i = 0; i < expected.size(); ++i)
      compare(expected[i], found[i], where + "[" + std::to_string(i) + "]", differences);
  if (expected.is_object())
    for (const auto& [key, value] : expected.items()) {
      if (found.contains(key))
        compare(value, found[key], where + "." + key, differences);
      else
        differences.push_back(where + "." + key + " is missing");
    }
}

nccl::Job job_of(const Json& inputs) {
  return {.nodes = inputs["nodes"],
          .multicast = inputs["multicast"] == 1,
          .driver_p2p = inputs["driver_p2p"] == 1,
          .collnet = inputs["collnet"] == 1,
          .mnnvl = inputs["mnnvl"] == 1};
}

std::vector<std::string> differences_of(const fs::path& file) {
  Json expected = Json::parse(read_file(file));
  for (const char* key : {"machine", "env_name", "nccl_version", "end"}) expected.erase(key);
  const Json env = expected["env"];
  expected.erase("env");
  nccl::Environment environment;
  for (const auto& [key, value] : env.items()) environment[key] = value;
  const fs::path xml = file.parent_path() / "system.xml";
  const auto reading = topology::read_nccl_xml(xml.string(), read_file(xml));
  if (!reading) return {reading.error().one_line()};
  const auto plan = nccl::reach_of_job(reading->machine, nccl::read_settings(environment),
                                       job_of(expected["inputs"]));
  if (!plan) return {plan.error().one_line()};
  std::vector<std::string> differences;
  compare(expected, cli::plan_paths_json(*plan), "paths", differences);
  return differences;
}

TEST(Oracle, PathsOfEveryMachineAndVariant) {
  const fs::path root = fs::path(COMM_PROBE_SHARED) / "data/oracle";
  if (!fs::exists(root)) GTEST_SKIP() << "no oracle data at " << root;
  int files = 0;
  int wrong = 0;
  for (const auto& machine : fs::directory_iterator(root)) {
    if (!machine.is_directory()) continue;
    for (const auto& entry : fs::directory_iterator(machine)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("paths") || entry.path().extension() != ".json") continue;
      ++files;
      const auto differences = differences_of(entry.path());
      if (differences.empty()) continue;
      ++wrong;
      for (std::size_t i = 0; i < differences.size() && i < 6; ++i)
        ADD_FAILURE() << machine.path().filename().string() << "/" << name << " " << differences[i];
    }
  }
  EXPECT_EQ(files, 117);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace comm_probe
