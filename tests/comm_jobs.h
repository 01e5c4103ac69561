// Jobs of all_reduces built by hand.
#pragma once

#include <numeric>
#include <vector>

#include "torch/comm_calls.h"

namespace comm_probe::test {

// What one rank does in one collective: its kernel's start and end, in us of its own clock.
struct Span {
  std::int64_t start = 0;
  std::int64_t end = 0;
};

inline torch::CommCall all_reduce(Span span, std::uint64_t bytes = 1'000'000) {
  torch::CommCall call;
  call.start = span.start * 1000;
  call.end = span.end * 1000;
  call.launch = call.start - 10'000;
  call.kind = torch::CollectiveClass::kAllReduce;
  call.bytes = bytes;
  return call;
}

// One group of all ranks; spans[rank][k] is the k-th collective.
inline torch::CommJob job_of(const std::vector<std::vector<Span>>& spans) {
  torch::CommJob job;
  job.world = static_cast<int>(spans.size());
  job.kernels = {"ncclDevKernel_AllReduce_Sum_f32_RING_LL"};
  torch::CommGroup group{.size = job.world, .name = "0"};
  group.ranks.resize(spans.size());
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  job.groups.push_back(group);
  for (std::size_t rank = 0; rank < spans.size(); ++rank) {
    torch::RankCalls calls{.rank = static_cast<int>(rank)};
    for (const Span& span : spans[rank]) calls.calls.push_back(all_reduce(span));
    job.ranks.push_back(std::move(calls));
  }
  return job;
}

}  // namespace comm_probe::test
