// The configuration of NCCL's example tuner plugin (ext-tuner/example of NVIDIA/nccl): CSV lines
//   collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff
// The first line that matches decides; -1 matches anything (channels -1: NCCL's own number). What
// no line matches falls back to Ring Simple, so the file holds every function and every size: the
// choices of `nccl choose`, to be edited where a measurement says otherwise.
#pragma once

#include <string>

#include "nccl/tuning.h"

namespace comm_probe::cli {

std::string tuner_file(const nccl::Tuning& tuning);

}  // namespace comm_probe::cli
