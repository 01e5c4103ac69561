// Launches the kernels of an all_reduce over the ranks of one process, alone or as a captured
// graph, and times them with events.
#pragma once

#include <optional>
#include <span>

#include "measure/engines/cuda/all_reduce_kernels.h"

namespace comm_probe::measure::cuda {

// What is launched for one size.
struct AllReduceWork {
  AllReduceCall call = {};
  FunctionHandle kernel = nullptr;
  FunctionHandle stress = nullptr;
  FunctionHandle waits = nullptr;
  LaunchShape shape = {};
  bool is_ring = false;
};

class AllReduceLauncher {
 public:
  static core::Result<AllReduceLauncher> make(int ranks_here);

  const Stream& stream() const { return stream_; }
  core::Result<bool> launch(const AllReduceWork& work) const;
  // Any kernel with `shape` blocks for each rank.
  core::Result<bool> launch(FunctionHandle kernel, const LaunchShape& shape,
                            std::span<void*> parameters) const;
  // `calls` calls as one graph.
  core::Result<Graph> captured(const AllReduceWork& work, int calls) const;
  // From before the first to after the last.
  core::Result<core::Duration> timed(const AllReduceWork& work, int calls) const;
  core::Result<core::Duration> timed(const Graph& graph, int launches) const;

  core::Result<bool> clear(Address memory, std::size_t bytes) const;
  // Waits for everything before it.
  core::Result<bool> copy_to_host(void* to, Address from, std::size_t bytes) const;

 private:
  AllReduceLauncher(Stream stream, int ranks_here)
      : stream_(std::move(stream)), ranks_here_(ranks_here) {}
  Stream stream_;
  int ranks_here_;
};

}  // namespace comm_probe::measure::cuda
