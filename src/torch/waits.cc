#include "torch/waits.h"

#include <algorithm>

#include "torch/blame.h"

namespace comm_probe::torch {
namespace {

constexpr std::int64_t kLeastMargin = 5'000;  // ns
constexpr std::int64_t kMarginPercent = 3;    // of transfer

MeetingTimes times_of(const Meeting& meeting) {
  MeetingTimes times;
  if (meeting.state != MeetingState::kAccepted) return times;
  const auto shortest = std::min_element(
      meeting.present.begin(), meeting.present.end(),
      [](const auto& one, const auto& other) { return one.duration < other.duration; });
  times.shortest = shortest->rank;
  times.transfer = shortest->duration;
  times.excused = shortest->is_first;
  bool has_second = false;
  for (const Attendance& one : meeting.present) {
    const std::int64_t wait = one.duration - times.transfer;
    times.wait += wait;
    if (&one == &*shortest || (has_second && wait >= times.margin)) continue;
    times.margin = wait;
    has_second = true;
  }
  times.together = times.margin < std::max(kLeastMargin, times.transfer * kMarginPercent / 100);
  return times;
}

RankWaits part_of(const CommCall& call, const MeetingTimes& times, const RankActivity* activity) {
  RankWaits part{.wait = call.duration() - times.transfer, .transfer = times.transfer};
  part.meetings = 1;
  if (activity == nullptr) return part;
  const std::int64_t turn = call.end - times.transfer;
  part.exposed_wait = part.wait - activity->compute.within(call.start, turn);
  part.exposed_transfer = part.transfer - activity->compute.within(turn, call.end);
  return part;
}

}  // namespace

RankWaits Waits::total() const {
  RankWaits sum;
  for (const RankWaits& waits : ranks) sum += waits;
  return sum;
}

RankWaits& RankWaits::operator+=(const RankWaits& other) {
  wait += other.wait;
  transfer += other.transfer;
  exposed_wait += other.exposed_wait;
  exposed_transfer += other.exposed_transfer;
  caused += other.caused;
  caused_excused += other.caused_excused;
  blamed += other.blamed;
  meetings += other.meetings;
  last_in += other.last_in;
  return *this;
}

std::int64_t step_of(const CommJob& job, const Meeting& meeting) {
  for (const Attendance& one : meeting.present)
    if (const std::int64_t step = call_of(job, one).step; step >= 0) return step;
  return -1;
}

Waits waits_of(const CommJob& job, const Matching& matching,
               const std::vector<RankActivity>& activities) {
  Waits waits;
  waits.ranks.resize(job.ranks.size());
  for (const Meeting& meeting : matching.meetings) waits.meetings.push_back(times_of(meeting));
  const std::vector<Blame> blame = blame_of(job, matching, waits.meetings, activities);
  for (std::size_t i = 0; i < blame.size(); ++i) {
    const Meeting& meeting = matching.meetings[i];
    MeetingTimes& times = waits.meetings[i];
    times.blamed = blame[i].rank;
    if (!times.counts()) continue;
    auto& of_step = waits.steps[step_of(job, meeting)];
    of_step.resize(job.ranks.size());
    for (const Attendance& one : meeting.present) {
      const auto rank = static_cast<std::size_t>(one.rank);
      RankWaits part =
          part_of(call_of(job, one), times, activities.empty() ? nullptr : &activities[rank]);
      if (one.rank == times.shortest) {
        part.last_in = 1;
        part.caused = times.wait;
        part.caused_excused = times.excused ? times.wait : 0;
      }
      of_step[rank] += part;
      waits.ranks[rank] += part;
    }
    if (blame[i].excused) continue;
    const auto blamed = static_cast<std::size_t>(times.blamed);
    of_step[blamed].blamed += times.wait;
    waits.ranks[blamed].blamed += times.wait;
  }
  return waits;
}

}  // namespace comm_probe::torch
