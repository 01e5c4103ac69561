// What Nsight Systems exports: `nsys export --type sqlite --include-blobs=true` (spec traces 6.3).
// One file holds all processes of a host; every process with device work becomes a Trace of its
// own, with kernels, copies, runtime calls, synchronisation and NVTX ranges. NCCL's NVTX ranges
// (ncclAllReduce, ...) are its collectives: a kernel belongs to the range that encloses its launch
// on the same thread; sizes and communicators are there where the export has the blobs.
//
//   CUPTI_ACTIVITY_KIND_KERNEL {start 100, end 150, streamId 20, correlationId 7, ...},
//   CUPTI_ACTIVITY_KIND_RUNTIME {start 80, end 84, correlationId 7}, NVTX ncclAllReduce [70, 90)
//   -> GpuOp [100, 150) of call 0, an all_reduce
//
// Tables and columns that an export lacks (they are made only when filled) are taken as empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "torch/readers/trace_builder.h"

namespace comm_probe::torch {

// An SQLite file at all; read_nsys() tells whether it is such an export.
bool looks_like_nsys(std::string_view head);
// By process id; ranks are not in an export and stay open. Fails where no table of it is there.
core::Result<std::vector<Trace>> read_nsys(const std::string& path,
                                           const TraceOptions& options = {});

}  // namespace comm_probe::torch
