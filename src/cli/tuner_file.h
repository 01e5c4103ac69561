// The configuration of NCCL's example tuner plugin (ext-tuner/example of NVIDIA/nccl): CSV lines
//   collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff
// Facts of plugin.c (v5; it differs from its README): the first line that matches and that the call
// can use decides; -1 matches anything. Before it looks, the plugin asks for one channel; a line
// replaces that by its own number unless it says -1, and NCCL takes its own number for the size
// where the plugin leaves 0 (src/enqueue.cc). So channels is 0 here, every function and size has a
// line, and behind the lines of NVLink SHARP and PAT stand those for what they cannot reduce.
#pragma once

#include <string>

#include "nccl/tuning.h"

namespace comm_probe::cli {

// Borders are those of float and sum.
std::string tuner_file(const nccl::Tuning& tuning);

}  // namespace comm_probe::cli
