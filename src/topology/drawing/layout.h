// Places a sketch on paper: leaves (GPUs, NICs) side by side, what stands above them in the tree as
// a bar below that is as wide as its branches, so that every link is a straight upright line. CPUs
// are at the foot, NVLink is at the top; a wide machine gets several rows. A line is
// 0.6 * sqrt(GB/s) pixels wide: gen4 x16 2.9, gen5 x16 4.2, 18 NVLinks of H100 11.6; dashed where
// the source does not say how wide the link is.
#pragma once

#include "core/picture.h"
#include "topology/drawing/sketch.h"

namespace comm_probe::topology {

// `problems` are printed in red below the machine.
core::Picture picture_of(const Sketch& sketch, const std::vector<std::string>& problems);

// Pixels of a line for a bandwidth.
double stroke_of(core::Bandwidth rate);

}  // namespace comm_probe::topology
