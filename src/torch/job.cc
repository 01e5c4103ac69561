#include "torch/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "torch/placement.h"

namespace comm_probe::torch {

std::span<const Work> Lane::collectives() const {
  if (digest == nullptr || !group) return {};
  return digest->collectives(*group);
}

const Work* Lane::find(std::uint32_t seq) const {
  const std::span<const Work> works = collectives();
  if (works.empty() || seq < works.front().seq || seq > works.back().seq) return nullptr;
  const std::size_t place = seq - works.front().seq;  // calls follow each other without a gap
  if (place < works.size() && works[place].seq == seq) return &works[place];
  const auto found =
      std::lower_bound(works.begin(), works.end(), seq,
                       [](const Work& work, std::uint32_t n) { return work.seq < n; });
  return found != works.end() && found->seq == seq ? &*found : nullptr;
}

std::optional<std::uint32_t> Lane::issued() const {
  if (digest == nullptr) return std::nullopt;
  std::uint32_t most = 0;
  if (!collectives().empty()) most = collectives().back().seq;
  if (progress != nullptr && progress->enqueued > 0)
    most = std::max(
        most, static_cast<std::uint32_t>(std::min<std::int64_t>(progress->enqueued, 0xfffffffe)));
  if (digest->dump.cut && progress == nullptr) return std::nullopt;
  // A ring that lost calls, or a dump of active calls, may simply not show the group.
  const bool may_hide = digest->wrapped || digest->only_active;
  if (group && most == 0 && progress == nullptr && may_hide) return std::nullopt;
  return most;
}

CallStanding Lane::standing(std::uint32_t seq) const {
  if (digest == nullptr) return CallStanding::kUnknown;
  if (const Work* work = find(seq)) {
    switch (work->state) {
      case Work::State::kPending:
        return CallStanding::kPending;
      case Work::State::kDone:
        return CallStanding::kDone;
      case Work::State::kEnded:
        return CallStanding::kEnded;
    }
  }
  const auto last = issued();
  if (!last) return CallStanding::kUnknown;
  if (seq > *last) return CallStanding::kNotIssued;
  if (!digest->has_entries && progress != nullptr)
    return progress->completed >= seq ? CallStanding::kDone : CallStanding::kUnknown;
  if (digest->dump.cut) {
    const bool done = progress != nullptr && progress->completed >= seq;
    return done ? CallStanding::kDone : CallStanding::kUnknown;
  }
  return digest->only_active ? CallStanding::kDone : CallStanding::kUnknown;
}

const Lane* Group::lane_of(int rank) const {
  if (is_sorted) {
    const auto found =
        std::lower_bound(lanes.begin(), lanes.end(), rank,
                         [](const Lane& lane, int wanted) { return lane.rank < wanted; });
    return found != lanes.end() && found->rank == rank ? &*found : nullptr;
  }
  for (const Lane& lane : lanes)
    if (lane.rank == rank) return &lane;
  return nullptr;
}

std::uint32_t Group::watermark() const {
  std::uint32_t mark = 1;
  for (const Lane& lane : lanes)
    if (lane.digest != nullptr && lane.digest->wrapped && !lane.digest->only_active &&
        !lane.collectives().empty())
      mark = std::max(mark, lane.collectives().front().seq);
  return mark;
}

bool Job::has_one_counter() const {
  return std::any_of(digests.begin(), digests.end(),
                     [](const auto& digest) { return digest->one_counter; });
}

const Digest* Job::digest_of(int rank) const {
  const auto found =
      std::lower_bound(digests.begin(), digests.end(), rank,
                       [](const auto& one, int wanted) { return one->rank < wanted; });
  return found != digests.end() && (*found)->rank == rank ? found->get() : nullptr;
}

namespace {

using DigestPointer = std::shared_ptr<const Digest>;

bool is_better(const Digest& a, const Digest& b) {
  if (a.last_time_ns != b.last_time_ns) return a.last_time_ns > b.last_time_ns;
  if (a.dump.format != b.dump.format) return a.dump.format == Dump::Format::kPickle;
  return a.dump.file < b.dump.file;
}

// The same calls in the same state: one file was copied, or a pickle was written as JSON.
bool same_calls(const Digest& a, const Digest& b) {
  return std::equal(a.works.begin(), a.works.end(), b.works.begin(), b.works.end(),
                    [](const Work& one, const Work& other) {
                      return one.record == other.record && one.created_ns == other.created_ns &&
                             one.state == other.state && one.signature == other.signature;
                    });
}

core::Caveat twice_caveat(const Digest& used, const Digest& left, bool is_same) {
  const char* how = is_same                                 ? "holds the same calls and "
                    : used.last_time_ns > left.last_time_ns ? "is newer and "
                                                            : "ends at the same time and ";
  return core::make_caveat("hang.rank-twice",
                           fmt::format("rank {}: {} is left out", left.rank, left.dump.file),
                           fmt::format("{} {}was used", used.dump.file, how), !is_same);
}

// One dump per rank, in rank order.
std::vector<DigestPointer> one_each(std::vector<DigestPointer> digests, Job& job) {
  std::sort(digests.begin(), digests.end(), [](const DigestPointer& a, const DigestPointer& b) {
    return a->rank != b->rank ? a->rank < b->rank : is_better(*a, *b);
  });
  std::vector<DigestPointer> kept;
  for (DigestPointer& digest : digests) {
    const bool is_second = !kept.empty() && kept.back()->rank == digest->rank;
    // the same dump as pickle and as JSON is nothing to tell
    const bool is_same = is_second && same_calls(*kept.back(), *digest);
    if (is_second && !(is_same && kept.back()->dump.format != digest->dump.format)) {
      job.has_other_dumps |= !is_same;
      job.caveats.push_back(twice_caveat(*kept.back(), *digest, is_same));
    }
    if (!is_second) kept.push_back(std::move(digest));
  }
  return kept;
}

// What a stall and different time-outs can explain; more apart than this are two runs.
std::int64_t longest_stall_ns(const std::vector<DigestPointer>& digests) {
  constexpr std::int64_t kAtLeastMs = 3'600'000;
  std::int64_t longest_ms = kAtLeastMs;
  for (const DigestPointer& digest : digests)
    for (const Work& work : digest->works)
      longest_ms = std::max<std::int64_t>(longest_ms, 2 * std::int64_t{work.timeout_ms});
  return longest_ms * 1'000'000;
}

// The first call that a dump with calls after `since` still shows.
std::int64_t beginning_of(const std::vector<DigestPointer>& digests, std::int64_t since) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const DigestPointer& digest : digests) {
    if (digest->last_time_ns < since) continue;
    for (const Work& work : digest->works)
      if (work.created_ns > 0) first = std::min(first, work.created_ns);
  }
  return first;
}

