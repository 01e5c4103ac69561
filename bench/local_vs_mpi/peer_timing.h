// The timing of measure/engines/local/session.cc for a peer library: private buffers on huge pages,
// warm-up, then blocks of calls between barriers; the same lengths of blocks, the median of them.
//   prints "BYTES MICROSECONDS" per size, on rank 0
#pragma once

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

namespace peer {

inline double now() {
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

inline float* buffer(std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  madvise(at, bytes, MADV_HUGEPAGE);
  std::memset(at, 0, bytes);
  return static_cast<float*>(at);
}

inline int iterations_for(double seconds) {
  const double per_call = std::max(seconds, 1e-9);
  const double enough = std::max(20.0, 200e-6 / per_call);
  return static_cast<int>(std::min({enough, std::max(1.0, 60e-3 / per_call), 2000.0}));
}

struct Peer {
  bool is_first = false;  // rank 0
  std::function<void(const float*, float*, std::size_t)> all_reduce = {};
  std::function<void()> barrier = {};
  std::function<int(int)> from_first = {};  // rank 0's number, at every rank
};

inline double timed(const Peer& peer, const float* send, float* recv, std::size_t count,
                    int calls) {
  peer.barrier();
  const double start = now();
  for (int i = 0; i < calls; ++i) peer.all_reduce(send, recv, count);
  return (now() - start) / calls;
}

inline void measure(const Peer& peer, std::size_t largest, int blocks) {
  const float* send = buffer(largest);
  float* recv = buffer(largest);
  if (send == nullptr || recv == nullptr) return;
  for (std::size_t bytes = 8; bytes <= largest; bytes *= 2) {
    const std::size_t count = bytes / sizeof(float);
    for (int i = 0; i < 5; ++i) peer.all_reduce(send, recv, count);
    int calls = peer.from_first(iterations_for(timed(peer, send, recv, count, 2)));
    calls = peer.from_first(iterations_for(timed(peer, send, recv, count, std::min(calls, 100))));
    std::vector<double> seconds;
    for (int block = 0; block < blocks; ++block)
      seconds.push_back(timed(peer, send, recv, count, calls));
    std::sort(seconds.begin(), seconds.end());
    if (peer.is_first) std::printf("%zu %.4f\n", bytes, seconds[seconds.size() / 2] * 1e6);
  }
}

}  // namespace peer
