#include "diagnose/trace_killers.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/number_ranges.h"
#include "core/units.h"
#include "diagnose/trace_killer_rules.h"

namespace comm_probe::diagnose {
namespace {

using torch::OverlapFacts;

std::int64_t cost_of(const KillerUse& use) { return use.saving > 0 ? use.saving : use.lost.sum(); }

void weigh(Strike& strike) {
  const auto span = static_cast<double>(std::max<std::int64_t>(1, strike.facts->extent.length()));
  strike.use.share = static_cast<double>(cost_of(strike.use)) / span;
  strike.use.warns = static_cast<double>(std::max(strike.use.lost.sum(), strike.use.saving)) >=
                     torch::kKillerLimits.worth_a_warning * span;
}

std::string per_step(const Strike& strike, std::int64_t ns) {
  return ms_text(static_cast<double>(ns) / static_cast<double>(strike.facts->steps));
}

// "0.56 ms per step (14.8 %): 0.38 ms idle, 0.15 ms exposed communication"
std::string cost_text(const Strike& strike) {
  const torch::LostTime& lost = strike.use.lost;
  const std::string share =
      fmt::format("{}({:.1f} %)", strike.facts->trace->steps.empty() ? "" : "per step ",
                  100 * strike.use.share);
  const std::string all = per_step(strike, cost_of(strike.use));
  if (strike.use.saving > 0 || lost.sum() == 0) return all + " " + share;
  std::vector<std::pair<std::int64_t, const char*>> parts = {
      {lost.communication, "exposed communication"}, {lost.idle, "idle"}, {lost.memory, "copies"}};
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::erase_if(parts, [&lost](const auto& part) { return 50 * part.first < lost.sum(); });
  if (parts.size() == 1) return fmt::format("{} {} {}", all, parts.front().second, share);
  std::string listed;
  for (const auto& [time, name] : parts)
    listed += fmt::format("{}{} {}", listed.empty() ? ": " : ", ", per_step(strike, time), name);
  return all + " " + share + listed;
}

std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("on rank {}", ranks.front());
  return "on ranks " + core::number_ranges(ranks);
}

// How many of the ranks a rule must strike.
std::size_t least_ranks(RuleWeight weight, std::size_t ranks) {
  switch (weight) {
    case RuleWeight::kJudged:
    case RuleWeight::kNote:
      return 1;
    case RuleWeight::kOfTheMost:
      return (ranks + 1) / 2;
    case RuleWeight::kLeastNote:
      return ranks;
  }
  return 1;
}

core::Finding finding_of(const KillerRule& rule, const std::vector<Strike>& strikes) {
  const bool shows_least = rule.weight == RuleWeight::kLeastNote;
  Struck struck;
  std::vector<int> ranks;
  bool warns = false;
  for (const Strike& strike : strikes) {
    ranks.push_back(strike.use.rank);
    warns = warns || strike.use.warns;
    const bool is_further =
        struck.worst == nullptr || (shows_least ? strike.use.share < struck.worst->use.share
                                                : strike.use.share > struck.worst->use.share);
    if (is_further) struck.worst = &strike;
  }
  struck.ranks = ranks_text(ranks);
  struck.cost = cost_text(*struck.worst);
  core::Finding finding = core::make_finding(rule.id, rule.summary(struck));
  if (!warns) finding.severity = core::Severity::kInfo;
  finding.ranks = std::move(ranks);
  finding.confidence = struck.worst->is_doubtful ? core::Confidence::kPossible : rule.confidence;
  finding.next = rule.cure;
  const std::size_t steps = struck.worst->facts->steps;
  finding.observed = core::figure(
      core::Duration::from_ns(static_cast<double>(cost_of(struck.worst->use)) /
                              static_cast<double>(steps)),
      core::Basis::kMeasured,
      fmt::format("cost {} on rank {}{}",
                  struck.worst->facts->trace->steps.empty() ? "in the window" : "per step",
                  struck.worst->use.rank,
                  strikes.size() == 1 ? ""
                  : shows_least       ? ", the least"
                                      : ", the most"));
  for (const Example& example : struck.worst->examples)
    finding.evidence.push_back({struck.worst->facts->trace->file, std::nullopt,
                                hit_text(*struck.worst->facts, example.hit) + example.more});
  return finding;
}

}  // namespace

KillerJudgement judge_killers(const std::vector<OverlapFacts>& ranks) {
  KillerJudgement all;
  for (const auto rules : {host_rules, stream_rules, load_rules})
    for (const KillerRule& rule : rules()) {
      const bool is_note =
          rule.weight == RuleWeight::kNote || rule.weight == RuleWeight::kLeastNote;
      std::vector<Strike> strikes;
      for (const OverlapFacts& facts : ranks) {
        if (facts.trace->gpu_ops.empty()) continue;
        auto strike = rule.strike(facts);
        if (!strike) continue;
        weigh(*strike);
        strike->use.warns = strike->use.warns && !is_note;
        strikes.push_back(std::move(*strike));
      }
      if (strikes.empty() || strikes.size() < least_ranks(rule.weight, ranks.size())) continue;
      all.judgement.findings.push_back(finding_of(rule, strikes));
      for (Strike& strike : strikes) all.killers.push_back(std::move(strike.use));
    }
  return all;
}

}  // namespace comm_probe::diagnose
