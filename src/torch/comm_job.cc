// Traces of several ranks as one CommJob.
#include <algorithm>
#include <map>
#include <set>

#include "core/check.h"
#include "torch/breakdown.h"
#include "torch/comm_calls.h"
#include "torch/trace.h"

namespace comm_probe::torch {
namespace {

// "void ns::kernel<8>(Args)" -> "ns::kernel"
std::string_view base_name(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  return name.substr(0, name.find_first_of("(<"));
}

class Interner {
 public:
  explicit Interner(std::vector<std::string>& texts) : texts_(texts) {}
  int number(std::string_view text) {
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    texts_.emplace_back(text);
    return numbers_.emplace(texts_.back(), static_cast<int>(texts_.size()) - 1).first->second;
  }

 private:
  std::vector<std::string>& texts_;
  std::map<std::string, int, std::less<>> numbers_ = {};
};

using Names = std::set<std::string>;

// Two groups over the same ranks count their calls apart; they are told by name where all members
// use the same names (device meshes give each rank its own).
class Groups {
 public:
  Groups(const std::vector<const Trace*>& traces, CommJob& job) : job_(job) {
    std::map<std::vector<int>, std::map<const Trace*, Names>> names;
    for (const Trace* trace : traces)
      for (const CollectiveCall& call : trace->collectives)
        if (const TraceGroup* group = trace->group_of(call); group && !group->ranks.empty())
          names[group->ranks][trace].insert(group->name);
    for (const auto& [ranks, of_traces] : names) {
      const Names& first = of_traces.begin()->second;
      const bool same = std::all_of(of_traces.begin(), of_traces.end(),
                                    [&](const auto& one) { return one.second == first; });
      if (same && first.size() > 1) by_name_.insert(ranks);
    }
  }

  int number(const TraceGroup& group) {
    const bool named = group.ranks.empty() || by_name_.contains(group.ranks);
    const auto key = std::pair(group.ranks, named ? group.name : std::string());
    const auto found = numbers_.find(key);
    if (found != numbers_.end()) return found->second;
    constexpr std::int64_t kMost = 1 << 24;  // larger is a broken record
    const auto size = group.ranks.empty() ? std::clamp<std::int64_t>(group.size, 0, kMost)
                                          : static_cast<std::int64_t>(group.ranks.size());
    job_.groups.push_back({group.ranks, static_cast<int>(size), group.name, group.description});
    return numbers_.emplace(key, static_cast<int>(job_.groups.size()) - 1).first->second;
  }

  int unrecorded() {
    if (unrecorded_ < 0) {
      unrecorded_ = static_cast<int>(job_.groups.size());
      job_.groups.emplace_back().size = job_.world;
    }
    return unrecorded_;
  }

 private:
  CommJob& job_;
  std::set<std::vector<int>> by_name_ = {};
  std::map<std::pair<std::vector<int>, std::string>, int> numbers_ = {};
  int unrecorded_ = -1;
};

// The one group whose collectives run on a stream; -1: several.
std::map<std::uint32_t, int> groups_of_streams(const Trace& trace, Groups& groups) {
  std::map<std::uint32_t, int> all;
  for (const GpuOp& op : trace.gpu_ops) {
    const CollectiveCall* collective = trace.collective_of(op);
    const TraceGroup* group = collective == nullptr ? nullptr : trace.group_of(*collective);
    if (op.kind != GpuKind::kCommunication || group == nullptr) continue;
    const int number = groups.number(*group);
    const auto [known, is_new] = all.emplace(op.stream, number);
    if (!is_new && known->second != number) known->second = -1;
  }
  return all;
}

// The larger of what this rank sends and receives without its own part, of a split list in rows;
// nothing where the list is shortened or does not fit the group.
std::optional<double> others_share(const Trace& trace, std::optional<NameId> list,
                                   const TraceGroup& group, std::ptrdiff_t own) {
  const auto split = list ? parse_number_list(trace.names.text(*list)) : std::nullopt;
  if (!split || split->is_shortened || split->numbers.size() != group.ranks.size())
    return std::nullopt;
  double all = 0;
  for (const std::int64_t rows : split->numbers) all += static_cast<double>(rows);
  const auto kept = static_cast<double>(split->numbers[static_cast<std::size_t>(own)]);
  return all > 0 && kept >= 0 ? std::optional((all - kept) / all) : std::nullopt;
}

// An all-to-all with uneven parts: the S of an even one in which this rank would move as much.
std::optional<std::uint64_t> uneven_bytes(const Trace& trace, const CollectiveCall& collective,
                                          std::uint64_t even) {
  const TraceGroup* group = trace.group_of(collective);
  if (collective.kind != CollectiveClass::kAllToAll || group == nullptr || group->ranks.size() < 2)
    return std::nullopt;
  const auto place = std::find(group->ranks.begin(), group->ranks.end(), *trace.rank);
  if (place == group->ranks.end() || collective.in_elements <= 0) return std::nullopt;
  const auto own = place - group->ranks.begin();
  const auto sent = others_share(trace, collective.in_split, *group, own);
  const auto received = others_share(trace, collective.out_split, *group, own);
  if (!sent || !received) return std::nullopt;
  const double growth = static_cast<double>(std::max<std::int64_t>(0, collective.out_elements)) /
                        static_cast<double>(collective.in_elements);
  const auto ranks = static_cast<double>(group->ranks.size());
  return static_cast<std::uint64_t>(static_cast<double>(even) *
                                    std::max(*sent, *received * growth) * ranks / (ranks - 1));
}

class RankReader {
 public:
  RankReader(const Trace& trace, Groups& groups, Interner& kernels, Interner& dtypes)
      : trace_(trace),
        groups_(groups),
        kernels_(kernels),
        dtypes_(dtypes),
        of_streams_(groups_of_streams(trace, groups)) {}

