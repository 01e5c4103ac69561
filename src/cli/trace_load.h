// The profiler traces of a command line, read on all cores, one per rank. The rank of a trace is
// what it says itself, else the number behind "rank" in its name, else its place among the files.
#pragma once

#include <string>
#include <vector>

#include "core/document.h"
#include "core/progress.h"
#include "core/result.h"
#include "torch/readers/inspector.h"
#include "torch/readers/trace_builder.h"
#include "torch/steps.h"
#include "torch/trace.h"

namespace comm_probe::cli {

struct TraceLoadRequest {
  std::vector<std::string> paths = {};
  torch::TraceOptions options = {};
  torch::StepRule steps = {};
};

struct TraceInputs {
  std::vector<torch::Trace> traces = {};       // by rank; every one has a rank and device work
  std::vector<torch::InspectorLog> logs = {};  // only where there are no traces
  std::vector<core::InputRecord> records = {};
  std::vector<core::Caveat> caveats = {};
};
// Fails where nothing could be read, where two files are of the same rank, and where they are of
// jobs of different sizes.
core::Result<TraceInputs> load_traces(const TraceLoadRequest& request, core::Progress& progress);

// What one file turned out to be; may be read by several threads at a time.
struct TraceFile {
  std::vector<torch::Trace> traces = {};  // one, or of an Nsight export one per process
  std::optional<torch::InspectorLog> log = {};
  std::optional<core::Error> error = {};
  std::string other = {};  // what it is, where it is no trace
};
TraceFile read_trace_file(const std::string& path, const TraceLoadRequest& request);

// The steps that stand between reading and judging, for who reads a pile of all kinds: the smallest
// free ranks for traces that know none; traces without device work named and left out.
void number_traces(std::vector<torch::Trace>& traces, std::vector<core::Caveat>& caveats);
void drop_idle_traces(TraceInputs& inputs);

// What the trace lacks, and which conclusions that limits.
std::vector<core::Caveat> caveats_of(const torch::Trace& trace);

}  // namespace comm_probe::cli
