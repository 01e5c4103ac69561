// What may be missing in one profiler trace.
#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kCaveats = {
    CaveatEntry{"trace.cut", "the end of a profiler trace: the file stops inside of it",
                "copy the file again after the writer has finished, or raise the quota; the writer "
                "renames the file when it is complete"},
    CaveatEntry{
        "trace.broken-events",
        "events of a profiler trace that cannot be read (a raw quote in a name, two writers "
        "in one file); the reader went on at the next event",
        "attach the file as the profiler wrote it; one file per process"},
    CaveatEntry{"trace.dropped-events",
                "events of a profiler trace without a usable time: none, 0, or days long",
                "nothing to do where they are few; they are faults of the profiler"},
    CaveatEntry{"trace.clipped-durations",
                "kernels whose recorded end lies behind the next kernel of their stream (ROCm)",
                "a newer profiler library; durations were cut at the start of the next kernel"},
    CaveatEntry{
        "trace.lost-records",
        "launches whose device work is not in the trace: the profiler's buffer ran over, or "
        "the recording began too late",
        "record fewer steps, without shapes and stacks; warm up the profiler (schedule "
        "with warmup=2)"},
    CaveatEntry{"trace.no-gpu-activity", "a trace holds no kernel, copy or memset",
                "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]; another profiler may "
                "have held CUPTI; a job on gloo has none"},
    CaveatEntry{"trace.rank-assumed", "the trace does not say of which rank it is",
                "name the files ...rank<N>..., or record inside of an initialised process group"},
    CaveatEntry{"trace.passed-over", "files that are no profiler trace",
                "nothing to do, unless one of them should be one"},
    CaveatEntry{"trace.several-processes", "one file holds the calls of several processes",
                "write one file per process: put the rank into the file name"},
};

}  // namespace

std::span<const CaveatEntry> trace_caveats() { return kCaveats; }

}  // namespace comm_probe::core
