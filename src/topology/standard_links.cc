#include "topology/standard_links.h"

#include <cstdlib>

namespace comm_probe::topology {

std::optional<catalog::PcieLink> standard_pcie(const PciSlot& slot) {
  constexpr double kTransfers[] = {2.5, 5, 8, 16, 32, 64};
  const double transfers = std::atof(slot.speed.c_str());
  for (int i = 0; i < 6; ++i)
    if (transfers == kTransfers[i]) return catalog::find_pcie(i + 1, slot.width);
  return std::nullopt;
}

std::optional<catalog::GpuLinks> standard_nvlinks(int sm, int count) {
  struct Row {
    int least_sm;
    int most_sm;
    int generation;
  };
  constexpr Row kRows[] = {{60, 69, 1}, {70, 79, 2}, {80, 80, 3}, {90, 99, 4}, {100, 119, 5}};
  for (const Row& row : kRows)
    if (sm >= row.least_sm && sm <= row.most_sm) return catalog::nvlink(row.generation, count);
  return std::nullopt;
}

}  // namespace comm_probe::topology
