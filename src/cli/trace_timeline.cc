#include "cli/trace_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/parallel.h"
#include "core/units.h"
#include "torch/across.h"
#include "torch/state_track.h"
#include "torch/steps.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using core::TimelineRow;
using core::TimelineState;
using torch::Trace;

// What a page holds: some 10 bytes for a piece, 20 for a call.
constexpr std::size_t kMostPieces = 400'000;
constexpr std::size_t kMostCalls = 60'000;
constexpr std::size_t kLeastPerRank = 1'000;
constexpr std::int64_t kFarApart = 4;  // times the longest trace

std::size_t share_of(std::size_t most, std::size_t ranks) {
  return std::max(kLeastPerRank, most / std::max<std::size_t>(1, ranks));
}

// Texts by number, each once.
class Names {
 public:
  std::uint32_t number(const std::string& text) {
    const auto [known, is_new] = numbers_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return known->second;
  }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_ = {};
  std::vector<std::string> texts_ = {};
};

std::vector<std::int64_t> clock_offsets(const std::vector<torch::ClockOffset>& clocks,
                                        std::size_t ranks) {
  std::vector<std::int64_t> offsets(ranks, 0);
  for (const torch::ClockOffset& clock : clocks)
    if (clock.meetings > 0) offsets[static_cast<std::size_t>(clock.rank)] = clock.offset;
  return offsets;
}

std::string share_text(const torch::StateTrack& track) {
  std::int64_t all = 0;
  std::int64_t exposed = 0;
  std::int64_t idle = 0;
  for (const core::TimelinePiece& piece : track.pieces) {
    all += piece.length;
    if (piece.state == TimelineState::kExposed) exposed += piece.length;
    if (piece.state == TimelineState::kIdle) idle += piece.length;
  }
  const double whole = static_cast<double>(std::max<std::int64_t>(1, all)) / 100;
  return fmt::format("exposed {:.1f} %, idle {:.1f} %", static_cast<double>(exposed) / whole,
                     static_cast<double>(idle) / whole);
}

// "all_reduce, stream 20, seq 4"
std::string call_name(const Trace& trace, const torch::GpuOp& op) {
  const torch::CollectiveClass kind = trace.class_of(op);
  std::string name = kind == torch::CollectiveClass::kUnknown
                         ? std::string(trace.name_of(op).substr(0, 60))
                         : torch::class_name(kind);
  name += fmt::format(", stream {}", trace.streams[op.stream].id);
  const torch::CollectiveCall* call = trace.collective_of(op);
  if (call != nullptr && call->group != torch::kNone &&
      !trace.groups[call->group].description.empty())
    name += ", " + trace.groups[call->group].description;
  return name;
}

// The longest of them where there are too many.
void add_calls(const Trace& trace, std::int64_t origin, std::size_t most, Names& names,
               TimelineRow& row) {
  std::vector<const torch::GpuOp*> calls;
  for (const torch::GpuOp& op : trace.gpu_ops)
    if (op.kind == torch::GpuKind::kCommunication) calls.push_back(&op);
  if (calls.size() > most) {
    std::nth_element(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(most), calls.end(),
                     [](const auto* a, const auto* b) { return a->duration() > b->duration(); });
    calls.resize(most);
    std::sort(calls.begin(), calls.end(),
              [](const auto* a, const auto* b) { return a->start < b->start; });
  }
  for (const torch::GpuOp* op : calls)
    row.calls.push_back(
        {op->start - origin, op->end - origin, names.number(call_name(trace, *op))});
}

void add_steps(const Trace& trace, std::int64_t origin, Names& names, TimelineRow& row) {
  const auto windows = torch::device_windows(trace);
  for (std::size_t i = 0; i < windows.size(); ++i)
    if (windows[i].length() > 0)
      row.steps.push_back({windows[i].start - origin, windows[i].end - origin,
                           names.number(fmt::format("step {}", trace.steps[i].number))});
}

void add_marks(const Trace& trace, const std::vector<diagnose::KillerUse>& killers,
               std::int64_t origin, Names& names, TimelineRow& row) {
  for (const diagnose::KillerUse& use : killers)
    if (use.warns && use.rank == *trace.rank)
      for (const torch::Interval& at : use.where)
        row.marks.push_back({at.start - origin, at.end - origin, names.number(use.id)});
}

