#include "sim/step_record.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace comm_probe::sim {
namespace {

using torch::Interval;
using torch::Intervals;
using Kind = StepItem::Kind;

std::int64_t aligned(const torch::ClockOffset& clock, std::int64_t time) {
  return time - clock.at(time);
}

// Everything but communication, without what a call covers on the compute stream itself.
Intervals work_of(const torch::Trace& trace, const torch::ClockOffset& clock) {
  Intervals all;
  for (const torch::GpuOp& op : trace.gpu_ops)
    if (op.kind != torch::GpuKind::kCommunication && op.end > op.start)
      all.push_back({aligned(clock, op.start), aligned(clock, op.end)});
  return torch::unite(std::move(all));
}

// Cut at the times, sorted, that lie inside.
Intervals cut(const Intervals& intervals, const std::vector<std::int64_t>& at) {
  Intervals parts;
  auto next = at.begin();
  for (Interval one : intervals) {
    while (next != at.end() && *next <= one.start) ++next;
    for (; next != at.end() && *next < one.end; ++next) {
      if (*next == one.start) continue;
      parts.push_back({one.start, *next});
      one.start = *next;
    }
    parts.push_back(one);
  }
  return parts;
}

// The step around a time, by the device windows of the rank's steps.
class StepOf {
 public:
  StepOf(const torch::RankActivity& activity, const torch::ClockOffset& clock) {
    for (const auto& [number, window] : activity.steps)
      if (number >= 0) starts_.emplace_back(aligned(clock, window.first), number);
    std::sort(starts_.begin(), starts_.end());
  }
  std::int64_t at(std::int64_t time) const {
    auto next = std::upper_bound(starts_.begin(), starts_.end(), std::pair(time, INT64_MAX));
    return next == starts_.begin() ? -1 : std::prev(next)->second;
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> starts_ = {};
};

class RankBuilder {
 public:
  RankBuilder(const torch::AcrossRanks& across, std::size_t index)
      : calls_(across.job.ranks[index].calls),
        clock_(across.matching.clocks[index]),
        steps_(across.activities[index], clock_) {
    rank_.rank = across.job.ranks[index].rank;
    rank_.work = across.activities[index].work;
    add_items(*across.traces[index]);
    find_waits();
  }

  StepRank take() { return std::move(rank_); }
  // By call of CommJob: its item.
  const std::vector<std::uint32_t>& item_of() const { return item_of_; }

 private:
  void add_items(const torch::Trace& trace) {
    std::vector<std::int64_t> begins;
    std::vector<std::pair<StepItem, std::uint32_t>> all;  // with the call, or none
    constexpr std::uint32_t kNoCall = 0xffffffff;
    for (std::uint32_t i = 0; i < calls_.size(); ++i) {
      const torch::CommCall& call = calls_[i];
      StepItem item{.kind = Kind::kCall,
                    .start = aligned(clock_, call.start),
                    .end = aligned(clock_, call.end),
                    .step = call.step,
                    .stream = call.stream};
      item.end = std::max(item.start, item.end);
      begins.push_back(item.start);
      all.emplace_back(item, i);
    }
    std::sort(begins.begin(), begins.end());
    for (const Interval& one : cut(work_of(trace, clock_), begins))
      all.emplace_back(StepItem{.start = one.start, .end = one.end, .step = steps_.at(one.start)},
                       kNoCall);
    // a call before the work that is cut where it begins: it waits for what was before both
    const auto key = [](const auto& one) {
      return std::tuple(one.first.start, one.first.kind == Kind::kWork, one.first.end);
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto& a, const auto& b) { return key(a) < key(b); });
    item_of_.resize(calls_.size());
    for (auto& [item, call] : all) {
      if (call != kNoCall) item_of_[call] = static_cast<std::uint32_t>(rank_.items.size());
      rank_.items.push_back(std::move(item));
    }
  }

