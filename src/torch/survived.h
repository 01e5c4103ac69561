// Exceptions that the program caught: steps follow in the same text, more than a job prints in
// which a rank has died (its collectives stop within a step).
//
//   Traceback ... ConnectionRefusedError / "push failed, continuing" / step 10 loss 2.1 / step 20
//   ...
//   -> no exception of the job
#pragma once

#include <cstddef>

#include "torch/job_lines.h"
#include "torch/number_lines.h"

namespace comm_probe::torch {

// Takes them out of the lines; how many tracebacks and lines that were.
std::size_t drop_survived(JobLines& lines, const NumberLines& numbers);

}  // namespace comm_probe::torch
