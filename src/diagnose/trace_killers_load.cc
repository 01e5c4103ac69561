// Work that is too small, too much at once, or launched too slowly (spec traces 2.8, K7 to K9,
// K11).
#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "diagnose/trace_killer_rules.h"

namespace comm_probe::diagnose {
namespace {

using torch::GpuOp;
using torch::kNone;
using torch::OverlapFacts;

std::string duration_text(std::int64_t ns) {
  return core::format_duration(core::Duration::from_ns(static_cast<double>(ns)));
}

std::optional<Strike> contention(const OverlapFacts& facts) {
  const torch::Contention& one = facts.contention;
  if (one.kernels < torch::kKillerLimits.kernels_in_all ||
      one.slowdown <= torch::kKillerLimits.slowdown || !matters(facts, one.lost))
    return std::nullopt;
  const GpuOp& op = facts.trace->gpu_ops[one.example];
  torch::KillerHits hits;
  hits.hits.push_back({{op.start, op.end}, {op.start, op.end}, op.launch, one.example, kNone});
  Strike strike = strike_of(facts, "trace.sm-contention", hits);
  strike.examples.front().more =
      fmt::format("; median alone {}, beside communication {}", duration_text(one.example_alone),
                  duration_text(one.example_beside));
  strike.use.count = one.kernels;
  strike.use.per_step.clear();
  strike.use.saving = one.lost;
  return strike;
}
std::optional<Strike> clear_contention(const OverlapFacts& facts) {
  return facts.contention.slowdown <= torch::kKillerLimits.suspicious_slowdown ? contention(facts)
                                                                               : std::nullopt;
}
std::optional<Strike> doubtful_contention(const OverlapFacts& facts) {
  return facts.contention.slowdown > torch::kKillerLimits.suspicious_slowdown ? contention(facts)
                                                                              : std::nullopt;
}

std::optional<Strike> tiny(const OverlapFacts& facts) {
  if (facts.small.empty()) return std::nullopt;
  torch::KillerHits hits;
  std::int64_t saving = 0;
  for (const torch::SmallCollectives& one : facts.small) {
    hits.hits.insert(hits.hits.end(), one.calls.hits.begin(), one.calls.hits.end());
    hits.lost.communication += one.calls.lost.communication;
    saving += one.saving;
  }
  Strike strike = strike_of(facts, "trace.tiny-collectives", hits);
  strike.use.saving = saving;
  return strike;
}

std::optional<Strike> launch_bound(const OverlapFacts& facts) {
  const torch::LaunchGaps& gaps = facts.gaps;
  const auto idle = static_cast<double>(gaps.idle);
  if (idle <= torch::kKillerLimits.idle_that_matters * static_cast<double>(facts.extent.length()) ||
      static_cast<double>(gaps.host.lost.idle) <= torch::kKillerLimits.idle_of_the_host * idle ||
      gaps.host.hits.size() < torch::kKillerLimits.least_gaps)
    return std::nullopt;
  return strike_of(facts, "trace.launch-bound", gaps.host);
}

// The first communication kernel of the window against the median of those of its name.
std::optional<Strike> first_collective(const OverlapFacts& facts) {
  const torch::Trace& trace = *facts.trace;
  const auto entry = torch::long_entry(trace);
  if (!entry) return std::nullopt;
  const GpuOp* const first = &trace.gpu_ops[entry->gpu_op];
  const std::int64_t excess = first->duration() - entry->usual;
  if (!matters(facts, excess)) return std::nullopt;
  torch::KillerHits hits;
  hits.hits.push_back({{first->start, first->end},
                       {first->start, first->end},
                       first->launch,
                       entry->gpu_op,
                       kNone});
  Strike strike = strike_of(facts, "trace.first-collective", hits);
  strike.examples.front().more =
      fmt::format("; median of the others {}", duration_text(entry->usual));
  strike.use.saving = excess;
  return strike;
}

std::string contention_summary(const Struck& struck) {
  const OverlapFacts& facts = *struck.worst->facts;
  const torch::Contention& one = facts.contention;
  std::string text = fmt::format(
      "compute kernels {} take {:.2f} times as long while a collective runs ({} kernels of {} "
      "kinds",
      struck.ranks, one.slowdown, one.kernels, one.kinds);
  if (one.channels > 0)
    text += facts.trace->sm_count > 0 ? fmt::format("; {} channels of {} multiprocessors",
                                                    one.channels, facts.trace->sm_count)
                                      : fmt::format("; {} channels", one.channels);
  return text + "): " + struck.cost;
}

std::string doubtful_summary(const Struck& struck) {
  return contention_summary(struck) +
         "; so much is more often kernels of different shapes under one name";
}

std::string tiny_summary(const Struck& struck) {
  const OverlapFacts& facts = *struck.worst->facts;
  const torch::SmallCollectives& one = facts.small.front();
  const std::size_t steps = facts.steps;
  std::string size;
  if (one.is_sized)
    size = " of " + core::format_bytes(core::Bytes::of(one.bytes / one.calls.hits.size()));
  const std::string name = fmt::format("small {}", torch::class_name(one.kind));
  return fmt::format(
      "{} {} take {}{}; each costs about {} whatever it carries: merged into {} per step they save "
      "{} of communication, hidden or not",
      count_text(*struck.worst, name + size, name + "s" + size), struck.ranks,
      ms_text(static_cast<double>(one.busy) / static_cast<double>(steps)),
      facts.trace->steps.empty() ? "" : " per step", duration_text(one.latency),
      std::max<std::int64_t>(1, one.merged_calls / static_cast<std::int64_t>(one.steps)),
      struck.cost);
}

std::string launch_summary(const Struck& struck) {
  const OverlapFacts& facts = *struck.worst->facts;
  const torch::LaunchGaps& gaps = facts.gaps;
  return fmt::format(
      "the device waits for the next launch {}: {}; {:.0f} % of all idle time, {} of {} launches "
      "found their stream empty",
      struck.ranks, struck.cost,
      100 * static_cast<double>(gaps.host.lost.idle) / static_cast<double>(gaps.idle),
      gaps.into_empty, gaps.launches);
}

std::string first_summary(const Struck& struck) {
  return fmt::format(
      "the first collective of the recording takes far longer than its like {}: late start or "
      "first "
      "connection, not the steady state: {}",
      struck.ranks, struck.cost);
}

}  // namespace

std::vector<KillerRule> load_rules() {
  using enum core::Confidence;
  return {
      {"trace.sm-contention",
       clear_contention,
       contention_summary,
       {"NCCL_MAX_CTAS (or config.max_ctas of the group) lower, where the collective is hidden "
        "anyway"},
       kLikely},
      {"trace.sm-contention",
       doubtful_contention,
       doubtful_summary,
       {},
       kPossible,
       RuleWeight::kNote},
      {"trace.tiny-collectives",
       tiny,
       tiny_summary,
       {"flatten them into one tensor or a bucket (DDP: bucket_cap_mb=25 or more)",
        "comm-probe calc bucket  # what merging saves"},
       kLikely},
      {"trace.launch-bound",
       launch_bound,
       launch_summary,
       {"CUDA graphs or torch.compile(mode='reduce-overhead'), fused optimizer, larger batch; "
        "bind the process to the cores of its GPU"},
       kLikely,
       RuleWeight::kOfTheMost},
      {"trace.first-collective", first_collective, first_summary, {}, kLikely, RuleWeight::kNote}};
}

}  // namespace comm_probe::diagnose
