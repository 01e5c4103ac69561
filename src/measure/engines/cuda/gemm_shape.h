// The matrices of cuda/gemm.cu and what their product must be (nvcc reads this, too): square,
// float, and filled so that every partial sum is a whole number below 2^24, exact in any order.
//
//   a(i, k) = (i mod 4 + 1) * (1 + k mod 3),  b(k, j) = j mod 4 + 1
//   c(i, j) = (i mod 4 + 1) * (j mod 4 + 1) * sum over k of (1 + k mod 3)
//
// Worked example (tests/unit/measure/overlap_test.cc): 64 x 64: the sum is 127, c(1, 2) = 762.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define COMM_PROBE_GPU_TOO __host__ __device__
#else
#define COMM_PROBE_GPU_TOO
#endif

namespace comm_probe::measure::cuda {

inline constexpr std::uint32_t kGemmTile = 64;      // rows and columns of a block; divides the size
inline constexpr std::uint32_t kGemmThreads = 256;  // of a block; each makes 4 x 4 elements

COMM_PROBE_GPU_TOO inline float gemm_a(std::uint32_t i, std::uint32_t k) {
  return static_cast<float>((i % 4 + 1) * (1 + k % 3));
}
COMM_PROBE_GPU_TOO inline float gemm_b(std::uint32_t, std::uint32_t j) {
  return static_cast<float>(j % 4 + 1);
}
inline float gemm_c(std::uint32_t size, std::uint32_t i, std::uint32_t j) {
  const std::uint32_t rest = size % 3;
  const std::uint32_t sum = size + size / 3 * 3 + (rest == 2 ? 1 : 0);
  return static_cast<float>((i % 4 + 1) * (j % 4 + 1) * sum);
}

}  // namespace comm_probe::measure::cuda
