// The two numbers in NCCL's line "GPU Direct RDMA Disabled ... (distance D > L)": D is the path
// type of a GPU-NIC pair across a host bridge (PHB), L the type up to which GPUDirect RDMA is used
// (PXB by default; from 2.29 P2C). Path types were renumbered whenever one was inserted, so the
// line means nothing without the version (golden G3-20, GA-05): 2.7 prints "4 > 3", 2.28 "8 > 5".
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace comm_probe::nccl {

struct GdrDistance {
  int first_minor;  // of NCCL 2.x
  int last_minor;
  int phb;    // D of a PHB pair
  int limit;  // L with default settings
  std::string_view source;
};
std::span<const GdrDistance> gdr_distances();
// Nothing where the release does not print the line (2.30 and later, before 2.6).
std::optional<GdrDistance> gdr_distance(int minor);

}  // namespace comm_probe::nccl
