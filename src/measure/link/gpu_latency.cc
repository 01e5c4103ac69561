// Latencies that kernels see: a load that waits for the one before it, a flag between two blocks.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "measure/link/gpu_side.h"

namespace comm_probe::measure {
namespace {

using core::Bytes;
using core::Result;
using cuda::Stream;

// A chain is longer than any cache of a GPU (126 MB in B200), and touches each line once.
constexpr std::uint64_t kChainBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kChainStride = 128;
constexpr std::uint64_t kChainStep = 1'664'525;  // 1 modulo 4: one cycle through all places
constexpr std::uint64_t kHops = 20'000;
constexpr std::uint32_t kRounds = 2'000;

Result<double> read_ns(const Side& side, double per) {
  std::uint64_t ns = 0;
  if (const auto status = cuda::driver().cuMemcpyDtoH_v2(&ns, side.result(), sizeof ns); !status)
    return status.error();
  if (ns == 0) return core::missing_error("a kernel waited in vain for the other side");
  return static_cast<double>(ns) * 1e-9 / per;
}

// Loads by one thread of `by` from a chain that is laid.
Result<Summary> chase(const GpuBench& bench, const Side& by, cuda::Address chain,
                      std::uint64_t bytes) {
  std::uint64_t turn = 0;
  return sampled(bench.plan.samples, [&]() -> Result<double> {
    // each run follows another part of it
    std::uint64_t start = (++turn * 7919 * kChainStride) % bytes, hops = kHops;
    cuda::Address result = by.result();
    std::array<void*, 4> parameters = {&chain, &start, &hops, &result};
    auto done = cuda::launch(by.chase, {}, by.stream, parameters);
    if (done) done = by.stream.synchronize();
    if (!done) return done.error();
    return read_ns(by, static_cast<double>(kHops));
  });
}

Result<bool> start_ping_pong(const Side& own, cuda::Address flag, cuda::Address other_flag,
                             std::pair<int, const Stream*> place) {
  cuda::Address result = own.result() + (place.first != 0 ? 0 : 64);
  std::uint32_t rounds = kRounds;
  int is_first = place.first;
  std::array<void*, 5> parameters = {&flag, &other_flag, &rounds, &is_first, &result};
  if (const auto bound = own.context.bind(); !bound) return bound;
  return cuda::launch(own.ping_pong, {}, *place.second, parameters);
}

Result<bool> clear(const Side& side) {
  if (const auto bound = side.context.bind(); !bound) return bound;
  if (const auto status =
          cuda::driver().cuMemsetD8Async(side.words.address(), 0, 4096, side.stream.handle());
      !status)
    return status.error();
  return side.stream.synchronize();
}

}  // namespace

Bytes chain_bytes(const GpuBench& bench) {
  return Bytes::of(std::min(kChainBytes, bench.largest.whole()));
}

Result<bool> lay_chain(const GpuBench& bench, const Side& by, cuda::Address memory) {
  cuda::Address chain = memory;
  std::uint64_t count = chain_bytes(bench).whole() / kChainStride, stride = kChainStride,
                step = kChainStep;
  std::array<void*, 4> parameters = {&chain, &count, &stride, &step};
  if (const auto put = cuda::launch(by.make_chain, {256, 256}, by.stream, parameters); !put)
    return put;
  return by.stream.synchronize();
}

Result<bool> loads(GpuBench& bench, GpuLink link, const Side& by, cuda::Address memory) {
  const std::uint64_t bytes = chain_bytes(bench).whole();
  const auto seconds = chase(bench, by, memory, bytes);
  if (!seconds) return seconds.error();
  link.kind = GpuLinkKind::kLoadLatency;
  link.mover = Mover::kKernel;
  bench.found.links.push_back(
      with_alpha(std::move(link), *seconds,
                 fmt::format("{} loads along a chain through {} MiB", kHops, bytes >> 20)));
  return true;
}

// The flags lie 1 KiB apart where both sides are one GPU.
Result<bool> stores(GpuBench& bench, GpuLink link, const Side& first, const Side& second) {
  const bool is_same = &first == &second;
  if (const auto bound = second.context.bind(); !bound) return bound;
  const auto beside = Stream::make();
  if (!beside) return beside.error();
  const cuda::Address first_flag = first.flag() + 2048;
  const cuda::Address second_flag = second.flag() + 3072;
  const auto seconds = sampled(bench.plan.samples, [&]() -> Result<double> {
    auto done = clear(first);
    if (done && !is_same) done = clear(second);
    if (done) done = start_ping_pong(second, second_flag, first_flag, {0, &*beside});
    if (done) done = start_ping_pong(first, first_flag, second_flag, {1, &first.stream});
    if (done) done = first.stream.synchronize();
    if (done) done = beside->synchronize();
    if (!done) return done.error();
    return read_ns(first, 2.0 * kRounds);
  });
  if (!seconds) return seconds.error();
  link.kind = GpuLinkKind::kStoreLatency;
  link.mover = Mover::kKernel;
  bench.found.links.push_back(with_alpha(
      std::move(link), *seconds, fmt::format("half of {} ping-pongs of one word", kRounds)));
  return true;
}

}  // namespace comm_probe::measure
