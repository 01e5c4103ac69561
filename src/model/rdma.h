// Constants and timers of RDMA queue pairs: how long a dead link stays silent before a job sees
// work completion status 12.
//   local ACK timeout   4.096 us * 2^t, t = 0..31, 0 = for ever (InfiniBand Architecture 1.6,
//                       9.7.6.1.3; NCCL_IB_TIMEOUT)
//   until status 12     retry_count times that; devices may wait up to 4 times the nominal timer
// Worked example (golden G3-14, G3-15): t = 20 -> 4.295 s; 7 retries -> 30.06 s.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/quantity.h"
#include "core/result.h"

namespace comm_probe::model {

// Nothing for t = 0, which waits for ever. Fails outside 0..31.
core::Result<std::optional<core::Duration>> local_ack_timeout(int t);
// Nothing where it never ends. Fails as above, and on a retry count outside 0..7.
core::Result<std::optional<core::Duration>> time_to_retry_exceeded(int t, int retry_count);

// NCCL's defaults, by version.
struct RdmaDefault {
  std::string_view setting;  // "NCCL_IB_TIMEOUT"
  int value;
  std::string_view applies_when;
  std::string_view source;
};
std::span<const RdmaDefault> rdma_defaults();

// Orders of magnitude that depend on the machine, as a range.
struct RdmaFigure {
  std::string_view name;  // "registration of 1 GB"
  double low;
  double high;
  std::string_view unit;
  std::string_view applies_when;
  std::string_view source;
};
std::span<const RdmaFigure> rdma_figures();

// ibv_wc_status by number: 12 = RETRY_EXC_ERR, 13 = RNR_RETRY_EXC_ERR.
struct CompletionStatus {
  int code;
  std::string_view name;
  std::string_view meaning;
};
std::span<const CompletionStatus> completion_statuses();

// The states through which a queue pair is brought up, in order.
std::span<const std::string_view> queue_pair_states();

}  // namespace comm_probe::model
