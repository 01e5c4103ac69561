// Tests of links that were written as JSON: perftest (--out_json) and nvbandwidth (-j).
//
// perftest names no unit of its bandwidths: it is the one (Gb/sec or MiB/sec) with which size x
// MsgRate is the average; where neither fits, the figures are left out and a caveat says so.
#pragma once

#include "core/json.h"
#include "curve/curve.h"

namespace comm_probe::curve {

// False where the document is of neither tool.
bool read_link_json(const core::Json& document, Reading& reading);

}  // namespace comm_probe::curve
