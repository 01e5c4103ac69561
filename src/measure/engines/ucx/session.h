// What the two processes do: rank 0, the origin, puts into the memory of rank 1, or gets from it;
// rank 1 makes progress (where UCX moves bytes in software, it needs that) and checks what arrived.
#pragma once

#include <vector>

#include "measure/engines/ucx/exchange.h"
#include "measure/engines/ucx/ucx_plugin.h"
#include "measure/measure.h"

namespace comm_probe::measure::ucx {

inline constexpr int kWindow = 16;     // transfers under way for the bandwidth
inline constexpr int kPoolFactor = 2;  // slots of a pool over pieces of a scattered transfer

struct Session {
  const Plan& plan;
  const std::vector<Amount>& amounts;
  const Exchange& exchange;
  const comm_probe_ucx& calls;
};
// The body of one process; failures are left in the exchange.
void run_session(const Session& session, int rank);

}  // namespace comm_probe::measure::ucx
