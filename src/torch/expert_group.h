// Which process group of a trace holds the experts of a MoE layer, by its description: DeepEP and
// the like exchange tokens inside that group, which is often a part of the job.
//
//   "EXPERT_MODEL_PARALLEL_GROUP" (Megatron-LM), "mesh_ep" (a device mesh), "ep"  -> it is
//   "EXPERT_DATA_PARALLEL_GROUP", "mesh_dp_shard_mod_ep", "EXPERT_TENSOR_PARALLEL_GROUP" -> not
//
// Several groups of unlike sizes (experts split by tensor parallelism too) leave it open.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "torch/trace.h"

namespace comm_probe::torch {

// "mesh_tp" -> mesh, tp: runs of letters, in lower case.
std::vector<std::string> description_words(std::string_view description);

struct ExpertGroup {
  const TraceGroup* group = nullptr;  // nothing: no group, or several of unlike sizes
  bool is_open = false;               // several
  std::int64_t size() const;
};
// Points into the trace. Groups of which this rank is no member do not count.
ExpertGroup expert_group_of(const Trace& trace);

}  // namespace comm_probe::torch
