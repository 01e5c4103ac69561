// CPU time: what other programs do meanwhile does not count.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace comm_probe {

inline double seconds_of(const rusage& usage) {
  const auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Of RUSAGE_SELF or RUSAGE_CHILDREN.
inline double cpu_seconds(int who) {
  rusage usage = {};
  getrusage(who, &usage);
  return seconds_of(usage);
}

// Of this thread.
inline double cpu_ms() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

inline double median_ms(int runs, const std::function<void()>& action) {
  std::vector<double> times;
  for (int run = 0; run < runs; ++run) {
    const double start = cpu_ms();
    action();
    times.push_back(cpu_ms() - start);
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[static_cast<std::size_t>(runs / 2)];
}

}  // namespace comm_probe
