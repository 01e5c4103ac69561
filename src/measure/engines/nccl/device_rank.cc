#include "measure/engines/nccl/device_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "measure/known_data.h"

namespace comm_probe::measure::nccl {
namespace {

using core::Result;

// cudaMalloc's own granularity; a window must be a multiple of it.
constexpr std::size_t kGrain = 2U << 20;

cuda::Address address_of(const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); }

// Bytes of the larger buffer, which holds both in place.
std::size_t larger_bytes(const Call& call, int ranks) {
  return call.bytes(std::max(send_count(call, ranks), recv_count(call, ranks)));
}

}  // namespace

Result<Buffer> Buffer::make(const Library& library, std::size_t bytes, bool for_registration) {
  Buffer buffer;
  buffer.bytes_ = std::max<std::size_t>(bytes, 1);
  if (for_registration && library.calls().mem_alloc != nullptr) {
    buffer.bytes_ = (buffer.bytes_ + kGrain - 1) / kGrain * kGrain;
    void* at = nullptr;
    if (const int status = library.calls().mem_alloc(&at, buffer.bytes_); status != kSuccess)
      return core::missing_error("ncclMemAlloc: " + library.explain(status));
    buffer.at_ = static_cast<std::byte*>(at);
    return buffer;
  }
  auto plain = cuda::DeviceBuffer::make(core::Bytes::of(std::uint64_t{buffer.bytes_}));
  if (!plain) return plain.error();
  buffer.at_ = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(plain->address()));
  buffer.plain_ = std::move(*plain);
  return buffer;
}

Result<DeviceRank> DeviceRank::make(const Library& library, const Plan& plan, RankPlace place) {
  auto context = cuda::Context::open(place.device);
  if (!context) return context.error();
  auto stream = cuda::Stream::make();
  if (!stream) return stream.error();
  DeviceRank rank(library, plan, place, std::move(*context), std::move(*stream));
  const auto amounts = amounts_of(plan);
  if (!amounts) return amounts.error();
  const Call largest = {.op = plan.op, .element = plan.element, .count = amounts->back().count};
  const bool registers = plan.registration != 0;
  auto send = Buffer::make(library, larger_bytes(largest, place.ranks), registers);
  if (!send) return send.error();
  auto recv = Buffer::make(library, larger_bytes(largest, place.ranks), registers);
  if (!recv) return recv.error();
  rank.send_ = std::move(*send);
  rank.recv_ = std::move(*recv);
  return rank;
}

core::Error DeviceRank::failed(const char* what, int status) const {
  return core::missing_error(
      fmt::format("{} on rank {}: {}", what, place_.rank, library_->explain(status, comm_)));
}

Result<bool> DeviceRank::join(const UniqueId& id) {
  if (const auto bound = context_.bind(); !bound) return bound.error();
  const int status = library_->calls().init_rank(&comm_, place_.ranks, id, place_.rank);
  if (status == kSuccess || status == kInProgress) return true;
  return failed("ncclCommInitRank", status);
}

Result<bool> DeviceRank::register_buffers(int how) {
  if (how == 0) return true;
  if (const auto bound = context_.bind(); !bound) return bound.error();
  const Calls& nccl = library_->calls();
  for (std::size_t at = 0; at < handles_.size(); ++at) {
    const Buffer& buffer = at == 0 ? send_ : recv_;
    const int status = how == 1
                           ? nccl.register_buffer(comm_, buffer.at(), buffer.bytes(), &handles_[at])
                           : nccl.register_window(comm_, buffer.at(), buffer.bytes(), &handles_[at],
                                                  kWindowSymmetric);
    if (status != kSuccess && status != kInProgress)
      return failed(how == 1 ? "ncclCommRegister" : "ncclCommWindowRegister", status);
  }
  return true;
}

int DeviceRank::registered() const {
  return static_cast<int>(handles_.size() - static_cast<std::size_t>(std::count(
                                                handles_.begin(), handles_.end(), nullptr)));
}

Call DeviceRank::call_of(std::size_t count, bool in_place) const {
  const Call call = {plan_->op, plan_->element, plan_->reduction, plan_->root,
                     count,     send_.at(),     recv_.at()};
  return in_place ? measure::in_place(call, place_.rank, recv_.at()) : call;
}

Call DeviceRank::on_host(const Call& call) {
  Call host = call;
  const auto mirrored = [](const std::byte* at, const Buffer& buffer,
                           std::vector<std::byte>& copy) {
    copy.resize(std::max(copy.size(), buffer.bytes()));
    return copy.data() + (at - buffer.at());
  };
  const bool in_recv = call.send >= recv_.at() && call.send < recv_.at() + recv_.bytes();
  host.send =
      in_recv ? mirrored(call.send, recv_, host_recv_) : mirrored(call.send, send_, host_send_);
  host.recv = mirrored(call.recv, recv_, host_recv_);
  return host;
}

Result<bool> DeviceRank::prepare(const Call& call) {
  if (const auto bound = context_.bind(); !bound) return bound.error();
  constexpr unsigned char kStale = 0x5a;
  if (const auto set = cuda::driver().cuMemsetD8Async(address_of(recv_.at()), kStale, recv_.bytes(),
                                                      stream_.handle());
      !set)
    return set.error();
  if (const auto synced = stream_.synchronize(); !synced) return synced.error();
  const Call host = on_host(call);
  fill_input(host, place_.rank, place_.ranks, const_cast<std::byte*>(host.send));
  const std::size_t bytes = call.bytes(send_count(call, place_.ranks));
  if (bytes == 0) return true;
  // On the rank's own stream: a copy from pageable memory returns before its data has arrived, and
  // a stream that does not wait for the default one would start without it.
  if (const auto copied = cuda::driver().cuMemcpyHtoDAsync_v2(address_of(call.send), host.send,
                                                              bytes, stream_.handle());
      !copied)
    return copied.error();
  return stream_.synchronize();
}

Result<bool> DeviceRank::issue(const Call& call) const {
  return nccl::issue(*library_, call, {comm_, place_.rank, place_.ranks, stream_.handle()});
}

Result<std::uint64_t> DeviceRank::count_wrong(const Call& call) {
  if (const auto bound = context_.bind(); !bound) return bound.error();
  const Call host = on_host(call);
  const std::size_t bytes = larger_bytes(call, place_.ranks);
  const auto copied = bytes == 0
                          ? Result<bool>(true)
                          : cuda::driver()
                                .cuMemcpyDtoH_v2(host_recv_.data(), address_of(recv_.at()), bytes)
                                .result();
  if (!copied) return copied.error();
  return count_wrong_rounded(host, place_.rank, place_.ranks);
}

Result<bool> DeviceRank::is_done() const {
  int asynchronous = kSuccess;
  const int asked = library_->calls().async_error(comm_, &asynchronous);
  if (asked != kSuccess) return failed("ncclCommGetAsyncError", asked);
  if (asynchronous != kSuccess && asynchronous != kInProgress)
    return failed("a collective", asynchronous);
  const cuda::Status status = cuda::driver().cuStreamQuery(stream_.handle());
  if (status) return asynchronous == kSuccess;
  if (status.code() == cuda::kNotReady) return false;
  return status.error();
}

void DeviceRank::leave() {
  if (comm_ == nullptr) return;
  if (const auto bound = context_.bind(); bound) library_->calls().destroy(comm_);
  comm_ = nullptr;
}

}  // namespace comm_probe::measure::nccl
