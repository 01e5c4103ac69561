// Over which links do some GPUs of a machine talk, and how fast is one GPU over them?
//
// NVSwitch: every part of it at the full rate. A mesh with the same links between all pairs: a ring
// over k of its GPUs uses k-1 times the links of a pair; send_recv has one peer and uses one pair.
// An uneven mesh, bridges: two GPUs are joined by more or fewer links or by none (PCIe), and a
// table does not say which two ran: then there are several ways.
//
// Worked example (tests/unit/diagnose/machine_links_test.cc repeats it): hgx-a100-4gpu, 4 links of
// 25 GB/s between all pairs: 2 ranks 100 GB/s, 4 ranks 300 GB/s, send_recv 100 GB/s.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/expectation.h"

namespace comm_probe::diagnose {

// The ways in which `ranks` GPUs of one island can be joined; empty where it depends on which GPUs.
std::vector<Links> inside_ways(const catalog::Machine& machine, model::Op op, int ranks);

// Links of a machine as `ranks_per_node` of its GPUs can use them, inside (where there is one way)
// and out of the node.
Links links_of_machine(const catalog::Machine& machine, int ranks_per_node);

// "A100-SXM" of A100-SXM-40GB and A100-SXM-80GB: the memory does not change the links.
std::string gpu_family(const catalog::Gpu& gpu);

// What the name of a GPU tells about the links between `ranks` of them in one node.
struct HeaderLinks {
  std::vector<Links> ways = {};
  std::string open = {};  // why the name does not tell; empty where it does
};
HeaderLinks links_of_gpu(const catalog::Gpu& gpu, model::Op op, int ranks,
                         const catalog::Catalog& catalog);

}  // namespace comm_probe::diagnose
