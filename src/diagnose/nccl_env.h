// What is wrong with the NCCL settings in force: names that NCCL does not know, values that it
// reads as something else, lists that match nothing or too much, leftovers that make it slow or let
// it fail. Facts come from nccl::SettingSources and from the machine's own devices.
//
//   NCCL_IB_HCAS=mlx5_0   -> nccl.env-misspelt: did you mean NCCL_IB_HCA?
//   NCCL_IB_DISABLE=true  -> nccl.env-not-a-number: counts as 0, InfiniBand stays on
//   NCCL_ALGO=Tree        -> nccl.env-nothing-left: AllGather, ReduceScatter, Broadcast, Reduce
//   fail
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "nccl/setting_catalog.h"
#include "nccl/setting_sources.h"

namespace comm_probe::diagnose {

// Of the machine whose settings are judged; absent: not known.
struct HostDevices {
  std::optional<std::vector<std::string>> hcas = {};  // absent: nobody can tell
  std::vector<std::string> interfaces = {};
  std::vector<std::string> files = {};           // of those that settings name, the ones that exist
  std::vector<std::string> absent_plugins = {};  // settings whose plugin was looked for in vain
};

struct EnvFacts {
  nccl::SettingSources sources = {};
  std::vector<nccl::SettingInForce> settings = {};  // settings_in_force(sources)
  topology::NcclVersion version = {};
  std::optional<HostDevices> devices = {};
};

std::vector<core::Finding> judge_nccl_env(const EnvFacts& facts);

}  // namespace comm_probe::diagnose
