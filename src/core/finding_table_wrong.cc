// Wrong numbers: what the program, the framework or the arithmetic did. A network never stands
// here: InfiniBand and RoCE check every packet and send a damaged one again.
#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kFindings = {
    FindingEntry{
        "log.nan-value", Severity::kError, Layer::kApplication,
        "A loss or norm became NaN or infinite, or a check found NaN in a rank's own data.",
        "The program's arithmetic: a learning rate too high, a division by zero, log of 0, "
        "overflow "
        "in fp16, a bad batch on one rank. A collective only spreads it: one NaN in one rank's "
        "gradient is in everybody's after all_reduce.",
        "Find the rank where it was born, before the sum: TORCH_NCCL_NAN_CHECK=1 stops at the "
        "first "
        "collective whose input has a NaN; torch.autograd.set_detect_anomaly(True) names the "
        "operation; look at that rank's batch of that step."},
    FindingEntry{
        "log.ranks-diverge", Severity::kError, Layer::kFramework,
        "A value that is equal on all ranks after a reduction was equal for some steps and then is "
        "not.",
        "The ranks no longer hold the same parameters: a gradient that was changed or not reduced "
        "on some ranks (a parameter without hook, no_sync left on, an optimizer step skipped on "
        "one "
        "rank only), a tensor used before its collective ended, different data types, a random "
        "state or a checkpoint that differs.",
        "Compare a checksum of the parameters across ranks step by step from the last equal step; "
        "check for use before wait() (comm-probe trace), types of calls (comm-probe hang, "
        "NCCL_DEBUG_SUBSYS=COLL), found_inf handling of the GradScaler."},
    FindingEntry{
        "log.algorithms-differ", Severity::kInfo, Layer::kNccl,
        "Two runs on the same GPUs took different algorithms, protocols or channels for calls of "
        "one size: their sums differ in the last bits.",
        "Floating-point addition depends on its order, and each algorithm adds in another one. "
        "Another NCCL release, topology, tuner or setting made another choice. It is no fault; it "
        "only looks like one where results are compared bit by bit.",
        "Compare with a tolerance. Where bits must be equal, pin NCCL_ALGO, NCCL_PROTO and the "
        "number of channels for both runs, with the same NCCL and the same GPUs."},
    FindingEntry{
        "hang.types-differ", Severity::kError, Layer::kApplication,
        "Ranks took part in one completed collective with different data types.",
        "Autocast, a parameter or a buffer that has another type on some ranks. NCCL does not "
        "compare types: where the sizes are equal (fp16 and bf16) the call ends and the bytes of "
        "one type are added as the other.",
        "Give all ranks one type at the line that the finding names; "
        "TORCH_DISTRIBUTED_DEBUG=DETAIL "
        "stops at the first call that differs."},
    FindingEntry{
        "trace.tensor-touched", Severity::kError, Layer::kApplication,
        "A tensor of an asynchronous collective was used by another kernel before the collective "
        "had ended, with nothing between them that orders the two.",
        "The wait() comes after the use, is on another stream than the use, or is missing; or the "
        "storage was given to somebody else while it was in flight.",
        "Move work.wait() before the first use of the tensor, on the stream that uses it; with own "
        "streams: stream.wait_event or tensor.record_stream."},
};

}  // namespace

std::span<const FindingEntry> wrong_findings() { return kFindings; }

}  // namespace comm_probe::core
