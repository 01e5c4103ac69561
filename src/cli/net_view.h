// What the counters of network ports look like to a reader: ports of now, and what they did between
// two snapshots.
#pragma once

#include "core/document.h"
#include "diagnose/net_state.h"

namespace comm_probe::cli {

// Port, state, rate, interface and the GID that NCCL would take.
std::vector<core::Block> port_state_blocks(const std::vector<topology::RdmaPortFacts>& ports);
core::Json port_state_json(const std::vector<topology::RdmaPortFacts>& ports);

// Rates of every port, and the counters of trouble that rose.
std::vector<core::Block> net_change_blocks(const topology::NetChange& change, bool all_counters);
core::Json net_change_json(const topology::NetChange& change);
core::Json net_snapshot_json(const topology::NetSnapshot& snapshot);

std::vector<core::Block> net_check_blocks(const diagnose::NetJudgement& judgement);

// "link_downed", "rx_discards_phy" and its kind: above zero they are worth a look, bytes are not.
bool is_trouble_counter(std::string_view counter);

}  // namespace comm_probe::cli
