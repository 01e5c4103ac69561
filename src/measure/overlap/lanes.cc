#include "measure/overlap/lanes.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "measure/engines/cuda/visible_devices.h"

namespace comm_probe::measure {
namespace {

using core::Duration;
using core::Result;

std::atomic_ref<std::uint32_t> word_in(const cuda::PinnedBuffer& buffer) {
  return std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(buffer.data()));
}

}  // namespace

Result<Lane> Lane::make(const Communication& mover, int gpu, int matrix) {
  const cuda::Context& context = mover.context(gpu);
  if (const auto bound = context.bind(); !bound) return bound.error();
  auto stream = cuda::Stream::make();
  if (!stream) return stream.error();
  auto gemm = cuda::Gemm::make(static_cast<std::uint32_t>(matrix), context, *stream);
  if (!gemm) return gemm.error();
  auto module = cuda::Module::load("probe");
  if (!module) return module.error();
  const auto hold = module->function("hold");
  if (!hold) return hold.error();
  auto word = cuda::PinnedBuffer::make(core::Bytes::of(64),
                                       cuda::kHostAllocPortable | cuda::kHostAllocDeviceMap);
  if (!word) return word.error();
  std::vector<cuda::Event> events;
  for (std::size_t i = 0; i < kMoments; ++i) {
    auto event = cuda::Event::make();
    if (!event) return event.error();
    events.push_back(std::move(*event));
  }
  Lane lane(context, mover.stream(gpu), std::move(*stream), std::move(*gemm), std::move(*module),
            std::move(*word), std::move(events));
  // A launch that blocks would wait for itself.
  if (!cuda::launches_block()) lane.hold_ = *hold;
  return lane;
}

Result<bool> Lane::begin() const {
  auto done = context_->bind();
  if (!done) return done;
  word_in(word_).store(0);
  auto address = word_.device_address();
  if (!address) return address.error();
  std::array<void*, 1> parameters = {&*address};
  if (hold_ != nullptr) done = cuda::launch(hold_, {}, stream_, parameters);
  if (done) done = events_[kStart].record(stream_);
  if (done) done = comm_->wait_for(events_[kStart]);
  if (done) done = events_[kCommBegin].record(*comm_);
  return done;
}

Result<bool> Lane::end_communication() const {
  const auto done = context_->bind();
  return done ? events_[kCommEnd].record(*comm_) : done;
}

Result<bool> Lane::compute(int products) const {
  auto done = context_->bind();
  if (done) done = events_[kGemmBegin].record(stream_);
  for (int i = 0; i < products && done; ++i) done = gemm_.launch(stream_);
  if (done) done = events_[kGemmEnd].record(stream_);
  return done;
}

void Lane::release() const { word_in(word_).store(1); }

Result<bool> Lane::wait_for_communication() const {
  const auto done = context_->bind();
  return done ? comm_->synchronize() : done;
}

Result<bool> Lane::wait() const {
  const auto done = wait_for_communication();
  return done ? stream_.synchronize() : done;
}

Result<Duration> Lane::since_start(Moment moment) const {
  return events_[moment].since(events_[kStart]);
}

Result<Interval> Lane::between(Moment begin, Moment end) const {
  const auto from = since_start(begin), to = since_start(end);
  if (!from) return from.error();
  if (!to) return to.error();
  return Interval{*from, *to};
}

Result<LaneTimes> Lane::times(const Arrangement& arrangement) const {
  if (const auto bound = context_->bind(); !bound) return bound.error();
  const auto comm = between(kCommBegin, kCommEnd), gemm = between(kGemmBegin, kGemmEnd);
  if (!comm) return comm.error();
  if (!gemm) return gemm.error();
  if (arrangement.calls == 0) return LaneTimes{.span = gemm->length(), .gemm = gemm->length()};
  if (arrangement.products == 0)
    return LaneTimes{.span = comm->length(), .exposed = comm->length(), .comm = comm->length()};
  return LaneTimes{std::max(comm->end, gemm->end) - std::min(comm->begin, gemm->begin),
                   exposed_part(*comm, *gemm), gemm->length(), comm->length()};
}

Result<std::uint64_t> Lane::count_wrong() const {
  if (const auto bound = context_->bind(); !bound) return bound.error();
  return gemm_.count_wrong();
}

}  // namespace comm_probe::measure
