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

void Nearness::move_to_fastest(const std::function<double()>& seconds) {
  constexpr int kMostCpus = 32;  // as many are tried, spread over all
  cpu_set_t set;
  if (!is_known_ || ::sched_getaffinity(0, sizeof set, &set) != 0) return;
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  const std::size_t step = (cpus.size() + kMostCpus - 1) / kMostCpus;
  double least = 0;
  std::vector<int> fastest;
  for (std::size_t i = 0; i < cpus.size(); i += step) {
    move_to({cpus[i]});
    seconds();  // the move itself costs
    const double spent = seconds();
    if (!fastest.empty() && spent >= least) continue;
    least = spent;
    fastest = {cpus[i]};
  }
  move_to(fastest);
}

}  // namespace comm_probe::measure
