// Reads the files of ../shared/data/oracle and compares ours with them.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "nccl/nccl.h"
#include "topology/readers/nccl_xml.h"

namespace comm_probe::oracle {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

inline std::string read_file(const fs::path& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// The .json files of a machine whose name begins with `prefix`, in order.
inline std::vector<fs::path> files_of(const fs::path& machine, const std::string& prefix) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(machine))
    if (entry.path().filename().string().starts_with(prefix) && entry.path().extension() == ".json")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<fs::path> machines_of(const fs::path& root) {
  std::vector<fs::path> machines;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.is_directory()) machines.push_back(entry.path());
  std::sort(machines.begin(), machines.end());
  return machines;
}

// Numbers may differ by 1e-5, the oracle's own precision; everything else is equal. What ours has
// beyond the oracle's fields is not looked at.
inline void compare(const Json& expected, const Json& found, const std::string& where,
                    std::vector<std::string>& differences) {
  if (expected.is_number() && found.is_number()) {
    const double a = expected.get<double>();
    const double b = found.get<double>();
    if (std::abs(a - b) > 1e-5 * std::max(std::abs(a), std::abs(b)))
      differences.push_back(where + ": expected " + expected.dump() + ", found " + found.dump());
    return;
  }
  const bool is_shape_equal =
      expected.type() == found.type() && (expected.is_object() || expected.size() == found.size());
  if (!is_shape_equal || (expected.is_primitive() && expected != found)) {
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

inline nccl::Job job_of(const Json& inputs) {
  return {.nodes = inputs["nodes"],
          .multicast = inputs["multicast"] == 1,
          .driver_p2p = inputs["driver_p2p"] == 1,
          .collnet = inputs["collnet"] == 1,
          .mnnvl = inputs["mnnvl"] == 1};
}

inline nccl::Environment environment_of(const Json& file) {
  nccl::Environment environment;
  for (const auto& [key, value] : file["env"].items()) environment[key] = value;
  return environment;
}

inline core::Result<topology::Machine> machine_of(const fs::path& folder) {
  const fs::path xml = folder / "system.xml";
  auto reading = topology::read_nccl_xml(xml.string(), read_file(xml));
  if (!reading) return reading.error();
  return std::move(reading->machine);
}

inline core::Result<nccl::JobReach> reach_of(const topology::Machine& machine, const Json& file) {
  return nccl::reach_of_job(machine, nccl::read_settings(environment_of(file)),
                            job_of(file["inputs"]));
}

inline core::Result<nccl::JobPlan> plan_of(const topology::Machine& machine, const Json& file) {
  auto reach = reach_of(machine, file);
  if (!reach) return reach.error();
  return nccl::plan_job(std::move(*reach), nccl::read_channel_settings(environment_of(file)));
}

}  // namespace comm_probe::oracle
