#include "diagnose/trace_across.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "core/finding_table.h"
#include "core/number_ranges.h"
#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using core::Duration;
using torch::AcrossRanks;
using torch::Attendance;
using torch::CommCall;
using torch::Meeting;
using torch::MeetingState;

constexpr std::int64_t kClocksApart = 50'000;  // ns; also of a residual that makes pictures wrong
constexpr double kEntryThatMatters = 0.01;     // of a rank's mean span
constexpr std::size_t kExamples = 3;
constexpr std::size_t kLeastEnds = 3;    // that make a difference of clocks
constexpr double kMostMismatched = 0.1;  // of the meetings: beyond, the order was misread

std::string text(std::int64_t ns) {
  return core::format_duration(Duration::from_ns(static_cast<double>(ns)));
}

std::string file_of(const AcrossRanks& across, int rank) {
  return across.traces.empty() ? "" : across.traces[static_cast<std::size_t>(rank)]->file;
}

double mean_span(const AcrossRanks& across) {
  double sum = 0;
  for (const auto& activity : across.activities) sum += static_cast<double>(activity.span());
  return across.activities.empty() ? 0 : sum / static_cast<double>(across.activities.size());
}

std::string describe(const AcrossRanks& across, const Attendance& one) {
  const CommCall& call = torch::call_of(across.job, one);
  std::string line =
      fmt::format("rank {} {}", across.rank_number(one.rank), torch::class_name(call.kind));
  if (call.bytes) line += fmt::format(" of {} B", *call.bytes);  // exact: they may differ little
  if (call.dtype >= 0) line += " " + across.job.dtypes[static_cast<std::size_t>(call.dtype)];
  return line;
}

using CallWords = std::tuple<torch::CollectiveClass, std::optional<std::uint64_t>, int>;
CallWords words_of(const AcrossRanks& across, const Attendance& one) {
  const CommCall& call = torch::call_of(across.job, one);
  return {call.kind, call.bytes, call.dtype};
}

// The ranks that do not call as most do; all of them where no more than half call alike.
void add_odd_ranks(const AcrossRanks& across, const Meeting& meeting, std::set<int>& odd) {
  std::map<CallWords, std::size_t> counts;
  for (const Attendance& one : meeting.present) ++counts[words_of(across, one)];
  const auto most = std::max_element(
      counts.begin(), counts.end(),
      [](const auto& one, const auto& other) { return one.second < other.second; });
  const bool is_majority = 2 * most->second > meeting.present.size();
  for (const Attendance& one : meeting.present)
    if (!is_majority || words_of(across, one) != most->first)
      odd.insert(across.rank_number(one.rank));
}

core::Evidence mismatch_line(const AcrossRanks& across, const Meeting& meeting) {
  const Attendance& first = meeting.present.front();
  const CommCall& call = torch::call_of(across.job, first);
  const auto other =
      std::find_if(meeting.present.begin(), meeting.present.end(), [&](const Attendance& one) {
        const CommCall& theirs = torch::call_of(across.job, one);
        return theirs.kind != call.kind || theirs.bytes != call.bytes || theirs.dtype != call.dtype;
      });
  std::string line = across.group_of(meeting).name.empty()
                         ? ""
                         : fmt::format("group {}, ", across.group_of(meeting).name);
  if (call.seq) line += fmt::format("seq {}: ", *call.seq);
  line += describe(across, first);
  if (other != meeting.present.end()) line += ", " + describe(across, *other);
  return {file_of(across, first.rank), std::nullopt, line};
}

// A size class whose calls all members end late.
struct Outside {
  std::size_t meetings = 0;
  std::int64_t excess = 0;
  std::size_t worst = 0;  // index of the meeting
  std::int64_t worst_excess = 0;
  std::int64_t best = 0;  // of the same call
};

using Key = std::tuple<int, torch::CollectiveClass, std::uint64_t>;

std::map<Key, std::int64_t> best_times(const AcrossRanks& across) {
  std::map<Key, std::int64_t> best;
  for (const torch::Rate& rate : across.rates) {
    if (!rate.bytes) continue;
    const auto [known, is_new] = best.emplace(Key(rate.group, rate.kind, *rate.bytes), rate.best);
    if (!is_new) known->second = std::min(known->second, rate.best);
  }
  return best;
}

bool has_absent_members(const AcrossRanks& across, const Meeting& meeting) {
  return across.group_of(meeting).size > static_cast<int>(meeting.present.size());
}

