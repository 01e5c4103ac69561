// The words of a dump, in the order of their numbers in the StringTable.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace comm_probe::torch {

enum Word : std::uint32_t {
  kProfilingName,
  kRecordId,
  kPgId,
  kProcessGroup,
  kCollectiveSeqId,
  kP2pSeqId,
  kSeqId,
  kTimeCreatedNs,
  kInputSizes,
  kInputDtypes,
  kOutputSizes,
  kOutputDtypes,
  kStateWord,
  kTimeCompletedNs,
  kRetired,
  kTimeoutMs,
  kIsP2p,
  kFrames,
  kName,
  kFilename,
  kLine,
  kScheduled,
  kStarted,
  kCompleted,
  kVersion,
  kPgConfig,
  kPgStatus,
  kDesc,
  kRanks,
  kLastEnqueued,
  kLastStarted,
  kLastCompleted,
  kLibraryVersion,  // 2.10
  kNcclVersion,     // 2.6 to 2.9
  kWordCount
};
inline constexpr std::array<std::string_view, kWordCount> kWords = {"profiling_name",
                                                                    "record_id",
                                                                    "pg_id",
                                                                    "process_group",
                                                                    "collective_seq_id",
                                                                    "p2p_seq_id",
                                                                    "seq_id",
                                                                    "time_created_ns",
                                                                    "input_sizes",
                                                                    "input_dtypes",
                                                                    "output_sizes",
                                                                    "output_dtypes",
                                                                    "state",
                                                                    "time_discovered_completed_ns",
                                                                    "retired",
                                                                    "timeout_ms",
                                                                    "is_p2p",
                                                                    "frames",
                                                                    "name",
                                                                    "filename",
                                                                    "line",
                                                                    "scheduled",
                                                                    "started",
                                                                    "completed",
                                                                    "version",
                                                                    "pg_config",
                                                                    "pg_status",
                                                                    "desc",
                                                                    "ranks",
                                                                    "last_enqueued_collective",
                                                                    "last_started_collective",
                                                                    "last_completed_collective",
                                                                    "comm_lib_version",
                                                                    "nccl_version"};

}  // namespace comm_probe::torch
