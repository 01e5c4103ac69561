// The same work for many items on all cores. Each item writes its own result, so that what comes
// out does not depend on who did what.
//
//   std::vector<Analysis> results(curves.size());
//   for_each_index(curves.size(), [&](std::size_t i) { results[i] = analyse(curves[i]); });
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace comm_probe::core {

// Calls work(0) .. work(count - 1), each once, in any order and at the same time; returns when all
// are done. `work` must not throw. A core takes `chunk` items at a time, and fewer than two chunks
// are not worth a thread: 1 for items that are files, more for items that are numbers.
template <class Work>
void for_each_index(std::size_t count, const Work& work, std::size_t chunk = 16) {
  std::atomic<std::size_t> next = 0;
  const auto take_chunks = [&] {
    for (std::size_t begin; (begin = next.fetch_add(chunk)) < count;)
      for (std::size_t i = begin; i < std::min(begin + chunk, count); ++i) work(i);
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t threads = std::min(cores, count / (2 * chunk));
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(take_chunks);
  take_chunks();
}

}  // namespace comm_probe::core
