#include "measure/link/gpu_gate.h"

#include <array>
#include <atomic>

#include "measure/clock.h"

namespace comm_probe::measure {
namespace {

using core::Result;
using cuda::Event;
using cuda::Stream;

constexpr double kWordBytes = 64;

}  // namespace

Result<bool> repeat(int times, const Enqueue& one) {
  for (int i = 0; i < times; ++i)
    if (const auto done = one(); !done) return done;
  return true;
}

Result<double> seconds_each(const Result<core::Duration>& together, int times) {
  if (!together) return together.error();
  return together->in_seconds() / times;
}

Result<GpuTimer> GpuTimer::make() {
  auto begin = Event::make(), end = Event::make();
  if (!begin) return begin.error();
  if (!end) return end.error();
  auto word = cuda::PinnedBuffer::make(core::Bytes::of(kWordBytes),
                                       cuda::kHostAllocPortable | cuda::kHostAllocDeviceMap);
  if (!word) return word.error();
  GpuTimer timer(std::move(*begin), std::move(*end), std::move(*word));
  const auto address = timer.word_.device_address();
  if (!address) return address.error();
  timer.word_address_ = *address;
  auto module = cuda::Module::load("probe");
  if (!module) return timer;  // without kernels the host's launches are part of what is timed
  const auto hold = module->function("hold");
  if (!hold) return hold.error();
  timer.hold_ = *hold;
  timer.module_ = std::move(*module);
  return timer;
}

Result<bool> GpuTimer::hold(const Stream& stream) {
  if (hold_ == nullptr) return true;
  std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(word_.data())).store(0);
  std::array<void*, 1> parameters = {&word_address_};
  return cuda::launch(hold_, {}, stream, parameters);
}

void GpuTimer::release() {
  std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(word_.data())).store(1);
}

Result<core::Duration> GpuTimer::time(const Stream& stream, const Enqueue& work) {
  if (const auto held = hold(stream); !held) return held.error();
  Result<bool> done = begin_.record(stream);
  if (done) done = work();
  if (done) done = end_.record(stream);
  release();
  if (const auto finished = stream.synchronize(); !finished) return finished.error();
  if (!done) return done.error();
  return end_.since(begin_);
}

Result<core::Duration> GpuTimer::time_both(const Streams& streams, const Enqueue& work) {
  if (const auto held = hold(streams.first); !held) return held.error();
  Result<bool> done = begin_.record(streams.first);
  if (done) done = streams.second.wait_for(begin_);
  if (done) done = work();
  if (done) done = streams.joined.record(streams.second);
  if (done) done = streams.first.wait_for(streams.joined);
  if (done) done = end_.record(streams.first);
  release();
  for (const Stream* stream : {&streams.second, &streams.first})
    if (const auto finished = stream->synchronize(); !finished) return finished.error();
  if (!done) return done.error();
  return end_.since(begin_);
}

Result<core::Duration> GpuTimer::time_host(const Stream& stream, const Enqueue& before,
                                           const Enqueue& work) {
  if (const auto held = hold(stream); !held) return held.error();
  Result<bool> done = before();
  const double begin = now_seconds();
  if (done) done = work();
  const double spent = now_seconds() - begin;
  release();
  if (const auto finished = stream.synchronize(); !finished) return finished.error();
  if (!done) return done.error();
  return core::Duration::from_seconds(spent);
}

}  // namespace comm_probe::measure
