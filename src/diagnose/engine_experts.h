// What an engine's log says of its experts and of CUDA graphs: does the decode launch every kernel
// from the CPU, is one rank loaded more than others, does moving experts stop the engine?
//
//   enforce_eager, disable_cuda_graph, DeepEP's high-throughput kernels -> log.cuda-graphs-off
//   mean load / highest load < 1/1.5                                    -> log.experts-uneven
//   moving experts took a second or more                                -> log.experts-moved
// Quiet: an instance that only prefills runs without graphs by design; a profile run moves experts
// too.
#pragma once

#include "diagnose/diagnose.h"
#include "serving/engine_reader.h"

namespace comm_probe::diagnose {

Judgement judge_engine_experts(const serving::EngineFacts& facts);

}  // namespace comm_probe::diagnose
