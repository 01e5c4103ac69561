#include "torch/killer_limits.h"

#include <fmt/format.h>

#include "core/units.h"

namespace comm_probe::torch {
namespace {

constexpr const KillerLimits& kIs = kKillerLimits;

std::string time(std::int64_t ns) {
  return core::format_duration(core::Duration::from_ns(static_cast<double>(ns)));
}
std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }
std::string size(double bytes) { return core::format_bytes(core::Bytes::of(bytes)); }

}  // namespace

// name, value, applies when, source
std::vector<KillerLimitRow> killer_limit_rows() {
  return {
      {"synchronise call", time(kIs.shortest_sync), "a shorter one found nothing to wait for",
       "2 to 12 us are seen for nothing on an H200"},
      {"calls to synchronise", fmt::format("{}", kIs.calls_to_sync),
       "between a copy to the host and the call that ends it",
       "separates the recorded and generated sets"},
      {"allocations apart", time(kIs.allocator_calls_apart), "further apart they are two",
       "cudaFree and cudaMalloc of one retry follow within 0.5 ms"},
      {"warm step", fmt::format("{}", kIs.warm_step),
       "from this number or the second recorded step on allocations are no longer normal",
       "separates the recorded and generated sets"},
      {"woken",
       fmt::format("{} before to {} behind", time(kIs.wakes_before), time(kIs.wakes_behind)),
       "work that starts so near to the end of a collective waited for it",
       "separates the recorded and generated sets"},
      {"stall", time(kIs.least_stall), "the stream was free, and the work launched, for as long",
       "separates the recorded and generated sets"},
      {"early waits", fmt::format("{} and {}", kIs.least_stalls, percent(kIs.early_waits)),
       "of the collectives on streams of their own; fewer are single cases",
       "separates the recorded and generated sets"},
      {"held back", fmt::format("{} and {}", kIs.least_stalls, percent(kIs.held_back)),
       "of the same, without a wait", "separates the recorded and generated sets"},
      {"kernels of a kind",
       fmt::format("{} alone, {} beside, {} beside in all", kIs.kernels_alone, kIs.kernels_beside,
                   kIs.kernels_in_all),
       "fewer say nothing about contention", "separates the recorded and generated sets"},
      {"alike", fmt::format("{}", kIs.alike),
       "between tenth and ninetieth per cent alone; above, one grid holds several shapes",
       "dlrm on 8 V100: 2.4 times slower beside communication, by shapes"},
      {"slowdown", fmt::format("{}", kIs.slowdown), "less is within the spread",
       "separates the recorded and generated sets"},
      {"suspicious slowdown", fmt::format("{}", kIs.suspicious_slowdown),
       "more is rather shapes than contention", "separates the recorded and generated sets"},
      {"small",
       fmt::format("{}, or {} in the median", size(kIs.tiny_bytes), time(kIs.tiny_duration)),
       "larger ones pay for more than their latency; the time where sizes are not recorded",
       "separates the recorded and generated sets"},
      {"small per step", fmt::format("{}", kIs.tiny_per_step), "fewer are not worth merging",
       "h200/traces/tiny has 20 per step, healthy sets at most 7"},
      {"bucket", size(kIs.bucket_bytes), "what they are merged into", "default of DDP"},
      {"idle",
       fmt::format("{} of the span, {} of it of the host", percent(kIs.idle_that_matters),
                   percent(kIs.idle_of_the_host)),
       "launch-bound", "separates the recorded and generated sets"},
      {"launch gap", fmt::format("{} of at most {}", kIs.least_gaps, time(kIs.longest_launch_gap)),
       "in a longer gap the host did something else", "launches take 4 to 20 us"},
      {"first collective", fmt::format("{} times the median", kIs.first_far_longer),
       "of those of the same kernel", "separates the recorded and generated sets"},
      {"warning", percent(kIs.worth_a_warning), "of the step; what costs less is information",
       "below the spread of step times of healthy runs"},
  };
}

}  // namespace comm_probe::torch
