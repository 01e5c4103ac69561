// Copies between the host and one GPU.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>

#include "measure/clock.h"
#include "measure/link/gpu_phases.h"

namespace comm_probe::measure {
namespace {

using core::Bytes;
using core::Result;
using cuda::DeviceBuffer;
using cuda::PinnedBuffer;
using cuda::Stream;

constexpr std::uint64_t kSmallestCopy = 16;
constexpr std::uint64_t kLargestBySize = std::uint64_t{128} << 20;
constexpr int kMostRepetitions = 200;

// Everything one GPU's copies need.
struct Copies {
  GpuBench& bench;
  int gpu;
  Stream stream;
  Stream second;
  GpuTimer timer;
  cuda::Event joined;
  DeviceBuffer device;
  DeviceBuffer device_second;
};

Result<Copies> prepare(GpuBench& bench, int gpu) {
  auto stream = Stream::make(), second = Stream::make();
  if (!stream) return stream.error();
  if (!second) return second.error();
  auto timer = GpuTimer::make();
  if (!timer) return timer.error();
  auto joined = cuda::Event::make(cuda::kEventDisableTiming);
  if (!joined) return joined.error();
  auto device = DeviceBuffer::make(bench.largest), other = DeviceBuffer::make(bench.largest);
  if (!device) return device.error();
  if (!other) return other.error();
  return Copies{bench,
                gpu,
                std::move(*stream),
                std::move(*second),
                std::move(*timer),
                std::move(*joined),
                std::move(*device),
                std::move(*other)};
}

Result<bool> copy_async(GpuLinkKind kind, cuda::Address device, std::byte* host, Bytes bytes,
                        const Stream& stream) {
  const auto& api = cuda::driver();
  if (kind == GpuLinkKind::kHostToDevice)
    return api.cuMemcpyHtoDAsync_v2(device, host, bytes.whole(), stream.handle()).result();
  return api.cuMemcpyDtoHAsync_v2(host, device, bytes.whole(), stream.handle()).result();
}

// One copy and its end, as the host waits for it.
Result<bool> copy_and_wait(GpuLinkKind kind, const Copies& copies, std::byte* host, Bytes bytes) {
  if (const auto put = copy_async(kind, copies.device.address(), host, bytes, copies.stream); !put)
    return put;
  return copies.stream.synchronize();
}

Result<double> seconds_per_copy(GpuLinkKind kind, const Copies& copies, std::byte* host,
                                std::pair<Bytes, int> bytes_and_times) {
  const auto [bytes, times] = bytes_and_times;
  const double begin = now_seconds();
  for (int i = 0; i < times; ++i)
    if (const auto done = copy_and_wait(kind, copies, host, bytes); !done) return done.error();
  return (now_seconds() - begin) / times;
}

Result<std::vector<GpuPoint>> by_size(GpuLinkKind kind, const Copies& copies, std::byte* host) {
  std::vector<GpuPoint> points;
  const std::uint64_t last = std::min(kLargestBySize, copies.bench.largest.whole());
  for (std::uint64_t size = kSmallestCopy; size <= last; size *= 4) {
    const Bytes bytes = Bytes::of(size);
    const auto first = seconds_per_copy(kind, copies, host, {bytes, 1});
    if (!first) return first.error();
    const int times = repetitions_for(*first, kMostRepetitions);
    const auto seconds = sampled(copies.bench.plan.samples, [&] {
      return seconds_per_copy(kind, copies, host, {bytes, times});
    });
    if (!seconds) return seconds.error();
    points.push_back({bytes, *seconds});
  }
  return points;
}

Result<bool> one_way(Copies& copies, GpuLinkKind kind, HostMemory memory, std::byte* host) {
  const GpuPlan& plan = copies.bench.plan;
  GpuLink link{.kind = kind, .memory = memory, .gpu = copies.gpu, .bytes = copies.bench.largest};
  copies.bench.progress(fmt::format("{}, {}", link.name(), host_memory_name(memory)));
  auto points = by_size(kind, copies, host);
  if (!points) return points.error();
  link.points = std::move(*points);
  const GpuLine line = line_through(link.points, "one copy and its end as the host waits for it");
  link.alpha = line.alpha;
  link.beta = line.beta;
  // A copy of pageable memory returns to the host when it is done: it cannot be queued.
  const bool is_queued = memory == HostMemory::kPinned;
  const Enqueue put = [&] {
    return copy_async(kind, copies.device.address(), host, link.bytes, copies.stream);
  };
  const auto seconds = sampled(plan.samples, [&] {
    if (!is_queued) return seconds_per_copy(kind, copies, host, {link.bytes, 1});
    const auto all = [&] { return repeat(plan.copies, put); };
    return seconds_each(copies.timer.time(copies.stream, all), plan.copies);
  });
  if (!seconds) return seconds.error();
  link.seconds = *seconds;
  link.rate = rate_of(link.bytes, *seconds,
                      is_queued ? fmt::format("{} copies in a row, GPU events", plan.copies)
                                : "one copy, host clock");
  copies.bench.found.links.push_back(std::move(link));
  return true;
}

Result<bool> both_ways(Copies& copies, std::byte* out, std::byte* in) {
  const GpuPlan& plan = copies.bench.plan;
  GpuLink link{.kind = GpuLinkKind::kHostBothWays,
               .memory = HostMemory::kPinned,
               .gpu = copies.gpu,
               .bytes = copies.bench.largest};
  copies.bench.progress(link.name());
  const Enqueue put_both = [&]() -> Result<bool> {
    const auto put = copy_async(GpuLinkKind::kHostToDevice, copies.device.address(), out,
                                link.bytes, copies.stream);
    if (!put) return put;
    return copy_async(GpuLinkKind::kDeviceToHost, copies.device_second.address(), in, link.bytes,
                      copies.second);
  };
  const auto seconds = sampled(plan.samples, [&] {
    const auto all = [&] { return repeat(plan.copies, put_both); };
    return seconds_each(copies.timer.time_both({copies.stream, copies.second, copies.joined}, all),
                        plan.copies);
  });
  if (!seconds) return seconds.error();
  link.seconds = *seconds;
  link.rate = rate_of(link.bytes * 2, *seconds, "both directions together, GPU events");
  copies.bench.found.links.push_back(std::move(link));
  return true;
}

}  // namespace

Result<bool> measure_host_copies(GpuBench& bench, int gpu) {
  auto copies = prepare(bench, gpu);
  if (!copies) return copies.error();
  auto out = PinnedBuffer::make(bench.largest), in = PinnedBuffer::make(bench.largest);
  if (!out) return out.error();
  if (!in) return in.error();
  std::memset(out->data(), 1, bench.largest.whole());
  std::memset(in->data(), 1, bench.largest.whole());
  constexpr std::array kKinds = {GpuLinkKind::kHostToDevice, GpuLinkKind::kDeviceToHost};
  for (const GpuLinkKind kind : kKinds)
    if (const auto done = one_way(*copies, kind, HostMemory::kPinned, out->data()); !done)
      return done;
  if (const auto done = both_ways(*copies, out->data(), in->data()); !done) return done;
  const auto pageable = std::make_unique<std::byte[]>(bench.largest.whole());
  std::memset(pageable.get(), 1, bench.largest.whole());
  for (const GpuLinkKind kind : kKinds)
    if (const auto done = one_way(*copies, kind, HostMemory::kPageable, pageable.get()); !done)
      return done;
  return true;
}

}  // namespace comm_probe::measure
