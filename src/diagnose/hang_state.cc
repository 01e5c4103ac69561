#include "diagnose/hang_state.h"

#include <algorithm>
#include <array>

#include "core/check.h"

namespace comm_probe::diagnose {

using torch::CallStanding;
using torch::Digest;
using torch::Group;
using torch::Lane;
using torch::Work;

namespace {

// Where completions are never looked at, only the last calls of a group are asked whether they
// failed: had an earlier one, these would not have been made.
constexpr std::uint32_t kLastCalls = 8;

}  // namespace

bool is_synchronising(const torch::Operation& operation) {
  constexpr std::array<std::string_view, 9> kOneSided = {
      "broadcast", "reduce",         "gather",      "scatter",  "send",
      "recv",      "_broadcast_oop", "_reduce_oop", "coalesced"};
  return std::find(kOneSided.begin(), kOneSided.end(), operation.name) == kOneSided.end();
}

bool is_untracked(const torch::Operation& operation) {
  return operation.backend == "gloo" || operation.backend == "c10d" || operation.backend == "mpi";
}

HangState::HangState(const torch::Job& job) : job_(job) {
  find_groups();
  find_open();
  find_awaited();
}

void HangState::find_groups() {
  for (const auto& digest : job_.digests) groups_[digest.get()].resize(digest->dump.groups.size());
  for (std::size_t g = 0; g < job_.groups.size(); ++g)
    for (const Lane& lane : job_.groups[g].lanes)
      if (lane.group) groups_[lane.digest][*lane.group] = g;
}

std::optional<std::size_t> HangState::group_of(const Digest& digest, std::uint16_t group) const {
  return groups_.at(&digest)[group];
}

// A call that left the list without being seen completed has failed; where the backend never looks,
// it has failed only if a member with a whole dump never issued it, or issued another one.
bool HangState::is_open(const Digest& digest, const Work& work) const {
  if (work.state == Work::State::kPending) return true;
  if (work.state == Work::State::kDone) return false;
  if (!is_untracked(digest.dump.operations[work.operation])) return true;
  const auto group = group_of(digest, work.group);
  if (!group || work.is_p2p) return false;
  const auto own = digest.collectives(work.group);
  if (own.empty() || work.seq + kLastCalls <= own.back().seq) return false;
  for (const Lane& lane : job_.groups[*group].lanes) {
    const Work* other = lane.find(work.seq);
    if (other != nullptr && other->signature != work.signature) return true;
    if (lane.is_complete() && lane.group && lane.standing(work.seq) == CallStanding::kNotIssued)
      return true;
  }
  return false;
}

void HangState::find_open() {
  for (const auto& digest : job_.digests) {
    std::vector<Head> open;
    for (const Work& work : digest->works) {
      if (work.state == Work::State::kDone) continue;
      const auto group = group_of(*digest, work.group);
      if (group && is_open(*digest, work)) open.push_back({&work, *group});
    }
    std::sort(open.begin(), open.end(),
              [](const Head& a, const Head& b) { return a.work->record < b.work->record; });
    open_[digest->rank] = std::move(open);
  }
}

void HangState::find_awaited() {
  std::map<CallKey, std::size_t> places;
  for (const int rank : job_.ranks) {
    const Head* waits_in = head(rank);
    if (waits_in == nullptr || waits_in->work->is_p2p) continue;
    const Work& work = *waits_in->work;
    const CallKey key(waits_in->group, work.seq);
    const auto [place, is_new] = places.try_emplace(key, awaited_.size());
    if (is_new) awaited_.push_back({key, work.created_ns, work.record});
    AwaitedCall& call = awaited_[place->second];
    call.since_ns = std::min(call.since_ns, work.created_ns);
    call.record = std::min(call.record, work.record);
  }
}

const Digest& HangState::digest(int rank) const {
  const Digest* found = job_.digest_of(rank);
  COMM_PROBE_CHECK(found != nullptr, "a rank without a dump was asked for its calls");
  return *found;
}

const Head* HangState::head(int rank) const {
  const std::vector<Head>& works = open(rank);
  return works.empty() ? nullptr : &works.front();
}

const std::vector<Head>& HangState::open(int rank) const {
  static const std::vector<Head> kNone;
  const auto found = open_.find(rank);
  return found == open_.end() ? kNone : found->second;
}

bool HangState::is_idle(int rank) const { return !is_blank(rank) && head(rank) == nullptr; }

bool HangState::is_blank(int rank) const {
  const Digest* digest = job_.digest_of(rank);
  return digest == nullptr || digest->dump.cut || digest->open_by_status;
}

CallView HangState::view(std::size_t group, std::uint32_t seq) const {
  CallView view;
  view.group = group;
  view.seq = seq;
  for (const Lane& lane : job_.groups[group].lanes) {
    const Work* work = lane.find(seq);
    if (work != nullptr && view.work == nullptr) {
      view.work = work;
      view.work_rank = lane.rank;
    }
    switch (lane.standing(seq)) {
      case CallStanding::kPending:
      case CallStanding::kEnded:
        view.pending.push_back(lane.rank);
        break;
      case CallStanding::kDone:
        view.done.push_back(lane.rank);
        break;
      case CallStanding::kNotIssued:
        view.not_issued.push_back(lane.rank);
        break;
      case CallStanding::kUnknown:
        (lane.is_complete() ? view.unknown : view.no_dump).push_back(lane.rank);
        break;
    }
  }
  return view;
}

const CallView& HangState::call(std::size_t group, std::uint32_t seq) const {
  const CallKey key(group, seq);
  const auto found = views_.find(key);
  if (found != views_.end()) return found->second;
  return views_.emplace(key, view(group, seq)).first->second;
}

std::vector<Head> HangState::broken_calls(int rank) const {
  std::vector<Head> proof;
  for (const Head& head : open(rank)) {
    const Work& work = *head.work;
    if (work.is_p2p || work.state != Work::State::kPending) continue;
    if (!is_synchronising(digest(rank).dump.operations[work.operation])) continue;
    if (!call(head.group, work.seq).done.empty()) proof.push_back(head);
  }
  return proof;
}

// Dumps are seconds apart: one call that is done here and pending there is normal. Two are not, nor
// one where the peers have finished the next call as well.
bool HangState::is_broken(int rank) const { return broken_calls(rank).size() >= 2; }

std::vector<const Work*> works_by_record(const Digest& digest) {
  std::vector<const Work*> works;
  for (const Work& work : digest.works) works.push_back(&work);
  std::sort(works.begin(), works.end(),
            [](const Work* a, const Work* b) { return a->record < b->record; });
  return works;
}

}  // namespace comm_probe::diagnose
