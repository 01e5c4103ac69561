#include "diagnose/hang.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/finding_table.h"
#include "diagnose/hang_class.h"
#include "diagnose/hang_explain.h"
#include "diagnose/hang_moving.h"
#include "diagnose/hang_text.h"

namespace comm_probe::diagnose {

const char* hang_kind_name(HangKind kind) {
  switch (kind) {
    case HangKind::kParamMismatch:
      return kHangClasses[0].name.data();
    case HangKind::kCountMismatch:
      return kHangClasses[1].name.data();
    case HangKind::kP2pUnpaired:
      return kHangClasses[2].name.data();
    case HangKind::kOrderInversion:
      return kHangClasses[3].name.data();
    case HangKind::kRankDeadOrStuck:
      return kHangClasses[4].name.data();
    case HangKind::kNetworkOrHardware:
      return kHangClasses[5].name.data();
    case HangKind::kNotDecidable:
      return "not_decidable_from_dumps";
    case HangKind::kHealthy:
      return "healthy";
    case HangKind::kSlow:
      return "slow";
  }
  return "";
}

std::string hang_finding_id(HangKind kind) {
  std::string id = "hang." + std::string(hang_kind_name(kind));
  std::replace(id.begin(), id.end(), '_', '-');
  return id;
}

const char* code_or_environment(const HangVerdict& verdict) {
  if (verdict.is_code) return *verdict.is_code ? "code" : "environment";
  switch (verdict.kind) {
    case HangKind::kParamMismatch:
    case HangKind::kCountMismatch:
    case HangKind::kP2pUnpaired:
    case HangKind::kOrderInversion:
      return "code";
    case HangKind::kNetworkOrHardware:
      return verdict.confidence == core::Confidence::kPossible ? "undecided" : "environment";
    case HangKind::kRankDeadOrStuck:
    case HangKind::kNotDecidable:
    case HangKind::kHealthy:
    case HangKind::kSlow:
      return "undecided";
  }
  return "undecided";
}

namespace {

// Of explanations of one kind that stand beside each other.
constexpr std::size_t kMostShown = 8;

// Members of groups of which no whole dump was read: what is open there nobody says. Where one
// member has a whole dump with nothing open, no other one holds it back.
std::vector<int> unseen_ranks(const torch::Job& job) {
  std::set<int> unseen;
  for (const torch::Group& group : job.groups) {
    if (group.ranks.size() < 2) continue;
    const bool is_seen =
        std::any_of(group.lanes.begin(), group.lanes.end(), [](const torch::Lane& lane) {
          return lane.group && lane.is_complete() && !lane.digest->open_by_status;
        });
    for (const torch::Lane& lane : group.lanes)
      if (!is_seen && lane.digest != nullptr) unseen.insert(lane.rank);
  }
  return {unseen.begin(), unseen.end()};
}

class Judge {
 public:
  explicit Judge(const torch::Job& job)
      : job_(job), state_(job), messages_(find_open_messages(state_)) {}
  HangJudgement run();

 private:
  void look_at_mismatches();
  void look_at_messages();
  void look_at_devices();
  void look_at_roots();
  void look_at_missing();
  void add_idle(const std::vector<WaitRoot>& roots);
  bool makes_collectives(int rank) const;
  HangVerdict healthy() const;

