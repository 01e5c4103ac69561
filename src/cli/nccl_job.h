// What `nccl plan` and `nccl choose` are asked about: a topology file, a number of nodes, NCCL
// settings and version, and four facts that a file cannot say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "nccl/nccl.h"
#include "topology/host_facts.h"

namespace comm_probe::cli {

struct NcclJob {
  core::InputRecord input = {};
  std::vector<core::Caveat> caveats = {};
  nccl::Environment environment = {};
  topology::NcclVersion version = {};
  topology::Machine machine = {};
  topology::HostFacts facts = {};
  nccl::Job job = {};

  // Why there can be no plan: too many ranks, NVLink between hosts that the release does not know.
  std::optional<core::Error> refusal() const;
  // Everything up to the channels; fails where NCCL's initialisation would.
  core::Result<nccl::JobPlan> plan() const;
};

// A job of one node on the machine that `input` shows, with what it implies: multicast, pairs that
// the driver refuses. Fails where the input shows no topology.
core::Result<NcclJob> read_nccl_job(core::Input& input, nccl::Environment environment,
                                    topology::NcclVersion version);

class NcclJobRequest {
 public:
  // With the common flags.
  void add_to(CLI::App& app, Shell& shell);
  // Reads the file. Fails where it is no NCCL topology, or --env or --version is malformed.
  core::Result<NcclJob> read() const;

 private:
  std::string topo_ = {};
  int nodes_ = 1;
  std::vector<std::string> env_ = {};
  std::string version_ = {};
  // Absent: what the topology implies.
  std::optional<bool> multicast_ = {};
  std::optional<bool> driver_p2p_ = {};
  std::optional<bool> collnet_ = {};
  std::optional<bool> mnnvl_ = {};
};

// "NAME=VALUE" words; the last one of a name wins.
core::Result<nccl::Environment> parse_environment(const std::vector<std::string>& words);
// "2.28.9", "2.28" (its last release), as tags and logs write it ("v2.28.9-1", "2.28.9+cuda13.0");
// fails outside 2.18 .. 2.30.
core::Result<topology::NcclVersion> parse_nccl_version(const std::string& text);
// "2.28.9"; "2.22" where no patch was named.
std::string nccl_version_text(topology::NcclVersion version);
// Takes the place of the program's own --version, which add_common_flags has put there.
CLI::Option* add_nccl_version(CLI::App& app, std::string& target);

}  // namespace comm_probe::cli
