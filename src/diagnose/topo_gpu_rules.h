// Rules on the state of the NVLink fabric and on what GPUDirect RDMA needs of the kernel. Sources:
// NVIDIA's fabric manager guide (error 802 until the state is "completed"), spec rdma.md section 5.
#pragma once

#include "diagnose/topo_rules.h"

namespace comm_probe::diagnose {

RuleAnswer fabric_ready(const topology::Survey& survey);
// nvidia_peermem, or the open kernel modules, by which NCCL uses DMA-BUF.
RuleAnswer gdr_possible(const topology::Survey& survey);

}  // namespace comm_probe::diagnose
