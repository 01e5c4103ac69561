// A survey of a machine as tables for people.
#pragma once

#include "core/document.h"
#include "topology/survey.h"

namespace comm_probe::cli {

// Devices, the nearest NIC of each GPU, GPU pairs by kind.
std::vector<core::Block> survey_blocks(const topology::Survey& survey);
// Every road with its hops.
core::Table road_table(const topology::Survey& survey);
// "8 GPUs, 8 NICs, 2 CPUs, from an NCCL topology XML"
std::string survey_summary(const topology::Survey& survey);

}  // namespace comm_probe::cli
