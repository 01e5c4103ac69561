#include "catalog/node_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "catalog/machine_figures.h"

namespace comm_probe::catalog {

NodeSizes node_sizes(const Machine& machine) {
  const int host = std::max(machine.gpus, 1);
  return {host, host * trays_of_domain(machine)};
}

std::string domain_text(const NodeSizes& sizes) {
  if (sizes.are_one()) return "";
  return fmt::format("{} hosts of {} GPUs in one NVLink domain of {}", sizes.hosts(), sizes.host,
                     sizes.domain);
}

}  // namespace comm_probe::catalog
