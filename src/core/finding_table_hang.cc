#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kFindings = {
    FindingEntry{
        "hang.comm-order-inversion", Severity::kError, Layer::kApplication,
        "Ranks use several communicators in different orders and wait for each other.",
        "Two process groups whose collectives are issued in an order that depends on the "
        "rank: a branch, an autograd hook, two threads.",
        "Issue the calls of all groups in one order on every rank, or on one stream. Where "
        "only the launches differ: NCCL_LAUNCH_ORDER_IMPLICIT=1 (NCCL 2.26 or newer)."},
    FindingEntry{"hang.count-mismatch", Severity::kError, Layer::kApplication,
                 "A rank made fewer or more collectives than the others of its group; from then on "
                 "their calls do not belong together.",
                 "Uneven numbers of batches, parameters without a gradient, experts without "
                 "tokens, an early return on one rank.",
                 "Make the skipped call unconditional (an empty tensor is enough), or use join "
                 "contexts; look at the line of the first call that differs."},
    FindingEntry{"hang.network-or-hardware", Severity::kError, Layer::kHardware,
                 "All ranks are in the same call with equal arguments and it does not end, or a "
                 "device does not report what its peers have finished.",
                 "A link, a NIC, a GPU in an error state, NCCL itself; or an argument that no dump "
                 "holds.",
                 "NCCL_DEBUG=WARN lines (completion status 12 and 5), dmesg for Xid, ncclras; is "
                 "one node common to all groups that hang?"},
    FindingEntry{"hang.not-decidable-from-dumps", Severity::kError, Layer::kFramework,
                 "Calls are open, but the dumps that are there cannot say who holds them back.",
                 "Dumps of several ranks are missing, cut, or of another run.",
                 "Collect the dumps of all ranks (TORCH_FR_DUMP_TEMP_FILE on a shared file system, "
                 "TORCH_FR_BUFFER_SIZE=2000, TORCH_NCCL_DUMP_ON_TIMEOUT=1) and their logs."},
    FindingEntry{"hang.p2p-unpaired", Severity::kError, Layer::kApplication,
                 "A send has no receive, a receive has no send, or both ends wait behind another "
                 "message.",
                 "A pipeline stage takes another path for one micro-batch; both sides send first; "
                 "shapes that differ between stages.",
                 "Compare the schedule of the two ranks around the message; use "
                 "batch_isend_irecv where both directions are needed."},
    FindingEntry{"hang.param-mismatch", Severity::kError, Layer::kApplication,
                 "Ranks made the same call of a group with different arguments.",
                 "Sizes, types or the operation depend on the rank or on its data.",
                 "Compare the two lines that the finding names; TORCH_DISTRIBUTED_DEBUG=DETAIL "
                 "stops at the first call that differs."},
    FindingEntry{"hang.rank-dead-or-stuck", Severity::kError, Layer::kFramework,
                 "A rank has not made a call for which others wait, and has nothing open itself.",
                 "The process has ended, or its host thread is busy: data loading, a checkpoint, "
                 "compilation, a lock.",
                 "py-spy dump on that rank; its log; dmesg of its host."},
    FindingEntry{"hang.slow", Severity::kInfo, Layer::kFramework,
                 "A rank is behind the others, but not for long: the dumps were taken while the "
                 "job was moving.",
                 "A slow step, compilation, a checkpoint.",
                 "Take a second set of dumps some seconds later and compare the last calls."},
    FindingEntry{"hang.timeout-shorter", Severity::kWarning, Layer::kFramework,
                 "The group that timed out has a shorter limit than another group of the job.",
                 "new_group without a time-out gets the default of 10 minutes, not the value given "
                 "to init_process_group (pytorch issue 135352).",
                 "Give new_group and device meshes the time-out too."},
};
constexpr std::array kCaveats = {
    CaveatEntry{"hang.dump-cut", "A dump ends too early or holds bytes that are no plain data.",
                "Copy it again after the process has written it; disks that are full cut dumps."},
    CaveatEntry{"hang.dump-missing", "Ranks that the groups name left no dump.",
                "Collect them: a process that died or was stopped writes none."},
    CaveatEntry{"hang.dump-newer", "A dump of a newer Flight Recorder version than is known.",
                "Update comm-probe."},
    CaveatEntry{"hang.dump-stale", "A dump ends long before the others: it is of an older run.",
                "Remove the files of older runs, or use another TORCH_FR_DUMP_TEMP_FILE per run."},
    CaveatEntry{"hang.dump-trailing", "Bytes stand behind the end of a dump.",
                "Two dumps in one file? Only the first is read."},
    CaveatEntry{"hang.entries-skipped", "Entries of a dump name no operation, or are too many.",
                "Was the file written or changed by another program? Copy the dump again."},
    CaveatEntry{"hang.log-foreign", "The logs tell of a time-out that does not fit the dumps.",
                "Give the logs and the dumps of one run."},
    CaveatEntry{"hang.log-missing", "Logs of some ranks were not given.",
                "Give the logs of all ranks: the one that tells of the fault may be among them."},
    CaveatEntry{"hang.one-counter",
                "The dumps number the calls of all communicators together (torchcomms) and their "
                "rings have lost calls.",
                "Make the ring larger (TORCHCOMM_FR_BUFFER_SIZE) than the calls of a run, or dump "
                "earlier: then the calls of each communicator can be counted."},
    CaveatEntry{"hang.rank-twice", "Several dumps of one rank.",
                "Remove those of an older run, or give one directory per run."},
    CaveatEntry{"hang.rank-unknown", "The name of a dump holds no number that could be its rank.",
                "Name the files PREFIX<rank>, as PyTorch does."},
    CaveatEntry{"hang.rank-wrong", "The name of a dump tells another rank than its groups do.",
                "Name the files PREFIX<rank>, as PyTorch does; was a file copied under another "
                "name?"},
};

}  // namespace

std::span<const FindingEntry> hang_findings() { return kFindings; }
std::span<const CaveatEntry> hang_caveats() { return kCaveats; }

}  // namespace comm_probe::core
