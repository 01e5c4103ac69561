// How long does the live read of a machine take? Median of several runs, wall time.
//   bar: < 50 ms (issue 3), for this machine and for a recorded one with 4 switches, 4 GPUs, 4 NICs
// The recorded tree costs more than a real one of that size: every path is resolved below its root.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "tests/unit/topology/recorded_tree.h"
#include "topology/survey.h"

namespace comm_probe {
namespace {

double median_ms(const std::function<void()>& action) {
  std::vector<double> times;
  for (int run = 0; run < 11; ++run) {
    const auto start = std::chrono::steady_clock::now();
    action();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    times.push_back(time.count());
  }
  std::nth_element(times.begin(), times.begin() + 5, times.end());
  return times[5];
}

bool report(const std::string& what, const core::Host& host) {
  constexpr double kBar = 50;
  const double ms = median_ms([&] { (void)topology::survey_of(host).ok(); });
  fmt::print("{:44} {:9.3f} ms   bar {:5g} ms   {}\n", what, ms, kBar, ms < kBar ? "ok" : "MISSED");
  return ms < kBar;
}

}  // namespace
}  // namespace comm_probe

int main() {
  using namespace comm_probe;
  test::RecordedTree tree;
  tree.four_switches();
  const bool here = report("topo show: this machine", core::Host::real());
  return report("topo show: recorded, 4 switches, 4 GPUs, 4 NICs", tree.host()) && here ? 0 : 1;
}
