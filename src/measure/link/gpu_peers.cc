// Copies and latencies inside one GPU and between every two of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "measure/link/gpu_side.h"

namespace comm_probe::measure {
namespace {

using core::Bytes;
using core::Result;
using cuda::DeviceBuffer;

// Copies through the host are slow; smaller and fewer of them say as much.
constexpr double kThroughHostBytes = 64 << 20;
constexpr int kThroughHostCopies = 4;
// Pairs are many: where 16 copies take longer than this (PCIe), fewer of them are made.
constexpr double kPairBlockSeconds = 0.03;

Result<bool> inside(GpuBench& bench, Side& side, int gpu) {
  const Series series{bench.largest, bench.plan.copies, bench.plan.samples};
  const auto other = DeviceBuffer::make(series.bytes);
  if (!other) return other.error();
  const Way way{side, side, side.buffer.address(), other->address()};
  const GpuLink link{.kind = GpuLinkKind::kLocalCopy, .gpu = gpu, .peer = gpu};
  const auto by_engine = time_copies(side, series, [&] {
    return cuda::driver()
        .cuMemcpyDtoDAsync_v2(way.target, way.source, series.bytes.whole(), side.stream.handle())
        .result();
  });
  if (!by_engine) return by_engine.error();
  bench.found.links.push_back(with_rate(link, *by_engine, series));
  const auto by_kernel =
      time_copies(side, series, [&] { return copy_by_kernel(way, series.bytes, side); });
  if (!by_kernel) return by_kernel.error();
  GpuLink kernel = link;
  kernel.mover = Mover::kKernel;
  bench.found.links.push_back(with_rate(kernel, *by_kernel, series));
  auto done = small_copies(bench, link, way, side);
  if (done) done = lay_chain(bench, side, side.buffer.address());
  if (done) done = loads(bench, link, side, side.buffer.address());
  if (done) done = stores(bench, link, side, side);
  return done;
}

Result<bool> from_host(GpuBench& bench, const Side& side, int gpu) {
  const auto host = cuda::PinnedBuffer::make(chain_bytes(bench),
                                             cuda::kHostAllocPortable | cuda::kHostAllocDeviceMap);
  if (!host) return host.error();
  const auto address = host->device_address();
  if (!address) return address.error();
  if (const auto laid = lay_chain(bench, side, *address); !laid) return laid;
  const GpuLink link{.kind = GpuLinkKind::kLoadLatency, .memory = HostMemory::kPinned, .gpu = gpu};
  return loads(bench, link, side, *address);
}

Result<bool> enable(const Side& from, const Side& to) {
  if (const auto bound = from.context.bind(); !bound) return bound;
  const auto status = cuda::driver().cuCtxEnablePeerAccess(to.context.handle(), 0);
  constexpr int kAlreadyEnabled = 704;
  if (!status && status.code() != kAlreadyEnabled) return status.error();
  return true;
}

// One direction of a pair by copy engine, the engine of the sender or of the receiver.
Result<bool> one_way(GpuBench& bench, GpuLink link, const Way& way, const Series& series) {
  Side& by = link.kind == GpuLinkKind::kPeerRead ? way.to : way.from;
  const bool by_kernel = link.mover == Mover::kKernel;
  const auto seconds = time_copies(by, series, [&] {
    return by_kernel ? copy_by_kernel(way, series.bytes, by)
                     : copy_by_engine(way, series.bytes, by.stream);
  });
  if (!seconds) return seconds.error();
  bench.found.links.push_back(with_rate(std::move(link), *seconds, series));
  return true;
}

Result<bool> both_ways(GpuBench& bench, GpuLink link, std::pair<Side*, Side*> sides,
                       const Series& series) {
  Side &a = *sides.first, &b = *sides.second;
  if (const auto bound = b.context.bind(); !bound) return bound;
  const auto other_b = DeviceBuffer::make(series.bytes);
  if (!other_b) return other_b.error();
  if (const auto bound = a.context.bind(); !bound) return bound;
  const auto other_a = DeviceBuffer::make(series.bytes);
  if (!other_a) return other_a.error();
  const Way there{a, b, a.buffer.address(), b.buffer.address()};
  const Way back{b, a, other_b->address(), other_a->address()};
  const Enqueue put_both = [&]() -> Result<bool> {
    const auto put = copy_by_engine(there, series.bytes, a.stream);
    if (!put) return put;
    return copy_by_engine(back, series.bytes, b.stream);
  };
  const auto seconds = sampled(series.samples, [&] {
    const auto all = [&] { return repeat(series.copies, put_both); };
    return seconds_each(a.timer.time_both({a.stream, b.stream, b.joined}, all), series.copies);
  });
  if (!seconds) return seconds.error();
  link.kind = GpuLinkKind::kPeerBothWays;
  bench.found.links.push_back(with_rate(std::move(link), *seconds, series, 2));
  return true;
}

Result<bool> pair_through_host(GpuBench& bench, GpuLink link, std::pair<Side*, Side*> sides) {
  const Series series{std::min(bench.largest, Bytes::of(kThroughHostBytes)), kThroughHostCopies,
                      bench.plan.samples};
  link.peer_mode = PeerMode::kThroughHost;
  link.kind = GpuLinkKind::kPeerWrite;
  const Way way{*sides.first, *sides.second, sides.first->buffer.address(),
                sides.second->buffer.address()};
  return one_way(bench, link, way, series);
}

Result<bool> pair_direct(GpuBench& bench, GpuLink link, std::pair<Side*, Side*> sides) {
  Side &a = *sides.first, &b = *sides.second;
  link.peer_mode = PeerMode::kDirect;
  const Way way{a, b, a.buffer.address(), b.buffer.address()};
  const auto one = time_copies(a, {bench.largest, 1, 1},
                               [&] { return copy_by_engine(way, bench.largest, a.stream); });
  if (!one) return one.error();
  const int copies = static_cast<int>(kPairBlockSeconds / std::max(1e-6, one->median));
  const Series series{bench.largest, std::clamp(copies, 1, bench.plan.copies), bench.plan.samples};
  Result<bool> done = true;
  for (const Mover mover : {Mover::kCopyEngine, Mover::kKernel})
    for (const GpuLinkKind kind : {GpuLinkKind::kPeerWrite, GpuLinkKind::kPeerRead}) {
      if (!done) return done;
      link.mover = mover;
      link.kind = kind;
      done = one_way(bench, link, way, series);
    }
  link.mover = Mover::kCopyEngine;
  if (done) done = small_copies(bench, link, way, a);
  if (done && *link.peer > link.gpu) {
    done = both_ways(bench, link, sides, series);
    if (done) done = stores(bench, link, a, b);
  }
  // The chain lies in the memory of the peer, each GPU follows that of the other.
  if (done) done = b.context.bind();
  if (done) done = lay_chain(bench, b, b.buffer.address());
  if (done) done = a.context.bind();
  if (done) done = loads(bench, link, a, b.buffer.address());
  return done;
}

}  // namespace

Result<bool> measure_inside(GpuBench& bench, int gpu) {
  bench.progress(fmt::format("inside GPU {}", gpu));
  auto side = make_side(bench.contexts[static_cast<std::size_t>(gpu)], bench.largest);
  if (!side) return side.error();
  return inside(bench, *side, gpu);
}

Result<bool> measure_host_loads(GpuBench& bench, int gpu) {
  bench.progress(fmt::format("loads of GPU {} from host memory", gpu));
  auto side = make_side(bench.contexts[static_cast<std::size_t>(gpu)], Bytes::of(4096));
  if (!side) return side.error();
  return from_host(bench, *side, gpu);
}

Result<bool> measure_peers(GpuBench& bench) {
  std::vector<Side> sides;
  for (const cuda::Context& context : bench.contexts) {
    auto side = make_side(context, bench.largest);
    if (!side) return side.error();
    sides.push_back(std::move(*side));
  }
  // Without peer access first: what is enabled stays so.
  for (const bool is_direct : {false, true})
    for (const GpuPeer& peer : bench.found.peers) {
      if (bench.is_over())
        return core::missing_error(
            fmt::format("no time was left from GPU {} -> GPU {} on", peer.from, peer.to));
      bench.progress(fmt::format("GPU {} -> GPU {}", peer.from, peer.to));
      Side& from = sides[static_cast<std::size_t>(peer.from)];
      Side& to = sides[static_cast<std::size_t>(peer.to)];
      const GpuLink link{.kind = GpuLinkKind::kPeerWrite, .gpu = peer.from, .peer = peer.to};
      Result<bool> done = true;
      if (!is_direct) done = pair_through_host(bench, link, {&from, &to});
      if (is_direct && peer.is_direct) {
        done = enable(from, to);
        if (done) done = enable(to, from);
        if (done) done = pair_direct(bench, link, {&from, &to});
      }
      if (!done) return done;
    }
  return true;
}

}  // namespace comm_probe::measure
