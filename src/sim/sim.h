// sim: what if the links are unlike, or ranks come late? The front door of this folder.
//
//   what_if.h    one collective on given links, played by model/recurrence.h with and without each
//                change, beside the closed form and the two floors
//
// Worked example (tests/golden/sim/sim_test.cc): all_reduce of 1 GiB around 4,096 ranks, 50 GB/s
// and 500 ns: 47.03 ms; with one NIC at half its rate 90 ms, all of the difference from that NIC.
#pragma once

#include "sim/what_if.h"
