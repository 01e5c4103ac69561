#include "diagnose/hang_explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
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

const Work* last_work(const Digest& digest) {
  const Work* last = nullptr;
  for (const Work& work : digest.works)
    if (last == nullptr || work.record > last->record) last = &work;
  return last;
}

// The group that a rank would have called next: after the longest repetition of its last calls.
std::optional<std::size_t> next_group_by_habit(const HangState& state, const Digest& digest) {
  const std::vector<const Work*> works = works_by_record(digest);
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
  const Digest& digest = state.digest(rank);
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

namespace {

// What one rank passes is not shown for all of them (all_to_all may differ).
bool sizes_vary(const HangState& state, const std::vector<int>& ranks, const Work& work) {
  const Digest& digest = state.digest(ranks.front());
  const auto group = state.group_of(digest, work.group);
  if (!group || work.is_p2p || work.members > 0) return false;
  const std::string& sizes = digest.dump.arguments[work.arguments].sizes;
  return std::any_of(ranks.begin(), ranks.end(), [&](int rank) {
    const torch::Lane* lane = state.job().groups[*group].lane_of(rank);
    const Work* other = lane == nullptr ? nullptr : lane->find(work.seq);
    return other != nullptr && lane->digest->dump.arguments[other->arguments].sizes != sizes;
  });
}

}  // namespace

HangSide side_of(const HangState& state, const std::vector<int>& ranks, const Work& work,
                 const std::string& state_text) {
  const Digest& digest = state.digest(ranks.front());
  std::string call = call_text(digest, work);
  if (sizes_vary(state, ranks, work)) call = op_text(digest, work) + ", sizes differ by rank";
  return {ranks, std::move(call), state_text, site_text(digest, work),
          stack_lines(digest, work, kStackLines)};
}

std::optional<CallKey> owed_call(const HangState& state, const std::vector<int>& ranks) {
  std::vector<AwaitedCall> owed;
  for (const AwaitedCall& one : state.awaited()) {
    const CallView& call = state.call(one.key.first, one.key.second);
    const auto owes = [&](int rank) {
      return std::find(call.not_issued.begin(), call.not_issued.end(), rank) !=
                 call.not_issued.end() ||
             std::find(call.no_dump.begin(), call.no_dump.end(), rank) != call.no_dump.end();
    };
    if (std::any_of(ranks.begin(), ranks.end(), owes)) owed.push_back(one);
  }
  if (owed.empty()) return std::nullopt;
  const Digest* first = state.job().digest_of(ranks.front());
  const auto habit = first == nullptr ? std::nullopt : next_group_by_habit(state, *first);
  if (habit)
    for (const AwaitedCall& one : owed)
      if (one.key.first == *habit) return one.key;
  // Without a dump of the rank: ranks of one program count alike, so the call that comes first on
  // those that wait is the first that lacks. Only what is shown depends on it.
  const bool by_record = first == nullptr;
  return std::min_element(owed.begin(), owed.end(),
                          [&](const AwaitedCall& a, const AwaitedCall& b) {
                            if (by_record && a.record != b.record) return a.record < b.record;
                            return a.since_ns < b.since_ns;
                          })
      ->key;
}

namespace {

void set_call(const HangState& state, HangVerdict& verdict, const CallKey& key) {
  const CallView& call = state.call(key.first, key.second);
  verdict.group = key.first;
  verdict.seq = key.second;
  if (call.work != nullptr) verdict.op = op_text(state.digest(call.work_rank), *call.work);
}

void add_waiting_side(const HangState& state, HangVerdict& verdict, const CallView& call) {
  if (call.work == nullptr || call.pending.empty()) return;
  for (const int rank : call.pending) {
    const Lane* lane = state.job().groups[call.group].lane_of(rank);
    const Work* work = lane->find(call.seq);
    if (work == nullptr) continue;
    std::vector<int> ranks = {rank};  // whose sizes and stack are shown, then the others
    ranks.insert(ranks.end(), call.pending.begin(), call.pending.end());
    HangSide side = side_of(state, ranks, *work, work->is_started ? "started" : "waiting");
    side.ranks = call.pending;
    verdict.sides.push_back(std::move(side));
    return;
  }
}

void add_progress_evidence(const HangState& state, HangVerdict& verdict, int rank) {
  const Digest& digest = state.digest(rank);
  verdict.evidence.push_back({digest.dump.file, std::nullopt,
                              fmt::format("rank {}: {}", rank, progress_text(state, rank))});
}

std::string owed_clause(const HangState& state, const std::vector<int>& ranks, const CallKey& key) {
  const CallView& call = state.call(key.first, key.second);
  const std::string op =
      call.work == nullptr ? "call" : op_text(state.digest(call.work_rank), *call.work);
  return fmt::format("{} not issued {} {} of {}, for which {} {}", ranks_have(ranks), op,
                     key.second, group_text(state.job().groups[key.first]),
                     ranks_text(call.pending), verb(call.pending, "wait"));
}

// Ranks of several groups owe several calls: one clause each, `first` comes first.
std::string owed_text(const HangState& state, const std::vector<int>& ranks, const CallKey& first) {
  constexpr std::size_t kMostClauses = 4;
  std::map<CallKey, std::vector<int>> owed;
  for (const int rank : ranks) {
    const CallView& call = state.call(first.first, first.second);
    const bool owes_first =
        std::find(call.not_issued.begin(), call.not_issued.end(), rank) != call.not_issued.end();
    const auto key = owes_first ? std::optional(first) : owed_call(state, {rank});
    if (key) owed[*key].push_back(rank);
  }
  std::string text;
  std::size_t clauses = 0;
  const auto add = [&](const CallKey& key, const std::vector<int>& owing) {
    if (++clauses <= kMostClauses)
      text += (text.empty() ? "" : "; ") + owed_clause(state, owing, key);
  };
  if (owed.contains(first)) add(first, owed.at(first));
  for (const auto& [key, owing] : owed)
    if (key != first) add(key, owing);
  if (clauses > kMostClauses) text += fmt::format("; {} more", clauses - kMostClauses);
  return text + fmt::format("; nothing is open on {}: outside of communication",
                            ranks.size() == 1 ? "it" : "them");
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
    verdict.summary = owed_text(state, ranks, *key);
    for (const int rank : ranks) {
      const Digest& digest = state.digest(rank);
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
  constexpr std::size_t kMostEvidence = 4;  // one screen; all are in the sides
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostEvidence); ++i)
    add_progress_evidence(state, verdict, ranks[i]);
  verdict.alternatives = {
      {HangKind::kSlow, ranks,
       "a second dump some seconds later: the same last call there means stuck"},
      {HangKind::kCountMismatch, ranks,
       "py-spy, or the end of its log: has it left its loop, with fewer steps than the others?"},
      {HangKind::kP2pUnpaired, ranks,
       "py-spy: is it in a send or receive whose communicator was never made? That leaves no "
       "entry"}};
  const std::string who = ranks_text(ranks);
  verdict.next = {fmt::format("py-spy dump --pid PID on the host of {}: where is it?", who),
                  fmt::format("the log of {} and dmesg of {}: traceback, OOM, Xid", who,
                              ranks.size() == 1 ? "its host" : "their hosts")};
  return verdict;
}

namespace {

// Why nothing is known of these ranks.
std::string blank_text(const HangState& state, const std::vector<int>& ranks) {
  std::vector<int> none, cut, stale;
  const auto& old = state.job().stale;
  for (const int rank : ranks) {
    const bool is_stale = std::find(old.begin(), old.end(), rank) != old.end();
    (is_stale ? stale : state.job().digest_of(rank) == nullptr ? none : cut).push_back(rank);
  }
  std::string text;
  const auto add = [&](const std::vector<int>& some, const std::string& clause) {
    if (!some.empty()) text += (text.empty() ? "" : ", ") + clause;
  };
  add(none, ranks_text(none) + " left no dump");
  add(stale, fmt::format("the dump{} of {} {} of an older run", stale.size() == 1 ? "" : "s",
                         ranks_text(stale), stale.size() == 1 ? "is" : "are"));
  add(cut, fmt::format("the dump{} of {} {} cut or unreadable and {} not reach so far",
                       cut.size() == 1 ? "" : "s", ranks_text(cut), cut.size() == 1 ? "is" : "are",
                       cut.size() == 1 ? "does" : "do"));
  return text;
}

bool is_absent(const HangState& state, int rank) {
  const auto& stale = state.job().stale;
  return state.job().digest_of(rank) == nullptr &&
         std::find(stale.begin(), stale.end(), rank) == stale.end();
}

// A rank whose file is cut, or of another run, did not necessarily fail; where half
// of the job is missing, the dumps that are there prove little.
void weaken_missing(const HangState& state, std::size_t members, HangVerdict& verdict) {
  const std::vector<int> ranks = verdict.culprits;
  const bool all_absent =
      std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return is_absent(state, rank); });
  const std::size_t missing = state.job().missing.size();
  const bool most_are_missing = missing > 1 && 2 * missing >= state.job().ranks.size();
  const bool most_of_group = members > 0 && 2 * ranks.size() >= members;
  const bool are_many = most_are_missing && (ranks.size() > 1 || most_of_group);
  if (all_absent && !are_many) return;
  verdict.kind = HangKind::kNotDecidable;
  verdict.culprits = {};
  verdict.victims = victims_of(state, {});
  verdict.confidence = Confidence::kPossible;
  const std::string decided_by =
      all_absent ? "the dumps of " + ranks_text(ranks) : "a whole dump of " + ranks_text(ranks);
  verdict.alternatives.push_back({HangKind::kRankDeadOrStuck, ranks, decided_by});
  if (!all_absent) verdict.alternatives.push_back({HangKind::kParamMismatch, ranks, decided_by});
}

}  // namespace

