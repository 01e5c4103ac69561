#include "nccl/gdr_distance.h"

#include <array>

namespace comm_probe::nccl {
namespace {

constexpr std::array kDistances = {
    GdrDistance{6, 7, 4, 3, "NCCL 2.6, 2.7: src/graph/topo.h"},
    GdrDistance{8, 11, 5, 4, "NCCL 2.8.4 to 2.11: NVB inserted"},
    GdrDistance{12, 25, 6, 4, "NCCL 2.12 to 2.25: PXN inserted"},
    GdrDistance{26, 26, 7, 5, "NCCL 2.26: C2C inserted"},
    GdrDistance{27, 28, 8, 5, "NCCL 2.27, 2.28: P2C inserted"},
    GdrDistance{29, 29, 8, 6, "NCCL 2.29: default level P2C"},
};

}  // namespace

std::span<const GdrDistance> gdr_distances() { return kDistances; }

std::optional<GdrDistance> gdr_distance(int minor) {
  for (const GdrDistance& distance : kDistances)
    if (minor >= distance.first_minor && minor <= distance.last_minor) return distance;
  return std::nullopt;
}

}  // namespace comm_probe::nccl
