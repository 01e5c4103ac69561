#include "measure/engines/cuda/all_reduce_memory.h"

namespace comm_probe::measure::cuda {
namespace {

// Every part begins at a multiple of 512 bytes, as cuMemAlloc's own results do.
constexpr std::uint64_t kPart = 512;
// The driver puts smaller allocations into a common one, whose handle would lead to its begin.
constexpr std::uint64_t kOwnAllocation = std::uint64_t{2} << 20;

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Parts one after the other.
class Places {
 public:
  explicit Places(std::uint64_t base) : at_(base) {}
  void* take(std::uint64_t bytes) {
    void* const place = reinterpret_cast<void*>(at_);
    at_ += rounded_up(bytes, kPart);
    return place;
  }
  std::uint64_t end() const { return at_; }

 private:
  std::uint64_t at_;
};

}  // namespace

AllReduceMemory::AllReduceMemory(std::uint64_t message_bytes, int ranks, int processes)
    : ranks_(ranks), processes_(processes), message_(message_bytes) {
  const auto parts = static_cast<std::uint64_t>(ranks);
  const std::uint64_t packs = rounded_up(message_bytes, kPackBytes) / kPackBytes;
  slice_ = rounded_up(packs, parts) / parts * kPackBytes;
}

int AllReduceMemory::process_of(int rank) const {
  int process = 0;
  while (first_rank(process + 1) <= rank) ++process;
  return process;
}

std::uint64_t AllReduceMemory::rank_bytes() const {
  Places places(0);
  places.take(sizeof(Signals));
  for (int part = 0; part < 3; ++part) places.take(message_);
  places.take(slice_);
  places.take(slice_ * static_cast<std::uint64_t>(ranks_ - 1));
  return places.end();
}

std::uint64_t AllReduceMemory::bytes(int process) const {
  return rounded_up(rank_bytes() * static_cast<std::uint64_t>(ranks_of(process)), kOwnAllocation);
}

AllReduceCall AllReduceMemory::call_over(std::span<const Address> bases) const {
  AllReduceCall call = {};
  call.ranks = ranks_;
  for (int rank = 0; rank < ranks_; ++rank) {
    const int process = process_of(rank);
    const auto index = static_cast<std::uint64_t>(rank - first_rank(process));
    Places places(bases[static_cast<std::size_t>(process)] + index * rank_bytes());
    call.signals[rank] = static_cast<Signals*>(places.take(sizeof(Signals)));
    call.send[rank] = places.take(message_);
    call.recv[rank] = places.take(message_);
    call.staged[rank] = places.take(message_);
    call.slices[rank] = places.take(slice_);
    call.slots[rank] = places.take(slice_ * static_cast<std::uint64_t>(ranks_ - 1));
  }
  return call;
}

}  // namespace comm_probe::measure::cuda