  // What was over when the item began: the latest with its lag, the others in order.
  void find_waits() {
    std::optional<std::uint32_t> work;   // the last before
    std::map<int, std::uint32_t> calls;  // the last of each stream that is over
    std::map<int, std::uint32_t> begun;  // the last of each stream
    std::vector<std::uint32_t> open;     // calls that have begun and are not over
    std::vector<StepItem>& items = rank_.items;
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      StepItem& item = items[i];
      std::erase_if(open, [&](std::uint32_t call) {
        if (items[call].end > item.start) return false;
        std::uint32_t& last = calls.try_emplace(items[call].stream, call).first->second;
        if (items[call].end >= items[last].end) last = call;
        return true;
      });
      std::vector<std::uint32_t> before;
      if (work) before.push_back(*work);
      if (item.kind == Kind::kWork) {
        for (const auto& [stream, call] : calls) before.push_back(call);
      } else if (const auto last = begun.find(item.stream);
                 last != begun.end() && items[last->second].end <= item.start) {
        before.push_back(last->second);
      }
      wait_for(item, before);
      if (item.kind == Kind::kWork) {
        work = i;
      } else {
        begun[item.stream] = i;
        open.push_back(i);
      }
    }
  }

  void wait_for(StepItem& item, const std::vector<std::uint32_t>& before) {
    std::optional<std::uint32_t> latest;
    for (const std::uint32_t one : before)
      if (!latest || rank_.items[one].end > rank_.items[*latest].end) latest = one;
    for (const std::uint32_t one : before) {
      const bool is_latest = one == *latest;
      const bool is_call = rank_.items[one].kind == Kind::kCall;
      item.waits.push_back(
          {one, is_latest ? std::max<std::int64_t>(0, item.start - rank_.items[one].end) : 0,
           !is_latest && is_call});
    }
  }

  const std::vector<torch::CommCall>& calls_;
  const torch::ClockOffset& clock_;
  StepOf steps_;
  StepRank rank_ = {};
  std::vector<std::uint32_t> item_of_ = {};
};

void add_meeting(const torch::AcrossRanks& across, const torch::Meeting& meeting,
                 const std::vector<RankBuilder>& builders, StepRecord& record) {
  StepMeeting one{.group = meeting.group};
  std::int64_t begin = INT64_MIN;
  for (const torch::Attendance& attendance : meeting.present) {
    const auto rank = static_cast<std::size_t>(attendance.rank);
    const torch::CommCall& call = torch::call_of(across.job, attendance);
    one.kind = call.kind;
    if (call.bytes) one.bytes = call.bytes;
    const std::uint32_t item = builders[rank].item_of()[attendance.call];
    one.calls.emplace_back(attendance.rank, item);
    StepItem& there = record.ranks[rank].items[item];
    there.meeting = static_cast<int>(record.meetings.size());
    begin = std::max(begin, there.start);
  }
  for (const auto& [rank, item] : one.calls)
    one.transfer.push_back(std::max<std::int64_t>(
        0, record.ranks[static_cast<std::size_t>(rank)].items[item].end - begin));
  record.shared_calls += one.calls.size();
  record.meetings.push_back(std::move(one));
}

}  // namespace

core::Result<StepRecord> record_of(const torch::AcrossRanks& across) {
  if (across.traces.size() < 2)
    return core::input_error("one rank alone: a step is replayed from the traces of several ranks",
                             "give the traces of all ranks, or the folder that holds them");
  StepRecord record{.groups = across.job.groups};
  std::vector<RankBuilder> builders;
  builders.reserve(across.traces.size());
  for (std::size_t i = 0; i < across.traces.size(); ++i) {
    builders.emplace_back(across, i);
    record.calls += across.job.ranks[i].calls.size();
  }
  for (RankBuilder& builder : builders) record.ranks.push_back(builder.take());
  for (const torch::Meeting& meeting : across.matching.meetings)
    if (meeting.state == torch::MeetingState::kAccepted)
      add_meeting(across, meeting, builders, record);
  std::set<std::int64_t> steps;
  record.start = INT64_MAX;
  record.end = INT64_MIN;
  for (const StepRank& rank : record.ranks)
    for (const StepItem& item : rank.items) {
      record.start = std::min(record.start, item.start);
      record.end = std::max(record.end, item.end);
      if (item.step >= 0) steps.insert(item.step);
    }
  if (record.end <= record.start) return core::input_error("no work of a GPU in these traces");
  record.steps.assign(steps.begin(), steps.end());
  return record;
}

}  // namespace comm_probe::sim
