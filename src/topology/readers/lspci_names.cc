#include "topology/readers/lspci_names.h"

namespace comm_probe::topology {
namespace {

using Kind = PciFunction::Kind;

// First row whose two words both stand there; an empty word stands everywhere. Types as pciutils
// prints them (pci.ids, classes 02, 03, 06, 12).
struct Row {
  std::string_view type;
  std::string_view name;
  Kind kind;
};
constexpr Row kTypes[] = {
    {"PCI bridge", "", Kind::kBridge},
    {"Bridge", "NVIDIA", Kind::kNvSwitch},
    {"VGA compatible controller", "NVIDIA", Kind::kGpu},
    {"3D controller", "", Kind::kGpu},
    {"Display controller", "", Kind::kGpu},
    {"Processing accelerators", "AMD", Kind::kGpu},
    {"Ethernet controller", "", Kind::kNic},
    {"Infiniband controller", "", Kind::kNic},
    {"InfiniBand controller", "", Kind::kNic},
};
// A tree has no types: what a vendor's other functions are called comes first.
constexpr Row kNames[] = {
    {"", "Audio", Kind::kOther},
    {"", "USB", Kind::kOther},
    {"", "UCSI", Kind::kOther},
    {"", "DMA", Kind::kOther},
    {"", "SoC Management", Kind::kOther},
    {"", "Switch", Kind::kNvSwitch},  // "H100 NVSwitch"; bridges are known by their buses
    {"", "NVIDIA Corporation", Kind::kGpu},
    {"", "Instinct", Kind::kGpu},
    {"", "Mellanox Technologies", Kind::kNic},
    {"", "ConnectX", Kind::kNic},
    {"", "Ethernet", Kind::kNic},
    {"", "Omni-Path", Kind::kNic},
    {"", "Elastic Fabric Adapter", Kind::kNic},
};

bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

}  // namespace

Kind kind_of_lspci(std::string_view type, std::string_view name) {
  if (type.empty()) {
    for (const Row& row : kNames)
      if (has(name, row.name)) return row.kind;
    return Kind::kOther;
  }
  for (const Row& row : kTypes)
    if (type.starts_with(row.type) && has(name, row.name)) return row.kind;
  return Kind::kOther;
}

}  // namespace comm_probe::topology
