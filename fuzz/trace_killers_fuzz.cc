// Any profiler trace given to the rules of overlap killers and to the time line: no crash, lost
// time never below zero and never longer than the work, and the states of the time line add up to
// the span and to the breakdown.
#include <cstdlib>

#include "diagnose/trace_killers.h"
#include "torch/breakdown.h"
#include "torch/readers/kineto.h"
#include "torch/state_track.h"
#include "torch/steps.h"

namespace {

using namespace comm_probe;
using core::TimelineState;

void require(bool promise) {
  if (!promise) std::abort();
}

void check_track(const torch::Trace& trace, std::size_t most) {
  const torch::Breakdown total = torch::break_down(trace).total;
  const torch::StateTrack track = torch::state_track(torch::DeviceTime(trace), most);
  std::int64_t states[5] = {};
  for (const core::TimelinePiece& piece : track.pieces) {
    require(piece.length > 0);
    states[static_cast<std::size_t>(piece.state)] += piece.length;
  }
  require(states[static_cast<std::size_t>(TimelineState::kIdle)] == total.idle);
  require(states[static_cast<std::size_t>(TimelineState::kHidden)] == total.overlap);
  require(states[static_cast<std::size_t>(TimelineState::kExposed)] == total.exposed_communication);
  require(states[static_cast<std::size_t>(TimelineState::kCopy)] == total.exposed_memory);
}

void check_killers(const torch::Trace& trace) {
  const torch::OverlapFacts facts = torch::overlap_facts(trace);
  const auto judged = diagnose::judge_killers({facts});
  for (const diagnose::KillerUse& use : judged.killers) {
    require(use.lost.communication >= 0 && use.lost.memory >= 0 && use.lost.idle >= 0);
    require(use.lost.sum() <= facts.extent.length());
    require(use.count > 0);
  }
  for (const core::Finding& finding : judged.judgement.findings)
    require(!finding.summary.empty() && !finding.evidence.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto input = core::Input::from_memory("rank0.json",
                                        std::string(reinterpret_cast<const char*>(data), size));
  auto trace = torch::read_trace(input);
  if (!trace || trace->gpu_ops.empty()) return 0;
  torch::find_steps(*trace);
  check_killers(*trace);
  check_track(*trace, 10);
  check_track(*trace, 100'000);
  return 0;
}
