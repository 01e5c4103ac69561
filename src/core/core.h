// core: the words the whole program is written in. Knows nothing of GPUs.
//
//   quantity.h       Bytes, Duration, Bandwidth; Basis (measured | read | computed | catalog |
//   assumed); Sourced<T> units.h          parsing and printing them result.h         Result<T>,
//   Error: errors are values finding.h        Finding, Caveat, Evidence; finding_table.h: every id
//   with meaning, cause, cure document.h       what a command has to say: result, findings,
//   caveats, blocks of text json.h           JSON of the contract input.h          Input,
//   LineReader: bytes in, .gz and .zst unpacked, content recognised host.h           Host: this
//   machine or a recorded one spelling.h       "did you mean"
//
// Worked example (tests/unit/core/quantity_test.cc repeats it): 8 ranks, 1 GB, 10 us, 25 GB/s on a
// ring:
//   14 * 10_us + 1_GB * 1.75 / 25_GBps == 70.14 ms
#pragma once

#include "core/document.h"
#include "core/finding.h"
#include "core/finding_table.h"
#include "core/host.h"
#include "core/input.h"
#include "core/json.h"
#include "core/parallel.h"
#include "core/quantity.h"
#include "core/result.h"
#include "core/spelling.h"
#include "core/units.h"
