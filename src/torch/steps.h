// Which step does device work belong to? A step is a range of the host, ProfilerStep#N or what the
// user's pattern names; work belongs to the step whose range contains the START of the call that
// launched it, on any thread (spec traces 2.2). Work without a known launch goes by its midpoint,
// into the step whose device window holds it.
//
//   ProfilerStep#10 = [0, 100), ProfilerStep#11 = [100, 200); a kernel [120, 140) that was launched
//   at 95 belongs to step 10
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "torch/intervals.h"
#include "torch/trace.h"

namespace comm_probe::torch {

struct StepRule {
  // Names of ranges that are steps; empty: ProfilerStep#N.
  std::function<bool(std::string_view)> is_step = {};
};

// Sets Trace::steps (sorted) and GpuOp::step. Without such ranges both stay as they are.
void find_steps(Trace& trace, const StepRule& rule = {});

// From the first device work of step i to that of the next step, the last one to its own end: the
// windows of all steps together are the whole. Empty for a step without device work.
std::vector<Interval> device_windows(const Trace& trace);

// The step around a time of the host, its index in Trace::steps; kNone: none.
std::uint32_t step_of_host(const Trace& trace, std::int64_t time);

}  // namespace comm_probe::torch
