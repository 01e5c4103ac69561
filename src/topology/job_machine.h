// A machine for a job: from an NCCL topology XML as it stands there, or from anything else that
// shows a tree (this machine's recording, a saved `topo show --json`). What NCCL asks the driver is
// then taken from the facts: one process per GPU in the driver's order, and GPUDirect RDMA where
// nvidia_peermem is loaded or the open driver offers DMA-BUF (not on GeForce).
#pragma once

#include "topology/merge.h"
#include "topology/readers/nccl_xml.h"

namespace comm_probe::topology {

struct JobMachine {
  MachineReading reading = {};
  std::string kind = {};  // "nccl-topology", "recorded-machine", ...
  HostFacts facts = {};
};

// Ranks, and who can do GPUDirect RDMA by the facts; a machine that has ranks stays as it is. Where
// no source says whether the kernel can, it is taken to.
void make_job(Machine& machine, const HostFacts& facts);

// Fails where the input shows no tree; `version` decides NCCL's figures for links of an XML.
core::Result<JobMachine> read_job_machine(core::Input& input, NcclVersion version = {});

}  // namespace comm_probe::topology