std::vector<DigestPointer> of_one_run(std::vector<DigestPointer> digests, Job& job) {
  std::vector<std::int64_t> times;
  for (const DigestPointer& digest : digests)
    if (digest->last_time_ns > 0) times.push_back(digest->last_time_ns);
  if (times.size() < 2) return digests;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  const std::int64_t longest = longest_stall_ns(digests);
  const std::int64_t beginning = beginning_of(digests, *middle - longest);
  std::erase_if(digests, [&](const DigestPointer& digest) {
    if (digest->last_time_ns == 0 || *middle - digest->last_time_ns <= longest) return false;
    if (digest->last_time_ns >= beginning) return false;  // while the others were already running
    job.caveats.push_back(core::make_caveat(
        "hang.dump-stale",
        fmt::format("{}: its last call is {:.1f} h older than those of the others",
                    digest->dump.file,
                    static_cast<double>(*middle - digest->last_time_ns) / 3.6e12),
        fmt::format("the dump was left out: rank {} wrote none in this run", digest->rank)));
    job.stale.push_back(digest->rank);
    return true;
  });
  return digests;
}

class Alignment {
 public:
  explicit Alignment(Job& job) : job_(job) {}
  void run() {
    configured();
    unconfigured();
    fill_lanes();
    name_ranks();
  }

 private:
  using Key = std::pair<std::string, std::vector<int>>;
  std::size_t group_of(const DumpGroup& group, std::vector<int> ranks, bool inferred);
  void configured();
  void unconfigured();
  void fill_lanes();
  void name_ranks();
  void compare_progress();
  std::optional<std::size_t> configured_elsewhere(const std::string& name, int rank) const;

  struct Use {
    std::size_t digest;
    std::size_t group;  // in the digest
  };
  Job& job_;
  std::map<Key, std::size_t> by_key_ = {};
  std::map<std::string, std::vector<std::size_t>> by_name_ = {};
  std::map<std::pair<std::string, const void*>, std::size_t> by_list_ = {};
  std::vector<std::vector<Use>> uses_ = {};  // per group of the job
};

std::size_t Alignment::group_of(const DumpGroup& group, std::vector<int> ranks, bool inferred) {
  const auto [place, is_new] = by_key_.try_emplace(Key(group.name, ranks), job_.groups.size());
  if (!is_new) return place->second;
  Group made;
  made.name = group.name;
  made.desc = group.desc;
  made.ranks = std::move(ranks);
  made.ranks_inferred = inferred;
  job_.groups.push_back(std::move(made));
  uses_.emplace_back();
  by_name_[group.name].push_back(place->second);
  return place->second;
}