  RankCalls read() {
    RankCalls rank{.rank = *trace_.rank};
    for (std::uint32_t i = 0; i < trace_.gpu_ops.size(); ++i)
      if (trace_.gpu_ops[i].kind == GpuKind::kCommunication) rank.calls.push_back(call_of(i));
    // in launch order; what was launched before the window comes first, as it started
    std::stable_sort(rank.calls.begin(), rank.calls.end(),
                     [](const CommCall& one, const CommCall& other) {
                       if (one.launch.has_value() != other.launch.has_value())
                         return !one.launch.has_value();
                       return one.launch ? *one.launch < *other.launch : one.start < other.start;
                     });
    return rank;
  }

 private:
  CommCall call_of(std::uint32_t index) {
    const GpuOp& op = trace_.gpu_ops[index];
    CommCall call{.start = op.start, .end = op.end, .operation = index};
    if (op.launch != kNone) call.launch = trace_.calls[op.launch].start;
    call.stream = static_cast<int>(trace_.streams[op.stream].id);
    call.kernel = kernels_.number(base_name(trace_.name_of(op)));
    call.kind = trace_.class_of(op);
    if (op.step != kNone) call.step = trace_.steps[op.step].number;
    const auto of_stream = of_streams_.find(op.stream);
    const CollectiveCall* collective = trace_.collective_of(op);
    const TraceGroup* group = collective == nullptr ? nullptr : trace_.group_of(*collective);
    if (group != nullptr)
      call.group = groups_.number(*group);
    else
      call.group = of_stream == of_streams_.end() || of_stream->second < 0 ? groups_.unrecorded()
                                                                           : of_stream->second;
    if (collective != nullptr) add_metadata(*collective, call);
    return call;
  }

  void add_metadata(const CollectiveCall& collective, CommCall& call) {
    if (collective.seq >= 0) call.seq = static_cast<std::uint64_t>(collective.seq);
    call.comms_id = collective.comms_id;
    if (collective.dtype) call.dtype = dtypes_.number(trace_.names.text(*collective.dtype));
    call.bytes = collective_bytes(trace_, collective);
    constexpr std::uint64_t kMost = std::uint64_t{1} << 53;  // no message; a broken record
    if (call.bytes)
      if (const auto uneven = uneven_bytes(trace_, collective, *call.bytes)) call.bytes = uneven;
    if (call.bytes && *call.bytes >= kMost) call.bytes = std::nullopt;
  }

  const Trace& trace_;
  Groups& groups_;
  Interner& kernels_;
  Interner& dtypes_;
  std::map<std::uint32_t, int> of_streams_;
};

}  // namespace

CommJob comm_job_of(const std::vector<const Trace*>& traces) {
  CommJob job;
  Interner kernels(job.kernels);
  Interner dtypes(job.dtypes);
  Groups groups(traces, job);
  for (const Trace* trace : traces) {
    job.world = std::max(job.world, trace->world_size.value_or(0));
    job.grid = std::max(job.grid, trace->resolution);
  }
  for (const Trace* trace : traces) {
    COMM_PROBE_CHECK(trace->rank.has_value(), "a trace without rank");
    job.ranks.push_back(RankReader(*trace, groups, kernels, dtypes).read());
  }
  std::sort(job.ranks.begin(), job.ranks.end(),
            [](const RankCalls& one, const RankCalls& other) { return one.rank < other.rank; });
  return job;
}

}  // namespace comm_probe::torch
