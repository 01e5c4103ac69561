// A matrix product that keeps multiprocessors busy while something else communicates (src/measure/overlap/). Plain float
// units, no tensor cores: what matters is that it computes, fills the GPU, and can be checked.
#include "measure/engines/cuda/gemm_shape.h"

using namespace comm_probe::measure::cuda;

extern "C" __global__ void gemm_fill(float* a, float* b, std::uint32_t size) {
  const std::uint64_t all = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t count = std::uint64_t{size} * size;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += all) {
    const auto row = static_cast<std::uint32_t>(i / size), column = static_cast<std::uint32_t>(i % size);
    a[i] = gemm_a(row, column);
    b[i] = gemm_b(row, column);
  }
}

// c = a * b. A block of kGemmThreads makes tiles of c one after the other, 16 columns of a and rows of b at a time. The grid
// has fewer blocks than the GPU has multiprocessors: those that are left are for what communicates beside it (NCCL's
// kernels take most of the registers of one).
extern "C" __global__ void gemm(const float* a, const float* b, float* c, std::uint32_t size) {
  constexpr std::uint32_t kDepth = 16, kSide = 16, kEach = kGemmTile / kSide;
  __shared__ float rows[kDepth][kGemmTile + 1], columns[kDepth][kGemmTile];
  const std::uint32_t tiles = size / kGemmTile;
  const std::uint32_t y = threadIdx.x / kSide, x = threadIdx.x % kSide;
  for (std::uint32_t tile = blockIdx.x; tile < tiles * tiles; tile += gridDim.x) {
    const std::uint32_t top = tile / tiles * kGemmTile, left = tile % tiles * kGemmTile;
    float sum[kEach][kEach] = {};
    for (std::uint32_t depth = 0; depth < size; depth += kDepth) {
      for (std::uint32_t i = threadIdx.x; i < kDepth * kGemmTile; i += kGemmThreads) {
        rows[i % kDepth][i / kDepth] = a[std::uint64_t{top + i / kDepth} * size + depth + i % kDepth];
        columns[i / kGemmTile][i % kGemmTile] = b[std::uint64_t{depth + i / kGemmTile} * size + left + i % kGemmTile];
      }
      __syncthreads();
      for (std::uint32_t k = 0; k < kDepth; ++k)
        for (std::uint32_t i = 0; i < kEach; ++i)
          for (std::uint32_t j = 0; j < kEach; ++j) sum[i][j] += rows[k][y * kEach + i] * columns[k][x + j * kSide];
      __syncthreads();
    }
    for (std::uint32_t i = 0; i < kEach; ++i)
      for (std::uint32_t j = 0; j < kEach; ++j)
        c[std::uint64_t{top + y * kEach + i} * size + left + x + j * kSide] = sum[i][j];
  }
}
