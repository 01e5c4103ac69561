// Bundle: everything of one node in one file, made by `doctor --collect`: a tar (packed with zstd)
// of a recorded machine (record.h) with
//
//   manifest.json     who, when, what was gathered and what was missing
//   counters/first.txt, counters/second.txt   counters of the network ports, some seconds apart
//   commands/*.txt    outputs of commands
//   config/...        configuration files
//   files/...         what the user named
//
// `topo check --from` reads it as the machine that it is; open_bundle() gives its texts as inputs,
// named "BUNDLE:files/rank0.log".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/archive.h"
#include "core/host.h"
#include "core/input.h"
#include "core/json.h"
#include "topology/net_counters.h"

namespace comm_probe::topology {

struct Bundle {
  std::string name = {};  // of the file
  std::string host = {};  // as the manifest says it, masked where it was
  std::optional<core::Duration> time = {};
  bool is_masked = false;
  core::Json manifest = {};
  core::Archive archive = {};

  // The recorded machine.
  core::Host machine() const { return core::Host::archived(name, archive); }
  // Texts and files of commands/, counters/, config/ and files/, as inputs in memory, sorted.
  std::vector<std::string> paths() const;
  core::Input input(const std::string& path) const;
};

// An archive that holds a manifest of ours; nothing where it is another tar.
std::optional<Bundle> bundle_of(std::string name, core::Archive archive);
// Fails where the input is no tar, or holds no manifest.
core::Result<Bundle> open_bundle(core::Input& input);

// What is to be gathered; nothing is changed on the node.
struct GatherRequest {
  std::vector<std::string> paths = {};  // files and folders of the user
  bool mask = false;
  core::Duration between_counters = core::Duration::from_seconds(2);
  core::Duration longest = core::Duration::from_seconds(120);  // for all commands together
  std::string version = {};                                    // of comm-probe
};
struct Gathered {
  core::Archive archive = {};
  core::Json manifest = {};
};
// Reads the machine and runs the commands of gathered_commands(), each at most 20 s, none through a
// shell. `wait` waits between the two snapshots of the counters. Fails where a path that the user
// named cannot be read.
core::Result<Gathered> gather_node(const core::Host& host, const GatherRequest& request,
                                   void (*wait)(core::Duration));
// Beside those of record.h.
std::vector<std::vector<std::string>> gathered_commands(const core::Host& host);

// What is in counters/ of the bundle, ports without a host named by `host`; `states` too.
std::vector<NetSnapshot> counters_of(const Bundle& bundle, const std::string& host);

// As read_net_counters() reads it: a time, then lines of sysfs and outputs of `ethtool -S`.
std::string counters_text(const NetSnapshot& snapshot);

}  // namespace comm_probe::topology
