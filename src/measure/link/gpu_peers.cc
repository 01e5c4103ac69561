// Copies and latencies inside one GPU and between every two of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "measure/link/gpu_phases.h"

namespace comm_probe::measure {
namespace {

using core::Bytes;
using core::Result;
using cuda::DeviceBuffer;
using cuda::Stream;

constexpr std::uint64_t kSmallCopy = 16;  // as p2pBandwidthLatencyTest
constexpr int kSmallCopies = 200;         // fewer than a held stream takes
// A chain is longer than any cache of a GPU (126 MB in B200), and touches each line once.
constexpr std::uint64_t kChainBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kChainStride = 128;
constexpr std::uint64_t kChainStep = 1'664'525;  // 1 modulo 4: one cycle through all places
constexpr std::uint64_t kHops = 20'000;
constexpr std::uint32_t kRounds = 2'000;
constexpr unsigned kCopyThreads = 512;
constexpr unsigned kBlocksPerMultiprocessor = 4;
// Copies through the host are slow; smaller and fewer of them say as much.
constexpr double kThroughHostBytes = 64 << 20;
constexpr int kThroughHostCopies = 4;
// Pairs are many: where 16 copies take longer than this (PCIe), fewer of them are made.
constexpr double kPairBlockSeconds = 0.03;

// One GPU's part of a pair. Everything is made in its context.
struct Side {
  const cuda::Context& context;
  DeviceBuffer buffer;
  DeviceBuffer words;  // a flag at 0, results at 64
  Stream stream;
  GpuTimer timer;
  cuda::Event joined;
  cuda::Module module;
  cuda::FunctionHandle copy, make_chain, chase, ping_pong;

