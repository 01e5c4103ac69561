#include "torch/comm_backends.h"

#include <algorithm>
#include <map>

namespace comm_probe::torch {
namespace {

struct Calls {
  CommKernel kernel = {};
  std::vector<std::int64_t> times = {};
  std::optional<std::uint64_t> bytes = {};
  bool one_size = true;
};

BackendUse summary(const std::string& name, Calls calls) {
  BackendUse use{.kernel = std::move(calls.kernel), .name = name};
  std::vector<std::int64_t>& times = calls.times;
  std::sort(times.begin(), times.end());
  use.count = times.size();
  use.least = times.front();
  use.median = times[(times.size() - 1) / 2];
  use.p95 = times[(times.size() - 1) * 95 / 100];
  use.most = times.back();
  for (const std::int64_t time : times) use.total += time;
  if (calls.one_size) use.bytes = calls.bytes;
  return use;
}

}  // namespace

std::vector<BackendUse> backends_of(const AcrossRanks& across) {
  std::map<int, Calls> by_kernel;
  for (std::size_t rank = 0; rank < across.traces.size(); ++rank) {
    const Trace& trace = *across.traces[rank];
    for (const CommCall& call : across.job.ranks[rank].calls) {
      Calls& calls = by_kernel[call.kernel];
      const GpuOp& op = trace.gpu_ops[call.operation];
      if (calls.times.empty()) {
        if (op.comm_kernel != kNone) calls.kernel = trace.comm_kernels[op.comm_kernel];
        calls.bytes = call.bytes;
      }
      calls.one_size &= calls.bytes == call.bytes;
      calls.times.push_back(call.duration());
    }
  }
  std::vector<BackendUse> all;
  for (auto& [kernel, calls] : by_kernel)
    all.push_back(summary(across.job.kernels[static_cast<std::size_t>(kernel)], std::move(calls)));
  std::stable_sort(all.begin(), all.end(), [](const BackendUse& one, const BackendUse& other) {
    return one.total > other.total;
  });
  return all;
}

}  // namespace comm_probe::torch
