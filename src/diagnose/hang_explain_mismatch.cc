#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "diagnose/hang_explain.h"
#include "diagnose/hang_text.h"

namespace comm_probe::diagnose {

using core::Confidence;
using torch::Digest;
using torch::Group;
using torch::Lane;
using torch::Work;

namespace {

constexpr std::size_t kMostEvidence = 4;  // one screen; all sides are in --json

const torch::Operation& operation_of(const HangState& state, const MismatchSide& side) {
  return state.digest(side.ranks.front()).dump.operations[side.work->operation];
}

bool is_barrier(const torch::Operation& operation) {
  return operation.name == "all_reduce_barrier";
}

const char* work_state(const Work& work) {
  switch (work.state) {
    case Work::State::kPending:
      return work.is_started ? "started" : "waiting";
    case Work::State::kDone:
      return "done";
    case Work::State::kEnded:
      return "ended, completion not seen";
  }
  return "";
}

void add_sides(const HangState& state, const Mismatch& mismatch, HangVerdict& verdict) {
  for (auto side = mismatch.sides.rbegin(); side != mismatch.sides.rend(); ++side) {
    verdict.sides.push_back(side_of(state, side->ranks, *side->work, work_state(*side->work)));
    const bool is_largest = std::next(side) == mismatch.sides.rend();
    if (verdict.evidence.size() >= kMostEvidence && !is_largest) continue;
    const Digest& digest = state.digest(side->ranks.front());
    verdict.evidence.push_back({digest.dump.file, std::nullopt,
                                fmt::format("{}, call {}: {}", ranks_text(side->ranks),
                                            mismatch.seq, call_text(digest, *side->work))});
  }
}

std::string shift_text(const Shift& shift) {
  const int count = std::abs(shift.by);
  return fmt::format("made {} call{} {} than the others", count, count == 1 ? "" : "s",
                     shift.by > 0 ? "less" : "more");
}

// One sequence is the other's, shifted; or the minority already stands in a barrier.
void explain_count(const HangState& state, const Mismatch& mismatch, HangVerdict& verdict) {
  const Group& group = state.job().groups[mismatch.group];
  verdict.kind = HangKind::kCountMismatch;
  if (mismatch.shift) {
    const Shift& shift = *mismatch.shift;
    verdict.summary =
        fmt::format("{} {} from call {} of {} on: its call {} is the others' {}",
                    ranks_have(mismatch.minority), shift_text(shift), mismatch.seq,
                    group_text(group), shift.by > 0 ? "n" : fmt::format("n + {}", -shift.by),
                    shift.by > 0 ? fmt::format("n + {}", shift.by) : "n");
    const bool proven = shift.matched >= kProvenRun || shift.by_site;
    verdict.confidence = proven && mismatch.is_settled ? Confidence::kCertain : Confidence::kLikely;
    verdict.evidence.push_back(
        {"", std::nullopt,
         fmt::format("{} of rank {} from {} on equal those of rank {} shifted by {}{}",
                     count_text(shift.matched, "call"), mismatch.minority.front(), mismatch.seq,
                     mismatch.sides.front().ranks.front(), shift.by,
                     shift.by_site ? ", from the same lines" : "")});
  } else {
    verdict.summary = fmt::format(
        "{} left the loop at call {} of {}: it is in a barrier, the others go on with {}",
        ranks_have(mismatch.minority), mismatch.seq, group_text(group),
        op_text(state.digest(mismatch.sides.front().ranks.front()), *mismatch.sides.front().work));
    verdict.confidence = Confidence::kLikely;
  }
  verdict.next = {
      "do all ranks have the same number of batches, parameters with gradients, "
      "experts with tokens?"};
  constexpr std::uint32_t kLongRun = 100;  // calls: a difference of the set-up shows earlier
  if (mismatch.seq > kLongRun)
    verdict.next.push_back(fmt::format(
        "{} calls before it were made alike: not the set-up but a branch that depends on the data "
        "(an empty tensor, a skipped loss)",
        mismatch.seq - 1));
}

void explain_arguments(const HangState& state, const Mismatch& mismatch, HangVerdict& verdict) {
  const Group& group = state.job().groups[mismatch.group];
  verdict.kind = HangKind::kParamMismatch;
  const MismatchSide& most = mismatch.sides.front();
  const MismatchSide& least = mismatch.sides.back();
  verdict.summary = fmt::format(
      "call {} of {}: {} {}, {} {}", mismatch.seq, group_text(group), ranks_have(least.ranks),
      call_text(state.digest(least.ranks.front()), *least.work), ranks_text(most.ranks),
      call_text(state.digest(most.ranks.front()), *most.work));
  verdict.confidence = mismatch.minority.empty() || !mismatch.is_settled ? Confidence::kLikely
                                                                         : Confidence::kCertain;
  if (operation_of(state, most).name != operation_of(state, least).name)
    verdict.alternatives.push_back(
        {HangKind::kCountMismatch, mismatch.minority,
         "stacks in the dumps (TORCH_INCLUDE_STACK_TRACE=1): a rank-dependent branch, or one call "
         "less before it"});
  verdict.next = {
      "the lines of both sides: what makes the arguments depend on the rank or the data?",
      "TORCH_DISTRIBUTED_DEBUG=DETAIL stops at the first call that differs"};
}

void explain_totals(const HangState& state, const Mismatch& mismatch, HangVerdict& verdict) {
  const Group& group = state.job().groups[mismatch.group];
  const auto [in, out] = *mismatch.totals;
  verdict.kind = HangKind::kParamMismatch;
  verdict.summary = fmt::format(
      "{} {} of {}: together the ranks send {} elements and expect {}; the split sizes do not fit",
      op_text(state.digest(mismatch.sides.front().ranks.front()), *mismatch.sides.front().work),
      mismatch.seq, group_text(group), in, out);
  verdict.confidence = Confidence::kCertain;
  for (const Lane& lane : group.lanes)
    if (const Work* work = lane.find(mismatch.seq);
        work != nullptr && verdict.evidence.size() < 2 * kMostEvidence)
      verdict.evidence.push_back(
          {lane.digest->dump.file, std::nullopt,
           fmt::format("rank {}: {}", lane.rank, call_text(*lane.digest, *work))});
  verdict.next = {
      "print input and output split sizes of this call on every rank: no dump holds them"};
}

}  // namespace

HangVerdict explain_mismatch(const HangState& state, const Mismatch& mismatch) {
  HangVerdict verdict;
  verdict.culprits = mismatch.minority;
  verdict.victims = victims_of(state, mismatch.minority);
  verdict.group = mismatch.group;
  verdict.seq = mismatch.seq;
  const MismatchSide& most = mismatch.sides.front();
  const MismatchSide& least = mismatch.sides.back();
  verdict.op = op_text(state.digest(most.ranks.front()), *most.work);
  const std::string other = op_text(state.digest(least.ranks.front()), *least.work);
  if (other != verdict.op) verdict.op += " vs " + other;
  if (mismatch.totals) {
    explain_totals(state, mismatch, verdict);
    return verdict;
  }
  add_sides(state, mismatch, verdict);
  const bool left_the_loop = !mismatch.minority.empty() && mismatch.sides.size() == 2 &&
                             is_barrier(operation_of(state, least)) &&
                             !is_barrier(operation_of(state, most));
  if (mismatch.shift || left_the_loop)
    explain_count(state, mismatch, verdict);
  else
    explain_arguments(state, mismatch, verdict);
  return verdict;
}

HangVerdict explain_silent_shift(const HangState& state, int rank, const SilentShift& silent) {
  HangVerdict verdict;
  verdict.kind = HangKind::kCountMismatch;
  verdict.culprits = {rank};
  verdict.victims = victims_of(state, verdict.culprits);
  verdict.group = silent.group;
  verdict.seq = silent.own->seq;
  verdict.confidence = Confidence::kCertain;
  const Digest& digest = state.digest(rank);
  const Digest& peer = state.digest(silent.peer);
  verdict.op = op_text(digest, *silent.own);
  verdict.summary = fmt::format(
      "rank {} has {}: from call {} of {} on its calls come from the lines where rank {} makes "
      "them {} later; the sizes are equal, so nothing failed until the end",
      rank, shift_text(silent.shift), silent.own->seq, group_text(state.job().groups[silent.group]),
      silent.peer, silent.shift.by);
  verdict.sides = {side_of(state, {rank}, *silent.own, work_state(*silent.own)),
                   side_of(state, {silent.peer}, *silent.other, work_state(*silent.other))};
  verdict.evidence = {
      {digest.dump.file, std::nullopt,
       fmt::format("rank {}, call {}: {}", rank, silent.own->seq, site_text(digest, *silent.own))},
      {peer.dump.file, std::nullopt,
       fmt::format("rank {}, call {}: {}", silent.peer, silent.own->seq,
                   site_text(peer, *silent.other))}};
  verdict.next = {"why does this rank not reach the line of the other side?"};
  return verdict;
}

HangVerdict explain_unequal_message(const HangState& state, const OpenMessage& message) {
  HangVerdict verdict;
  verdict.kind = HangKind::kP2pUnpaired;
  verdict.culprits = {std::min(message.from, message.to), std::max(message.from, message.to)};
  verdict.victims = victims_of(state, verdict.culprits);
  verdict.group = message.group;
  verdict.p2p_seq = message.send.work->seq;
  const Digest& from = state.digest(message.from);
  const Digest& to = state.digest(message.to);
  const std::string sent = from.dump.arguments[message.send.message->arguments].sizes;
  const std::string expected = to.dump.arguments[message.receive.message->arguments].sizes;
  verdict.op = op_text(from, *message.send.work) + " / " + op_text(to, *message.receive.work);
  verdict.summary = fmt::format(
      "message {} from rank {} to rank {} in {}: {} is sent, {} is expected; which end is wrong no "
      "dump can say",
      message.index, message.from, message.to, group_text(state.job().groups[message.group]), sent,
      expected);
  verdict.confidence = Confidence::kLikely;
  verdict.sides = {side_of(state, {message.from}, *message.send.work, "send open"),
                   side_of(state, {message.to}, *message.receive.work, "receive open")};
  verdict.evidence = {
      {from.dump.file, std::nullopt, fmt::format("rank {} sends {}", message.from, sent)},
      {to.dump.file, std::nullopt, fmt::format("rank {} receives {}", message.to, expected)}};
  verdict.next = {"compare the shapes that both stages compute for this message"};
  return verdict;
}

}  // namespace comm_probe::diagnose
