#include "diagnose/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/finding_table.h"
#include "core/units.h"
#include "model/launches.h"

namespace comm_probe::diagnose {
namespace {

using measure::Row;
using measure::Run;

// "1 size", "3 finished sizes"
std::string sizes_text(std::size_t sizes, const char* kind = "") {
  return fmt::format("{} {}size{}", sizes, kind, sizes == 1 ? "" : "s");
}

std::uint64_t wrong_in(const Row& row) {
  return row.out_of_place.wrong.value_or(0) + row.in_place.wrong.value_or(0);
}

void judge_results(const Run& run, std::vector<core::Finding>& findings) {
  int sizes = 0;
  const Row* first = nullptr;
  for (const Row& row : run.rows) {
    if (wrong_in(row) == 0) continue;
    ++sizes;
    if (first == nullptr) first = &row;
  }
  if (first == nullptr) return;
  core::Finding finding = core::make_finding(
      "bench.wrong-results", fmt::format("{} of {} gave wrong results, from {} ({}) on", sizes,
                                         sizes_text(run.rows.size()),
                                         core::format_bytes(first->bytes), method_of(*first)));
  finding.observed = core::Figure{static_cast<double>(wrong_in(*first)), "wrong elements",
                                  core::Basis::kMeasured, "compared bit for bit"};
  finding.confidence = core::Confidence::kCertain;
  findings.push_back(finding);
}

void judge_death(const Run& run, std::vector<core::Finding>& findings) {
  if (!run.died) return;
  findings.push_back(
      death_finding(*run.died, fmt::format("{} after {}; the others were ended", run.died->sentence,
                                           sizes_text(run.rows.size(), "finished "))));
}

// What to look at next, by the way in which it ended.
std::vector<std::string> next_after(const measure::RankDeath& died) {
  if (died.timed_out && died.is_launched)
    return {"on every host: ps -C comm-probe -o pid,stat,wchan:20,args   (T: stopped)",
            "ping and ssh from host to host: is one of them gone?"};
  if (died.timed_out)
    return {"again with --keep DIR, then comm-probe log DIR/rank*.log: what NCCL wrote last",
            "nvidia-smi: is the GPU at 100 %? it waits for a peer then"};
  if (died.stood_still)
    return {
        fmt::format("ps -o pid,stat,wchan:20,args -p {}   (while it runs again)", died.process),
        "who sends SIGSTOP here? a batch system that suspends jobs, a frozen cgroup, a terminal"};
  if (died.is_launched)
    return {"the launcher's own lines, here and in its log: the signal or status it ended with",
            "on its host: dmesg -T | grep -i -e oom-kill -e 'killed process'"};
  constexpr int kKill = 9, kBus = 7;
  if (died.signal == kKill || died.signal == kBus)
    return {"dmesg -T | grep -i -e oom-kill -e 'killed process'",
            "a smaller -e or fewer ranks, where the kernel ran out of memory"};
  return {"dmesg -T | tail", "coredumpctl list comm-probe"};
}

// "no element of 4 bytes": what was asked for is smaller than one element for every rank.
void judge_empty_sizes(const Run& run, std::vector<core::Caveat>& caveats) {
  std::size_t empty = 0;
  for (const Row& row : run.rows) empty += row.bytes.count() == 0 ? 1 : 0;
  const bool was_asked_for = run.plan.begin.count() == 0 && empty == 1;
  if (empty == 0 || was_asked_for) return;
  const auto one = core::Bytes::of(static_cast<double>(element_bytes(run.plan.element)));
  const bool is_divided = measure::amount_of(run.plan, one).count == 0;
  caveats.push_back(core::make_caveat(
      "bench.no-element",
      fmt::format("{} of {} too small for one {} of {} bytes{}", empty, sizes_text(run.rows.size()),
                  element_name(run.plan.element), element_bytes(run.plan.element),
                  is_divided ? " per rank" : ""),
      "nothing was moved there: those rows say what a call costs, and no result was checked",
      empty == run.rows.size()));
}

void judge_ranks(const Run& run, std::vector<core::Caveat>& caveats) {
  if (run.plan.ranks == 1)
    caveats.push_back(
        core::make_caveat("bench.one-rank", "a second rank",
                          "one rank has nobody to talk to: the times are those of "
                          "a call, or of a copy in its own memory; busbw is 0, no link "
                          "carries anything"));
  if (run.context.cores > 0 && run.plan.ranks > run.context.cores)
    caveats.push_back(
        core::make_caveat("bench.not-priced",
                          fmt::format("{} ranks take turns on {} core{}", run.plan.ranks,
                                      run.context.cores, run.context.cores == 1 ? "" : "s"),
                          "times are those of switching, no prediction stands beside them", false));
}

// At most 25 % off (issue 2); a machine that changed, samples that disagree: by half.
constexpr double kFarOff = 0.25;
constexpr double kChanged = 1.5;

double ratio_of(const Row& row) { return row.out_of_place.time / row.predicted->time(); }
bool is_far_off(const Row& row) { return std::fabs(ratio_of(row) - 1) > kFarOff; }
bool is_jittery(const Row& row) {
  return row.out_of_place.slowest > row.out_of_place.fastest * kChanged;
}

// Whatever disturbs the collective makes it slower: one that is faster than its links says that the
// links were disturbed when they were measured.
std::string reason_for_speed(const Run& run) {
  if (run.context.link_preemptions > 0)
    return fmt::format(
        "faster than its links: another process took the cores {} time{} while these "
        "were measured",
        run.context.link_preemptions, run.context.link_preemptions == 1 ? "" : "s");
  return "faster than its links: these were disturbed while they were measured, or the ledger "
         "counts "
         "something that this size does not pay";
}

bool is_nccl(const Run& run) { return run.context.engine == "nccl"; }

// Rows with the same cause are one line of evidence.
enum class Cause { kDrift, kFast, kPreempted, kJitter, kTerm, kLaunch, kModelSlow, kModelFast };

// GPUs that one thread of NCCL's engine serves.
int gpus_per_thread(const Run& run) {
  std::set<int> processes;
  for (const measure::Device& device : run.context.devices) processes.insert(device.process);
  const int threads = std::max(1, run.plan.threads) * std::max<int>(1, processes.size());
  return run.plan.gpus > 0 ? run.plan.gpus : std::max(1, run.plan.ranks / threads);
}

// Two H200, all_reduce of small sizes: 11.5 us with -g 2, 6.9 us with -t 2 -g 1. Above this
// prediction some microseconds of launching are no longer what makes 25 %.
const core::Duration kLaunchBound = core::Duration::from_us(20);
// And what takes longer than this many times the launches is not theirs (two H200: all_reduce of 8
// B 12.5 us of 11.4, with one channel 256 KiB 40.9 us).
constexpr double kLaunchSpread = 1.5;

Cause cause_under_nccl(const Run& run, const Row& row) {
  if (row.out_of_place.time < row.predicted->time()) return Cause::kModelFast;
  const bool launches =
      gpus_per_thread(run) > 1 && run.plan.graph_launches == 0 &&
      row.out_of_place.time < model::launches_in_turn(gpus_per_thread(run)) * kLaunchSpread;
  return launches && row.predicted->time() < kLaunchBound ? Cause::kLaunch : Cause::kModelSlow;
}

Cause cause_of(const Run& run, const Row& row) {
  if (is_nccl(run)) return cause_under_nccl(run, row);
  if (run.context.drift > kChanged) return Cause::kDrift;
  if (row.out_of_place.time < row.predicted->time()) return Cause::kFast;
  // at least one for every second block: the median is one of the disturbed
  if (row.out_of_place.preemptions * 2 >= run.plan.blocks) return Cause::kPreempted;
  return is_jittery(row) ? Cause::kJitter : Cause::kTerm;
}

std::string reason_for(const Run& run, const Row& row, Cause cause) {
  switch (cause) {
    case Cause::kDrift:
      return fmt::format("the flag latency of the machine changed by a factor of {:.2f} in between",
                         run.context.drift);
    case Cause::kFast:
      return reason_for_speed(run);
    case Cause::kPreempted:
      return fmt::format("another process took the cores {} times in {} samples",
                         row.out_of_place.preemptions, run.plan.blocks);
    case Cause::kJitter:
      return fmt::format("its own samples run from {} to {}: something else used the cores",
                         core::format_duration(row.out_of_place.fastest),
                         core::format_duration(row.out_of_place.slowest));
    case Cause::kTerm:
      return "samples agree: the ledger lacks a term here (--explain shows those it has)";
    case Cause::kLaunch:
      return fmt::format(
          "likely the launches: one thread launches on {0} GPUs in turn, which the model does not "
          "count (bench -t {0} -g 1 gives each a thread)",
          gpus_per_thread(run));
    case Cause::kModelSlow:
      return "slower than NCCL's model, which is made to compare algorithms";
    case Cause::kModelFast:
      return "faster than NCCL's model, which is made to compare algorithms";
  }
  return "";
}

// The sizes, the range of ratios and the reason; of several reasons that differ in their figures,
// that of the row which is furthest off.
core::Evidence evidence_for(const Run& run, Cause cause, const std::vector<const Row*>& rows) {
  const auto nearer = [](const Row* one, const Row* other) {
    return std::fabs(std::log(ratio_of(*one))) < std::fabs(std::log(ratio_of(*other)));
  };
  const auto lower = [](const Row* one, const Row* other) {
    return ratio_of(*one) < ratio_of(*other);
  };
  const Row& worst = **std::max_element(rows.begin(), rows.end(), nearer);
  const std::string reason = reason_for(run, worst, cause);
  if (rows.size() == 1)
    return {.source = core::format_bytes(worst.bytes),
            .text = fmt::format("{:.2f} times the prediction; {}", ratio_of(worst), reason)};
  const auto [low, high] = std::minmax_element(rows.begin(), rows.end(), lower);
  const bool of_one_row = cause == Cause::kPreempted || cause == Cause::kJitter;
  return {
      .source = fmt::format("{} to {}", core::format_bytes(rows.front()->bytes),
                            core::format_bytes(rows.back()->bytes)),
      .text = fmt::format("{}, {:.2f} to {:.2f} times the prediction; {}{}",
                          sizes_text(rows.size()), ratio_of(**low), ratio_of(**high),
                          of_one_row ? "at " + core::format_bytes(worst.bytes) + " " : "", reason)};
}

struct Priced {
  int sizes = 0;
  int far_off = 0;
};

core::Finding far_off_finding(const Run& run, const Priced& priced) {
  const char* verb = priced.far_off == 1 ? "is" : "are";
  const std::string sizes = sizes_text(static_cast<std::size_t>(priced.sizes));
  core::Finding finding =
      is_nccl(run)
          ? core::make_finding("bench.off-nccl-model",
                               fmt::format("{} of {} {} further than 25 % from what NCCL's own "
                                           "model predicts, which is made to compare algorithms",
                                           priced.far_off, sizes, verb))
          : core::make_finding("bench.off-prediction",
                               fmt::format("{} of {} {} further than 25 % from what the links of "
                                           "this machine predict",
                                           priced.far_off, sizes, verb));
  finding.confidence = core::Confidence::kLikely;
  finding.next = {is_nccl(run) ? "comm-probe link --only p2p   (what the links really give)"
                  : run.context.levels.empty() ? "comm-probe link --only host"
                                               : "the same command with --explain   (its terms)"};
  return finding;
}

Priced judge_prediction(const Run& run, std::vector<core::Finding>& findings) {
  Priced priced;
  std::vector<std::pair<Cause, std::vector<const Row*>>> causes;  // by their first size
  for (const Row& row : run.rows) {
    if (!row.predicted) continue;
    ++priced.sizes;
    if (!is_far_off(row)) continue;
    ++priced.far_off;
    const Cause cause = cause_of(run, row);
    auto same = std::find_if(causes.begin(), causes.end(),
                             [cause](const auto& each) { return each.first == cause; });
    if (same == causes.end()) same = causes.insert(same, {cause, {}});
    same->second.push_back(&row);
  }
  if (priced.far_off == 0) return priced;
  core::Finding finding = far_off_finding(run, priced);
  for (const auto& [cause, rows] : causes)
    finding.evidence.push_back(evidence_for(run, cause, rows));
  findings.push_back(finding);
  return priced;
}

std::string verdict_for(const Run& run, const Priced& priced, bool is_wrong) {
  if (run.died || is_wrong) return "";
  std::string text =
      fmt::format("{} on {} rank{}: {} measured", op_name(run.plan.op), run.plan.ranks,
                  run.plan.ranks == 1 ? "" : "s", sizes_text(run.rows.size()));
  const bool moved = std::any_of(run.rows.begin(), run.rows.end(),
                                 [](const Row& row) { return row.bytes.count() > 0; });
  if (run.plan.check && moved) text += ", every result right";
  if (priced.sizes > 0)
    text += fmt::format(", {} of {} within 25 % of the prediction", priced.sizes - priced.far_off,
                        priced.sizes);
  return text;
}

}  // namespace

std::string gap_reason(const Run& run, const Row& row) {
  return reason_for(run, row, cause_of(run, row));
}

core::Finding death_finding(const measure::RankDeath& died, std::string summary) {
  core::Finding finding = core::make_finding(died.timed_out     ? "bench.no-progress"
                                             : died.stood_still ? "bench.rank-stopped"
                                                                : "bench.rank-died",
                                             std::move(summary));
  if (died.rank >= 0) finding.ranks = {died.rank};
  finding.confidence = died.timed_out ? core::Confidence::kLikely : core::Confidence::kCertain;
  finding.evidence = {{.source = died.process > 0 ? fmt::format("process {}", died.process)
                                 : died.rank < 0
                                     ? (died.timed_out ? "the ranks" : "the other ranks")
                                     : fmt::format("rank {}", died.rank),
                       .text = died.sentence}};
  finding.next = next_after(died);
  return finding;
}

BenchJudgement judge_bench(const Run& run) {
  BenchJudgement judgement;
  judge_death(run, judgement.findings);
  judge_results(run, judgement.findings);
  const bool is_wrong = !judgement.findings.empty();
  const Priced priced = judge_prediction(run, judgement.findings);
  judgement.verdict = verdict_for(run, priced, is_wrong);
  judge_empty_sizes(run, judgement.caveats);
  judge_ranks(run, judgement.caveats);
  return judgement;
}

}  // namespace comm_probe::diagnose
