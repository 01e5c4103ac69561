#include "measure/engines/ucx/exchange.h"

namespace comm_probe::measure::ucx {
namespace {

constexpr std::size_t kHeader = (sizeof(Shared) + 63) / 64 * 64;

}  // namespace

core::Result<Exchange> Exchange::make(std::size_t sizes) {
  auto memory = local::SharedMemory::map(kHeader + sizes * sizeof(SizeResult), false);
  if (!memory) return memory.error();
  return Exchange(std::move(*memory));
}

SizeResult& Exchange::result(std::size_t size) const {
  return reinterpret_cast<SizeResult*>(memory_.data() + kHeader)[size];
}

}  // namespace comm_probe::measure::ucx
