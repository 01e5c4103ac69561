#include "measure/clock.h"

#include <chrono>

namespace comm_probe::measure {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace comm_probe::measure
