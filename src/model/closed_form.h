// The time of a collective from alpha and beta alone: T(S) = steps * alpha + share * S / beta,
// summed over the parts of the algorithm (algorithms.h).
//   knee        S at which both sums are equal: latency / (seconds per byte); n*alpha*beta for the
//               ring all_reduce (golden G1-08: 8 ranks, 10 us, 25 GB/s -> 2 MB)
//   plateau90   busbw(S) = plateau * S / (S + knee), so 90 % is reached at 9 * knee (G6-06);
//               with several links too, because every part is linear in S
// Worked example: price({kAllReduce, 8, 1_GB}, {kRing}, {10 us, 25 GB/s}).time() == 70.14 ms.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "model/fabric.h"
#include "model/ledger.h"

namespace comm_probe::model {

struct Method {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
};

inline constexpr int kMostRanks = 1 << 24;

// Refuses ranks outside 1..kMostRanks, a link below 1 B/s, ranks per node below 0, rails below 1.
core::Result<bool> check(const Collective& collective, const Fabric& fabric);

// Refuses what `check` refuses, a combination that does not exist (the message lists those that
// do), and a placement that the algorithm cannot serve.
core::Result<Ledger> price(const Collective& collective, const Method& method,
                           const Fabric& fabric);

// The usual choice where none is named: hierarchical between nodes of two different links, else
// ring; direct for all_to_all and send_recv.
Algorithm usual_algorithm(const Collective& collective, const Fabric& fabric);

// The fastest of the algorithms that need no special hardware; the others stay in `rejected`.
core::Result<Ledger> price_fastest(const Collective& collective, Protocol protocol,
                                   const Fabric& fabric);

// What every other algorithm would cost, for `ledger.rejected` of a ledger whose algorithm was
// asked for.
std::vector<Rejected> alternatives(const Ledger& chosen, const Fabric& fabric);

// The CostModel of given alpha and beta. Always has an answer: where `method` does not exist for
// an operation or a number of ranks, the usual algorithm is priced instead, and `rejected` says so.
class ClosedForm : public CostModel {
 public:
  // Fails where a link is below 1 B/s.
  static core::Result<ClosedForm> create(Fabric fabric, std::optional<Method> method = {});
  Ledger price(const Collective& collective) const override;
  std::string description() const override;

 private:
  ClosedForm(Fabric fabric, std::optional<Method> method)
      : fabric_(std::move(fabric)), method_(method) {}
  Fabric fabric_;
  std::optional<Method> method_;
};

}  // namespace comm_probe::model
