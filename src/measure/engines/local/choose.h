// Which algorithm the local engine takes where neither the user nor a ledger of this machine says.
#pragma once

#include "model/collective.h"

namespace comm_probe::measure::local {

// all_reduce: one-shot on two ranks, where both algorithms read as much from the other and one flag
// is saved; on more ranks one-shot up to 8 KiB, two-shot above (2(n-1)/n of the message read
// instead of n-1). The others: in one step.
model::Algorithm usual_algorithm(const model::Collective& collective);

}  // namespace comm_probe::measure::local
