#include "measure/clock.h"

#include <sys/resource.h>

#include <chrono>

namespace comm_probe::measure {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t preemptions_so_far() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

}  // namespace comm_probe::measure
