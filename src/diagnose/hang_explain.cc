#include "diagnose/hang_explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "diagnose/hang_text.h"

namespace comm_probe::diagnose {

using core::Confidence;
using torch::Digest;
using torch::Group;
using torch::Lane;
using torch::Work;

namespace {

constexpr std::size_t kStackLines = 6;

const Digest& digest_of(const HangState& state, int rank) { return *state.job().digest_of(rank); }

const Work* last_work(const Digest& digest) {
  const Work* last = nullptr;
  for (const Work& work : digest.works)
    if (last == nullptr || work.record > last->record) last = &work;
  return last;
}

// The group that a rank would have called next: after the longest repetition of its last calls.
std::optional<std::size_t> next_group_by_habit(const HangState& state, const Digest& digest) {
  std::vector<const Work*> works;
  for (const Work& work : digest.works) works.push_back(&work);
  std::sort(works.begin(), works.end(),
            [](const Work* a, const Work* b) { return a->record < b->record; });
  const auto same = [&](std::size_t a, std::size_t b) {
    return works[a]->group == works[b]->group && works[a]->signature == works[b]->signature;
  };
  std::size_t best = 0, next = 0;
  for (std::size_t end = 1; end < works.size(); ++end) {
    std::size_t length = 0;
    while (length < end && same(end - 1 - length, works.size() - 1 - length)) ++length;
    if (length > 0 && length >= best) {
      best = length;
      next = end;
    }
  }
  if (best < 2) return std::nullopt;
  return state.group_of(digest, works[next]->group);
}

std::string progress_text(const HangState& state, int rank) {
  const Digest& digest = digest_of(state, rank);
  const Work* last = last_work(digest);
  if (last == nullptr) return "no call open, none recorded";
  const auto group = state.group_of(digest, last->group);
  return fmt::format("last call done: {} {} of group {}", op_text(digest, *last), last->seq,
                     group ? state.job().groups[*group].name : "?");
}

}  // namespace

std::vector<int> victims_of(const HangState& state, const std::vector<int>& culprits) {
  std::vector<int> victims;
  for (const int rank : state.job().ranks) {
    const bool is_culprit = std::find(culprits.begin(), culprits.end(), rank) != culprits.end();
    if (!is_culprit && state.head(rank) != nullptr) victims.push_back(rank);
  }
  return victims;
}

HangSide side_of(const HangState& state, const std::vector<int>& ranks, const Work& work,
                 const std::string& state_text) {
  const Digest& digest = digest_of(state, ranks.front());
  return {ranks, call_text(digest, work), state_text, site_text(digest, work),
          stack_lines(digest, work, kStackLines)};
}

std::optional<CallKey> owed_call(const HangState& state, const std::vector<int>& ranks) {
  struct Owed {
    CallKey key;
    std::int64_t since;
  };
  std::vector<Owed> owed;
  std::set<CallKey> seen;
  for (const int rank : state.job().ranks) {
    const Head* head = state.head(rank);
    if (head == nullptr || head->work->is_p2p) continue;
    const CallKey key(head->group, head->work->seq);
    if (!seen.insert(key).second) {
      for (Owed& one : owed)
        if (one.key == key) one.since = std::min(one.since, head->work->created_ns);
      continue;
    }
    const CallView& call = state.call(key.first, key.second);
    const auto owes = [&](int one) {
      return std::find(call.not_issued.begin(), call.not_issued.end(), one) !=
                 call.not_issued.end() ||
             std::find(call.no_dump.begin(), call.no_dump.end(), one) != call.no_dump.end();
    };
    if (std::any_of(ranks.begin(), ranks.end(), owes))
      owed.push_back({key, head->work->created_ns});
  }
  if (owed.empty()) return std::nullopt;
  const Digest* first = state.job().digest_of(ranks.front());
  const auto habit = first == nullptr ? std::nullopt : next_group_by_habit(state, *first);
  if (habit)
    for (const Owed& one : owed)
      if (one.key.first == *habit) return one.key;
  return std::min_element(owed.begin(), owed.end(),
                          [](const Owed& a, const Owed& b) { return a.since < b.since; })
      ->key;
}

namespace {

void set_call(const HangState& state, HangVerdict& verdict, const CallKey& key) {
  const CallView& call = state.call(key.first, key.second);
  verdict.group = key.first;
  verdict.seq = key.second;
  if (call.work != nullptr) verdict.op = op_text(digest_of(state, call.work_rank), *call.work);
}

void add_waiting_side(const HangState& state, HangVerdict& verdict, const CallView& call) {
  if (call.work == nullptr || call.pending.empty()) return;
  for (const int rank : call.pending) {
    const Lane* lane = state.job().groups[call.group].lane_of(rank);
    const Work* work = lane->find(call.seq);
    if (work == nullptr) continue;
    HangSide side = side_of(state, {rank}, *work, work->is_started ? "started" : "waiting");
    side.ranks = call.pending;
    verdict.sides.push_back(std::move(side));
    return;
  }
}

void add_progress_evidence(const HangState& state, HangVerdict& verdict, int rank) {
  const Digest& digest = digest_of(state, rank);
  verdict.evidence.push_back({digest.dump.file, std::nullopt,
                              fmt::format("rank {}: {}", rank, progress_text(state, rank))});
}

}  // namespace

HangVerdict explain_idle(const HangState& state, const std::vector<int>& ranks) {
  HangVerdict verdict;
  verdict.kind = HangKind::kRankDeadOrStuck;
  verdict.culprits = ranks;
  verdict.victims = victims_of(state, ranks);
  if (const auto key = owed_call(state, ranks)) {
    set_call(state, verdict, *key);
    const CallView& call = state.call(key->first, key->second);
    verdict.summary = fmt::format(
        "{} not issued {} {} of {}, for which {} wait{}; nothing is open on {}: outside of "
        "communication",
        ranks_have(ranks), verdict.op, key->second, group_text(state.job().groups[key->first]),
        ranks_text(call.pending), call.pending.size() == 1 ? "s" : "",
        ranks.size() == 1 ? "it" : "them");
    for (const int rank : ranks) {
      const Digest& digest = digest_of(state, rank);
      const Work* last = last_work(digest);
      HangSide side =
          last == nullptr ? HangSide{{rank}, "", "", "", {}} : side_of(state, {rank}, *last, "");
      side.call = progress_text(state, rank);
      side.state = "not issued";
      verdict.sides.push_back(std::move(side));
    }
    add_waiting_side(state, verdict, call);
  } else {
    verdict.summary =
        fmt::format("others wait for {}, on which nothing is open", ranks_text(ranks));
  }
  for (const int rank : ranks) add_progress_evidence(state, verdict, rank);
  verdict.alternatives.push_back(
      {HangKind::kSlow, ranks,
       "a second dump some seconds later: the same last call there means stuck"});
  const std::string who = ranks_text(ranks);
  verdict.next = {fmt::format("py-spy dump --pid PID on the host of {}: where is it?", who),
                  fmt::format("the log of {} and dmesg of its host: traceback, OOM, Xid", who)};
  return verdict;
}

HangVerdict explain_missing(const HangState& state, const std::vector<int>& ranks) {
  HangVerdict verdict;
  verdict.kind = HangKind::kRankDeadOrStuck;
  verdict.culprits = ranks;
  verdict.victims = victims_of(state, ranks);
  if (const auto key = owed_call(state, ranks)) {
    set_call(state, verdict, *key);
    const CallView& call = state.call(key->first, key->second);
    verdict.summary =
        fmt::format("{} left no dump, and {} wait in {} {} of {}, on which they agree",
                    ranks_text(ranks), ranks_text(call.pending), verdict.op, key->second,
                    group_text(state.job().groups[key->first]));
    add_waiting_side(state, verdict, call);
  } else {
    verdict.summary =
        fmt::format("{} left no dump, and others wait for a message of it", ranks_text(ranks));
  }
  const std::size_t missing = state.job().missing.size();
  if (missing > 1 &&
      2 * missing >= state.job().ranks.size()) {  // those that are there prove little
    verdict.kind = HangKind::kNotDecidable;
    verdict.culprits = {};
    verdict.confidence = Confidence::kPossible;
    verdict.alternatives.push_back({HangKind::kRankDeadOrStuck, ranks, "the dumps of these ranks"});
  }
  verdict.alternatives.push_back(
      {HangKind::kNetworkOrHardware,
       {},
       "the log or the dump of " + ranks_text(ranks) + ": was it in the call?"});
  verdict.next = {
      fmt::format("is the process of {} alive? its exit code, its log, dmesg of its host",
                  ranks_text(ranks)),
      "TORCH_FR_DUMP_TEMP_FILE on a file system that survives the job"};
  return verdict;
}

HangVerdict explain_broken(const HangState& state, const std::vector<int>& ranks) {
  HangVerdict verdict;
  verdict.kind = HangKind::kNetworkOrHardware;
  verdict.culprits = ranks;
  verdict.victims = victims_of(state, ranks);
  const Head first = state.broken_calls(ranks.front()).front();
  const CallKey key(first.group, first.work->seq);
  set_call(state, verdict, key);
  const CallView& call = state.call(key.first, key.second);
  verdict.summary = fmt::format(
      "{} {} of {} was completed on {} and never on {}: the device of {} does not finish its work "
      "or does not report it",
      verdict.op, key.second, group_text(state.job().groups[key.first]), ranks_text(call.done),
      ranks_text(ranks), ranks.size() == 1 ? "that rank" : "these ranks");
  for (const int rank : ranks) {
    const auto proof = state.broken_calls(rank);
    verdict.evidence.push_back(
        {digest_of(state, rank).dump.file, std::nullopt,
         fmt::format(
             "rank {}: {} calls open that a peer has completed, the first is {} of group {}", rank,
             proof.size(), proof.front().work->seq, state.job().groups[proof.front().group].name)});
  }
  verdict.sides.push_back(side_of(state, {ranks.front()}, *first.work, "open"));
  verdict.alternatives.push_back({HangKind::kRankDeadOrStuck, ranks,
                                  "py-spy and nvidia-smi on the host: is the process alive?"});
  verdict.next = {fmt::format("dmesg (Xid) and nvidia-smi -q on the host of {}", ranks_text(ranks)),
                  "NCCL_DEBUG=WARN lines of these ranks"};
  return verdict;
}

HangVerdict explain_agreement(const HangState& state, const CallKey& key) {
  HangVerdict verdict;
  verdict.kind = HangKind::kNetworkOrHardware;
  verdict.confidence = Confidence::kPossible;
  verdict.victims = victims_of(state, {});
  set_call(state, verdict, key);
  const CallView& call = state.call(key.first, key.second);
  const Group& group = state.job().groups[key.first];
  verdict.summary = fmt::format(
      "{} of {} ranks are in {} {} of {} with equal arguments and nobody has finished it: no "
      "difference between the ranks is visible",
      call.pending.size(), group.ranks.size(), verdict.op, key.second, group_text(group));
  add_waiting_side(state, verdict, call);
  verdict.alternatives = {
      {HangKind::kParamMismatch,
       {},
       "what no dump holds: root, reduce operation, split sizes (TORCH_DISTRIBUTED_DEBUG=DETAIL)"},
      {HangKind::kHealthy, {}, "a time-out line in a log, or a second dump: is it moving?"}};
  std::size_t waiting_groups = 0;
  for (const Head& head : state.open(call.pending.empty() ? -1 : call.pending.front()))
    waiting_groups += head.group != key.first ? 1 : 0;
  if (waiting_groups > 0)
    verdict.alternatives.push_back(
        {HangKind::kOrderInversion,
         {},
         "several communicators wait on the same ranks in one order: try "
         "NCCL_LAUNCH_ORDER_IMPLICIT=1 (NCCL 2.26 or newer)"});
  verdict.next = {"NCCL_DEBUG=WARN lines: completion status 12 or 5, async errors",
                  "dmesg for Xid and link errors on the hosts of this group",
                  "ncclras -v on one host: do the operation counts differ?"};
  return verdict;
}

}  // namespace comm_probe::diagnose
