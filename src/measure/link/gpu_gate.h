// How work on a GPU is timed. The stream is held while the host puts the work behind it; two events
// around the work give the time of the GPU alone, in which no launch of the host is counted (as
// nvbandwidth does it). Where the program carries no kernels nothing is held, and they are part of
// it.
//
//   GpuTimer timer = *GpuTimer::make();
//   const auto time = timer.time(stream, [&] { return copy_16_times(stream); });
#pragma once

#include <functional>
#include <optional>

#include "measure/engines/cuda/resources.h"

namespace comm_probe::measure {

using Enqueue = std::function<core::Result<bool>()>;
// So many times, until one fails.
core::Result<bool> repeat(int times, const Enqueue& one);
// Of one of `times` that took so long together.
core::Result<double> seconds_each(const core::Result<core::Duration>& together, int times);

class GpuTimer {
 public:
  // Of the current context.
  static core::Result<GpuTimer> make();

  // Time of what `work` puts on the stream. At most some hundred operations: a stream that is held
  // takes no more.
  core::Result<core::Duration> time(const cuda::Stream& stream, const Enqueue& work);
  // The same of two streams that begin together, until both are done. `joined` belongs to the
  // context of the second, which may be another GPU's.
  struct Streams {
    const cuda::Stream& first;
    const cuda::Stream& second;
    const cuda::Event& joined;
  };
  core::Result<core::Duration> time_both(const Streams& streams, const Enqueue& work);
  // What the host takes for `work` while the stream is busy with what `before` put on it.
  core::Result<core::Duration> time_host(const cuda::Stream& stream, const Enqueue& before,
                                         const Enqueue& work);

 private:
  GpuTimer(cuda::Event begin, cuda::Event end, cuda::PinnedBuffer word)
      : begin_(std::move(begin)), end_(std::move(end)), word_(std::move(word)) {}
  core::Result<bool> hold(const cuda::Stream& stream);
  void release();

  cuda::Event begin_;
  cuda::Event end_;
  cuda::PinnedBuffer word_;
  cuda::Address word_address_ = 0;
  std::optional<cuda::Module> module_ = {};  // none where the program carries no kernels
  cuda::FunctionHandle hold_ = nullptr;
};

}  // namespace comm_probe::measure
