// May devices talk directly over PCIe, whatever NCCL's level says? NCCL decides by distance and by
// the driver's word; kernel and firmware may still send such traffic another way, and then it is
// slow, wrong, or hangs (spec rdma.md, 5; NCCL issue 2079).
//
//   ACS        a bridge inside a switch redirects requests, completions or forwards upstream: what
//              stays below a switch (PIX, PXB) goes up to the root complex
//   IOMMU      translates addresses: everything over PCIe
//   container  ranks in other containers need the same /dev/shm and host name for P2P
//
//   ACS not read, distance PIX -> "not known whether PCIe lets it pass: ACS, IOMMU not read"
//   distance NVL -> "", NVLink is not concerned
#pragma once

#include <set>
#include <string>
#include <utility>

#include "topology/host_facts.h"
#include "topology/path_type.h"

namespace comm_probe::nccl {

enum class Passage { kClear, kHindered, kUnknown };
const char* passage_name(Passage passage);  // "clear" | "hindered" | "not known"

struct Hindrance {
  std::string what = {};  // "PCIe ACS"
  Passage passage = Passage::kUnknown;
  std::string reason = {};
  std::string partly = {};  // "1 of 8 bridges": hindered there only, and not known for one pair
};

struct DirectTalk {
  Hindrance acs = {};
  Hindrance iommu = {};
  Hindrance container = {};

  Passage passage(topology::PathType distance) const;
  // What to add to the reason of a verdict; empty where nothing is.
  std::string clause(topology::PathType distance) const;
};

DirectTalk direct_talk(const topology::HostFacts& facts);

// Job::refused of what the driver said.
std::set<std::pair<int, int>> refused_pairs(const topology::HostFacts& facts);

}  // namespace comm_probe::nccl
