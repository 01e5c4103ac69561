// The NCCL settings that decide the tuning table, the choice and the launch, beside NCCL_ALGO and
// NCCL_PROTO (algo_lists.h). Defaults of NCCL 2.28.9: src/graph/tuning.cc, src/init.cc,
// src/enqueue.cc.
//
//   read_tuning_settings({{"NCCL_NTHREADS", "256"}}).value().threads == 256
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/result.h"
#include "nccl/algo_lists.h"
#include "nccl/setting_text.h"

namespace comm_probe::nccl {

struct TuningSettings {
  topology::NcclVersion version = {};
  MethodLists lists = {};
  std::optional<int> threads = {};        // NCCL_NTHREADS: 64..512, in warps of 32
  std::optional<int> ll128_threads = {};  // NCCL_LL128_NTHREADS: 160..640
  // NCCL_THREAD_THRESHOLDS: bytes per thread of Tree LL, LL128, Simple, Ring LL, LL128, Simple;
  // negative: NCCL's own.
  std::array<std::int64_t, 6> thread_thresholds = {-2, -2, -2, -2, -2, -2};
  std::optional<core::Duration> net_overhead = {};  // NCCL_NET_OVERHEAD
  int pat = 2;                                      // NCCL_PAT_ENABLE: 0 never, 1 always, 2 auto
  bool ll128_c2c = true;                            // NCCL_LL128_C2C
  std::array<std::int64_t, kProtocols> buffer = {524288, 4915200, 4194304};  // NCCL_*BUFFSIZE
  std::int64_t nvls_chunk = 131072;                                          // NCCL_NVLS_CHUNKSIZE
  // NCCL_NVLSTREE_MAX_CHUNKSIZE; absent: 65536 from four nodes on, else no limit.
  std::optional<std::int64_t> nvls_tree_chunk = {};
};

// Fails where NCCL_ALGO or NCCL_PROTO would end NCCL's initialisation.
core::Result<TuningSettings> read_tuning_settings(const Environment& environment,
                                                  topology::NcclVersion version = {});

// The names that read_tuning_settings knows.
std::vector<std::string> tuning_setting_names();

}  // namespace comm_probe::nccl
