// What the machine and its measured links say: CPUs that are granted but not usable, PCIe lanes
// that are not used, figures that moved while they were measured.
//
//   quota 2.5 of 8 allowed CPUs       -> link.cpu-quota, expected 8 CPUs, observed 2.5
//   p10 8 us, median 10 us, p90 13 us -> link.noisy (50 %)
#pragma once

#include "core/finding.h"
#include "measure/link/link.h"
#include "topology/topology.h"

namespace comm_probe::diagnose {

struct LinkJudgement {
  std::vector<core::Finding> findings = {};
  std::vector<core::Caveat> caveats = {};
};

// (p90 - p10) / median above which a figure is called noisy.
inline constexpr double kNoisySpread = 0.2;
bool is_noisy(const measure::Summary& seconds);
// Ratio of two flag latencies above which the machine is called changed: a pair of SMT siblings is
// five to six times as fast as a pair of cores (32 against 193 ns on the guest of docs/link.md).
inline constexpr double kChangedRatio = 1.5;

LinkJudgement judge_host(const topology::HostTopology& host);
LinkJudgement judge_links(const measure::HostLinks& links);

}  // namespace comm_probe::diagnose
