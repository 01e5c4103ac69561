#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kFindings = {
    FindingEntry{
        "bench.rank-died", Severity::kError, Layer::kApplication,
        "a rank ended before the run was finished, and the run was ended with it",
        "somebody killed it, the kernel did for want of memory (dmesg says so), or a bug",
        "run again; with killed by signal 9 look for `oom-kill` in dmesg and use a smaller "
        "-e or fewer ranks"},
    FindingEntry{
        "bench.wrong-results", Severity::kError, Layer::kApplication,
        "the result of a collective is not what its inputs make it",
        "memory or a processor that is broken, or a bug in the engine that ran it",
        "repeat with another --algo and -d; wrong with all of them: test the memory; wrong "
        "with one of them: report it with the command line"},
};
constexpr std::array<CaveatEntry, 0> kCaveats = {};

}  // namespace

std::span<const FindingEntry> bench_findings() { return kFindings; }
std::span<const CaveatEntry> bench_caveats() { return kCaveats; }

}  // namespace comm_probe::core
