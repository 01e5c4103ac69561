#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kFindings = {
    FindingEntry{
        "bench.no-progress", Severity::kError, Layer::kNccl,
        "Nothing moved for the time-out of the run (--timeout), and every rank was ended.",
        "A rank that does not take part, a network that swallows data, or a first call "
        "that takes longer than the time-out.",
        "`--keep DIR` leaves NCCL's log of every rank: `comm-probe log` shows how far each "
        "came. On several hosts look at the interface that NCCL uses "
        "(NCCL_SOCKET_IFNAME)."},
    FindingEntry{
        "bench.far-off-model", Severity::kWarning, Layer::kNccl,
        "A collective between GPUs takes more than twice what is computed for the choice that "
        "NCCL made.",
        "A setting that takes channels or peer-to-peer access away (NCCL_MAX_NCHANNELS, "
        "NCCL_P2P_DISABLE), another job on the GPUs, a link below its rate, or low clocks.",
        "`env | grep NCCL_`; `comm-probe link --only p2p` shows what the links carry; `comm-probe "
        "bench OP --backend nccl --keep DIR` and `comm-probe doctor DIR` read NCCL's own log."},
    FindingEntry{
        "bench.off-nccl-model", Severity::kInfo, Layer::kNccl,
        "The measured time of a size is further than 25 % from what NCCL's own model makes "
        "it.",
        "NCCL's model is made to compare algorithms: it knows neither what launching "
        "costs nor the real bandwidth of this machine.",
        "The evidence gives the sizes by cause. Several GPUs per thread: measure with -t N "
        "-g 1. Otherwise compare with what the links give (`comm-probe link`)."},
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
        "bench.rank-stopped", Severity::kError, Layer::kApplication,
        "A rank did not run for five seconds while all others waited for it, and the run "
        "was ended.",
        "Somebody stopped it (SIGSTOP, a batch system that suspends jobs, a frozen cgroup); "
        "a busy machine is not the cause: there it would wait for a CPU.",
        "Find out who stops processes here (the batch system's log, `systemctl status`), "
        "then run it again. Real jobs hang the same way when one of their ranks is "
        "stopped."},
    FindingEntry{
        "bench.wrong-results", Severity::kError, Layer::kApplication,
        "The result of a collective is not what its inputs make it.",
        "Memory or a processor that is broken, or a bug in the engine that ran it.",
        "Repeat with another --algo and -d. Wrong with all of them: test the memory; wrong "
        "with one of them: report it with the command line."},
};
constexpr std::array kCaveats = {
    CaveatEntry{"bench.no-element",
                "A size holds no whole element, or not one for every rank, and nothing was moved.",
                "Give a -b of at least one element (times the ranks for all_gather, reduce_scatter "
                "and all_to_all)."},
    CaveatEntry{"bench.fewer-repetitions",
                "A limit between nodes makes every repetition long, so fewer were taken.",
                "Ask for more with -n, or for fewer --tokens."},
    CaveatEntry{"bench.logged",
                "NCCL before 2.24 cannot stop to write its log: one line for every call.",
                "For the times of small messages use a newer NCCL, or nccl-tests."},
    CaveatEntry{"lab.dump-missing",
                "A rank that should have left a Flight Recorder dump left none in time.",
                "Give more time (--patience), or look at its rankN.log."},
    CaveatEntry{"bench.one-gpu",
                "Several ranks share one GPU: what NCCL decides is real, its times are not.",
                "Measure on as many GPUs as ranks."},
    CaveatEntry{"bench.registered",
                "The plan does not know that buffers are registered with NCCL (-R).",
                "Run without -R to compare the choices; the times are real either way."},
    CaveatEntry{"bench.one-rank", "One rank was started, and nothing is communicated.",
                "Use --ranks 2 or more."},
    CaveatEntry{"bench.not-priced",
                "More ranks than cores: ranks take turns, and no prediction is made.",
                "Use at most one rank per core (`nproc`) to compare with a prediction."},
    CaveatEntry{"bench.shared-gpu", "Several ranks were measured on one GPU.",
                "Their times say nothing about links between GPUs: use as many ranks as GPUs."},
};

}  // namespace

std::span<const FindingEntry> bench_findings() { return kFindings; }
std::span<const CaveatEntry> bench_caveats() { return kCaveats; }

}  // namespace comm_probe::core
