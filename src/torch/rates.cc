#include "torch/rates.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "torch/match_lag.h"

namespace comm_probe::torch {
namespace {

struct Sample {
  std::int64_t time = 0;
  bool includes_waiting = false;
};

// Broadcasts have no last rank: the longest kernel covers the transfer.
Sample sample_of(const Meeting& meeting, const MeetingTimes& times) {
  if (times.counts()) return {times.transfer, false};
  std::int64_t longest = 0;
  for (const Attendance& one : meeting.present) longest = std::max(longest, one.duration);
  return {longest, true};
}

Rate summary(std::vector<Sample> samples) {
  Rate rate;
  std::vector<std::int64_t> times;
  for (const Sample& sample : samples) {
    times.push_back(sample.time);
    rate.total += sample.time;
    rate.includes_waiting |= sample.includes_waiting;
  }
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  rate.count = samples.size();
  rate.best = *least;
  rate.worst = *most;
  rate.median = median_of(std::move(times));
  return rate;
}

using Key = std::tuple<int, CollectiveClass, bool, std::uint64_t, int>;

Key key_of(const CommCall& call) {
  return {call.group, call.kind, call.bytes.has_value(), call.bytes.value_or(0), call.dtype};
}

// Sends and receives meet one partner, not the group: every kernel for itself.
void add_point_to_point(const CommJob& job, std::map<Key, std::vector<Sample>>& samples) {
  for (const RankCalls& rank : job.ranks)
    for (const CommCall& call : rank.calls)
      if (call.kind == CollectiveClass::kSend || call.kind == CollectiveClass::kReceive)
        samples[key_of(call)].push_back({call.duration(), true});
}

}  // namespace

std::optional<model::Op> op_of(CollectiveClass kind) {
  switch (kind) {
    case CollectiveClass::kAllReduce:
      return model::Op::kAllReduce;
    case CollectiveClass::kAllGather:
      return model::Op::kAllGather;
    case CollectiveClass::kReduceScatter:
      return model::Op::kReduceScatter;
    case CollectiveClass::kAllToAll:
      return model::Op::kAllToAll;
    case CollectiveClass::kBroadcast:
      return model::Op::kBroadcast;
    case CollectiveClass::kReduce:
      return model::Op::kReduce;
    case CollectiveClass::kSend:
    case CollectiveClass::kReceive:
      return model::Op::kSendRecv;
    case CollectiveClass::kGather:
    case CollectiveClass::kScatter:
    case CollectiveClass::kSendReceive:
    case CollectiveClass::kBarrier:
    case CollectiveClass::kDispatch:
    case CollectiveClass::kCombine:
    case CollectiveClass::kUnknown:
      return std::nullopt;
  }
  return std::nullopt;
}

double busbw_factor(CollectiveClass kind, int ranks) {
  if (const auto op = op_of(kind)) return model::busbw_factor(*op, ranks);
  const bool is_rooted = kind == CollectiveClass::kGather || kind == CollectiveClass::kScatter;
  return is_rooted && ranks > 0 ? static_cast<double>(ranks - 1) / ranks : 1;
}

std::optional<core::Bandwidth> algbw_of(std::optional<std::uint64_t> bytes, std::int64_t time) {
  if (!bytes || *bytes == 0 || time <= 0) return std::nullopt;
  return core::Bytes::of(*bytes) / core::Duration::from_ns(static_cast<double>(time));
}

std::optional<core::Bandwidth> Rate::algbw() const { return algbw_of(bytes, median); }
std::optional<core::Bandwidth> Rate::busbw() const {
  const auto rate = algbw();
  if (!rate || ranks < 2) return std::nullopt;
  return *rate * busbw_factor(kind, ranks);
}

std::vector<Rate> rates_of(const CommJob& job, const Matching& matching, const Waits& waits) {
  std::map<Key, std::vector<Sample>> samples;
  std::map<Key, int> present;  // of one meeting, at most
  std::map<Key, int> fewest;
  for (std::size_t i = 0; i < matching.meetings.size(); ++i) {
    const Meeting& meeting = matching.meetings[i];
    if (meeting.state == MeetingState::kEndsApart || meeting.state == MeetingState::kMismatch)
      continue;
    const Key key = key_of(call_of(job, meeting.present.front()));
    samples[key].push_back(sample_of(meeting, waits.meetings[i]));
    const int members = static_cast<int>(meeting.present.size());
    present[key] = std::max(present[key], members);
    const auto least = fewest.emplace(key, members).first;
    least->second = std::min(least->second, members);
  }
  add_point_to_point(job, samples);
  std::vector<Rate> rates;
  for (auto& [key, of_key] : samples) {
    Rate& rate = rates.emplace_back(summary(std::move(of_key)));
    const auto& [group, kind, has_bytes, bytes, dtype] = key;
    rate.group = group;
    rate.kind = kind;
    rate.dtype = dtype;
    if (has_bytes) rate.bytes = bytes;
    const int size = job.groups[static_cast<std::size_t>(group)].size;
    rate.ranks = size > 0 ? size : present[key];
    rate.lacks_members = present[key] > 0 && fewest[key] < rate.ranks;
  }
  return rates;
}

}  // namespace comm_probe::torch
