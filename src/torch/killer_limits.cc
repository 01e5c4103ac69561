#include "torch/killer_limits.h"

namespace comm_probe::torch {
namespace {

// name, value, applies when, source
constexpr KillerLimitRow kRows[] = {
    {"sync", "20 us", "a synchronise or allocator call is shorter: it found nothing to wait for",
     "spec traces 2.8, K2; calls that wait for nothing take 2 to 12 us on an H200"},
    {"calls to sync", "3", "calls between a copy to the host and the synchronise call that ends it",
     "spec traces 2.8, K1"},
    {"allocator calls apart", "1 ms", "further apart they are two hits",
     "cudaFree and cudaMalloc of one retry follow within 0.5 ms"},
    {"wakes", "1 us before to 10 us behind the end", "work starts because a collective ended",
     "spec traces 2.8, K4"},
    {"stall", "10 us", "a shorter idle time of the compute stream is no stall",
     "spec traces 2.8, K4"},
    {"early wait", "30 % of the side-stream collectives", "fewer are single cases",
     "spec traces 2.8, K4"},
    {"one queue", "20 % of the side-stream collectives", "fewer are single cases",
     "spec traces 2.8, K6"},
    {"contention kernels", "5 alone, 3 beside communication, 10 beside in all",
     "fewer say nothing about a kind of kernels", "spec traces 2.8, K7"},
    {"contention alike", "1.3 between the tenth and the ninetieth per cent",
     "kernels of one name and grid that differ by more have different shapes",
     "dlrm of 8 V100: 2.4 times slower beside communication, shapes differ"},
    {"contention", "1.08", "a smaller slowdown is within the spread", "spec traces 2.8, K7"},
    {"tiny", "256 KiB, or 40 us in the median where sizes are not recorded",
     "larger collectives pay for more than their latency", "spec traces 2.8, K8"},
    {"tiny per step", "16", "fewer are not worth merging",
     "h200/traces/tiny has 20 per step; healthy sets have at most 7 below 256 KiB"},
    {"bucket", "25 MiB", "what DDP merges by default", "torch DistributedDataParallel"},
    {"launch-bound", "idle above 15 % of the span, 60 % of it launch gaps, 10 of them",
     "less idle time is not worth the work", "spec traces 2.7"},
    {"launch gap", "1 ms", "in a longer gap the host did something else",
     "launches take 4 to 20 us; 20 ms in enumerate(DataLoader) is no launch"},
    {"worth a warning", "1 % of the step", "a killer that costs less is said as information",
     "below the spread of step times of healthy runs"},
};

}  // namespace

std::span<const KillerLimitRow> killer_limit_rows() { return kRows; }

}  // namespace comm_probe::torch
