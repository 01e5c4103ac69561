// A product of two square matrices on the GPU of the current context, by cuda/gemm.cu: work that
// computes while something else communicates. Fails where the program carries no kernels.
//
//   const auto gemm = Gemm::make(2048, context, stream);  // 3 x 16 MiB of GPU memory
//   gemm->launch(stream);                   // as often as one likes: the product is the same
//   gemm->count_wrong()                     // of the finished product (gemm_shape.h says what is
//   right)
#pragma once

#include "measure/engines/cuda/gemm_shape.h"
#include "measure/engines/cuda/resources.h"

namespace comm_probe::measure::cuda {

class Gemm {
 public:
  // `size` is a multiple of kGemmTile. Filled on `stream`, which is waited for.
  static core::Result<Gemm> make(std::uint32_t size, const Context& context, const Stream& stream);
  core::Result<bool> launch(const Stream& stream) const;
  core::Result<std::uint64_t> count_wrong() const;

 private:
  Gemm(std::uint32_t size, Module module, DeviceBuffer memory)
      : size_(size), module_(std::move(module)), memory_(std::move(memory)) {}
  Address matrix(int which) const;  // a, b, c
  std::uint64_t bytes() const { return std::uint64_t{size_} * size_ * sizeof(float); }

  std::uint32_t size_;
  Module module_;
  DeviceBuffer memory_;
  FunctionHandle product_ = nullptr;
  unsigned blocks_ = 1;
};

}  // namespace comm_probe::measure::cuda
