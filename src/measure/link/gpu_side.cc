#include "measure/link/gpu_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace comm_probe::measure {
namespace {

using core::Bytes;
using core::Result;
using cuda::DeviceBuffer;
using cuda::Stream;

constexpr std::uint64_t kSmallCopy = 16;  // as p2pBandwidthLatencyTest
constexpr int kSmallCopies = 200;         // fewer than a held stream takes
constexpr unsigned kCopyThreads = 512;
constexpr unsigned kBlocksPerMultiprocessor = 4;

std::string how_of(const Series& series) {
  return fmt::format("{} copies in a row, GPU events", series.copies);
}

}  // namespace

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
    const auto function = module->function(kNames[i]);
    if (!function) return function.error();
    functions[i] = *function;
  }
  return Side{context,           std::move(*buffer), std::move(*words),  std::move(*stream),
              std::move(*timer), std::move(*joined), std::move(*module), functions[0],
              functions[1],      functions[2],       functions[3]};
}

Result<bool> copy_by_engine(const Way& way, Bytes bytes, const Stream& stream) {
  return cuda::driver()
      .cuMemcpyPeerAsync(way.target, way.to.context.handle(), way.source, way.from.context.handle(),
                         bytes.whole(), stream.handle())
      .result();
}

Result<bool> copy_by_kernel(const Way& way, Bytes bytes, const Side& by) {
  cuda::Address to = way.target, from = way.source;
  std::uint64_t packs = bytes.whole() / 16;
  std::array<void*, 3> parameters = {&to, &from, &packs};
  const auto processors =
      static_cast<unsigned>(std::max(1, by.context.attribute(cuda::kMultiprocessors)));
  return cuda::launch(by.copy, {processors * kBlocksPerMultiprocessor, kCopyThreads}, by.stream,
                      parameters);
}

Result<Summary> time_copies(Side& by, const Series& series, const Enqueue& put) {
  if (const auto bound = by.context.bind(); !bound) return bound.error();
  const auto all = [&] { return repeat(series.copies, put); };
  return sampled(series.samples,
                 [&] { return seconds_each(by.timer.time(by.stream, all), series.copies); });
}

GpuLink with_rate(GpuLink link, const Summary& seconds, const Series& series, double ways) {
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

}  // namespace comm_probe::measure
