// Profile: a machine as a list of statements that can be compared with those of another machine.
// Devices are known by name (GPU index, NIC name), because jobs address them so; bus ids, GUIDs and
// the order in a file are no statements. What the source does not say is no statement either.
//
//   {kNuma, "GPU3"} "1"    {kPath, "GPU3", "mlx5_3"} "PIX"    {kNvlinks, "GPU3"} "18"
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "topology/survey.h"

namespace comm_probe::topology {

enum class Aspect {
  kExists,      // "GPU" | "NIC" | "CPU"
  kModel,       // "NVIDIA H200", or the compute capability
  kNuma,        // NUMA node of the nearest CPU, else the CPU affinity
  kSlot,        // "gen5 x16"
  kTrained,     // the same, as trained now
  kSwitchLink,  // of the switch above these devices
  kNvlinks,     // that the GPU has
  kPort,        // Gb/s
  kState,       // of a port
  kPath,        // word for a pair
};
const char* aspect_name(Aspect aspect);  // "NUMA node"

struct Statement {
  Aspect aspect = Aspect::kExists;
  std::string device = {};
  std::string other = {};  // of a pair

  auto operator<=>(const Statement&) const = default;
};
using Profile = std::map<Statement, std::string>;

// `in_common_words`: in NCCL's types instead of the source's own words, so that a matrix compares
// with a tree.
Profile profile_of(const Survey& survey, bool in_common_words);

// The devices of a profile in the order of their names.
std::vector<std::string> devices_of(const Profile& profile);
// Equal where the two machines are alike but for the names of their devices: what every device says
// of itself and of its pairs, three steps deep. By device name.
std::map<std::string, std::string> shapes_of(const Profile& profile);

}  // namespace comm_probe::topology
