#include "measure/engines/cuda/gemm.h"

#include <algorithm>
#include <array>
#include <vector>

namespace comm_probe::measure::cuda {
namespace {

constexpr Grid kFillGrid = {.blocks = 256, .threads = 256};
// Multiprocessors without a block of the product: NCCL has at most 32 channels on NVLink, each a
// block that needs most of one.
constexpr int kSpareMultiprocessors = 32;

}  // namespace

core::Result<Gemm> Gemm::make(std::uint32_t size, const Context& context, const Stream& stream) {
  COMM_PROBE_CHECK(size > 0 && size % kGemmTile == 0, "a matrix is made of whole tiles");
  auto module = Module::load("gemm");
  if (!module) return module.error();
  const auto product = module->function("gemm"), fill = module->function("gemm_fill");
  if (!product) return product.error();
  if (!fill) return fill.error();
  const std::uint64_t bytes = std::uint64_t{size} * size * sizeof(float);
  auto memory = DeviceBuffer::make(core::Bytes::of(3 * bytes));
  if (!memory) return memory.error();
  Gemm gemm(size, std::move(*module), std::move(*memory));
  gemm.product_ = *product;
  gemm.blocks_ = static_cast<unsigned>(
      std::max(1, context.attribute(kMultiprocessors) - kSpareMultiprocessors));
  Address a = gemm.matrix(0), b = gemm.matrix(1);
  std::array<void*, 3> parameters = {&a, &b, &size};
  auto done = cuda::launch(*fill, kFillGrid, stream, parameters);
  if (done) done = driver().cuMemsetD8Async(gemm.matrix(2), 0, bytes, stream.handle()).result();
  if (done) done = stream.synchronize();
  if (!done) return done.error();
  return gemm;
}

Address Gemm::matrix(int which) const {
  return memory_.address() + bytes() * static_cast<std::uint64_t>(which);
}

core::Result<bool> Gemm::launch(const Stream& stream) const {
  Address a = matrix(0), b = matrix(1), c = matrix(2);
  std::uint32_t size = size_;
  std::array<void*, 4> parameters = {&a, &b, &c, &size};
  return cuda::launch(product_, {blocks_, kGemmThreads}, stream, parameters);
}

core::Result<std::uint64_t> Gemm::count_wrong() const {
  std::vector<float> product(std::size_t{size_} * size_);
  if (const auto status = driver().cuMemcpyDtoH_v2(product.data(), matrix(2), bytes()); !status)
    return status.error();
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < size_; ++i)
    for (std::uint32_t j = 0; j < size_; ++j)
      wrong += product[std::size_t{i} * size_ + j] == gemm_c(size_, i, j) ? 0 : 1;
  return wrong;
}

}  // namespace comm_probe::measure::cuda
