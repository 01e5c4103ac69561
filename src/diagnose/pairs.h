// A table of all pairs of nodes: which pairs are slow, and is one node behind all of its pairs?
//
// A pair is slow below 85 % of the median of its group (same test, GPUs per node and sizes); the
// limit and the data are those of the public cluster report c72/c73 of the field curves: 13.4 GB/s
// for nearly all pairs, 5-6 for the slow ones; the uniform cluster stays above 85 % everywhere. A
// node is named where more than half of its pairs, and at least three, are slow.
#pragma once

#include "curve/curve.h"
#include "diagnose/diagnose.h"

namespace comm_probe::diagnose {

Judgement judge_pairs(const curve::Reading& reading);

}  // namespace comm_probe::diagnose
