#include "measure/engines/cuda/all_reduce_peers.h"

#include <fmt/format.h>

#include <optional>

#include "core/units.h"

namespace comm_probe::measure::cuda {
namespace {

std::optional<core::Error> too_large(const AllReduceMemory& memory, int process) {
  const auto free = free_memory();
  if (!free) return free.error();
  const core::Bytes needed = core::Bytes::of(memory.bytes(process));
  if (needed <= *free) return std::nullopt;
  return core::input_error(
      fmt::format("{} ranks need {} of GPU memory at the largest size; {} is free",
                  memory.ranks_of(process), core::format_bytes(needed), core::format_bytes(*free)),
      "use a smaller -e or fewer ranks");
}

// Signals begin at zero; so does the rest, so that no run sees what another program left.
core::Result<DeviceBuffer> cleared_memory(std::uint64_t bytes) {
  auto buffer = DeviceBuffer::make(core::Bytes::of(bytes));
  if (!buffer) return buffer.error();
  if (const auto status = driver().cuMemsetD8Async(buffer->address(), 0, bytes, nullptr); !status)
    return status.error();
  if (const auto status = driver().cuCtxSynchronize(); !status) return status.error();
  return buffer;
}

std::optional<core::Error> unreachable(const ProcessFacts& own, const ProcessFacts& peer) {
  if (own.device == peer.device) return std::nullopt;
  int can = 0;
  if (const auto status = driver().cuDeviceCanAccessPeer(&can, own.device, peer.device); !status)
    return status.error();
  if (can != 0) return std::nullopt;
  return core::missing_error(
      fmt::format("GPU {} ({}) cannot reach the memory of GPU {} ({})", own.device, own.bus,
                  peer.device, peer.bus),
      "comm-probe topo shows how they are connected; virtual ranks on one GPU: "
      "CUDA_VISIBLE_DEVICES=0");
}

core::Result<Owned<Address>> mapped_memory(const ProcessFacts& own, const ProcessFacts& peer) {
  if (const auto error = unreachable(own, peer)) return *error;
  Address address = 0;
  if (const auto status = driver().cuIpcOpenMemHandle_v2(&address, peer.handle, kIpcLazyPeerAccess);
      !status) {
    core::Error error = status.error();
    error.hint = "processes need one IPC and PID namespace and the same CUDA_VISIBLE_DEVICES";
    return error;
  }
  return Owned<Address>(address, [](Address at) { driver().cuIpcCloseMemHandle(at); });
}

}  // namespace

core::Result<AllReducePeers> AllReducePeers::join(const AllReduceMemory& memory,
                                                  const AllReduceWorld& world, int process) {
  if (const auto error = too_large(memory, process)) return *error;
  auto own = cleared_memory(memory.bytes(process));
  if (!own) return own.error();
  std::vector<Address> bases(static_cast<std::size_t>(memory.processes()));
  bases[static_cast<std::size_t>(process)] = own->address();
  std::vector<Owned<Address>> mapped;
  if (memory.processes() > 1) {
    ProcessFacts& facts = world.facts(process);
    if (const auto status = driver().cuIpcGetMemHandle(&facts.handle, own->address()); !status)
      return status.error();
    if (!world.meet()) return lost_another();
    for (int peer = 0; peer < memory.processes(); ++peer) {
      if (peer == process) continue;
      auto address = mapped_memory(facts, world.facts(peer));
      if (!address) return address.error();
      bases[static_cast<std::size_t>(peer)] = address->get();
      mapped.push_back(std::move(*address));
    }
  }
  if (!world.meet()) return lost_another();
  return AllReducePeers(std::move(*own), std::move(mapped), memory.call_over(bases));
}

}  // namespace comm_probe::measure::cuda