// Ranks that dumps list. The same list is one object (RankLists), so most look-ups compare no
// lists.
void Alignment::configured() {
  for (std::size_t d = 0; d < job_.digests.size(); ++d) {
    const auto& groups = job_.digests[d]->dump.groups;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (!groups[g].ranks) continue;
      const std::pair<std::string, const void*> key(groups[g].name, groups[g].ranks.get());
      const auto found = by_list_.find(key);
      const std::size_t group =
          found != by_list_.end() ? found->second : group_of(groups[g], *groups[g].ranks, false);
      by_list_[key] = group;
      uses_[group].push_back({d, g});
    }
  }
}

std::optional<std::size_t> Alignment::configured_elsewhere(const std::string& name,
                                                           int rank) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  std::optional<std::size_t> only;
  for (const std::size_t group : found->second) {
    const auto& ranks = job_.groups[group].ranks;
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) continue;
    if (only) return std::nullopt;
    only = group;
  }
  return only;
}

void Alignment::unconfigured() {
  std::map<std::string, std::vector<Use>> open;
  for (std::size_t d = 0; d < job_.digests.size(); ++d) {
    const auto& groups = job_.digests[d]->dump.groups;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].ranks) continue;
      if (const auto group = configured_elsewhere(groups[g].name, job_.digests[d]->rank))
        uses_[*group].push_back({d, g});
      else
        open[groups[g].name].push_back({d, g});
    }
  }
  for (const auto& [name, uses] : open) {
    std::set<int> ranks;
    for (const Use& use : uses) ranks.insert(job_.digests[use.digest]->rank);
    const Use& first = uses.front();
    const std::size_t group = group_of(job_.digests[first.digest]->dump.groups[first.group],
                                       {ranks.begin(), ranks.end()}, true);
    for (const Use& use : uses) uses_[group].push_back(use);
  }
}

void Alignment::fill_lanes() {
  for (std::size_t g = 0; g < job_.groups.size(); ++g) {
    Group& group = job_.groups[g];
    group.is_sorted = std::is_sorted(group.ranks.begin(), group.ranks.end());
    std::map<int, const Use*> use_of;
    for (const Use& use : uses_[g]) use_of[job_.digests[use.digest]->rank] = &use;
    for (const int rank : group.ranks) {
      Lane lane;
      lane.rank = rank;
      lane.digest = job_.digest_of(rank);
      const auto found = use_of.find(rank);
      if (found != use_of.end()) lane.group = found->second->group;
      if (lane.group && !lane.digest->p2p(*lane.group).empty()) group.has_p2p = true;
      group.lanes.push_back(lane);
    }
  }
  compare_progress();
}

// pg_status mixes both counters of a group that does p2p: there it is not compared.
void Alignment::compare_progress() {
  for (Group& group : job_.groups) {
    if (group.has_p2p) continue;
    for (Lane& lane : group.lanes) {
      if (!lane.group) continue;
      const DumpGroup& own = lane.digest->dump.groups[*lane.group];
      if (own.progress) lane.progress = &*own.progress;
    }
  }
}

void Alignment::name_ranks() {
  std::set<int> ranks;
  for (const auto& digest : job_.digests) ranks.insert(digest->rank);
  for (const Group& group : job_.groups) ranks.insert(group.ranks.begin(), group.ranks.end());
  ranks.insert(job_.stale.begin(), job_.stale.end());
  // No dump lists the members of a group: then ranks count from 0.
  const bool all_inferred =
      !job_.groups.empty() && std::all_of(job_.groups.begin(), job_.groups.end(),
                                          [](const Group& group) { return group.ranks_inferred; });
  if (all_inferred && !ranks.empty() && *ranks.rbegin() < 65536)
    for (int rank = 0; rank < *ranks.rbegin(); ++rank) ranks.insert(rank);
  job_.ranks.assign(ranks.begin(), ranks.end());
  for (const int rank : job_.ranks)
    if (job_.digest_of(rank) == nullptr) job_.missing.push_back(rank);
}

}  // namespace

Job align(std::vector<DigestPointer> digests) {
  Job job;
  Placement placement = place(std::move(digests));
  job.caveats = std::move(placement.caveats);
  job.unplaced = std::move(placement.unplaced);
  job.digests = of_one_run(one_each(std::move(placement.placed), job), job);
  Alignment(job).run();
  return job;
}

}  // namespace comm_probe::torch