HangVerdict explain_missing(const HangState& state, const std::vector<int>& ranks) {
  HangVerdict verdict;
  verdict.kind = HangKind::kRankDeadOrStuck;
  verdict.culprits = ranks;
  verdict.victims = victims_of(state, ranks);
  std::size_t members = 0;
  if (const auto key = owed_call(state, ranks)) {
    set_call(state, verdict, *key);
    const CallView& call = state.call(key->first, key->second);
    members = state.job().groups[key->first].ranks.size();
    verdict.summary = fmt::format("{}, and {} {} in {} {} of {}{}", blank_text(state, ranks),
                                  ranks_text(call.pending), verb(call.pending, "wait"), verdict.op,
                                  key->second, group_text(state.job().groups[key->first]),
                                  call.pending.size() > 1 ? ", on which they agree" : "");
    add_waiting_side(state, verdict, call);
  } else {
    verdict.summary = blank_text(state, ranks) + ", and others wait for a message of " +
                      (ranks.size() == 1 ? "it" : "them");
  }
  weaken_missing(state, members, verdict);
  verdict.alternatives.push_back(
      {HangKind::kNetworkOrHardware,
       {},
       "the log or the dump of " + ranks_text(ranks) + ": was it in the call?"});
  if (verdict.kind == HangKind::kRankDeadOrStuck)
    verdict.alternatives.push_back({HangKind::kParamMismatch, ranks,
                                    "its last call: a broadcast or another call that needed nobody "
                                    "lets a process go on and end"});
  const bool is_one = ranks.size() == 1;
  verdict.next = {fmt::format("{} of {} alive? exit code, log, dmesg of {}",
                              is_one ? "is the process" : "are the processes", ranks_text(ranks),
                              is_one ? "its host" : "their hosts"),
                  "TORCH_FR_DUMP_TEMP_FILE on a file system that survives the job"};
  return verdict;
}

