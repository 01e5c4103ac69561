// Any bytes given to the reader of profiler traces, in pieces of any size, and to steps and
// breakdown: no crash, every index inside of its list, times in order, and the figures add up.
#include <cstdlib>

#include "torch/breakdown.h"
#include "torch/readers/kineto.h"
#include "torch/steps.h"

namespace {

using namespace comm_probe;
using torch::kNone;
using torch::Trace;

void require(bool promise) {
  if (!promise) std::abort();
}

template <class List>
void require_index(std::uint32_t index, const List& list) {
  require(index == kNone || index < list.size());
}

void check_ops(const Trace& trace) {
  std::int64_t last = 0;
  for (const torch::GpuOp& op : trace.gpu_ops) {
    require(op.start >= last && op.end >= op.start);
    last = op.start;
    require(op.name < trace.names.size() && op.stream < trace.streams.size());
    require_index(op.shape, trace.shapes);
    require_index(op.launch, trace.calls);
    require_index(op.collective, trace.collectives);
    require_index(op.comm_kernel, trace.comm_kernels);
    require_index(op.step, trace.steps);
  }
}

void check_host(const Trace& trace) {
  for (const torch::HostCall& call : trace.calls) {
    require(call.name < trace.names.size() && call.thread < trace.threads.size());
    require_index(call.first_op, trace.gpu_ops);
  }
  for (const torch::HostOp& op : trace.host_ops) {
    require(op.name < trace.names.size() && op.thread < trace.threads.size());
    require_index(op.collective, trace.collectives);
  }
  for (const torch::PythonFrame& frame : trace.frames)
    require(frame.name < trace.names.size() && frame.thread < trace.threads.size());
  for (const torch::CollectiveCall& call : trace.collectives) {
    require_index(call.group, trace.groups);
    require_index(call.host_op, trace.host_ops);
    torch::collective_bytes(trace, call);
  }
}

void check_figures(const torch::Breakdown& one) {
  require(one.span == one.compute + one.exposed_communication + one.exposed_memory + one.idle);
  require(one.idle >= 0 && one.overlap >= 0 && one.overlap <= one.communication);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  torch::TraceOptions options;
  options.piece = data[0] < 128 ? 0 : static_cast<std::size_t>(data[0]) - 127;
  auto input = core::Input::from_memory(
      "rank0.json", std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  torch::looks_like_trace(input.head());
  auto trace = torch::read_trace(input, options);
  if (!trace) {
    require(!trace.error().one_line().empty());
    return 0;
  }
  torch::find_steps(*trace);
  check_ops(*trace);
  check_host(*trace);
  const torch::RankBreakdown rank = torch::break_down(*trace);
  check_figures(rank.total);
  for (const torch::StepBreakdown& step : rank.steps) check_figures(step.own);
  return 0;
}
