#include "torch/lateness.h"

#include <algorithm>

#include "torch/match_lag.h"

namespace comm_probe::torch {
namespace {

constexpr std::int64_t WindowParts::*kParts[] = {&WindowParts::compute, &WindowParts::communication,
                                                 &WindowParts::memory, &WindowParts::idle};

struct Window {
  int rank = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

const Attendance* attendance_of(const Meeting& meeting, int rank) {
  for (const Attendance& one : meeting.present)
    if (one.rank == rank) return &one;
  return nullptr;
}

class Search {
 public:
  Search(const CommJob& job, const Matching& matching, const Waits& waits,
         const std::vector<RankActivity>& activities, int rank, std::int64_t step)
      : job_(job),
        matching_(matching),
        waits_(waits),
        activities_(activities),
        rank_(rank),
        step_(step) {}

  Lateness find() {
    lateness_.group = main_group();
    if (lateness_.group < 0) return lateness_;
    for (std::size_t i = 0; i < matching_.meetings.size(); ++i)
      if (waits_.meetings[i].counts() && matching_.meetings[i].group == lateness_.group)
        meetings_.push_back(i);
    measure_arrival();
    compare(windows());
    return lateness_;
  }

 private:
  bool in_step(const Meeting& meeting) const {
    return step_ < 0 || step_of(job_, meeting) == step_;
  }
  bool is_late(std::size_t i) const {
    const MeetingTimes& times = waits_.meetings[i];
    return times.shortest == rank_ && !times.together && !times.excused &&
           in_step(matching_.meetings[i]);
  }

  int main_group() const {
    std::map<int, std::int64_t> caused;
    for (std::size_t i = 0; i < matching_.meetings.size(); ++i)
      if (waits_.meetings[i].counts() && is_late(i))
        caused[matching_.meetings[i].group] += waits_.meetings[i].wait;
    const auto most = std::max_element(
        caused.begin(), caused.end(),
        [](const auto& one, const auto& other) { return one.second < other.second; });
    return most == caused.end() ? -1 : most->first;
  }

  // From the end of the meeting before to the start of this one; nothing where the rank missed one.
  std::optional<std::int64_t> lead(const Meeting& before, const Attendance& one) const {
    const Attendance* previous = attendance_of(before, one.rank);
    if (previous == nullptr) return std::nullopt;
    return call_of(job_, one).start - call_of(job_, *previous).end;
  }

  void measure_arrival() {
    std::vector<std::int64_t> delays;
    for (std::size_t k = 0; k < meetings_.size(); ++k) {
      if (!is_late(meetings_[k])) continue;
      const Meeting& meeting = matching_.meetings[meetings_[k]];
      const CommCall& call = call_of(job_, *attendance_of(meeting, rank_));
      if (call.launch) delays.push_back(call.start - *call.launch);
      if (k == 0) continue;
      const Meeting& before = matching_.meetings[meetings_[k - 1]];
      std::vector<std::int64_t> others;
      for (const Attendance& one : meeting.present)
        if (const auto length = lead(before, one); length && one.rank != rank_)
          others.push_back(*length);
      const auto own = lead(before, *attendance_of(meeting, rank_));
      if (!own || others.empty()) continue;
      lateness_.arrival += *own - median_of(std::move(others));
      lateness_.margins += waits_.meetings[meetings_[k]].margin;
      note_worst(waits_.meetings[meetings_[k]].wait, before, call);
    }
    if (!delays.empty()) lateness_.launch_delay = median_of(std::move(delays));
  }

  void note_worst(std::int64_t wait, const Meeting& before, const CommCall& call) {
    const CommCall& previous = call_of(job_, *attendance_of(before, rank_));
    if (wait <= worst_wait_ || !call.launch || !previous.launch) return;
    worst_wait_ = wait;
    lateness_.worst_before = *previous.launch;
    lateness_.worst_launch = *call.launch;
  }

  // The last meeting of the step before; else of the first step, where all steps are asked for.
  std::optional<std::size_t> boundary() const {
    std::optional<std::size_t> before;
    std::optional<std::int64_t> first_step;
    for (const std::size_t i : meetings_) {
      const std::int64_t step = step_of(job_, matching_.meetings[i]);
      if (attendance_of(matching_.meetings[i], rank_) == nullptr) continue;
      if (!first_step) first_step = step;
      if (step_ >= 0 ? step == step_ : step != *first_step) return before;
      before = i;
    }
    return std::nullopt;
  }

  std::int64_t start_of(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    const auto step = activities_[index].steps.find(step_);
    return step == activities_[index].steps.end() ? activities_[index].start : step->second.first;
  }

  std::vector<Window> windows() const {
    std::vector<Window> all;
    const Meeting* last = nullptr;
    for (const std::size_t i : meetings_)
      if (in_step(matching_.meetings[i])) last = &matching_.meetings[i];
    if (last == nullptr) return all;
    const auto before = boundary();
    for (const Attendance& one : last->present) {
      Window window{one.rank, start_of(one.rank), call_of(job_, one).end};
      if (before) {
        const Attendance* from = attendance_of(matching_.meetings[*before], one.rank);
        if (from == nullptr) continue;
        window.from = call_of(job_, *from).end;
      }
      all.push_back(window);
    }
    return all;
  }

  WindowParts parts_of(const Window& window) const {
    const auto rank = static_cast<std::size_t>(window.rank);
    const RankActivity& activity = activities_[rank];
    WindowParts parts = activity.parts(window.from, window.to);
    parts.communication = 0;
    for (const CommCall& call : job_.ranks[rank].calls) {
      const std::int64_t from = std::max(call.start, window.from);
      const std::int64_t to = std::min(call.end, window.to);
      if (call.group != lateness_.group && to > from)
        parts.communication += to - from - activity.compute.within(from, to);
    }
    return parts;
  }

  void compare(const std::vector<Window>& windows) {
    std::vector<WindowParts> others;
    for (const Window& window : windows) {
      if (window.rank == rank_)
        lateness_.own = parts_of(window);
      else
        others.push_back(parts_of(window));
    }
    if (others.empty()) return;
    for (const auto part : kParts) {
      std::vector<std::int64_t> values;
      for (const WindowParts& one : others) values.push_back(one.*part);
      lateness_.typical.*part = median_of(std::move(values));
    }
  }

  const CommJob& job_;
  const Matching& matching_;
  const Waits& waits_;
  const std::vector<RankActivity>& activities_;
  int rank_;
  std::int64_t step_;
  std::vector<std::size_t> meetings_ = {};  // of the group, in order
  std::int64_t worst_wait_ = 0;
  Lateness lateness_ = {};
};

}  // namespace

WindowParts Lateness::more() const {
  WindowParts more;
  for (const auto part : kParts) more.*part = own.*part - typical.*part;
  return more;
}

Lateness lateness_of(const CommJob& job, const Matching& matching, const Waits& waits,
                     const std::vector<RankActivity>& activities, int rank, std::int64_t step) {
  return Search(job, matching, waits, activities, rank, step).find();
}

}  // namespace comm_probe::torch
