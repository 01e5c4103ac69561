#include "cli/trace_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "core/input.h"
#include "core/parallel.h"
#include "torch/rank_of_name.h"
#include "torch/readers/kineto.h"
#include "torch/readers/nsys.h"

namespace comm_probe::cli {
namespace {

using core::Result;

void take_rank_of_name(torch::Trace& trace) {
  if (trace.rank) return;
  if (const auto rank = torch::rank_word_of_name(trace.file)) {
    trace.rank = *rank;
    trace.rank_source = torch::RankSource::kFileName;
  }
}

void take(Result<torch::Trace> trace, TraceFile& content) {
  if (!trace) content.error = trace.error();
  if (trace) content.traces.push_back(std::move(*trace));
}
void take(Result<std::vector<torch::Trace>> traces, TraceFile& content) {
  if (!traces) content.error = traces.error();
  if (traces) content.traces = std::move(*traces);
}

std::optional<core::Error> same_rank(const std::vector<torch::Trace>& traces) {
  std::map<int, const torch::Trace*> of_rank;
  for (const torch::Trace& trace : traces) {
    const auto [place, is_new] = of_rank.emplace(*trace.rank, &trace);
    if (is_new) continue;
    core::Error error =
        core::input_error(fmt::format("is of rank {}, as {} is", *trace.rank, place->second->file),
                          "give one trace per rank: one profiling cycle, packed or unpacked");
    error.where.file = trace.file;
    return error;
  }
  return std::nullopt;
}

std::optional<core::Error> other_job(const std::vector<torch::Trace>& traces) {
  const torch::Trace* first = nullptr;
  for (const torch::Trace& trace : traces) {
    if (!trace.world_size) continue;
    if (first == nullptr) first = &trace;
    if (trace.world_size == first->world_size) continue;
    core::Error error =
        core::input_error(fmt::format("is of a job of {} ranks, {} of one of {}", *trace.world_size,
                                      first->file, *first->world_size),
                          "give the traces of one job");
    error.where.file = trace.file;
    return error;
  }
  return std::nullopt;
}

core::Error nothing_read(const std::vector<std::string>& files,
                         const std::vector<TraceFile>& contents) {
  for (const TraceFile& content : contents)
    if (content.error) return *content.error;
  core::Error error = core::input_error(
      files.size() == 1 ? fmt::format("is {}, no profiler trace", contents.front().other)
                        : fmt::format("none of {} files is a profiler trace", files.size()),
      "expected what torch.profiler writes: *.pt.trace.json, packed or not");
  error.where.file = files.front();
  return error;
}

void add_passed_over(const std::vector<std::string>& files, const std::vector<TraceFile>& contents,
                     TraceInputs& inputs) {
  std::string first;
  std::size_t count = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (contents[i].error)
      inputs.caveats.push_back(core::make_caveat("input.unreadable", contents[i].error->one_line(),
                                                 "the other inputs were used"));
    if (!contents[i].traces.empty() || contents[i].error) continue;
    if (contents[i].log && inputs.traces.empty()) continue;
    if (count++ == 0) first = fmt::format("{} ({})", files[i], contents[i].other);
  }
  if (count == 0) return;
  inputs.caveats.push_back(
      core::make_caveat("trace.passed-over",
                        count == 1 ? first : fmt::format("{} and {} more files", first, count - 1),
                        "no profiler trace: passed over", false));
}

}  // namespace

TraceFile read_trace_file(const std::string& path, const TraceLoadRequest& request) {
  TraceFile content;
  auto input = core::Input::open(path);
  if (!input) {
    content.error = input.error();
    return content;
  }
  if (auto error = input->unreadable()) {
    content.error = *error;
    return content;
  }
  if (torch::looks_like_inspector(input->head())) {
    auto log = torch::read_inspector(*input);
    if (!log) content.error = log.error();
    if (log) content.log = std::move(*log);
    content.other = "a log of NCCL Inspector";
    return content;
  }
  if (torch::looks_like_nsys(input->head())) {
    take(torch::read_nsys(path, request.options), content);
  } else if (torch::looks_like_trace(input->head())) {
    take(torch::read_trace(*input, request.options), content);
  } else {
    content.other = core::describe_content(input->head());
  }
  for (torch::Trace& trace : content.traces) torch::find_steps(trace, request.steps);
  if (content.traces.size() == 1) take_rank_of_name(content.traces.front());
  return content;
}

// The smallest numbers that nobody has, in the order of the files.
void number_traces(std::vector<torch::Trace>& traces, std::vector<core::Caveat>& caveats) {
  std::set<int> taken;
  for (const torch::Trace& trace : traces)
    if (trace.rank) taken.insert(*trace.rank);
  int next = 0;
  std::string names;
  for (torch::Trace& trace : traces) {
    if (trace.rank) continue;
    while (taken.contains(next)) ++next;
    trace.rank = next++;
    trace.rank_source = torch::RankSource::kOrder;
    if (traces.size() > 1)
      names += fmt::format("{}{} as {}", names.empty() ? "" : ", ", trace.file, *trace.rank);
  }
  if (!names.empty())
    caveats.push_back(core::make_caveat("trace.rank-assumed", "the rank of " + names,
                                        "ranks were numbered in the order of the files"));
}

// Traces without device work are named and left out.
void drop_idle_traces(TraceInputs& inputs) {
  std::string names;
  for (const torch::Trace& trace : inputs.traces)
    if (trace.gpu_ops.empty()) names += (names.empty() ? "" : ", ") + trace.file;
  if (names.empty()) return;
  inputs.caveats.push_back(
      core::make_caveat("trace.no-gpu-activity", "GPU activity in " + names,
                        "nothing can be said of overlap there: no kernel, copy or memset"));
  std::erase_if(inputs.traces, [](const torch::Trace& trace) { return trace.gpu_ops.empty(); });
}

Result<TraceInputs> load_traces(const TraceLoadRequest& request, core::Progress& progress) {
  const auto files = core::expand_paths(request.paths);
  if (!files) return files.error();
  std::vector<TraceFile> contents(files->size());
  progress.begin("trace: reading", files->size(), "files");
  const auto read = [&](std::size_t i) {
    contents[i] = read_trace_file((*files)[i], request);
    progress.advance();
  };
  core::for_each_index(files->size(), read, 1);
  progress.begin("trace: comparing the ranks");
  TraceInputs inputs;
  for (TraceFile& content : contents) {
    for (torch::Trace& trace : content.traces) inputs.traces.push_back(std::move(trace));
  }
  add_passed_over(*files, contents, inputs);
  if (inputs.traces.empty()) {
    for (TraceFile& content : contents)
      if (content.log) inputs.logs.push_back(std::move(*content.log));
    if (inputs.logs.empty()) return nothing_read(*files, contents);
    return inputs;
  }
  number_traces(inputs.traces, inputs.caveats);
  if (auto error = same_rank(inputs.traces)) return *error;
  if (auto error = other_job(inputs.traces)) return *error;
  std::sort(inputs.traces.begin(), inputs.traces.end(),
            [](const torch::Trace& a, const torch::Trace& b) { return *a.rank < *b.rank; });
  for (const torch::Trace& trace : inputs.traces) {
    inputs.records.push_back({trace.file, trace.format, trace.rank});
    for (core::Caveat& caveat : caveats_of(trace)) inputs.caveats.push_back(std::move(caveat));
  }
  drop_idle_traces(inputs);
  return inputs;
}

}  // namespace comm_probe::cli