Outside find_outside(const AcrossRanks& across) {
  const auto best = best_times(across);
  Outside outside;
  for (std::size_t i = 0; i < across.matching.meetings.size(); ++i) {
    const Meeting& meeting = across.matching.meetings[i];
    const torch::MeetingTimes& times = across.waits.meetings[i];
    const CommCall& call = torch::call_of(across.job, meeting.present.front());
    // alike: nobody present was late
    if (!times.counts() || !times.together || !call.bytes || !has_absent_members(across, meeting))
      continue;
    const std::int64_t usual = best.at(Key(meeting.group, call.kind, *call.bytes));
    const std::int64_t excess = times.transfer - usual;
    if (times.excused || times.transfer < 2 * usual || excess < kClocksApart) continue;
    ++outside.meetings;
    outside.excess += excess;
    if (excess <= outside.worst_excess) continue;
    outside.worst_excess = excess;
    outside.worst = i;
    outside.best = usual;
  }
  return outside;
}

std::vector<int> absent_members(const AcrossRanks& across, const Meeting& meeting) {
  std::set<int> present;
  for (const Attendance& one : meeting.present) present.insert(across.rank_number(one.rank));
  std::vector<int> absent;
  for (const int rank : across.group_of(meeting).ranks)
    if (!present.contains(rank)) absent.push_back(rank);
  return absent;
}

void add_shared_gpu(const AcrossRanks& across, std::vector<core::Caveat>& caveats) {
  const torch::Rate* slow = rate_of_shared_gpu(across);
  if (slow == nullptr) return;
  caveats.push_back(core::make_caveat(
      "trace.shared-gpu",
      fmt::format("a GPU of its own for every rank, as it seems: {} of {} takes {} at best",
                  torch::class_name(slow->kind), core::format_bytes(core::Bytes::of(*slow->bytes)),
                  text(slow->best)),
      "ranks that take turns on one GPU wait for each other's time slices: exposed shares, waiting "
      "and bandwidths are those of the sharing, not of a link (or the network is slower than 10 "
      "Gb/s); no link is judged"));
}

void judge_entry(const AcrossRanks& across, Judgement& judgement) {
  std::size_t worst = 0;
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < across.waits.meetings.size(); ++i)
    if (across.waits.meetings[i].excused)
      for (const Attendance& one : across.matching.meetings[i].present)
        if (const std::int64_t wait = one.duration - across.waits.meetings[i].transfer;
            wait > longest) {
          longest = wait;
          worst = i;
        }
  if (longest == 0 || static_cast<double>(longest) < kEntryThatMatters * mean_span(across)) return;
  const int rank = across.waits.meetings[worst].shortest;
  core::Finding finding = core::make_finding(
      "trace.entry-skew",
      fmt::format("ranks entered the recorded window up to {} apart, rank {} last: that comes from "
                  "before the window and is counted for nobody",
                  text(longest), across.rank_number(rank)));
  finding.ranks = {across.rank_number(rank)};
  finding.observed = core::figure(Duration::from_ns(static_cast<double>(longest)),
                                  core::Basis::kMeasured, "first collective of the window");
  finding.evidence = {{file_of(across, rank), std::nullopt, meeting_line(across, worst)}};
  judgement.findings.push_back(std::move(finding));
}

// Who is late all the time is late at the entry too.
void drop_entry_of_stragglers(AcrossJudgement& all) {
  const auto is_named = [&](const core::Finding& finding) {
    if (finding.id != "trace.entry-skew") return false;
    return std::any_of(all.judgement.findings.begin(), all.judgement.findings.end(),
                       [&](const core::Finding& other) {
                         return other.id == "trace.straggler" &&
                                std::includes(other.ranks.begin(), other.ranks.end(),
                                              finding.ranks.begin(), finding.ranks.end());
                       });
  };
  std::vector<core::Finding> kept;
  for (const core::Finding& finding : all.judgement.findings)
    if (!is_named(finding)) kept.push_back(finding);
  all.judgement.findings = std::move(kept);
}

}  // namespace

std::vector<int> missing_ranks(const torch::CommJob& job) {
  std::set<int> given;
  for (const torch::RankCalls& rank : job.ranks) given.insert(rank.rank);
  std::vector<int> missing;
  constexpr int kMost = 1 << 20;  // of ranks; a larger world is a broken number
  for (int rank = 0; rank < std::min(job.world, kMost); ++rank)
    if (!given.contains(rank)) missing.push_back(rank);
  return missing;
}