std::vector<torch::StateTrack> tracks_of(const std::vector<Trace>& traces) {
  std::vector<torch::StateTrack> tracks(traces.size());
  const std::size_t most = share_of(kMostPieces, traces.size());
  core::for_each_index(
      traces.size(),
      [&](std::size_t i) { tracks[i] = torch::state_track(torch::DeviceTime(traces[i]), most); },
      1);
  return tracks;
}

// What is subtracted from the times of each rank.
std::vector<std::int64_t> origins_of(const std::vector<torch::ClockOffset>& clocks,
                                     const std::vector<torch::StateTrack>& tracks,
                                     std::vector<std::string>& notes) {
  std::vector<std::int64_t> origins = clock_offsets(clocks, tracks.size());
  std::int64_t first = INT64_MAX;
  std::int64_t last = INT64_MIN;
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    const std::int64_t start = tracks[i].start - origins[i];
    first = std::min(first, start);
    last = std::max(last, start);
    std::int64_t length = 0;
    for (const core::TimelinePiece& piece : tracks[i].pieces) length += piece.length;
    longest = std::max(longest, length);
  }
  if (!tracks.empty() && (last - first) / kFarApart > longest) {
    notes.emplace_back(
        "the clocks of the ranks are too far apart for one time line: every rank "
        "begins at its own first work");
    for (std::size_t i = 0; i < tracks.size(); ++i) origins[i] = tracks[i].start;
    return origins;
  }
  if (tracks.size() > 1)
    notes.emplace_back("clocks are aligned by the ends of collectives that ranks have in common");
  for (std::int64_t& origin : origins) origin += first;
  return origins;
}

}  // namespace

core::Timeline timeline_of(const std::vector<Trace>& traces,
                           const std::vector<torch::ClockOffset>& clocks,
                           const std::vector<diagnose::KillerUse>& killers) {
  core::Timeline timeline;
  std::vector<torch::StateTrack> tracks = tracks_of(traces);
  const auto origins = origins_of(clocks, tracks, timeline.notes);
  Names names;
  std::int64_t summed = 0;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    TimelineRow row;
    row.name = fmt::format("rank {}", *traces[i].rank);
    row.about = share_text(tracks[i]);
    row.start = tracks[i].start - origins[i];
    row.summed = tracks[i].summed;
    summed = std::max(summed, row.summed);
    row.pieces = std::move(tracks[i].pieces);
    add_steps(traces[i], origins[i], names, row);
    add_calls(traces[i], origins[i], share_of(kMostCalls, traces.size()), names, row);
    add_marks(traces[i], killers, origins[i], names, row);
    timeline.rows.push_back(std::move(row));
  }
  timeline.names = names.take();
  if (summed > 0)
    timeline.notes.push_back(fmt::format(
        "there is more than a page can hold: within {} the times of each state stand together, "
        "shares are exact",
        core::format_duration(core::Duration::from_ns(static_cast<double>(summed)))));
  return timeline;
}

namespace {

Json spans_json(const std::vector<core::TimelineSpan>& spans) {
  Json list = Json::array();
  for (const core::TimelineSpan& span : spans) list.push_back({span.start, span.end, span.name});
  return list;
}

Json row_json(const TimelineRow& row) {
  Json pieces = Json::array();
  std::int64_t exposed = 0;
  for (const core::TimelinePiece& piece : row.pieces) {
    pieces.push_back(static_cast<int>(piece.state));
    pieces.push_back(piece.length);
    if (piece.state == TimelineState::kExposed) exposed += piece.length;
  }
  return {{"name", row.name},
          {"about", row.about},
          {"start", row.start},
          {"summed", row.summed},
          {"exposed", exposed},
          {"pieces", std::move(pieces)},
          {"steps", spans_json(row.steps)},
          {"calls", spans_json(row.calls)},
          {"marks", spans_json(row.marks)}};
}

}  // namespace

Json timeline_picture(const core::Timeline& timeline) {
  Json rows = Json::array();
  for (const TimelineRow& row : timeline.rows) rows.push_back(row_json(row));
  return {{"notes", timeline.notes}, {"names", timeline.names}, {"rows", std::move(rows)}};
}

}  // namespace comm_probe::cli
