#include "diagnose/hang_mismatch.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/parallel.h"

namespace comm_probe::diagnose {

using torch::Group;
using torch::Lane;
using torch::Work;

namespace {

constexpr int kFarthestShift = 8;

// Calls before it were completed by everybody: whatever differed there did not stop the job.
std::optional<std::uint32_t> first_open(const Group& group) {
  std::optional<std::uint32_t> first;
  for (const Lane& lane : group.lanes)
    for (const Work& work : lane.collectives())
      if (work.state != Work::State::kDone) {
        if (!first || work.seq < *first) first = work.seq;
        break;
      }
  return first;
}

// Every call is held against the first member that has it: one lane may be short or cut.
std::optional<std::uint32_t> first_difference(const Group& group) {
  const auto open = first_open(group);
  if (!open) return std::nullopt;
  const std::uint32_t from = std::max(group.watermark(), *open);
  std::unordered_map<std::uint32_t, std::uint64_t> signatures;
  std::optional<std::uint32_t> first;
  for (const Lane& lane : group.lanes)
    for (const Work& work : lane.collectives()) {
      if (work.seq < from || (first && work.seq >= *first)) continue;
      const auto [known, is_new] = signatures.try_emplace(work.seq, work.signature);
      if (!is_new && known->second != work.signature) first = work.seq;
    }
  return first;
}

std::vector<MismatchSide> sides_of(const Group& group, std::uint32_t seq) {
  std::map<std::uint64_t, MismatchSide> by_signature;
  for (const Lane& lane : group.lanes) {
    const Work* work = lane.find(seq);
    if (work == nullptr) continue;
    MismatchSide& side = by_signature[work->signature];
    if (side.work == nullptr) side.work = work;
    side.ranks.push_back(lane.rank);
  }
  std::vector<MismatchSide> sides;
  for (auto& [signature, side] : by_signature) sides.push_back(std::move(side));
  std::sort(sides.begin(), sides.end(), [](const MismatchSide& a, const MismatchSide& b) {
    return a.ranks.size() != b.ranks.size() ? a.ranks.size() > b.ranks.size()
                                            : a.ranks.front() < b.ranks.front();
  });
  return sides;
}

// Culprits are a minority of less than half; where two sides are equally large nobody is named.
std::vector<int> minority_of(const std::vector<MismatchSide>& sides) {
  std::size_t all = 0;
  for (const MismatchSide& side : sides) all += side.ranks.size();
  if (2 * sides.front().ranks.size() <= all) return {};
  std::vector<int> minority;
  for (std::size_t i = 1; i < sides.size(); ++i)
    minority.insert(minority.end(), sides[i].ranks.begin(), sides[i].ranks.end());
  std::sort(minority.begin(), minority.end());
  return minority;
}

struct Run {
  std::uint32_t matched = 0;
  bool to_the_end = false;  // of what `lane` has
  bool by_site = true;
};

// lane's calls from `seq` on against the peer's `by` later.
Run run_of(const Lane& lane, const Lane& peer, std::uint32_t seq, int by) {
  Run run;
  std::uint32_t at = by < 0 ? seq + static_cast<std::uint32_t>(-by) : seq;
  for (;; ++at) {
    const Work* own = lane.find(at);
    const Work* other = peer.find(static_cast<std::uint32_t>(static_cast<std::int64_t>(at) + by));
    if (own == nullptr) run.to_the_end = run.matched > 0;
    if (own == nullptr || other == nullptr) break;
    const bool sites_differ = own->site != 0 && other->site != 0 && own->site != other->site;
    if (own->signature != other->signature || sites_differ) break;
    run.by_site &= own->site != 0 && other->site != 0;
    ++run.matched;
  }
  return run;
}

// A run counts only where it is longer than the one without a shift behind the differing call: a
// job that makes the same call over and over fits any shift.
std::optional<Shift> shift_of(const Lane& lane, const Lane& peer, std::uint32_t seq) {
  std::optional<Shift> best;
  const Run unshifted = run_of(lane, peer, seq + 1, 0);
  for (int by = -kFarthestShift; by <= kFarthestShift; ++by) {
    if (by == 0) continue;
    const Run run = run_of(lane, peer, seq, by);
    const bool proven = run.matched >= kProvenRun || (run.to_the_end && run.matched > 0);
    if (!proven || run.matched <= unshifted.matched) continue;
    const bool is_better = !best || run.matched > best->matched ||
                           (run.matched == best->matched && std::abs(by) < std::abs(best->by));
    if (is_better) best = Shift{by, run.matched, run.by_site};
  }
  return best;
}

// The same shift for all of the minority, else none.
std::optional<Shift> shift_of_minority(const Group& group, const Mismatch& mismatch) {
  if (mismatch.minority.empty()) return std::nullopt;
  const Lane* peer = group.lane_of(mismatch.sides.front().ranks.front());
  std::optional<Shift> shift;
  for (const int rank : mismatch.minority) {
    const auto own = shift_of(*group.lane_of(rank), *peer, mismatch.seq);
    if (!own || (shift && own->by != shift->by)) return std::nullopt;
    if (!shift || own->matched < shift->matched) shift = own;
  }
  return shift;
}

bool is_open(const HangState& state, std::size_t group, std::uint32_t seq) {
  return !state.call(group, seq).pending.empty();
}

// An all_to_all may have any sizes, but together the members receive what they send. Only told of
// the first call that is open, and only when all dumps are there.
std::optional<Mismatch> total_mismatch(const HangState& state, std::size_t g) {
  const Group& group = state.job().groups[g];
  std::optional<std::uint32_t> first;
  for (const Lane& lane : group.lanes) {
    if (lane.digest == nullptr) return std::nullopt;
    for (const Work& work : lane.collectives())
      if (work.state == Work::State::kPending && (!first || work.seq < *first)) first = work.seq;
  }
  if (!first) return std::nullopt;
  std::int64_t in = 0, out = 0;
  for (const Lane& lane : group.lanes) {
    const Work* work = lane.find(*first);
    if (work == nullptr || work->members > 0) return std::nullopt;
    if (!lane.digest->dump.operations[work->operation].name.starts_with("all_to_all"))
      return std::nullopt;
    in += lane.digest->dump.arguments[work->arguments].elements_in;
    out += lane.digest->dump.arguments[work->arguments].elements_out;
  }
  if (in == out) return std::nullopt;
  Mismatch mismatch;
  mismatch.group = g;
  mismatch.seq = *first;
  mismatch.sides = sides_of(group, *first);
  mismatch.totals = std::pair(in, out);
  return mismatch;
}

std::optional<Mismatch> mismatch_of(const HangState& state, std::size_t g) {
  const Group& group = state.job().groups[g];
  const auto seq = first_difference(group);
  if (!seq || !is_open(state, g, *seq)) return total_mismatch(state, g);
  Mismatch mismatch;
  mismatch.group = g;
  mismatch.seq = *seq;
  mismatch.sides = sides_of(group, *seq);
  mismatch.minority = minority_of(mismatch.sides);
  mismatch.is_settled = 2 * mismatch.sides.front().ranks.size() > group.ranks.size();
  mismatch.shift = shift_of_minority(group, mismatch);
  return mismatch;
}

}  // namespace

std::vector<Mismatch> find_mismatches(const HangState& state) {
  std::vector<Mismatch> found;
  for (std::size_t g = 0; g < state.job().groups.size(); ++g)
    if (auto mismatch = mismatch_of(state, g)) found.push_back(std::move(*mismatch));
  return found;
}

namespace {

std::optional<SilentShift> silent_shift_against(const Group& group, const Lane& lane,
                                                const Lane& peer) {
  const std::uint32_t watermark = group.watermark();
  for (const Work& work : lane.collectives()) {
    const Work* other = peer.find(work.seq);
    if (work.seq < watermark || other == nullptr) continue;
    if (work.site == 0 || other->site == 0 || work.site == other->site) continue;
    const auto shift = shift_of(lane, peer, work.seq);
    if (!shift || shift->matched < kProvenRun || !shift->by_site) return std::nullopt;
    return SilentShift{0, &work, other, peer.rank, *shift};
  }
  return std::nullopt;
}

}  // namespace

std::optional<SilentShift> find_silent_shift(const HangState& state, int rank) {
  std::optional<SilentShift> best;
  for (std::size_t g = 0; g < state.job().groups.size(); ++g) {
    const Group& group = state.job().groups[g];
    const Lane* lane = group.lane_of(rank);
    if (lane == nullptr || lane->collectives().empty()) continue;
    const auto peer = std::find_if(group.lanes.begin(), group.lanes.end(), [&](const Lane& one) {
      return one.rank != rank && !one.collectives().empty();
    });
    if (peer == group.lanes.end()) continue;
    auto found = silent_shift_against(group, *lane, *peer);
    if (!found || (best && best->own->record < found->own->record)) continue;
    found->group = g;
    best = found;
  }
  return best;
}

}  // namespace comm_probe::diagnose
