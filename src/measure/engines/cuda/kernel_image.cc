#include "measure/engines/cuda/kernel_image.h"

#include <fmt/format.h>

namespace comm_probe::measure::cuda {

core::Result<std::span<const unsigned char>> kernel_image(const std::string& name) {
  if (kernel_images().empty())
    return core::missing_error("this program was built without nvcc: it has no GPU kernels",
                               "build it where the CUDA toolkit is installed");
  for (const KernelImage& image : kernel_images())
    if (image.name == name) return image.bytes;
  return core::missing_error(fmt::format("this program carries no kernels named '{}'", name));
}

}  // namespace comm_probe::measure::cuda
