#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kFindings = {
    FindingEntry{"link.accept-failed", Severity::kWarning, Layer::kHardware,
                 "A line of the acceptance list (`run --accept`) fails: the machine is refused.",
                 "The hardware or its set-up does not reach what was computed for this host; the "
                 "evidence names each line with what was expected and found.",
                 "Mend what the line names; `comm-probe topo check` and `comm-probe link` show "
                 "it in detail. Then repeat `comm-probe run --accept`."},
    FindingEntry{
        "link.cpu-quota", Severity::kWarning, Layer::kHardware,
        "The cgroup grants less CPU time than the CPUs that this process may run on.",
        "A container or a batch job with a CPU limit (cpu.max, cfs_quota_us): once the "
        "quota is used up, every process of the group stands still until the next period "
        "(100 ms), and every rank that waits for it too.",
        "Raise the limit to the number of ranks and progress threads, or start no more "
        "ranks than the quota has CPUs. NCCL and its proxy threads need CPU time as well."},
    FindingEntry{"link.gap-unexplained", Severity::kWarning, Layer::kHardware,
                 "A collective took more than 1.25 times what the links of this machine explain, "
                 "and nothing that was seen around it says why.",
                 "Something that neither link nor run sees: frequency that falls under load, "
                 "memory of another NUMA node, a neighbour on the same host.",
                 "Run it again. Where it stays, look at frequency, NUMA placement and huge pages, "
                 "and compare with `comm-probe link` on an idle machine."},
    FindingEntry{
        "link.gpu-below-slot", Severity::kWarning, Layer::kHardware,
        "Pinned copies between host and GPU are far below what the GPU's PCIe link "
        "carries after packet overhead.",
        "host memory of another NUMA node, a link that runs below its generation or width "
        "(an idle GPU may lower it), IOMMU translation, other traffic below the same "
        "switch, a virtual machine",
        "`nvidia-smi -q | grep -A12 'GPU Link Info'` while a copy runs shows generation and "
        "width; run `numactl -N NODE comm-probe link --only pcie` on the GPU's NUMA node "
        "(`comm-probe topo show` names it)"},
    FindingEntry{
        "link.gpu-ways-share", Severity::kInfo, Layer::kHardware,
        "Each direction between host and GPU carries what the slot can; both together stay below "
        "twice that.",
        "The slot is sound: both directions share something behind it, as host memory, an IOMMU "
        "or the CPU's root complex. In virtual machines it differs with every allocation of the "
        "pinned memory.",
        "Pull nothing. Where a job moves data both ways at a time, run it on the GPU's NUMA node "
        "with huge pages, and compare with a machine without a hypervisor."},
    FindingEntry{
        "link.gpu-pair-below-links", Severity::kWarning, Layer::kHardware,
        "Direct copies between two GPUs are far below what the links between them carry.",
        "NVLinks that are down or in recovery, a fabric manager that did not finish, "
        "PCIe traffic that is turned at the root complex (ACS), other jobs on the GPUs",
        "`nvidia-smi nvlink -s -i GPU` and `nvidia-smi nvlink -e -i GPU`; `comm-probe topo "
        "check`; repeat on an idle machine"},
    FindingEntry{
        "link.no-overlap", Severity::kWarning, Layer::kFramework,
        "A product of matrices and an all_reduce on two streams of a GPU take turns although "
        "nothing between them waits: computation hides no communication.",
        "CUDA_LAUNCH_BLOCKING=1 or CUDA_DEVICE_MAX_CONNECTIONS=1 in the environment (Megatron "
        "before Hopper wants the latter), a debugger or profiler that serialises kernels, another "
        "program that fills the GPU.",
        "Unset them for this job; `comm-probe trace` shows in a profile whether it helped."},
    FindingEntry{"link.one-cpu", Severity::kWarning, Layer::kHardware,
                 "Only one CPU may be used: two processes take turns, and every message costs a "
                 "context switch.",
                 "taskset, a cpuset, or a batch job that asked for one core.",
                 "Start it with at least one CPU per rank (srun --cpus-per-task, docker "
                 "--cpuset-cpus, mpirun --bind-to none)."},
    FindingEntry{"link.pci-width", Severity::kWarning, Layer::kHardware,
                 "A GPU or NIC runs with fewer PCIe lanes than it has.",
                 "The card is not seated well, the slot has fewer lanes, or the firmware splits "
                 "the slot; bandwidth falls in proportion.",
                 "Reseat the card, check the slot and the bifurcation setting of the firmware; "
                 "`lspci -vv -s ADDRESS` shows LnkCap and LnkSta."},
};
constexpr std::array kCaveats = {
    CaveatEntry{"link.accept-undecided",
                "A line of `run --accept` could be decided neither way: the machine was disturbed "
                "while it was measured, or there is no ledger for it.",
                "Stop other work and run it again; until every line is decided the machine is not "
                "accepted."},
    CaveatEntry{"link.disturbed",
                "Others worked on the machine, or it changed its state, while a collective was "
                "measured beside its ledger.",
                "Stop other work, use cores that are not shared, run again."},
    CaveatEntry{"link.gpu-busy", "A GPU worked for another process while its links were measured.",
                "`nvidia-smi` names the process; end it or wait for it, then measure again."},
    CaveatEntry{"link.gpu-part-unmeasured",
                "A part of the measurement of the GPUs failed; the others were measured.",
                "Read the driver's error in the caveat; nvidia-smi shows whether others use the "
                "GPU's memory, and `dmesg | grep Xid` whether the GPU itself had an error."},
    CaveatEntry{"link.launch-blocking",
                "CUDA_LAUNCH_BLOCKING is set in this environment, and was taken away for the "
                "measurement of links.",
                "Unset it for jobs: it is for debugging, and every kernel is waited for."},
    CaveatEntry{"link.no-ledger", "A collective was measured for which there is no ledger.",
                "Use at most one rank per core, and an algorithm that the ledger knows."},
    CaveatEntry{"link.host-unmeasured",
                "The host's own links could not be measured; what was measured of its GPUs "
                "stands.",
                "Read the reason in the caveat; end what loads the CPUs, and run it again."},
    CaveatEntry{"link.host-unreadable",
                "Part of what this machine is could not be read from /sys or /proc.",
                "Mount /sys and /proc into the container, or run outside of it."},
    CaveatEntry{"link.noisy",
                "Repeated blocks of a measurement differ by more than 20 % (90th against 10th "
                "percentile).",
                "Stop other work on the machine, bind frequency and CPUs, measure again."},
    CaveatEntry{"link.stage-unmeasured",
                "A stage of `run` on the GPUs failed, or its time was over before it had finished.",
                "The caveat says why; without --quick a stage has more time. "
                "`comm-probe bench --backend nccl` and `--backend cuda` run it alone."},
    CaveatEntry{"link.state-changed",
                "The latency between the two CPUs changed while the links were measured.",
                "On a virtual machine the hypervisor moves virtual CPUs between cores; measure on "
                "dedicated cores, or repeat until both latencies agree."},
    CaveatEntry{"link.tcp-unmeasured", "Loopback TCP could not be measured.",
                "Bring the interface lo up (ip link set lo up)."},
};

}  // namespace

std::span<const FindingEntry> link_findings() { return kFindings; }
std::span<const CaveatEntry> link_caveats() { return kCaveats; }

}  // namespace comm_probe::core
