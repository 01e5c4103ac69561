// What traces of several ranks say together.
#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr auto kError = Severity::kError;
constexpr auto kWarning = Severity::kWarning;
constexpr auto kInfo = Severity::kInfo;

constexpr std::array kFindings = {
    FindingEntry{
        "trace.straggler", kWarning, Layer::kApplication,
        "one rank arrives last at the collectives and the others wait in them",
        "a GPU that computes slower (clocks, heat, power cap, another process), more work than the "
        "others have (longer sequences, more tokens for its experts), a host that launches late "
        "(data loader, .item(), a busy core, garbage collection), or a late collective of another "
        "group",
        "the finding says which of these its trace shows; slow GPU: `nvidia-smi -q -d "
        "CLOCK,PERFORMANCE`; host: `comm-probe trace` on its own file names what blocks it; the "
        "link is not the cause, a faster network changes nothing"},
    FindingEntry{
        "trace.slow-link", kWarning, Layer::kNccl,
        "collectives take far longer than they should although nobody was late",
        "a link below its rate, another path than thought (TCP instead of RDMA, no GPUDirect, PCIe "
        "instead of NVLink), another job on the same links, or too few channels; in one group "
        "only: "
        "the way between its members",
        "`comm-probe topo check` on the hosts of the group, NCCL_DEBUG=INFO and `comm-probe log`, "
        "then nccl-tests on the same ranks and `comm-probe curve`"},
    FindingEntry{"trace.late-outside", kWarning, Layer::kApplication,
                 "all given ranks wait alike, so the late or slow one is not among them",
                 "the traces of some members of the group were not given",
                 "record and give the traces of the missing ranks; nobody of the given ones is to "
                 "blame"},
    FindingEntry{
        "trace.mismatch", kError, Layer::kApplication,
        "one collective has another operation, type or size on different ranks",
        "ranks took different branches, tensors differ in shape, or a rank skipped a call; "
        "results are wrong or the job hangs soon",
        "TORCH_DISTRIBUTED_DEBUG=DETAIL stops at the first call that differs; Flight "
        "Recorder dumps go to `comm-probe hang`"},
    FindingEntry{
        "trace.clock-skew", kInfo, Layer::kHardware, "the clocks of the hosts differ",
        "hosts without common time synchronisation; or ranks that take turns on one GPU",
        "nothing to do: durations and aligned ends are used; tools that compare raw starts "
        "accuse the wrong rank"},
    FindingEntry{"trace.entry-skew", kInfo, Layer::kApplication,
                 "the ranks reached the first collective of the recording far apart",
                 "start of the profiler, compilation, or a late rank before the window",
                 "record a few steps more (profiler schedule with warm-up) if it matters"},
};

constexpr std::array kCaveats = {
    CaveatEntry{"trace.single-rank", "the traces of the other ranks",
                "record all ranks, at least one per node; ranks of one data-parallel group matter "
                "most"},
    CaveatEntry{"trace.ranks-missing", "the traces of some ranks", "give all ranks of the job"},
    CaveatEntry{"trace.unmatched", "collectives whose ends do not agree between ranks",
                "record all ranks in the same steps, without sampling of events"},
    CaveatEntry{
        "trace.no-metadata", "sizes and groups of the collectives",
        "PyTorch 2.3 or later writes them; kernels of CUDA graphs and of NCCL called outside "
        "of c10d have none"},
    CaveatEntry{"trace.point-to-point", "a judgement of sends and receives",
                "look at the time line of neighbouring stages"},
    CaveatEntry{"trace.list-shortened", "the full member list of a large group",
                "give more of its ranks; their lists complete each other"},
    CaveatEntry{"trace.ends-disagree", "a common end of the collectives",
                "one rank per GPU; record without other jobs on the GPUs"},
    CaveatEntry{"trace.shared-gpu", "a GPU of its own for every rank, as it seems",
                "one rank per GPU; without choice read the figures as those of the sharing. A "
                "network below 10 Gb/s looks alike: `comm-probe link` measures it"},
    CaveatEntry{"trace.inspector-cut", "records of NCCL Inspector that were cut",
                "copy the log after the job has ended"},
    CaveatEntry{"trace.inspector-cpu-time", "GPU times of collectives",
                "NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING=1 keeps only records with GPU times"},
    CaveatEntry{"trace.ranks-numbered", "the global ranks of the processes",
                "give the logs of all processes of the largest communicator"},
};

}  // namespace

std::span<const FindingEntry> trace_across_findings() { return kFindings; }
std::span<const CaveatEntry> trace_across_caveats() { return kCaveats; }

}  // namespace comm_probe::core
