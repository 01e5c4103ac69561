// Makes NCCL slow on purpose by one setting: all_reduce of real NCCL ranks twice, as they come and
// with the setting, each with its log, topology and table in a folder of its own.
//
//   class             planted                        needs           doctor is expected to find
//   forced_algorithm  NCCL_ALGO=Ring, PROTO=Simple   a GPU           nccl.choice-forced
//   one_channel       NCCL_MAX_NCHANNELS=1           a GPU           nccl.fewer-channels
//   p2p_off           NCCL_P2P_DISABLE=1             two GPUs        job.nvlink-unused
//   socket            NCCL_IB_DISABLE=1              an RDMA device  log.tcp-by-setting
//   gdr_off           NCCL_NET_GDR_LEVEL=LOC         an RDMA device  log.gdr-distance
//   one_nic           NCCL_IB_HCA= the first one     two of them     job.nics-unused
//
// On one GPU four ranks share it (NCCL_HOSTID), and so do the ranks of those that need a network,
// whatever the GPUs: what NCCL decides is real then, its times mean nothing.
//
// What stays: FOLDER/healthy and FOLDER/planted with rankN.log, topology.xml, graphs.xml and
// table.txt; truth.txt.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/host.h"
#include "core/result.h"
#include "measure/lab/job.h"

namespace comm_probe::measure::lab {

struct SettingCase {
  std::string_view slow_class;
  std::vector<std::string> settings;  // "NCCL_ALGO=Ring"; "%" stands for the first RDMA device
  std::string_view planted;
  std::string_view finding;  // that `doctor` is expected to make
  int gpus = 1;
  int rdma_devices = 0;
  bool needs_network() const { return rdma_devices > 0; }
};
const std::vector<SettingCase>& setting_cases();
const SettingCase* find_setting_case(std::string_view slow_class);

// Names of /sys/class/infiniband, sorted.
std::vector<std::string> rdma_devices(const core::Host& host);
// What the host lacks for it, in one line: "lab slow --class gdr_off: no RDMA device here".
std::optional<core::Error> missing_for(const SettingCase& planted, int gpus,
                                       const std::vector<std::string>& rdma);

// env NAME=VALUE... PROGRAM bench all_reduce ... --keep FOLDER
std::vector<std::string> command_of(const SettingCase& planted, bool is_planted,
                                    const std::string& program, const std::string& folder, int gpus,
                                    const std::vector<std::string>& rdma);

struct SettingRequest {
  const SettingCase& planted;
  std::string program = {};  // this one
  int gpus = 1;
  std::vector<std::string> rdma = {};
  Job job = {};
};
// Fails where the folder cannot be written or a run ends without a table (with its last line).
core::Result<JobEnd> make_slow_by_setting(const SettingRequest& request,
                                          const std::function<void(const std::string&)>& progress);

}  // namespace comm_probe::measure::lab
