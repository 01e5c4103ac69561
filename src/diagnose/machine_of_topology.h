// A machine of the catalog's form from a topology that was read: what `curve --topo FILE` compares
// with. Links at their nominal rate; the GPU has no name, because a tree does not say one.
//
// Worked example (tests/unit/diagnose/machine_of_topology_test.cc): the XML of a DGX H100 gives 8
// GPUs with 18 x 25 GB/s behind NVSwitches and 8 NICs of 50 GB/s, as the catalog's dgx-h100 has.
#pragma once

#include <string>

#include "catalog/catalog.h"
#include "core/result.h"
#include "topology/topology.h"

namespace comm_probe::diagnose {

// Fails where there is no GPU, GPUs of several kinds, or NVLinks whose rate the catalog lacks.
// `name` stands in messages.
core::Result<catalog::Machine> machine_of(const topology::Machine& topology,
                                          const std::string& name);

}  // namespace comm_probe::diagnose
