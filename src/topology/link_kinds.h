// What kinds of links a machine has, each with its bandwidths side by side: NCCL's figure, nominal,
// after line coding, after packet overhead; one direction, GB/s, never mixed (catalog/links.h has
// formulas and sources). And how much wider NVLink is than the NICs, by the nominal figures.
//
//   DGX H100: 24 x "PCIe gen5 x16"  NCCL 48, nominal 64, line 63.02, effective 56.41
//             8 x "NVLink 4 x18"    NCCL 370.8, nominal 450, effective 370
//             NVLink over NICs      8 x 450 / (8 x 50) = 9   (golden G2-14)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "topology/machine.h"

namespace comm_probe::topology {

struct LinkKind {
  std::string name = {};  // "PCIe gen5 x16"
  int count = 0;          // of such links, both directions together
  std::optional<core::Bandwidth> nccl = {};
  std::optional<core::Bandwidth> nominal = {};
  std::optional<core::Bandwidth> line = {};  // after line coding
  std::optional<core::Bandwidth> effective = {};
  std::string effective_source = {};  // why it is so, or why there is none
};

// In the order NVLink, chip to chip, PCIe, between CPUs, ports; the widest of a sort first.
std::vector<LinkKind> link_kinds(const Machine& machine);

struct NvlinkOverNics {
  core::Bandwidth nvlink = {};  // of all GPUs
  core::Bandwidth nics = {};    // of all ports
  double ratio() const { return nvlink / nics; }
};
// Nothing without NVLink of a known generation or without a port of known speed.
std::optional<NvlinkOverNics> nvlink_over_nics(const Machine& machine);

}  // namespace comm_probe::topology
