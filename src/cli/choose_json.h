// `nccl choose` as JSON: rows, crossovers, what they are computed from.
#pragma once

#include "cli/choose_view.h"
#include "core/json.h"

namespace comm_probe::cli {

core::Json choose_json(const ChoosePlan& plan);

// Bandwidth as nccl-tests prints it; zero where nothing takes time.
core::Bandwidth algorithm_bandwidth(std::uint64_t bytes, nccl::NcclTime time);
// busbw over algbw.
double busbw_factor(const ChoosePlan& plan);
// "latency" or "bandwidth"
const char* ledger_name(bool is_latency);

}  // namespace comm_probe::cli
