// Forward, backward, optimizer: in which part of a training step was something launched? From the
// ranges that PyTorch records: autograd::engine::evaluate_function, Optimizer.step#...
//
//   backward ranges [100, 180) and [180, 300) of one step, Optimizer.step [310, 330): a launch at
//   50 is kForward, at 150 kBackward, at 305 kTail, at 320 kOptimizer
#pragma once

#include <vector>

#include "torch/intervals.h"
#include "torch/trace.h"

namespace comm_probe::torch {

enum class Phase : std::uint8_t {
  kUnknown,  // the trace has no such ranges
  kForward,
  kBackward,
  kTail,  // behind the last backward range of the step, before the optimizer
  kOptimizer,
};

class Phases {
 public:
  explicit Phases(const Trace& trace);
  Phase at(std::int64_t host_time) const;
  Phase of(const GpuOp& op) const;  // of its launch
  bool known() const { return !backward_.empty(); }
  // From the first to the last backward range of each pass.
  const Intervals& backward() const { return backward_; }

 private:
  const Trace& trace_;
  Intervals backward_ = {};
  Intervals optimizer_ = {};
};

}  // namespace comm_probe::torch
