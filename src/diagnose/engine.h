// What the start-up of an inference engine says about its all-reduce: is the fast path for small
// messages on, and if not, why, and what would bring it back?
//
//   CUSTOM off with a line of its own      -> log.custom-all-reduce-off, by cause
//   CUSTOM missing from a tp list, no line -> log.custom-all-reduce-absent (a flag, or one rank)
//   torch symmetric memory off             -> log.symm-mem-off, where the GPU could have it
//   posting is the transfer                -> log.kv-descriptor-bound
//   a transfer at TCP's rate               -> log.kv-slow
//   UCX without RDMA, a local side channel -> log.kv-without-rdma, log.kv-side-channel-local
//   KV buffers in host memory              -> log.kv-staged
//   CUDA graphs, experts, failures         -> engine_experts.h, engine_failures.h
// Quiet: the list has what the release offers on this hardware; groups that are not tensor
// parallel; backends that need a switch of their own (NCCL_SYMM_MEM, FLASHINFER) or an AMD GPU; a
// GPU whose table has no torch symmetric memory.
#pragma once

#include "diagnose/diagnose.h"
#include "serving/engine_reader.h"

namespace comm_probe::diagnose {

Judgement judge_engine(const serving::EngineFacts& facts);

}  // namespace comm_probe::diagnose
