#include "torch/match.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "torch/match_clock.h"
#include "torch/match_lag.h"

namespace comm_probe::torch {
namespace {

// Point-to-point calls have a partner, no meeting of all members.
bool is_collective(CollectiveClass kind) {
  return kind != CollectiveClass::kSend && kind != CollectiveClass::kReceive;
}
// NCCL's SendRecv kernel without metadata is an all-to-all or not: its ends show it.
bool is_meeting(CollectiveClass kind) {
  return is_synchronising(kind) || kind == CollectiveClass::kSendReceive ||
         kind == CollectiveClass::kUnknown;
}

// The calls of one group (and stream, where nothing else is known) on every rank that has any.
struct Lane {
  int group = 0;
  std::vector<int> ranks = {};                         // indices
  std::vector<std::vector<std::uint32_t>> calls = {};  // of each of them
};

// Streams have other numbers on each rank, but the same order.
int stream_role(const RankCalls& rank, int stream) {
  std::vector<int> below;
  for (const CommCall& call : rank.calls)
    if (call.stream < stream) below.push_back(call.stream);
  std::sort(below.begin(), below.end());
  return static_cast<int>(std::unique(below.begin(), below.end()) - below.begin());
}

std::vector<Lane> lanes_of(const CommJob& job) {
  std::map<std::pair<int, int>, Lane> lanes;  // by group and role of the stream
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    const RankCalls& rank = job.ranks[r];
    std::map<int, int> roles;
    for (std::uint32_t i = 0; i < rank.calls.size(); ++i) {
      const CommCall& call = rank.calls[i];
      if (!is_collective(call.kind)) continue;
      int role = 0;
      if (job.groups[static_cast<std::size_t>(call.group)].ranks.empty()) {
        const auto [known, is_new] = roles.emplace(call.stream, 0);
        if (is_new) known->second = stream_role(rank, call.stream);
        role = known->second;
      }
      Lane& lane = lanes[{call.group, role}];
      lane.group = call.group;
      if (lane.ranks.empty() || lane.ranks.back() != static_cast<int>(r)) {
        lane.ranks.push_back(static_cast<int>(r));
        lane.calls.emplace_back();
      }
      lane.calls.back().push_back(i);
    }
  }
  std::vector<Lane> all;
  for (auto& [key, lane] : lanes) all.push_back(std::move(lane));
  return all;
}

// Calls of one place are one collective.
struct Place {
  std::uint64_t key = 0;
  int kind = 0;
  int time = 0;  // of the same key on this rank
  auto operator<=>(const Place&) const = default;
};
using Places = std::vector<std::vector<Place>>;  // of every call of a lane

using KeyOf = std::optional<std::uint64_t> CommCall::*;

// Nothing where one call does not have the key.
std::optional<Places> places_by(const CommJob& job, const Lane& lane, KeyOf key) {
  Places places;
  for (std::size_t r = 0; r < lane.ranks.size(); ++r) {
    std::map<std::pair<std::uint64_t, int>, int> times;
    auto& of_rank = places.emplace_back();
    for (const std::uint32_t i : lane.calls[r]) {
      const CommCall& call = job.ranks[static_cast<std::size_t>(lane.ranks[r])].calls[i];
      const auto& value = call.*key;
      if (!value) return std::nullopt;
      const int kind = job.seq_by_kind ? static_cast<int>(call.kind) : 0;
      of_rank.push_back({*value, kind, times[{*value, kind}]++});
    }
  }
  return places;
}

CallList list_of(const CommJob& job, const Lane& lane, std::size_t r) {
  CallList list;
  for (const std::uint32_t i : lane.calls[r])
    list.push_back(&job.ranks[static_cast<std::size_t>(lane.ranks[r])].calls[i]);
  return list;
}

Places places_by_order(const CommJob& job, const Lane& lane) {
  std::size_t most = 0;
  for (std::size_t r = 1; r < lane.calls.size(); ++r)
    if (lane.calls[r].size() > lane.calls[most].size()) most = r;
  const CallList reference = list_of(job, lane, most);
  constexpr std::uint64_t kOrigin = 1000;  // above the largest lag: places are not negative
  Places places;
  for (std::size_t r = 0; r < lane.ranks.size(); ++r) {
    const int lag = r == most ? 0 : best_lag(reference, list_of(job, lane, r), job.has_clock);
    auto& of_rank = places.emplace_back();
    for (std::size_t i = 0; i < lane.calls[r].size(); ++i)
      of_rank.push_back({kOrigin + i + static_cast<std::uint64_t>(lag)});
  }
  return places;
}

bool all_agree(const CommJob& job, const Meeting& meeting) {
  const CommCall& first = call_of(job, meeting.present.front());
  return std::all_of(meeting.present.begin(), meeting.present.end(),
                     [&](const Attendance& one) { return agree(first, call_of(job, one)); });
}

void add_meetings(const CommJob& job, const Lane& lane, std::vector<Meeting>& all) {
  std::optional<Places> places = places_by(job, lane, &CommCall::seq);
  if (!places) places = places_by(job, lane, &CommCall::comms_id);
  if (!places) places = places_by_order(job, lane);
  std::map<Place, Meeting> meetings;
  for (std::size_t r = 0; r < lane.ranks.size(); ++r)
    for (std::size_t i = 0; i < lane.calls[r].size(); ++i) {
      Attendance attendance{lane.ranks[r], lane.calls[r][i]};
      attendance.duration = call_of(job, attendance).duration();
      meetings[(*places)[r][i]].present.push_back(attendance);
    }
  for (auto& [place, meeting] : meetings) {
    meeting.group = lane.group;
    all.push_back(std::move(meeting));
  }
}

std::int64_t aligned_end(const CommJob& job, const std::vector<ClockOffset>& clocks,
                         const Attendance& one) {
  const std::int64_t end = call_of(job, one).end;
  return end - clocks[static_cast<std::size_t>(one.rank)].at(end);
}

MeetingState state_of(const CommJob& job, const std::vector<ClockOffset>& clocks,
                      Meeting& meeting) {
  if (meeting.present.size() < 2) return MeetingState::kAlone;
  if (!all_agree(job, meeting)) return MeetingState::kMismatch;
  if (!is_meeting(call_of(job, meeting.present.front()).kind)) return MeetingState::kOneSided;
  if (!job.has_clock) return MeetingState::kAccepted;
  std::vector<std::int64_t> ends;
  std::int64_t shortest = meeting.present.front().duration;
  for (const Attendance& one : meeting.present) {
    ends.push_back(aligned_end(job, clocks, one));
    shortest = std::min(shortest, one.duration);
  }
  const auto [least, most] = std::minmax_element(ends.begin(), ends.end());
  meeting.end_spread = *most - *least;
  const std::int64_t middle = median_of(ends);
  const std::int64_t tolerance = end_tolerance(shortest);
  return *most - middle <= tolerance && middle - *least <= tolerance ? MeetingState::kAccepted
                                                                     : MeetingState::kEndsApart;
}

void judge_meetings(const CommJob& job, Matching& matching) {
  for (Meeting& meeting : matching.meetings)
    meeting.state = state_of(job, matching.clocks, meeting);
}

void sort_by_end(const CommJob& job, Matching& matching) {
  const auto place = [&](const Meeting& meeting) {
    const Attendance& first = meeting.present.front();
    // without a clock: as the first rank recorded them
    const std::int64_t end = job.has_clock ? aligned_end(job, matching.clocks, first) : first.call;
    return std::tuple(end, meeting.group, first.rank, first.call);
  };
  std::sort(matching.meetings.begin(), matching.meetings.end(),
            [&](const Meeting& one, const Meeting& other) { return place(one) < place(other); });
}

void mark_first(const CommJob& job, Matching& matching) {
  std::vector<bool> has_met(job.ranks.size(), false);
  for (Meeting& meeting : matching.meetings) {
    if (meeting.state != MeetingState::kAccepted) continue;
    for (Attendance& one : meeting.present) {
      one.is_first = !has_met[static_cast<std::size_t>(one.rank)];
      has_met[static_cast<std::size_t>(one.rank)] = true;
    }
  }
}

void count(const CommJob& job, Matching& matching) {
  for (const Meeting& meeting : matching.meetings) {
    matching.accepted += meeting.state == MeetingState::kAccepted;
    matching.rejected += meeting.state == MeetingState::kEndsApart;
    matching.unpaired += meeting.state == MeetingState::kAlone &&
                         is_synchronising(call_of(job, meeting.present.front()).kind);
  }
}

}  // namespace

Matching match(const CommJob& job) {
  Matching matching;
  for (const Lane& lane : lanes_of(job)) add_meetings(job, lane, matching.meetings);
  matching.clocks = align_clocks(job, {}, false);
  if (job.has_clock) matching.clocks = align_clocks(job, matching.meetings, false);
  judge_meetings(job, matching);
  if (job.has_clock) {
    matching.clocks = align_clocks(job, matching.meetings, true);
    judge_meetings(job, matching);
  }
  sort_by_end(job, matching);
  mark_first(job, matching);
  count(job, matching);
  return matching;
}

}  // namespace comm_probe::torch
