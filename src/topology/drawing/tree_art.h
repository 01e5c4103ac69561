// A sketch for a terminal: one line a device, branches drawn with line characters, the figure of
// each link after a stroke that grows with it (thin below 20 GB/s, thick below 100, double above).
// A device with a problem is marked with "!". Empty where the machine is too large for it.
//
//   CPU0
//   |- switch 10:00.0  gen5 x16          == 48
//   |  |- GPU0    18:00.0 gen5 x16       == 48   NVLink NV18 == 370.8
//   (with the characters of Unicode's box drawing block)
#pragma once

#include <string>

#include "topology/drawing/sketch.h"

namespace comm_probe::topology {

std::string tree_art(const Sketch& sketch);

}  // namespace comm_probe::topology