Judgement judge_meetings(const AcrossRanks& across) {
  Judgement judgement;
  std::vector<const Meeting*> differ;
  for (const Meeting& meeting : across.matching.meetings)
    if (meeting.state == MeetingState::kMismatch) differ.push_back(&meeting);
  const std::size_t all = across.matching.accepted + across.matching.rejected + differ.size();
  const bool is_few =
      static_cast<double>(differ.size()) <= kMostMismatched * static_cast<double>(all);
  const bool is_keyed =
      !differ.empty() && torch::call_of(across.job, differ.front()->present.front()).seq;
  if (differ.empty() || (!is_keyed && !is_few)) return judgement;
  std::set<int> ranks;
  for (const Meeting* meeting : differ) add_odd_ranks(across, *meeting, ranks);
  core::Finding finding = core::make_finding(
      "trace.mismatch",
      fmt::format("{} collective{} differ{} between ranks in operation, type or size: the ranks do "
                  "not run the same program here",
                  differ.size(), differ.size() == 1 ? "" : "s", differ.size() == 1 ? "s" : ""));
  finding.ranks = {ranks.begin(), ranks.end()};
  finding.confidence = is_keyed ? core::Confidence::kCertain : core::Confidence::kPossible;
  for (std::size_t i = 0; i < std::min(differ.size(), kExamples); ++i)
    finding.evidence.push_back(mismatch_line(across, *differ[i]));
  finding.next = {"comm-probe hang DUMPS  # of the Flight Recorder, if the job stands still",
                  "TORCH_DISTRIBUTED_DEBUG=DETAIL names the first call that differs"};
  judgement.findings.push_back(std::move(finding));
  return judgement;
}

Judgement judge_outside(const AcrossRanks& across) {
  Judgement judgement;
  const Outside outside = find_outside(across);
  constexpr std::size_t kLeast = 3;
  constexpr double kCostThatMatters = 0.03;
  if (outside.meetings < kLeast ||
      static_cast<double>(outside.excess) < kCostThatMatters * mean_span(across))
    return judgement;
  const Meeting& worst = across.matching.meetings[outside.worst];
  const auto absent = absent_members(across, worst);
  core::Finding finding = core::make_finding(
      "trace.late-outside",
      fmt::format("{} collectives take up to {}, {} at best, and all given ranks wait alike ({} in "
                  "all): late or slow outside of the given ranks{}",
                  outside.meetings, text(across.waits.meetings[outside.worst].transfer),
                  text(outside.best), text(outside.excess),
                  absent.empty() ? "" : ", among " + core::number_ranges(absent)));
  finding.observed = core::figure(Duration::from_ns(static_cast<double>(outside.excess)),
                                  core::Basis::kMeasured, "above the best call of the same size");
  finding.evidence = {{file_of(across, worst.present.front().rank), std::nullopt,
                       meeting_line(across, outside.worst)}};
  finding.confidence = core::Confidence::kPossible;
  finding.next = {
      absent.empty() ? "give the traces of the other ranks too"
                     : fmt::format("give the traces of ranks {} too", core::number_ranges(absent))};
  judgement.findings.push_back(std::move(finding));
  return judgement;
}

Judgement judge_clocks(const AcrossRanks& across) {
  Judgement judgement;
  judge_entry(across, judgement);
  const torch::ClockOffset* most = nullptr;
  const torch::ClockOffset* roughest = nullptr;
  for (const torch::ClockOffset& clock : across.matching.clocks) {
    if (clock.meetings < kLeastEnds) continue;
    if (most == nullptr || std::abs(clock.offset) > std::abs(most->offset)) most = &clock;
    if (roughest == nullptr || clock.residual > roughest->residual) roughest = &clock;
  }
  if (roughest != nullptr && roughest->residual > kClocksApart)
    judgement.caveats.push_back(core::make_caveat(
        "trace.ends-disagree",
        fmt::format("the ends of matched collectives differ by {} (median, rank {} against {}) "
                    "after alignment",
                    text(roughest->residual), across.rank_number(roughest->rank),
                    across.rank_number(roughest->reference)),
        "who came last is less certain, and the time line across ranks is unreliable: several "
        "ranks may share one GPU, or calls are missing from a trace",
        false));
  if (most == nullptr || std::abs(most->offset) <= std::max(kClocksApart, 3 * most->error))
    return judgement;
  core::Finding finding = core::make_finding(
      "trace.clock-skew",
      fmt::format("collectives end {} {} on rank {} than on rank {}: the clocks of their hosts "
                  "differ, or they take turns on one GPU; times are compared after alignment, raw "
                  "starts would accuse the wrong rank",
                  text(std::abs(most->offset)), most->offset > 0 ? "later" : "earlier",
                  across.rank_number(most->rank), across.rank_number(most->reference)));
  finding.ranks = {across.rank_number(most->rank)};
  finding.observed =
      core::figure(Duration::from_ns(static_cast<double>(most->offset)), core::Basis::kMeasured,
                   fmt::format("median of {} ends, +- {}", most->meetings, text(most->error)));
  finding.evidence = {
      {file_of(across, most->rank), std::nullopt,
       fmt::format("offset {} +- {}, residual {}, {} collectives", text(most->offset),
                   text(most->error), text(most->residual), most->meetings)}};
  finding.next = {"chronyc tracking  # on both hosts, if traces are to be compared by hand"};
  judgement.findings.push_back(std::move(finding));
  return judgement;
}

