#include "torch/by_design.h"

#include <algorithm>
#include <string>

#include "torch/expert_group.h"

namespace comm_probe::torch {
namespace {

constexpr std::uint32_t kClasses = static_cast<std::uint32_t>(CollectiveClass::kUnknown) + 1;

// Words of a process group's description whose collectives the next kernel needs.
constexpr std::string_view kDesignWords[] = {"tp", "sp",     "cp",      "tensor", "sequence",
                                             "ep", "expert", "context", "model"};

// "mesh_tp" has the word "tp", "default_pg" has none.
bool says_by_design(std::string_view description) {
  const auto words = description_words(description);
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return std::find(std::begin(kDesignWords), std::end(kDesignWords), word) !=
           std::end(kDesignWords);
  });
}

}  // namespace

ByDesign::ByDesign(const Trace& trace, const Phases& phases) : trace_(trace) {
  forward_.resize((trace.groups.size() + 1) * kClasses, false);
  backward_.resize(forward_.size(), false);
  for (const GpuOp& op : trace.gpu_ops) {
    if (op.kind != GpuKind::kCommunication) continue;
    const Phase phase = phases.of(op);
    if (phase == Phase::kForward) forward_[key(op)] = true;
    if (phase == Phase::kBackward) backward_[key(op)] = true;
  }
}

std::uint32_t ByDesign::key(const GpuOp& collective) const {
  const CollectiveCall* call = trace_.collective_of(collective);
  const std::uint32_t group = call == nullptr || call->group == kNone
                                  ? static_cast<std::uint32_t>(trace_.groups.size())
                                  : call->group;
  return group * kClasses + static_cast<std::uint32_t>(trace_.class_of(collective));
}

bool ByDesign::in_forward(const GpuOp& collective) const { return forward_[key(collective)]; }

bool ByDesign::operator()(const GpuOp& collective) const {
  const CollectiveClass kind = trace_.class_of(collective);
  switch (kind) {
    case CollectiveClass::kAllToAll:
    case CollectiveClass::kSendReceive:
    case CollectiveClass::kSend:
    case CollectiveClass::kReceive:
    case CollectiveClass::kDispatch:
    case CollectiveClass::kCombine:
    case CollectiveClass::kBarrier:
      return true;
    case CollectiveClass::kAllReduce:
    case CollectiveClass::kReduceScatter:  // of activations; those of gradients are in no forward
      if (forward_[key(collective)] && backward_[key(collective)]) return true;
      break;
    case CollectiveClass::kAllGather:
    case CollectiveClass::kBroadcast:
    case CollectiveClass::kReduce:
    case CollectiveClass::kGather:
    case CollectiveClass::kScatter:
    case CollectiveClass::kUnknown:
      break;
  }
  const CollectiveCall* call = trace_.collective_of(collective);
  const TraceGroup* group = call == nullptr ? nullptr : trace_.group_of(*call);
  return group != nullptr && says_by_design(group->description);
}

}  // namespace comm_probe::torch
