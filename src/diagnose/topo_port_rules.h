// NICs that should be alike, beside each other: their rates, and whether each can do GPUDirect
// RDMA.
//
// Alike are the NICs that stand beside the GPUs: at PXB or nearer; where the machine has no such
// NIC (Grace, cards on root ports) those that are nearest to a GPU. Cards of different PCI ids are
// not alike. A NIC is missed where the GPUs around it have fewer usual NICs than GPUs elsewhere: a
// slower port for storage beside full ones is no fault.
//
//   4 GPUs, NICs at 400, 200, 400, 400 Gb/s (a tray of GB200)  -> the second has half
//   2 NICs of one card model at 400 and 200 Gb/s               -> they differ; which is right is
//   open
#pragma once

#include "diagnose/topo_rules.h"

namespace comm_probe::diagnose {

// A port that runs at half or less of what the ports beside the other GPUs run at; or an RDMA port
// below the others of the same card model.
RuleAnswer ports_alike(const topology::Survey& survey);

// A NIC without GPUDirect RDMA where its likes have it.
RuleAnswer gdr_alike(const topology::Survey& survey);

}  // namespace comm_probe::diagnose
