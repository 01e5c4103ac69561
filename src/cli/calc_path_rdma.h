// What `calc path` says of RDMA queue pairs: how long a peer that has stopped answering stays
// unnoticed, the completion statuses that end a job, queue pair states, orders of magnitude.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/document.h"
#include "core/quantity.h"
#include "core/result.h"

namespace comm_probe::cli {

struct QueuePairFlags {
  std::optional<int> timeout = {};  // NCCL_IB_TIMEOUT
  std::optional<int> retries = {};  // NCCL_IB_RETRY_CNT
};

struct QueuePairTimer {
  std::string applies_when = {};  // "NCCL from 2.23"
  int timeout = 0;
  int retries = 0;
  std::optional<core::Duration> ack = {};        // nothing: waits for ever
  std::optional<core::Duration> status_12 = {};  // until RETRY_EXC_ERR
};

// NCCL's defaults by release, and what the flags say first.
core::Result<std::vector<QueuePairTimer>> queue_pair_timers(const QueuePairFlags& flags);

core::Json rdma_json(const std::vector<QueuePairTimer>& timers);
core::Table timers_table(const std::vector<QueuePairTimer>& timers);
std::vector<core::Block> rdma_blocks();

}  // namespace comm_probe::cli
