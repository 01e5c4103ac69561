#include "measure/engines/local/stream.h"

#include <utility>

namespace comm_probe::measure::local {

static_assert(sizeof(SlotHeader) == kLine && sizeof(ReleaseCount) == kLine);

Outbox::Outbox(StreamShape shape, std::vector<int> readers, const Wiring& wiring)
    : shape_(shape), wiring_(wiring), readers_(std::move(readers)) {}

void Outbox::wait_for_slot() {
  const std::uint32_t needed = next_ - shape_.slots;
  std::uint32_t slowest = next_ - 1;
  for (const int reader : readers_) {
    const std::atomic<std::uint32_t>& count = shape_.released_by(reader).messages;
    wait_for(count, needed, *wiring_.policy, wiring_.sleepers[reader].count);
    const std::uint32_t released = count.load(std::memory_order_acquire);
    if (reached(slowest, released)) slowest = released;
  }
  released_ = slowest;
}

}  // namespace comm_probe::measure::local
