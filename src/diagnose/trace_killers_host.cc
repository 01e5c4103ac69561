// Calls that make the host wait for the device (spec traces 2.8, K1 to K3).
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/trace_killer_rules.h"

namespace comm_probe::diagnose {
namespace {

using torch::KillerHits;
using torch::OverlapFacts;

std::optional<Strike> strike_if_any(const OverlapFacts& facts, const char* id,
                                    const KillerHits& hits) {
  if (hits.hits.empty()) return std::nullopt;
  return strike_of(facts, id, hits);
}

std::optional<Strike> item(const OverlapFacts& facts) {
  return strike_if_any(facts, "trace.item-sync", facts.blocks.item);
}

std::optional<Strike> device_sync(const OverlapFacts& facts) {
  return strike_if_any(facts, "trace.device-sync", facts.blocks.synchronise);
}

// In the first steps of a job the caching allocator fills itself; without steps everything may be
// the first.
bool is_warm(const OverlapFacts& facts, const KillerUse& use) {
  const torch::Trace& trace = *facts.trace;
  if (trace.steps.empty()) return false;
  const std::int64_t warm =
      std::min(trace.steps.front().number + 1, torch::kKillerLimits.warm_step);
  return use.per_step.rbegin()->first >= warm;
}

std::optional<Strike> allocation(const OverlapFacts& facts) {
  auto strike = strike_if_any(facts, "trace.cuda-free", facts.blocks.allocator);
  return strike && is_warm(facts, strike->use) ? strike : std::nullopt;
}

std::optional<Strike> first_allocation(const OverlapFacts& facts) {
  auto strike = strike_if_any(facts, "trace.cuda-free", facts.blocks.allocator);
  return strike && !is_warm(facts, strike->use) ? strike : std::nullopt;
}

// Where DDP's statistics and a timer are, the larger one is shown.
std::optional<Strike> timer(const OverlapFacts& facts) {
  const KillerHits& statistics = facts.blocks.statistics;
  const KillerHits& timer = facts.blocks.timer;
  return strike_if_any(facts, "trace.timer-sync",
                       statistics.lost.sum() > timer.lost.sum() ? statistics : timer);
}

std::string op_text(const Struck& struck, const KillerHits& hits) {
  const torch::KillerHit& first = hits.hits.front();
  const torch::Trace& trace = *struck.worst->facts->trace;
  if (first.host_op == torch::kNone) return "a copy to the host";
  return std::string(trace.names.text(trace.host_ops[first.host_op].name));
}

std::string item_summary(const Struck& struck) {
  return fmt::format(
      "the host waits until the device has caught up at {} ({}) {}, and launches nothing "
      "meanwhile: "
      "{}",
      count_text(*struck.worst, "copy to the host", "copies to the host"),
      op_text(struck, struck.worst->facts->blocks.item), struck.ranks, struck.cost);
}

std::string call_name(const Struck& struck, const KillerHits& hits) {
  const torch::Trace& trace = *struck.worst->facts->trace;
  return std::string(trace.name_of(trace.calls[hits.hits.front().call]));
}

std::string sync_summary(const Struck& struck) {
  return fmt::format("the host waits until the device has finished at {} ({}) {}: {}",
                     count_text(*struck.worst, "synchronise call", "synchronise calls"),
                     call_name(struck, struck.worst->facts->blocks.synchronise), struck.ranks,
                     struck.cost);
}

std::string allocation_count(const Struck& struck) {
  return fmt::format("{} ({} first) {}",
                     count_text(*struck.worst, "allocation or release of memory",
                                "allocations or releases of memory"),
                     call_name(struck, struck.worst->facts->blocks.allocator), struck.ranks);
}

std::string allocation_summary(const Struck& struck) {
  return fmt::format(
      "the device stops for {}; the share of hidden communication does not show it: {}",
      allocation_count(struck), struck.cost);
}

std::string first_allocation_summary(const Struck& struck) {
  return fmt::format(
      "{} in the first steps, when the caching allocator fills itself: normal there: {}",
      allocation_count(struck), struck.cost);
}

std::string timer_summary(const Struck& struck) {
  const torch::HostBlocks& blocks = struck.worst->facts->blocks;
  const std::string count = count_text(*struck.worst, "wait", "waits") + " " + struck.ranks;
  if (blocks.statistics.lost.sum() > blocks.timer.lost.sum())
    return fmt::format(
        "DDP waits for its own timing events in its forward ({}): its statistics of the first ten "
        "iterations and of every hundredth, no fault of the program: {}",
        count, struck.cost);
  return fmt::format(
      "{} for the device at the end of a step, as timers and log lines make them: {}", count,
      struck.cost);
}

}  // namespace

std::vector<KillerRule> host_rules() {
  using enum core::Confidence;
  return {{"trace.item-sync",
           item,
           item_summary,
           {"keep the value on the device and read it every N steps, or one step late from pinned "
            "memory",
            "torch.cuda.set_sync_debug_mode('warn')  # names every line that does it"},
           kCertain},
          {"trace.device-sync",
           device_sync,
           sync_summary,
           {"remove it, or keep one at the end of every N-th step; copy from pinned memory with "
            "non_blocking=True"},
           kCertain},
          {"trace.cuda-free",
           allocation,
           allocation_summary,
           {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, a smaller peak, no empty_cache() in "
            "the loop",
            "torch.cuda.memory_stats()['num_alloc_retries']  # counts them"},
           kCertain},
          {"trace.cuda-free",
           first_allocation,
           first_allocation_summary,
           {},
           kLikely,
           RuleWeight::kNote},
          {"trace.timer-sync", timer, timer_summary, {}, kLikely, RuleWeight::kNote}};
}

}  // namespace comm_probe::diagnose
