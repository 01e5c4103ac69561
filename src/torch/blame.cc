#include "torch/blame.h"

#include <algorithm>
#include <map>

#include "torch/match_lag.h"

namespace comm_probe::torch {
namespace {

// Collectives back: more than a step has, and the work stays linear where members are never in
// step.
constexpr std::size_t kLongestLook = 4096;

// A rank's waiting in one collective, and who is blamed for it.
struct Waited {
  std::int64_t end = 0;
  std::int64_t wait = 0;
  int group = 0;
  Blame blame = {};
};

struct Culprit {
  std::int64_t wait = 0;
  std::int64_t excused = 0;  // of it: for what was before the window
};
using ByCulprit = std::map<int, Culprit>;

class Tracer {
 public:
  Tracer(const CommJob& job, const Matching& matching, const std::vector<MeetingTimes>& times,
         const std::vector<RankActivity>& activities)
      : job_(job),
        matching_(matching),
        times_(times),
        activities_(activities),
        waited_(job.ranks.size()) {}

  std::vector<Blame> trace() {
    std::vector<Blame> blame;
    for (std::size_t i = 0; i < matching_.meetings.size(); ++i) {
      const MeetingTimes& times = times_[i];
      blame.push_back(times.counts() ? culprit(matching_.meetings[i], times) : Blame{});
      if (times.counts()) pass(matching_.meetings[i], times, blame.back());
    }
    return blame;
  }

 private:
  static std::int64_t sum_of(const ByCulprit& waits) {
    std::int64_t sum = 0;
    for (const auto& [rank, culprit] : waits) sum += culprit.wait;
    return sum;
  }

  // What one member waited in other groups since its group was in step.
  ByCulprit upstream(const Meeting& meeting, const Attendance& one) const {
    ByCulprit waits;
    const auto known = in_step_.find({meeting.group, one.rank});
    const auto& waited = waited_[static_cast<std::size_t>(one.rank)];
    const std::int64_t start = call_of(job_, one).start;
    const std::size_t most = std::min(waited.size(), kLongestLook);
    for (auto it = waited.rbegin(); it != waited.rbegin() + static_cast<std::ptrdiff_t>(most);
         ++it) {
      if (known != in_step_.end() && it->end <= known->second) break;
      if (it->group == meeting.group || it->end > start) continue;
      Culprit& culprit = waits[it->blame.rank];
      culprit.wait += it->wait;
      if (it->blame.excused) culprit.excused += it->wait;
    }
    return waits;
  }

  Blame culprit(const Meeting& meeting, const MeetingTimes& times) const {
    const Blame own{times.shortest, times.excused};
    if (times.together || times.excused) return own;
    ByCulprit waits;
    std::vector<std::int64_t> others;
    for (const Attendance& one : meeting.present) {
      ByCulprit of_one = upstream(meeting, one);
      if (one.rank == times.shortest)
        waits = std::move(of_one);
      else
        others.push_back(sum_of(of_one));
    }
    if (waits.empty() || others.empty()) return own;
    if ((sum_of(waits) - median_of(std::move(others))) * 2 < times.margin) return own;
    const auto most = std::max_element(
        waits.begin(), waits.end(),
        [](const auto& one, const auto& other) { return one.second.wait < other.second.wait; });
    return {most->first, most->second.excused * 2 > most->second.wait};
  }

  bool are_in_step(const Meeting& meeting, const MeetingTimes& times) const {
    if (times.together || activities_.empty()) return true;
    std::int64_t exposed = 0;
    for (const Attendance& one : meeting.present) {
      const CommCall& call = call_of(job_, one);
      const std::int64_t turn = call.end - times.transfer;
      exposed += turn - call.start -
                 activities_[static_cast<std::size_t>(one.rank)].compute.within(call.start, turn);
    }
    return exposed * 2 >= times.wait;
  }

  void pass(const Meeting& meeting, const MeetingTimes& times, Blame blame) {
    const bool in_step = are_in_step(meeting, times);
    for (const Attendance& one : meeting.present) {
      const std::int64_t end = call_of(job_, one).end;
      if (in_step) in_step_[{meeting.group, one.rank}] = end;
      if (const std::int64_t wait = one.duration - times.transfer; wait > 0)
        waited_[static_cast<std::size_t>(one.rank)].push_back({end, wait, meeting.group, blame});
    }
  }

  const CommJob& job_;
  const Matching& matching_;
  const std::vector<MeetingTimes>& times_;
  const std::vector<RankActivity>& activities_;
  std::vector<std::vector<Waited>> waited_;                   // of each rank, by time
  std::map<std::pair<int, int>, std::int64_t> in_step_ = {};  // since when, of group and rank
};

}  // namespace

std::vector<Blame> blame_of(const CommJob& job, const Matching& matching,
                            const std::vector<MeetingTimes>& times,
                            const std::vector<RankActivity>& activities) {
  return Tracer(job, matching, times, activities).trace();
}

}  // namespace comm_probe::torch