  cuda::Address flag() const { return words.address(); }
  cuda::Address result() const { return words.address() + 64; }
};

Result<cuda::FunctionHandle> named(const cuda::Module& module, const char* name) {
  return module.function(name);
}

Result<Side> make_side(const cuda::Context& context, Bytes size) {
  if (const auto bound = context.bind(); !bound) return bound.error();
  auto buffer = DeviceBuffer::make(size), words = DeviceBuffer::make(Bytes::of(4096));
  if (!buffer) return buffer.error();
  if (!words) return words.error();
  auto stream = Stream::make();
  if (!stream) return stream.error();
  auto timer = GpuTimer::make();
  if (!timer) return timer.error();
  auto joined = cuda::Event::make(cuda::kEventDisableTiming);
  if (!joined) return joined.error();
  auto module = cuda::Module::load("probe");
  if (!module) return module.error();
  std::array<cuda::FunctionHandle, 4> functions = {};
  constexpr std::array kNames = {"copy", "make_chain", "chase", "ping_pong"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const auto function = named(*module, kNames[i]);
    if (!function) return function.error();
    functions[i] = *function;
  }
  return Side{context,           std::move(*buffer), std::move(*words),  std::move(*stream),
              std::move(*timer), std::move(*joined), std::move(*module), functions[0],
              functions[1],      functions[2],       functions[3]};
}

// From one side's buffer to the other's; the same GPU's halves where both are one.
struct Way {
  Side& from;
  Side& to;
  cuda::Address source = 0;
  cuda::Address target = 0;
};

Result<bool> copy_by_engine(const Way& way, Bytes bytes, const Stream& stream) {
  const auto status =
      cuda::driver().cuMemcpyPeerAsync(way.target, way.to.context.handle(), way.source,
                                       way.from.context.handle(), bytes.whole(), stream.handle());
  if (!status) return status.error();
  return true;
}

// By the multiprocessors of `by`.
Result<bool> copy_by_kernel(const Way& way, Bytes bytes, const Side& by) {
  cuda::Address to = way.target, from = way.source;
  std::uint64_t packs = bytes.whole() / 16;
  std::array<void*, 3> parameters = {&to, &from, &packs};
  const auto processors =
      static_cast<unsigned>(std::max(1, by.context.attribute(cuda::kMultiprocessors)));
  return cuda::launch(by.copy, {processors * kBlocksPerMultiprocessor, kCopyThreads}, by.stream,
                      parameters);
}

struct Series {
  Bytes bytes;
  int copies;
  int samples;
};

// Seconds per copy; `put` puts one on the stream of `by`.
Result<Summary> time_copies(Side& by, const Series& series, const Enqueue& put) {
  if (const auto bound = by.context.bind(); !bound) return bound.error();
  return sampled(series.samples, [&]() -> Result<double> {
    const auto time = by.timer.time(by.stream, [&]() -> Result<bool> {
      for (int i = 0; i < series.copies; ++i)
        if (const auto done = put(); !done) return done;
      return true;
    });
    if (!time) return time.error();
    return time->in_seconds() / series.copies;
  });
}

std::string how_of(const Series& series) {
  return fmt::format("{} copies in a row, GPU events", series.copies);
}

GpuLink with_rate(GpuLink link, const Summary& seconds, const Series& series, double ways = 1) {
  link.bytes = series.bytes;
  link.seconds = seconds;
  link.rate = rate_of(series.bytes * ways, seconds, how_of(series));
  return link;
}

GpuLink with_alpha(GpuLink link, const Summary& seconds, const std::string& how) {
  link.seconds = seconds;
  link.alpha = {core::Duration::from_seconds(seconds.median), core::Basis::kMeasured, how};
  return link;
}

Result<bool> small_copies(GpuBench& bench, GpuLink link, const Way& way, Side& by) {
  const Series series{Bytes::of(kSmallCopy), kSmallCopies, bench.plan.samples};
  const auto seconds =
      time_copies(by, series, [&] { return copy_by_engine(way, series.bytes, by.stream); });
  if (!seconds) return seconds.error();
  link.kind = GpuLinkKind::kCopyLatency;
  link.bytes = series.bytes;
  bench.found.links.push_back(
      with_alpha(std::move(link), *seconds, "copies of 16 bytes in a row, GPU events"));
  return true;
}

Result<double> read_ns(const Side& side, double per) {
  std::uint64_t ns = 0;
  if (const auto status = cuda::driver().cuMemcpyDtoH_v2(&ns, side.result(), sizeof ns); !status)
    return status.error();
  if (ns == 0) return core::missing_error("a kernel waited in vain for the other side");
  return static_cast<double>(ns) * 1e-9 / per;
}

Result<bool> lay_chain(const Side& by, cuda::Address chain, std::uint64_t bytes) {
  std::uint64_t count = bytes / kChainStride, stride = kChainStride, step = kChainStep;
  std::array<void*, 4> parameters = {&chain, &count, &stride, &step};
  if (const auto put = cuda::launch(by.make_chain, {256, 256}, by.stream, parameters); !put)
    return put;
  return by.stream.synchronize();
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

Result<bool> loads(GpuBench& bench, GpuLink link, const Side& by, cuda::Address memory) {
  const std::uint64_t bytes = std::min(kChainBytes, bench.largest.whole());
  const auto seconds = chase(bench, by, memory, bytes);
  if (!seconds) return seconds.error();
  link.kind = GpuLinkKind::kLoadLatency;
  link.mover = Mover::kKernel;
  bench.found.links.push_back(
      with_alpha(std::move(link), *seconds,
                 fmt::format("{} loads along a chain through {} MiB", kHops, bytes >> 20)));
  return true;
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

// `second_stream` carries the second side; the flags are 1 KiB apart where both are one GPU.
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

Result<bool> inside(GpuBench& bench, Side& side, int gpu) {
  const Series series{bench.largest, bench.plan.copies, bench.plan.samples};
  const auto other = DeviceBuffer::make(series.bytes);
  if (!other) return other.error();
  const Way way{side, side, side.buffer.address(), other->address()};
  const GpuLink link{.kind = GpuLinkKind::kLocalCopy, .gpu = gpu, .peer = gpu};
  const auto by_engine = time_copies(side, series, [&]() -> Result<bool> {
    if (const auto status = cuda::driver().cuMemcpyDtoDAsync_v2(
            way.target, way.source, series.bytes.whole(), side.stream.handle());
        !status)
      return status.error();
    return true;
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
  if (done)
    done = lay_chain(side, side.buffer.address(), std::min(kChainBytes, bench.largest.whole()));
  if (done) done = loads(bench, link, side, side.buffer.address());
  if (done) done = stores(bench, link, side, side);
  return done;
}

Result<bool> from_host(GpuBench& bench, const Side& side, int gpu) {
  const auto host =
      cuda::PinnedBuffer::make(Bytes::of(std::min(kChainBytes, bench.largest.whole())),
                               cuda::kHostAllocPortable | cuda::kHostAllocDeviceMap);
  if (!host) return host.error();
  const auto address = host->device_address();
  if (!address) return address.error();
  if (const auto laid = lay_chain(side, *address, host->size().whole()); !laid) return laid;
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
  const auto seconds = sampled(series.samples, [&]() -> Result<double> {
    const auto time = a.timer.time_both({a.stream, b.stream, b.joined}, [&]() -> Result<bool> {
      for (int i = 0; i < series.copies; ++i) {
        auto done = copy_by_engine(there, series.bytes, a.stream);
        if (done) done = copy_by_engine(back, series.bytes, b.stream);
        if (!done) return done;
      }
      return true;
    });
    if (!time) return time.error();
    return time->in_seconds() / series.copies;
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
  if (done) done = lay_chain(b, b.buffer.address(), std::min(kChainBytes, bench.largest.whole()));
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
