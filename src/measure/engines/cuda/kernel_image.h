// The kernels that the program carries: one fatbin per file of cuda/ (machine code for sm_80, sm_90
// and sm_100, and PTX of the lowest for anything newer), made where nvcc was found
// (cmake/cuda.cmake).
//
//   const auto image = kernel_image("probe");  // cuda/probe.cu
//   fails: "this program was built without nvcc: it has no GPU kernels"
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace comm_probe::measure::cuda {

struct KernelImage {
  std::string_view name;
  std::span<const unsigned char> bytes;
};
// In the generated file embedded_kernels.cc; empty where nvcc was not found.
std::span<const KernelImage> kernel_images();

core::Result<std::span<const unsigned char>> kernel_image(const std::string& name);

}  // namespace comm_probe::measure::cuda
