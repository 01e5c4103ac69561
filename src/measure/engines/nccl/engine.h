// nccl: the collectives of the NCCL that is installed, on the GPUs of this machine or of a
// launcher's processes; or N ranks on one GPU, where its decisions and faults are real and its
// times mean nothing.
//
// Two ranks of one host on one GPU are refused by NCCL ("Duplicate GPU detected"). It knows a host
// by a hash that NCCL_HOSTID overrides: a process with its own NCCL_HOSTID is a node with one GPU.
//
// This process never touches CUDA: ranks run in processes that it forks, so that it survives
// whatever happens to them and can say it.
#pragma once

#include "measure/engine.h"

namespace comm_probe::measure::nccl {

Engine engine();
// Nothing where the driver can be loaded, which is not initialised by that.
std::optional<core::Error> missing_cuda();

}  // namespace comm_probe::measure::nccl