std::vector<core::Caveat> across_caveats(const AcrossRanks& across) {
  std::vector<core::Caveat> caveats;
  std::size_t calls = 0;
  std::size_t without_size = 0;
  std::size_t point_to_point = 0;
  for (const torch::RankCalls& rank : across.job.ranks)
    for (const CommCall& call : rank.calls) {
      const bool is_p2p = call.kind == torch::CollectiveClass::kSend ||
                          call.kind == torch::CollectiveClass::kReceive;
      ++calls;
      point_to_point += is_p2p;
      without_size += !call.bytes && call.kind != torch::CollectiveClass::kBarrier;
    }
  if (calls == 0) return caveats;
  const auto missing = missing_ranks(across.job);
  if (across.job.ranks.size() == 1 && across.job.world != 1)
    caveats.push_back(core::make_caveat(
        "trace.single-rank", "the traces of all other ranks",
        "waiting for a late rank cannot be told from transfer; bandwidths are lower bounds"));
  else if (!missing.empty())
    caveats.push_back(core::make_caveat(
        "trace.ranks-missing",
        fmt::format("ranks {} of {}", core::number_ranges(missing), across.job.world),
        "a late rank among them shows as time that all given ranks lose alike"));
  const torch::Matching& matching = across.matching;
  if (matching.rejected > 0)
    caveats.push_back(core::make_caveat(
        "trace.unmatched",
        fmt::format("{} of {} collectives do not end together on the given ranks",
                    matching.rejected, matching.rejected + matching.accepted),
        matching.rejected_share() > 0.3
            ? "the traces left out calls or are of different runs: no verdict about late ranks"
            : "they were left out of waiting and bandwidth",
        matching.rejected_share() > 0.3));
  if (without_size * 2 > calls)
    caveats.push_back(core::make_caveat(
        "trace.no-metadata",
        fmt::format("sizes and groups of {} of {} communication kernels", without_size, calls),
        "bandwidth, model and ledger are not computed for them; calls are matched by order"));
  add_shared_gpu(across, caveats);
  if (point_to_point > 0)
    caveats.push_back(core::make_caveat(
        "trace.point-to-point", fmt::format("{} send and receive kernels", point_to_point),
        "they are listed by duration; who waits for whom in a pipeline is not judged", false));
  for (const torch::Trace* trace : across.traces)
    for (const torch::TraceGroup& group : trace->groups)
      if (group.ranks_assumed) {
        caveats.push_back(core::make_caveat(
            "trace.list-shortened",
            fmt::format("the full member list of group {} in {}", group.name, trace->file),
            "its members are assumed to be evenly spaced", false));
        return caveats;
      }
  return caveats;
}

AcrossJudgement judge_across(const AcrossRanks& across, const RateReference& reference) {
  AcrossJudgement all;
  const bool is_shared = rate_of_shared_gpu(across) != nullptr;
  all.stragglers = stragglers(across);
  if (is_shared)
    std::erase_if(all.stragglers,
                  [&](const Straggler& one) { return !is_late_by_its_host(across, one); });
  all.rates = price_rates(across, reference);
  all.judgement = judge_stragglers(across, all.stragglers);
  if (!is_shared) all.late_set = late_set(across);
  if (all.late_set) {
    all.stragglers.clear();  // chance chose them out of the set
    all.judgement = judge_late_set(across, *all.late_set);
  }
  all.judgement.add(judge_rates(across, all.rates));
  all.judgement.add(judge_meetings(across));
  if (!all.judgement.has("trace.late-outside")) all.judgement.add(judge_outside(across));
  all.judgement.add(judge_clocks(across));
  drop_entry_of_stragglers(all);
  for (core::Caveat& caveat : across_caveats(across))
    all.judgement.caveats.push_back(std::move(caveat));
  return all;
}

}  // namespace comm_probe::diagnose
