// Many equal calls against one call with all their bytes: the bytes stay, the steps are paid once.
// Worked example (golden G5-06..09): 1000 all_reduces of 25 KB on 8 ranks, 450 GB/s: 25 MB either
// way, 97.2 us of bytes, and 1000 times the latency of one call.
#pragma once

#include "model/closed_form.h"

namespace comm_probe::model {

struct Merge {
  int calls = 1;
  Ledger one = {};     // a single call
  Ledger merged = {};  // one call with the bytes of all

  core::Duration separate() const { return one.time() * calls; }
  core::Duration separate_latency() const { return one.latency() * calls; }
  core::Duration saved() const { return separate() - merged.time(); }
};
// Fails as price() does, and on fewer than 1 or more than 10^9 calls.
core::Result<Merge> merge(const Collective& each, int calls, const Method& method,
                          const Fabric& fabric);

}  // namespace comm_probe::model
