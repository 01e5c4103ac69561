// The ledger of this machine for the local engine: `link` measured once, and from it the time of
// every algorithm at every size (local_prediction.h). It chooses the algorithm of `--algo auto` and
// gives the prediction that `bench` prints beside its measurement.
//
// Rule: the algorithm with the shortest predicted time, where that is at least 25 % below the usual
// one (choose.h): predictions are good to 25 %, so a smaller difference decides nothing, and the
// choice must not change with the noise. On two ranks every algorithm moves the same bytes: always
// the usual one.
#pragma once

#include <optional>

#include "measure/link/link.h"
#include "measure/measure.h"
#include "model/ledger.h"

namespace comm_probe::measure {

class LocalLedger {
 public:
  // Takes one to two seconds. Fails where the links cannot be measured.
  static core::Result<LocalLedger> measure(const topology::HostTopology& host, const Plan& plan,
                                           const Progress& progress);
  // For tests: from links that are known.
  LocalLedger(HostLinks links, std::vector<int> cpus) : links_(std::move(links)), cpus_(cpus) {}

  // Nothing where it cannot be priced: one rank, more ranks than cores.
  std::optional<model::Ledger> price(const Plan& plan, core::Bytes bytes,
                                     model::Algorithm algorithm) const;
  model::Algorithm fastest(const Plan& plan, core::Bytes bytes) const;
  // How much the flag latency has changed since, as a factor of at least 1; 1 where unknown.
  double drift() const;
  // How often others took the CPU while the links were measured.
  std::int64_t preemptions() const { return links_.context.preemptions; }

 private:
  HostLinks links_;
  std::vector<int> cpus_;
};

// The engine `local`: first the links of this machine, then the collective by the ledger that
// follows from them. Without one (one rank, more ranks than cores, links that cannot be measured)
// the usual algorithms are taken and nothing is predicted.
core::Result<Run> run_by_ledger(const Plan& plan, const Progress& progress);
// run_local(), which says the size that is measured at least every 100 ms.
core::Result<Run> run_local_shown(const Plan& plan, const Progress& progress);

}  // namespace comm_probe::measure
