// Which rate has the port of a NIC that is named, and which slot? What ibstat (or sysfs) says of
// the port itself comes first, then the network devices of a topology that was read.
//
// NCCL's XML lists every device, those for storage and management too, each with its own rate: none
// stands for another. A rate that no port is sold with (a cloud's XML says 180 Gb/s) is a setting
// for NCCL's search and no rate of hardware: it is left out.
//
// Worked example (tests/unit/diagnose/known_ports_test.cc): eight NDR ports and one of 25 Gb/s give
// nine ports, mlx5_0 with 400 Gb/s in gen5 x16 among them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/links.h"
#include "core/quantity.h"
#include "topology/survey.h"

namespace comm_probe::diagnose {

struct KnownPort {
  std::string device = {};  // "mlx5_0"
  int port = 1;
  core::Bandwidth rate = {};
  std::optional<catalog::PcieLink> slot = {};  // what it can do, not what it is trained to
  std::string source = {};
};
std::vector<KnownPort> known_ports(const topology::Survey& survey);

}  // namespace comm_probe::diagnose
