// The facts beside the graph for people and for JSON: what kernel and driver say of the machine.
#pragma once

#include "core/document.h"
#include "topology/survey.h"

namespace comm_probe::cli {

// IOMMU, peermem, locked memory, ...; empty where no source says anything.
std::vector<core::Block> facts_blocks(const topology::Survey& survey);
// Every PCIe link on the way to a GPU or NIC: what it can do and what it runs at.
core::Table pci_table(const topology::Survey& survey);

}  // namespace comm_probe::cli
