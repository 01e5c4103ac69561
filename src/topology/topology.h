// topology: what is this machine made of? Facts only, each read through core::Host (this machine or
// a recorded folder); what cannot be read is absent and named in a caveat, never invented.
//
//   host_topology.h   processors, caches, NUMA nodes, GPUs and NICs on PCI, network interfaces
//
// Worked example (tests/unit/topology repeats it on a recorded two-socket machine):
//   2 sockets, 8 cores, 16 CPUs; node 0 has CPUs 0-3,8-11, distances 10 21; a quota of 400000
//   per 100000 us allows 4 CPUs.
#pragma once

#include "topology/host_topology.h"
#include "topology/machine.h"
#include "topology/paths.h"
