// A pile of artifacts of one job, each recognised by its content and read once, on all cores: logs,
// topologies, tables of benchmarks, Flight Recorder dumps, profiler traces, in any mixture. A text
// may hold several of them. A file of which nothing can be read costs one caveat, the others are
// still read; files that are no artifact at all are listed once.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "cli/pile_files.h"
#include "cli/trace_load.h"
#include "core/document.h"
#include "core/progress.h"
#include "core/result.h"
#include "curve/curve.h"
#include "diagnose/job.h"
#include "nccl/debug_log.h"
#include "serving/engine_reader.h"
#include "serving/readers/deepep_lines.h"
#include "topology/host_state.h"
#include "topology/merge.h"
#include "topology/net_counters.h"
#include "torch/number_lines.h"
#include "torch/torch.h"

namespace comm_probe::cli {

// A machine that is recorded in the pile (topo record, a bundle), and what may starve its ranks.
struct RecordedState {
  std::string path = {};
  topology::HostState state = {};
};

struct Pile {
  nccl::DebugLog log = {};
  torch::JobLines lines = {};
  torch::NumberLines numbers = {};
  serving::EngineFacts engine = {};
  serving::DeepEpLines deepep = {};
  std::vector<std::shared_ptr<const torch::Digest>> digests = {};
  TraceInputs traces = {};
  std::vector<TraceInputs> other_traces = {};  // of further jobs
  std::vector<topology::Source> machines = {};
  topology::NetReading counters = {};
  std::vector<RecordedState> hosts = {};
  std::vector<diagnose::StatedSetting> environment = {};
  std::list<curve::Reading> readings = {};  // judgements point at them
  std::vector<core::InputRecord> inputs = {};
  std::vector<std::string> unrecognised = {};
  std::vector<core::Caveat> caveats = {};
  std::size_t files = 0;
};
// Of the files and the caveats of files_of_pile(), bundles unpacked. Fails where nothing at all
// could be read.
core::Result<Pile> load_pile(PileFiles given, core::Progress& progress);

}  // namespace comm_probe::cli
