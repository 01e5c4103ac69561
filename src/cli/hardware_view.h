// Entries of the hardware catalog as JSON and as text: every number with who says it.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "core/document.h"

namespace comm_probe::cli {

// One number of an entry: "NICs together, one way" 400 GB/s, read from a datasheet.
struct HardwareNumber {
  std::string key;    // in JSON: "nic_total_GBps"
  std::string label;  // in text
  std::string shown;  // "400 GB/s"
  core::Figure figure;
};
using HardwareNumbers = std::vector<HardwareNumber>;

// Of the machine as a whole; its GPU and NIC have their own.
HardwareNumbers numbers_of(const catalog::Machine& machine);
HardwareNumbers numbers_of(const catalog::Gpu& gpu);
HardwareNumbers numbers_of(const catalog::Nic& nic);

// One entry with all its numbers.
core::Document show_machine(const catalog::Machine& machine);
core::Document show_gpu(const catalog::Gpu& gpu);
core::Document show_nic(const catalog::Nic& nic);

// The lists.
core::Table machine_table(const catalog::Catalog& catalog);
core::Table gpu_table(const catalog::Catalog& catalog);
core::Table nic_table(const catalog::Catalog& catalog);
std::vector<core::Block> link_tables();
core::Json catalog_json(const catalog::Catalog& catalog);

}  // namespace comm_probe::cli