  const torch::Job& job_;
  HangState state_;
  std::vector<OpenMessage> messages_;
  std::vector<int> explained_ = {};  // ranks whose own waiting needs no other explanation
  std::vector<HangVerdict> found_ = {};
};

void Judge::look_at_mismatches() {
  std::vector<Mismatch> mismatches = find_mismatches(state_);
  // of one culprit the earliest call; a majority without a minority comes last
  std::stable_sort(mismatches.begin(), mismatches.end(), [](const Mismatch& a, const Mismatch& b) {
    if (a.minority.empty() != b.minority.empty()) return b.minority.empty();
    return a.minority == b.minority && a.sides.back().work->record < b.sides.back().work->record;
  });
  for (const Mismatch& mismatch : mismatches) {
    found_.push_back(explain_mismatch(state_, mismatch));
    for (const MismatchSide& side : mismatch.sides)
      explained_.insert(explained_.end(), side.ranks.begin(), side.ranks.end());
  }
}

void Judge::look_at_messages() {
  for (const OpenMessage& message : messages_)
    if (message.certain && sizes_differ(state_, message)) {
      found_.push_back(explain_unequal_message(state_, message));
      explained_.push_back(message.from);
      explained_.push_back(message.to);
      return;
    }
}

void Judge::look_at_devices() {
  std::vector<int> broken;
  for (const int rank : job_.ranks)
    if (state_.is_broken(rank)) broken.push_back(rank);
  if (broken.empty()) return;
  found_.push_back(explain_broken(state_, broken));
  explained_.insert(explained_.end(), broken.begin(), broken.end());
}

// Its peers would wait for it in a collective if it had not come so far.
bool Judge::makes_collectives(int rank) const {
  for (const torch::Group& group : job_.groups) {
    const torch::Lane* lane = group.ranks.size() > 1 ? group.lane_of(rank) : nullptr;
    if (lane != nullptr && !lane->collectives().empty()) return true;
  }
  return false;
}

// All ranks that stand outside of communication while others wait for them are one explanation.
void Judge::add_idle(const std::vector<WaitRoot>& roots) {
  std::vector<int> idle;
  std::vector<const WaitRoot*> unsent;
  for (const WaitRoot& root : roots) {
    if (root.ranks.size() != 1 || !root.calls.empty() || !state_.is_idle(root.ranks.front()))
      continue;
    const bool kept_up = !root.owed.empty() && !owed_call(state_, root.ranks) &&
                         makes_collectives(root.ranks.front());
    if (kept_up)
      unsent.push_back(&root);
    else if (const auto silent = roots.size() > kMostShown
                                     ? std::nullopt
                                     : find_silent_shift(state_, root.ranks.front()))
      found_.push_back(explain_silent_shift(state_, root.ranks.front(), *silent));
    else
      idle.push_back(root.ranks.front());
  }
  std::sort(idle.begin(), idle.end());
  if (!idle.empty()) found_.push_back(explain_idle(state_, idle));
  for (const WaitRoot* root : unsent) found_.push_back(explain_unsent(state_, *root));
}

void Judge::look_at_roots() {
  const auto roots = find_roots(state_, messages_, {explained_, false});
  add_idle(roots);
  for (const WaitRoot& root : roots)
    if (root.ranks.size() > 1) found_.push_back(explain_circle(state_, root));
  if (!found_.empty()) return;
  look_at_missing();
  if (!found_.empty()) return;
  std::vector<int> in_messages;
  for (const WaitRoot& root : roots) {
    if (root.ranks.empty() && !root.calls.empty() && found_.size() < kMostShown)
      found_.push_back(is_passed_by_others(state_, root.calls.front())
                           ? explain_passed(state_, root.calls.front())
                           : explain_agreement(state_, root.calls.front()));
    else if (root.ranks.size() == 1 && state_.head(root.ranks.front()) != nullptr)
      in_messages.push_back(root.ranks.front());
  }
  if (!in_messages.empty())
    found_.push_back(explain_message_agreement(state_, messages_, in_messages));
}

void Judge::look_at_missing() {
  if (std::none_of(job_.ranks.begin(), job_.ranks.end(),
                   [&](int rank) { return state_.is_blank(rank); }))
    return;
  std::vector<int> missing;
  for (const WaitRoot& root : find_roots(state_, messages_, {explained_, true}))
    if (root.ranks.size() == 1 && state_.is_blank(root.ranks.front()) &&
        state_.head(root.ranks.front()) == nullptr)
      missing.push_back(root.ranks.front());
  std::sort(missing.begin(), missing.end());
  if (!missing.empty()) found_.push_back(explain_missing(state_, missing));
}

// Only where nothing is open anywhere; a dump that could not be compared counts too.
HangVerdict Judge::healthy() const {
  HangVerdict verdict;
  std::vector<int> waiting = victims_of(state_, {});
  const auto open_unplaced = std::count_if(job_.unplaced.begin(), job_.unplaced.end(),
                                           [](const auto& one) { return !one->open.empty(); });
  const std::vector<int> unseen = unseen_ranks(job_);
  if (waiting.empty() && open_unplaced == 0 && unseen.empty()) {
    verdict.kind = HangKind::kHealthy;
    verdict.summary = fmt::format("no call is open on {}", count_text(job_.digests.size(), "rank"));
    return verdict;
  }
  verdict.kind = HangKind::kNotDecidable;
  verdict.confidence = core::Confidence::kPossible;
  verdict.summary = waiting.empty() ? "" : fmt::format("calls are open on {}", ranks_text(waiting));
  if (waiting.empty() && open_unplaced == 0)
    verdict.summary =
        fmt::format("no call is open in what was read, but of groups of {} no whole dump was read",
                    ranks_text(unseen));
  if (open_unplaced > 0)
    verdict.summary += fmt::format("{}calls are open in {} whose rank is not known",
                                   waiting.empty() ? "" : ", and ",
                                   count_text(static_cast<std::size_t>(open_unplaced), "dump"));
  verdict.summary += "; the dumps that were read do not say who holds them back";
  verdict.victims = std::move(waiting);
  verdict.alternatives = {{HangKind::kHealthy, {}, "a second dump: is it moving?"}};
  verdict.next = {"whole dumps of all ranks, named PREFIX<rank>"};
  return verdict;
}

// Where the same number may be another call, nothing follows from equal numbers.
void doubt_numbers(HangJudgement& judgement) {
  HangVerdict& verdict = judgement.verdict;
  judgement.caveats.push_back(core::make_caveat(
      "hang.one-counter",
      "the number of each call in its group: one counter numbers the calls of all",
      "ranks that called the groups in turns of their own cannot be compared"));
  if (verdict.kind == HangKind::kHealthy) return;
  verdict.confidence = core::Confidence::kPossible;
  verdict.alternatives = {{verdict.kind, verdict.culprits, "dumps whose rings have lost no call"}};
  verdict.kind = HangKind::kNotDecidable;
  verdict.victims.insert(verdict.victims.end(), verdict.culprits.begin(), verdict.culprits.end());
  std::sort(verdict.victims.begin(), verdict.victims.end());
  verdict.culprits.clear();
  verdict.sides.clear();
  verdict.evidence.clear();
  verdict.group.reset();
  verdict.seq.reset();
  verdict.op.clear();
  verdict.summary = fmt::format(
      "calls are open on {}; which of them belong together is not known, because one counter "
      "numbers "
      "the calls of all groups and the rings have lost some",
      ranks_text(verdict.victims));
}

HangJudgement Judge::run() {
  look_at_mismatches();
  look_at_messages();
  if (found_.empty()) look_at_devices();
  look_at_roots();
  HangJudgement judgement;
  for (HangVerdict& verdict : found_) judgement.others.push_back(std::move(verdict));
  if (judgement.others.empty()) {
    judgement.verdict = healthy();
  } else {
    judgement.verdict = std::move(judgement.others.front());
    judgement.others.erase(judgement.others.begin());
    if (is_young_by_file(state_))
      judgement.verdict = as_moving(std::move(judgement.verdict),
                                    "none for longer than half of its time-out by the time of the "
                                    "file");
  }
  if (job_.has_other_dumps && judgement.verdict.confidence == core::Confidence::kCertain) {
    judgement.verdict.confidence = core::Confidence::kLikely;
    judgement.verdict.alternatives.push_back(
        {HangKind::kNotDecidable,
         {},
         "the dumps of one run alone: some ranks have two that differ"});
  }
  if (job_.has_one_counter()) doubt_numbers(judgement);
  if (!job_.missing.empty())
    judgement.caveats.push_back(
        core::make_caveat("hang.dump-missing", fmt::format("dumps of {}", ranks_text(job_.missing)),
                          "what these ranks did is not known"));
  return judgement;
}

}  // namespace

HangJudgement judge_hang(const torch::Job& job) { return Judge(job).run(); }

std::optional<core::Finding> finding_of(const HangVerdict& verdict) {
  if (verdict.kind == HangKind::kHealthy) return std::nullopt;
  core::Finding finding = core::make_finding(hang_finding_id(verdict.kind), verdict.summary);
  finding.ranks = verdict.culprits;
  finding.confidence = verdict.confidence;
  finding.evidence = verdict.evidence;
  finding.next = verdict.next;
  return finding;
}

}  // namespace comm_probe::diagnose
