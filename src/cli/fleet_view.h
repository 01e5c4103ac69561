// What `curve` shows of results of many nodes: a line per group of pairs and of single nodes.
#pragma once

#include <vector>

#include "core/document.h"
#include "diagnose/fleet.h"

namespace comm_probe::cli {

// {pairs: [{group, measured, failed, slow, median_GBps, slowest_GBps, slowest_pair}],
//  nodes: [{group, node, busbw_GBps, file}]}; empty where there is neither.
core::Json fleet_json(const diagnose::Fleet& fleet);
std::vector<core::Block> fleet_blocks(const diagnose::Fleet& fleet);

}  // namespace comm_probe::cli