namespace {

// One clause for the ranks that lack the same call.
std::string broken_text(const HangState& state, const std::vector<int>& ranks) {
  constexpr std::size_t kMostClauses = 4;
  std::map<CallKey, std::vector<int>> lacking;
  for (const int rank : ranks) {
    const Head first = state.broken_calls(rank).front();
    lacking[{first.group, first.work->seq}].push_back(rank);
  }
  std::string text;
  std::size_t clauses = 0;
  for (const auto& [key, some] : lacking) {
    if (++clauses > kMostClauses) continue;
    const CallView& call = state.call(key.first, key.second);
    text += fmt::format("{}{} {} of {} was completed on {} and never on {}",
                        text.empty() ? "" : "; ", op_text(state.digest(call.work_rank), *call.work),
                        key.second, group_text(state.job().groups[key.first]),
                        ranks_text(call.done), ranks_text(some));
  }
  if (clauses > kMostClauses) text += fmt::format("; {} more", clauses - kMostClauses);
  return text + fmt::format(": the device of {} does not finish its work or does not report it",
                            ranks.size() == 1 ? "that rank" : "these ranks");
}

}  // namespace

HangVerdict explain_broken(const HangState& state, const std::vector<int>& ranks) {
  HangVerdict verdict;
  verdict.kind = HangKind::kNetworkOrHardware;
  verdict.culprits = ranks;
  verdict.victims = victims_of(state, ranks);
  const Head first = state.broken_calls(ranks.front()).front();
  const CallKey key(first.group, first.work->seq);
  set_call(state, verdict, key);
  verdict.summary = broken_text(state, ranks);
  constexpr std::size_t kMostEvidence = 4;
  for (const int rank : ranks) {
    if (verdict.evidence.size() >= kMostEvidence) break;
    const auto proof = state.broken_calls(rank);
    verdict.evidence.push_back(
        {state.digest(rank).dump.file, std::nullopt,
         fmt::format("rank {}: {} open that a peer has completed, the first is {} of group {}",
                     rank, count_text(proof.size(), "call"), proof.front().work->seq,
                     state.job().groups[proof.front().group].name)});
  }
  verdict.sides.push_back(side_of(state, {ranks.front()}, *first.work, "open"));
  verdict.alternatives.push_back({HangKind::kRankDeadOrStuck, ranks,
                                  "py-spy and nvidia-smi on the host: is the process alive?"});
  verdict.next = {fmt::format("dmesg (Xid) and nvidia-smi -q on the host of {}", ranks_text(ranks)),
                  "NCCL_DEBUG=WARN lines of these ranks"};
  return verdict;
}

