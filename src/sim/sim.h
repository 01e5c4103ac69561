// sim: what if the links are unlike or shared, or ranks come late? The front door of this folder.
//
//   what_if.h    one collective on given links, played by model/recurrence.h with and without each
//                change, beside the closed form and the two floors
//   fabric_run.h the same on a fabric whose links are shared, with other jobs beside it
//   fabric_graph.h, fabric_shape.h, readers/fabric_file.h   the fabric: links and ways, what a file
//                says of it
//   planned_channels.h, readers/nccl_plan.h   the rings and trees that NCCL plans, each over its
//   own
//                links
//   program_what_if.h   an imported schedule on such links: GOAL text (readers/goal.h), Chakra
//   traces
//                (readers/chakra.h, chakra_program.h)
//   step_what_if.h      a recorded job with a change
//
// Worked example (tests/golden/sim/sim_test.cc): all_reduce of 1 GiB around 4,096 ranks, 50 GB/s
// and 500 ns: 47.03 ms; with one NIC at half its rate 90 ms, all of the difference from that NIC.
#pragma once

#include "sim/fabric_loads.h"
#include "sim/fabric_run.h"
#include "sim/readers/fabric_file.h"
#include "sim/readers/nccl_plan.h"
#include "sim/what_if.h"
