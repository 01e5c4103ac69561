// `ncclras -f json`: processes that do not answer, and communicators whose members have launched
// different numbers of operations. Ranks are those of the communicator. A single difference in a
// running job is normal; a rank that is behind in two queries ten seconds apart is not (spec 7).
//
//   {"communicators": [{"size": 4, "ranks": [{"rank": 3, "collective_counts": {"AllReduce": 31}},
//   ...
#pragma once

#include "core/input.h"
#include "torch/job_lines.h"

namespace comm_probe::torch {

// By the first bytes: an object that names communicators. A log that prints one is none.
bool looks_like_ras(std::string_view head);
// Adds what it says; a text that is no such JSON adds nothing and returns false.
bool read_ras(core::Input& input, JobLines& lines);

}  // namespace comm_probe::torch
