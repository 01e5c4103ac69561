#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kFindings = {
    FindingEntry{"bench.off-prediction", Severity::kInfo, Layer::kHardware,
                 "The measured time of a size is further than 25 % from what link's alpha and "
                 "bandwidths make it.",
                 "The machine changed between the two measurements (frequency, another job, a "
                 "hypervisor that moved a virtual CPU), or the ledger lacks a term.",
                 "The evidence says which of them, size by size. Stop other work, measure again; "
                 "`--explain` prints the terms."},
    FindingEntry{"bench.rank-died", Severity::kError, Layer::kApplication,
                 "A rank ended before the run was finished, and the run was ended with it.",
                 "Somebody killed it, the kernel did for want of memory (dmesg says so), or a bug.",
                 "Run it again. Killed by signal 9: look for `oom-kill` in dmesg and use a smaller "
                 "-e or fewer ranks."},
    FindingEntry{
        "bench.wrong-results", Severity::kError, Layer::kApplication,
        "The result of a collective is not what its inputs make it.",
        "Memory or a processor that is broken, or a bug in the engine that ran it.",
        "Repeat with another --algo and -d. Wrong with all of them: test the memory; wrong "
        "with one of them: report it with the command line."},
};
constexpr std::array kCaveats = {
    CaveatEntry{"bench.not-priced",
                "More ranks than cores: ranks take turns, and no prediction is made.",
                "Use at most one rank per core (`nproc`) to compare with a prediction."},
};

}  // namespace

std::span<const FindingEntry> bench_findings() { return kFindings; }
std::span<const CaveatEntry> bench_caveats() { return kCaveats; }

}  // namespace comm_probe::core
