// The tuning table in the layout in which NCCL logs it (NCCL_DEBUG_SUBSYS=TUNING, rank 0), so that
// it can be laid beside a log: blocks of three algorithms, "latency/bandwidth" per cell in us and
// GB/s; 0.0 is a combination that is not taken (or below 0.05).
#pragma once

#include <string>
#include <vector>

#include "nccl/tuning.h"

namespace comm_probe::cli {

// One line per row, without log prefix.
std::vector<std::string> tuning_table_lines(const nccl::Tuning& tuning);
// "threadThresholds 8/8/64 | 64/8/64 | 512 | 512"
std::string thread_threshold_line(const nccl::Tuning& tuning);

}  // namespace comm_probe::cli
