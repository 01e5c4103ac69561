// `bench all_reduce --backend cuda`: the custom all-reduce of inference engines, with our own
// kernels (cuda/all_reduce.cuh): one-shot, two-shot and ring over memory that the GPUs map of each
// other, with flags as barriers, no library and no copy engine.
//
// Who runs where:
//  - as many ranks as GPUs, or fewer: one process per GPU; memory travels as IPC handles.
//  - more ranks than GPUs: several ranks per process (virtual ranks), all in one launch, so that
//    their blocks are resident together; refused where they do not fit (all_reduce_kernels.h).
//  - --one-gpu-ranks N: N processes on one GPU, which take turns: the IPC path is real, times mean
//    nothing.
// A single process needs no child; several are forked before the driver is initialised.
//
// auto takes the algorithm that vLLM's kernel takes (spec: vllm csrc/custom_all_reduce.cuh, >=
// v0.8.2): one-shot for two ranks, below 512 KiB up to four, below 256 KiB up to eight; two-shot
// else.
#pragma once

#include <optional>
#include <vector>

#include "measure/engine.h"

namespace comm_probe::measure::cuda {

std::optional<core::Error> missing_all_reduce();
int usual_all_reduce_ranks();
std::vector<model::Algorithm> all_reduce_algorithms(model::Op op);
model::Algorithm usual_all_reduce(int ranks, core::Bytes bytes);
core::Result<bool> check_all_reduce(const Plan& plan);
core::Result<Run> run_all_reduce_plan(const Plan& plan, const Progress& progress);

}  // namespace comm_probe::measure::cuda
