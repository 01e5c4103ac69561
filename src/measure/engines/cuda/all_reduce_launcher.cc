#include "measure/engines/cuda/all_reduce_launcher.h"

#include <array>

namespace comm_probe::measure::cuda {
namespace {

using core::Result;

template <class Launch>
Result<core::Duration> time_of(const Stream& stream, int times, Launch launch) {
  const auto begin = Event::make(), end = Event::make();
  if (!begin) return begin.error();
  if (!end) return end.error();
  if (const auto done = begin->record(stream); !done) return done.error();
  for (int i = 0; i < times; ++i)
    if (const auto done = launch(); !done) return done.error();
  if (const auto done = end->record(stream); !done) return done.error();
  if (const auto done = end->synchronize(); !done) return done.error();
  return end->since(*begin);
}

}  // namespace

Result<AllReduceLauncher> AllReduceLauncher::make(int ranks_here) {
  auto stream = Stream::make();
  if (!stream) return stream.error();
  return AllReduceLauncher(std::move(*stream), ranks_here);
}

Result<bool> AllReduceLauncher::launch(const AllReduceWork& work) const {
  AllReduceCall call = work.call;
  std::array<void*, 1> parameters = {&call};
  return launch(work.kernel, work.shape, parameters);
}

Result<bool> AllReduceLauncher::launch(FunctionHandle kernel, const LaunchShape& shape,
                                       std::span<void*> parameters) const {
  return driver()
      .cuLaunchKernel(kernel, shape.blocks, static_cast<unsigned>(ranks_here_), 1, shape.threads, 1,
                      1, 0, stream_.handle(), parameters.data(), nullptr)
      .result();
}

Result<Graph> AllReduceLauncher::captured(const AllReduceWork& work, int calls) const {
  if (const auto begun = Graph::begin_capture(stream_); !begun) return begun.error();
  for (int i = 0; i < calls; ++i)
    if (const auto done = launch(work); !done) return done.error();
  return Graph::end_capture(stream_);
}

Result<core::Duration> AllReduceLauncher::timed(const AllReduceWork& work, int calls) const {
  return time_of(stream_, calls, [&] { return launch(work); });
}
Result<core::Duration> AllReduceLauncher::timed(const Graph& graph, int launches) const {
  return time_of(stream_, launches, [&] { return graph.launch(stream_); });
}

Result<bool> AllReduceLauncher::clear(Address memory, std::size_t bytes) const {
  return driver().cuMemsetD8Async(memory, 0, bytes, stream_.handle()).result();
}

Result<bool> AllReduceLauncher::copy_to_host(void* to, Address from, std::size_t bytes) const {
  const auto status = driver().cuMemcpyDtoHAsync_v2(to, from, bytes, stream_.handle());
  if (!status) return status.error();
  return stream_.synchronize();
}

}  // namespace comm_probe::measure::cuda
