// What an engine's log says of its experts and of CUDA graphs: does the decode launch every kernel
// from the CPU, is one rank loaded more than others, does moving experts stop the engine?
//
//   enforce_eager, disable_cuda_graph, DeepEP's high-throughput kernels -> log.cuda-graphs-off
//   mean load / highest load < 1/1.5                                    -> log.experts-uneven
//   moving experts took a second or more                                -> log.experts-moved
//   all-gather as the all-to-all of 16 ranks and more                   -> log.experts-all-gather
// Quiet: an instance that only prefills runs without graphs by design; a profile run moves experts
// too.
#pragma once

#include "diagnose/diagnose.h"
#include "serving/engine_reader.h"

namespace comm_probe::diagnose {

// It has no decode: every instance, or those of one file.
bool only_prefills(const serving::EngineFacts& facts);
Judgement judge_engine_experts(const serving::EngineFacts& facts);

}  // namespace comm_probe::diagnose