bool is_passed_by_others(const HangState& state, const CallKey& key) {
  const CallView& call = state.call(key.first, key.second);
  if (call.pending.size() != 1 || call.done.empty()) return false;
  if (!call.not_issued.empty() || !call.no_dump.empty() || !call.unknown.empty()) return false;
  const int rank = call.pending.front();
  const Work* next = state.job().groups[key.first].lane_of(rank)->find(key.second + 1);
  return next != nullptr && next->state == Work::State::kPending &&
         state.broken_calls(rank).size() == 1;
}

HangVerdict explain_passed(const HangState& state, const CallKey& key) {
  const std::vector<int> ranks = state.call(key.first, key.second).pending;
  HangVerdict verdict = explain_broken(state, ranks);
  verdict.confidence = Confidence::kPossible;
  verdict.alternatives.push_back(
      {HangKind::kHealthy, {}, "a time-out line in a log, or a second dump: is it moving?"});
  return verdict;
}

namespace {

// An all_to_all may have other sizes on every rank; the totals of find_mismatches agree.
std::string sizes_text(const HangState& state, const CallView& call) {
  std::set<std::pair<std::int64_t, std::int64_t>> sizes;
  std::int64_t sent = 0;
  for (const int rank : call.pending) {
    const Work* work = state.job().groups[call.group].lane_of(rank)->find(call.seq);
    if (work == nullptr) continue;
    const auto& arguments = state.digest(rank).dump.arguments[work->arguments];
    sizes.insert({arguments.elements_in, arguments.elements_out});
    sent += arguments.elements_in;
  }
  if (sizes.size() < 2) return " with equal arguments";
  return fmt::format(
      " with sizes that differ as they may ({} elements are sent in all; no dump holds the split "
      "sizes)",
      sent);
}

std::string agreement_text(const HangState& state, const CallView& call, const std::string& op) {
  const Group& group = state.job().groups[call.group];
  std::string text = fmt::format(
      "{} of {} {} in {} {} of {}", call.pending.size(), count_text(group.ranks.size(), "rank"),
      call.pending.size() == 1 ? "is" : "are", op, call.seq, group_text(group));
  if (!call.done.empty())
    return text + fmt::format(
                      ", and it is completed on {}: all have launched it, and either it is about "
                      "to end on the others too, or their devices do not report it",
                      ranks_text(call.done));
  if (!call.no_dump.empty())
    return text + fmt::format("; what {} did is not known", ranks_text(call.no_dump));
  text += sizes_text(state, call);
  if (call.unknown.empty()) text += " and nobody has finished it";
  return text + ": no difference between the ranks is visible";
}

}  // namespace

HangVerdict explain_agreement(const HangState& state, const CallKey& key) {
  HangVerdict verdict;
  verdict.kind = HangKind::kNetworkOrHardware;
  verdict.confidence = Confidence::kPossible;
  verdict.victims = victims_of(state, {});
  set_call(state, verdict, key);
  const CallView& call = state.call(key.first, key.second);
  verdict.summary = agreement_text(state, call, verdict.op);
  const bool has_launched = !call.done.empty() || !call.no_dump.empty();
  if (has_launched) verdict.kind = HangKind::kNotDecidable;
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
  if (!call.done.empty())
    verdict.next.insert(verdict.next.begin(),
                        "dump again some seconds later: the same calls open means a hang");
  return verdict;
}

}  // namespace comm_probe::diagnose
