#include "model/rdma.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace comm_probe::model {
namespace {

constexpr double kTimerUnit = 4.096;  // microseconds; InfiniBand Architecture 1.6, 9.7.6.1.3
constexpr int kMostRetries = 7;       // a field of 3 bits

constexpr std::array kDefaults = {
    RdmaDefault{"NCCL_IB_TIMEOUT", 18, "NCCL through 2.22", "NCCL src/transport/net_ib.cc"},
    RdmaDefault{"NCCL_IB_TIMEOUT", 20, "NCCL from 2.23", "NCCL src/transport/net_ib.cc"},
    RdmaDefault{"NCCL_IB_RETRY_CNT", 7, "every NCCL release", "NCCL src/transport/net_ib.cc"},
    RdmaDefault{"rnr_retry", 7, "every NCCL release; 7 means for ever, so status 13 never comes",
                "NCCL src/transport/net_ib.cc, connect code"},
};

constexpr std::array kFigures = {
    RdmaFigure{"registration of 1 GB of host memory", 100, 1000, "ms",
               "order of magnitude: every page of 4 KiB is pinned and entered in the NIC's table; "
               "huge pages, and GPU memory with its 64 KiB pages, take less",
               "recap of communication and interconnect (arganzheng.life), ch. 3"},
    RdmaFigure{"CPU cores per NIC", 1, 1, "cores", "RDMA: one post and one poll per message",
               "recap of communication and interconnect (arganzheng.life), ch. 3"},
    RdmaFigure{"GPUDirect RDMA through the CPU", 1, 25, "GB/s",
               "depends on the CPU: an A30 across sockets got 11 GB/s, host memory of the same "
               "machine 23 GB/s",
               "https://github.com/linux-rdma/perftest/issues/241"},
};

// rdma-core, libibverbs/verbs.h, enum ibv_wc_status
constexpr std::array kStatuses = {
    CompletionStatus{0, "SUCCESS", "done"},
    CompletionStatus{1, "LOC_LEN_ERR", "the receive buffer is too small for the message"},
    CompletionStatus{2, "LOC_QP_OP_ERR", "the queue pair found its own request inconsistent"},
    CompletionStatus{3, "LOC_EEC_OP_ERR", "end-to-end context error (unused today)"},
    CompletionStatus{4, "LOC_PROT_ERR", "the local key does not cover the buffer"},
    CompletionStatus{5, "WR_FLUSH_ERR", "flushed, because the queue pair had failed before"},
    CompletionStatus{6, "MW_BIND_ERR", "a memory window could not be bound"},
    CompletionStatus{7, "BAD_RESP_ERR", "an unexpected answer from the peer"},
    CompletionStatus{8, "LOC_ACCESS_ERR", "an inbound write hit protected memory"},
    CompletionStatus{9, "REM_INV_REQ_ERR", "the peer found the request invalid"},
    CompletionStatus{10, "REM_ACCESS_ERR", "key, address or permission is wrong at the peer"},
    CompletionStatus{11, "REM_OP_ERR", "the peer could not complete the request"},
    CompletionStatus{12, "RETRY_EXC_ERR", "no acknowledgement after all retries"},
    CompletionStatus{13, "RNR_RETRY_EXC_ERR", "the peer never had a receive buffer posted"},
    CompletionStatus{14, "LOC_RDD_VIOL_ERR", "reliable datagram domain violated"},
    CompletionStatus{15, "REM_INV_RD_REQ_ERR", "invalid reliable datagram request"},
    CompletionStatus{16, "REM_ABORT_ERR", "the peer aborted the operation"},
    CompletionStatus{17, "INV_EECN_ERR", "invalid end-to-end context number"},
    CompletionStatus{18, "INV_EEC_STATE_ERR", "invalid end-to-end context state"},
    CompletionStatus{19, "FATAL_ERR", "the device has failed"},
};

constexpr std::array<std::string_view, 4> kStates = {"RESET", "INIT", "RTR", "RTS"};

}  // namespace

core::Result<std::optional<core::Duration>> local_ack_timeout(int t) {
  if (t < 0 || t > 31)
    return core::input_error(fmt::format("timeout exponent {} is outside 0 to 31", t));
  if (t == 0) return std::optional<core::Duration>();
  return std::optional(core::Duration::from_us(std::ldexp(kTimerUnit, t)));
}

core::Result<std::optional<core::Duration>> time_to_retry_exceeded(int t, int retry_count) {
  if (retry_count < 0 || retry_count > kMostRetries)
    return core::input_error(
        fmt::format("retry count {} is outside 0 to {}", retry_count, kMostRetries));
  const auto timeout = local_ack_timeout(t);
  if (!timeout || !*timeout) return timeout;
  return std::optional(**timeout * retry_count);
}

std::span<const RdmaDefault> rdma_defaults() { return kDefaults; }
std::span<const RdmaFigure> rdma_figures() { return kFigures; }
std::span<const CompletionStatus> completion_statuses() { return kStatuses; }
std::span<const std::string_view> queue_pair_states() { return kStates; }

}  // namespace comm_probe::model
