#include "measure/engines/ucx/exchange.h"

#include <cstdio>

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

void Exchange::fail(const char* text) const {
  Shared& all = shared();
  std::uint32_t none = 0;
  if (!all.has_failed.compare_exchange_strong(none, 1)) return;
  std::snprintf(all.failure, sizeof all.failure, "%s", text);
  all.has_failed.store(2);
}

bool Exchange::meet(int rank, const std::function<void()>& meanwhile) const {
  Shared& all = shared();
  const std::uint32_t mine = all.sides[rank].meetings.fetch_add(1) + 1;
  const std::atomic<std::uint32_t>& theirs = all.sides[1 - rank].meetings;
  while (theirs.load() < mine) {
    if (all.has_failed.load() != 0) return false;
    meanwhile();
  }
  return all.has_failed.load() == 0;
}

}  // namespace comm_probe::measure::ucx
