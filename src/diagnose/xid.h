// What an Xid of the kernel log accuses, by NVIDIA's catalog (docs.nvidia.com/deploy/xid-errors).
//
//   79 (fell off the bus) -> the GPU; 31 (illegal access in a kernel) -> the program; 63 (a row was
//   remapped) -> nobody
#pragma once

#include "torch/job_lines.h"

namespace comm_probe::diagnose {

enum class Accused { kGpu, kProgram, kNobody };
Accused accused_by_xid(const torch::JobLine& line);
// An Xid that accuses nobody.
bool is_notice(const torch::JobLine& line);

}  // namespace comm_probe::diagnose
