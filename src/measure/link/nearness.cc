#include "measure/link/nearness.h"

namespace comm_probe::measure {

Nearness::Nearness() { is_known_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0; }

Nearness::~Nearness() {
  if (is_known_) ::sched_setaffinity(0, sizeof before_, &before_);
}

void Nearness::move_to(const std::vector<int>& cpus) {
  if (!is_known_) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus)
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof set, cpus.empty() ? &before_ : &set);
}

void Nearness::stay() {
  const int here = ::sched_getcpu();
  if (here >= 0) move_to({here});
}

}  // namespace comm_probe::measure
