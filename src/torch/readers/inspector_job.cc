// Inspector logs of several processes as one CommJob.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "torch/readers/inspector.h"

namespace comm_probe::torch {
namespace {

std::uint64_t size_of(const InspectorRecord& record) {
  const bool is_part =
      record.kind == CollectiveClass::kAllGather || record.kind == CollectiveClass::kReduceScatter;
  return is_part ? record.bytes * static_cast<std::uint64_t>(std::max(1, record.ranks))
                 : record.bytes;
}

// The rank of a process in the largest communicator that it is in.
int rank_of(const InspectorLog& log) {
  const auto largest =
      std::max_element(log.records.begin(), log.records.end(),
                       [](const auto& one, const auto& other) { return one.ranks < other.ranks; });
  return largest->rank;
}

bool all_differ(const std::vector<InspectorLog>& logs) {
  std::set<int> ranks;
  for (const InspectorLog& log : logs) ranks.insert(rank_of(log));
  return ranks.size() == logs.size();
}

class Builder {
 public:
  void add(const InspectorLog& log, int rank) {
    RankCalls calls{.rank = rank};
    for (const InspectorRecord& record : log.records) {
      CommCall call{.end = record.time, .kind = record.kind, .seq = record.number};
      call.group = group_of(record, rank);
      call.kernel = kernel_of(record.operation);
      if (record.bytes > 0) call.bytes = size_of(record);
      calls.calls.push_back(call);
      by_cpu_ += record.by_gpu ? 0 : 1;
    }
    result_.job.ranks.push_back(std::move(calls));
  }

  InspectorJob finish() {
    CommJob& job = result_.job;
    job.has_clock = false;
    job.seq_by_kind = true;
    job.grid = 1000;
    for (CommGroup& group : job.groups) std::sort(group.ranks.begin(), group.ranks.end());
    std::sort(job.ranks.begin(), job.ranks.end(),
              [](const RankCalls& one, const RankCalls& other) { return one.rank < other.rank; });
    if (by_cpu_ > 0)
      result_.caveats.push_back(core::make_caveat(
          "trace.inspector-cpu-time",
          fmt::format("{} collectives were timed by the CPU, not by the GPU", by_cpu_),
          "their times hold launch and polling too"));
    return std::move(result_);
  }

 private:
  int group_of(const InspectorRecord& record, int rank) {
    const auto [known, is_new] =
        groups_.emplace(record.communicator, static_cast<int>(result_.job.groups.size()));
    if (is_new) {
      CommGroup group;
      group.size = record.ranks;
      group.name = record.communicator;
      group.description = record.name;
      result_.job.groups.push_back(std::move(group));
    }
    auto& ranks = result_.job.groups[static_cast<std::size_t>(known->second)].ranks;
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
    result_.job.world = std::max(result_.job.world, record.ranks);
    return known->second;
  }
  int kernel_of(const std::string& name) {
    auto& kernels = result_.job.kernels;
    const auto found = std::find(kernels.begin(), kernels.end(), name);
    if (found != kernels.end()) return static_cast<int>(found - kernels.begin());
    kernels.push_back(name);
    return static_cast<int>(kernels.size()) - 1;
  }

  InspectorJob result_ = {};
  std::map<std::string, int> groups_ = {};
  std::size_t by_cpu_ = 0;
};

}  // namespace

InspectorJob comm_job_of(const std::vector<InspectorLog>& logs) {
  Builder builder;
  const bool numbered = all_differ(logs);
  for (std::size_t i = 0; i < logs.size(); ++i)
    builder.add(logs[i], numbered ? rank_of(logs[i]) : static_cast<int>(i));
  InspectorJob result = builder.finish();
  if (!numbered)
    result.caveats.push_back(core::make_caveat(
        "trace.ranks-numbered",
        "the communicators of these logs do not give every process a rank of its own",
        "processes are numbered in the order of their files"));
  return result;
}

}  // namespace comm_probe::torch
