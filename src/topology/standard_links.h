// Which link of the catalog is the one that a source shows?
//
//   standard_pcie({"16.0 GT/s PCIe", 16})->name() == "gen4 x16"
//   standard_nvlinks(90, 18)->one_way().value == 450 GB/s
#pragma once

#include <optional>

#include "catalog/links.h"
#include "topology/machine.h"

namespace comm_probe::topology {

// "16 GT/s" and "16.0 GT/s PCIe" are generation 4; nothing for what is no PCIe generation or width.
std::optional<catalog::PcieLink> standard_pcie(const PciSlot& slot);

// The NVLinks of a GPU with this compute capability (90 = 9.0); workstation bridges (8.6) have
// rates of their own, which the catalog does not list.
std::optional<catalog::GpuLinks> standard_nvlinks(int sm, int count);

}  // namespace comm_probe::topology
