// torch: what PyTorch leaves behind, when a job stands still and when it is profiled. Readers turn
// files into the records below and judge nothing; diagnose/ judges.
//
//   dump.h             a Flight Recorder dump: one process, its groups and its last calls
//   digest.h           the same as works, which can be compared between ranks
//   job.h              all dumps of a job side by side, by group and call
//   job_lines.h        what PyTorch, NCCL, ncclras and launchers print about it
//   trace.h            a profiler trace: one rank's device work, launches, collectives
//   trace_words.h      what the names in a trace mean
//   readers/           bytes to records
//
// Worked example (tests/unit/torch/flight_recorder_test.cc): the pickle of rank 2 of data/hang/01
// holds 8 calls of group "0"; call 7 is an all_reduce of [[1025]] Float, scheduled, not retired.
#pragma once

#include "torch/job.h"
#include "torch/job_lines.h"
#include "torch/readers/flight_recorder.h"
#include "torch/trace.h"
