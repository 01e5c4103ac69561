// What counters of network ports show (topo check --net), and what of a host starves communication.
#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kFindings = {
    FindingEntry{"topo.cpu-affinity", Severity::kWarning, Layer::kTopology,
                 "A process may run on fewer CPUs than its ranks and their proxy threads need.",
                 "taskset, a cpuset, a batch step that asked for one core per task; proxy threads "
                 "inherit it and take turns with the rank.",
                 "Give each rank at least two CPUs, near its GPU (srun --cpus-per-task, docker "
                 "--cpuset-cpus, mpirun --bind-to none or --map-by ...:PE=8)."},
    FindingEntry{"topo.cpu-far", Severity::kWarning, Layer::kTopology,
                 "A process may run on none of the CPUs near a GPU.",
                 "The cpuset of the container or of the batch step covers one socket only.",
                 "Let ranks run on the NUMA node of their GPU (numactl --cpunodebind, srun "
                 "--cpu-bind, a cpuset with both sockets)."},
    FindingEntry{"topo.cpu-quota", Severity::kWarning, Layer::kHardware,
                 "The CPU quota of the cgroup is smaller than what ranks and proxy threads use.",
                 "A CPU limit of the container (Kubernetes limits.cpu, docker --cpus).",
                 "Raise or remove the limit: two CPUs for each GPU at least. Requests without "
                 "limits do no harm."},
    FindingEntry{"topo.cpu-throttled", Severity::kWarning, Layer::kHardware,
                 "The cgroup used up its CPU quota and was stopped.",
                 "A CPU limit of the container: all threads stand still until the next period "
                 "(100 ms), the NCCL proxy too, and every other rank waits.",
                 "Raise or remove the CPU limit; look for what else uses CPU there (data "
                 "loaders)."},
    FindingEntry{"topo.ibgda-not-ready", Severity::kInfo, Layer::kRdma,
                 "The GPU driver lacks options that RDMA by the GPU (IBGDA, DeepEP) needs.",
                 "The options are off by default.",
                 "In /etc/modprobe.d/nvidia.conf: options nvidia NVreg_EnableStreamMemOPs=1 "
                 "NVreg_RegistryDwords=\"PeerMappingOverride=1;\"; rebuild the initramfs, reboot. "
                 "Without them NVSHMEM falls back to the CPU, at half the speed or less."},
    FindingEntry{"topo.net-ack-timeout", Severity::kWarning, Layer::kRdma,
                 "A sender waited for an acknowledgement until its timer ended.",
                 "A black hole (dead peer, wrong route, wrong GID, a link that is down, a firewall "
                 "on UDP 4791), or a pause longer than the timer (PFC storm). After 7 retries the "
                 "request fails with status 12: NCCL's defaults make that 30 to 34 s.",
                 "Find the peer in the log (`comm-probe log`), check ports and GIDs of both ends, "
                 "run ib_write_bw between exactly that pair. A longer NCCL_IB_TIMEOUT helps only "
                 "where the stall ends by itself."},
    FindingEntry{"topo.net-class-mismatch", Severity::kWarning, Layer::kRdma,
                 "A RoCE port drops packets and nothing was ever paused.",
                 "Flow control (PFC) is off on host or switch, or the traffic runs in a class that "
                 "is not the lossless one (NCCL_IB_TC, NCCL_IB_SL, DSCP). Works with two nodes, "
                 "collapses when many send to one.",
                 "`mlnx_qos -i IFACE` shows the lossless priorities and the trust mode; set "
                 "NCCL_IB_TC to the traffic class (DSCP x 4) of the switch's lossless queue on "
                 "every node."},
    FindingEntry{"topo.net-cnp-ignored", Severity::kWarning, Layer::kRdma,
                 "A sender ignores the congestion notices that it gets.",
                 "DCQCN is off on the sending side (reaction point) of this priority.",
                 "Enable it: echo 1 > /sys/class/net/IFACE/ecn/roce_rp/enable/PRIO (or mlxconfig "
                 "ROCE_CC_PRIO_MASK_P1), the same on every node."},
    FindingEntry{"topo.net-completion-errors", Severity::kError, Layer::kRdma,
                 "Work requests of RDMA failed.",
                 "Status 12: the peer did not answer (port, route, GID, dead process). 13: its "
                 "receiver was never ready. 10: its memory is gone or the key is old. 9 and 1: "
                 "both ends disagree about the message.",
                 "The log of the job names peer and status (`comm-probe log`); believe the first "
                 "status that is not 5, the rest are flushes."},
    FindingEntry{"topo.net-congested", Severity::kWarning, Layer::kRdma,
                 "A noticeable part of the RoCE packets met a full queue.",
                 "Marks that a receiver sees: too many senders to this host. Notices that a sender "
                 "gets: its flows meet a full queue on the way (ECMP collisions, oversubscribed "
                 "uplinks) or at the receiver.",
                 "Compare the hosts: one receiver is incast, all senders of one leaf are its "
                 "uplinks. More QPs per connection (NCCL_IB_QPS_PER_CONNECTION) spread flows over "
                 "paths; rails kept apart (NCCL_CROSS_NIC=0) keep them off the spine."},
    FindingEntry{
        "topo.net-counted-before", Severity::kInfo, Layer::kRdma,
        "A counter of errors is above zero, and nobody knows since when.",
        "Anything since the driver was loaded: a reboot of the switch last month counts "
        "too.",
        "Take a second snapshot while the job runs: `comm-probe topo check --net --watch 60s`, or "
        "the same output again a minute later as a second --from."},
    FindingEntry{"topo.net-credit-wait", Severity::kWarning, Layer::kRdma,
                 "An InfiniBand port had data and no credits to send it.",
                 "The switch behind it, or a receiver behind that, is slower than the senders: "
                 "congestion, a narrow or degraded link, a receiver whose PCIe is slow.",
                 "Follow it: `ibqueryerrors` and perfquery of the switch ports, the first port "
                 "without waiting behind one that waits is the cause."},
    FindingEntry{"topo.net-discards", Severity::kWarning, Layer::kRdma, "A port drops packets.",
                 "Its receive buffer overran: the host takes packets too slowly (PCIe, memory), or "
                 "pauses come too late (headroom, cable length).",
                 "Look at pauses and PCIe stalls of the same port (`ethtool -S IFACE`), at the "
                 "buffer and headroom settings (`mlnx_qos -i IFACE`) and at the switch."},
    FindingEntry{"topo.net-full", Severity::kInfo, Layer::kRdma, "A port ran at its rate.",
                 "The job has reached the ceiling of the network.",
                 "Nothing is broken; more bandwidth needs more NICs, or fewer bytes."},
    FindingEntry{"topo.net-link-flap", Severity::kError, Layer::kHardware,
                 "A link went down between the two snapshots.",
                 "A bad cable or transceiver, a switch that restarted, somebody at the switch.",
                 "`mlxlink -d DEVICE -m -c` shows the reason of the last down and the optics; "
                 "change cable or transceiver. RDMA connections over the port die with status 12 "
                 "or a port error."},
    FindingEntry{"topo.net-out-of-order", Severity::kWarning, Layer::kRdma,
                 "Packets arrive out of order.",
                 "Packet spraying or adaptive routing with a NIC that is not in its out-of-order "
                 "mode, or losses on the way.",
                 "Either switch adaptive routing off for this traffic class, or enable it on the "
                 "NIC (NCCL_IB_ADAPTIVE_ROUTING=1, mlxconfig of the RoCE adaptive routing); look "
                 "at drops of the switches for losses."},
    FindingEntry{"topo.net-packet-loss", Severity::kWarning, Layer::kRdma,
                 "Packets of this host were lost on the way.",
                 "A switch queue that overflows without PFC, a bad link, an MTU that is smaller on "
                 "the way. Every loss makes the sender repeat all that followed.",
                 "Look at rx_discards_phy of the receivers and at the drop counters of the "
                 "switches; where no host drops, a switch does."},
    FindingEntry{"topo.net-pause-received", Severity::kWarning, Layer::kRdma,
                 "The network pauses this host for a noticeable part of the time.",
                 "A receiver behind the switch is slow, and the switch's buffer is full.",
                 "Find the host that sends pauses (tx_prio*_pause rises there): its PCIe or memory "
                 "is slow. All hosts paused by one switch: that switch."},
    FindingEntry{"topo.net-pause-sent", Severity::kWarning, Layer::kHardware,
                 "This host pauses the network for a noticeable part of the time.",
                 "Its PCIe or memory takes packets more slowly than the port brings them: a "
                 "narrow or degraded slot, ACS redirection, a far NUMA node, no relaxed ordering.",
                 "Check the slot (`comm-probe topo check`), outbound_pci_stalled_wr of `ethtool "
                 "-S`, and the place of GPU and NIC. One such host slows every other one."},
    FindingEntry{"topo.net-pause-without-ecn", Severity::kWarning, Layer::kRdma,
                 "Pauses are frequent and no packet carries a congestion mark.",
                 "ECN is not configured on the switches (or DCQCN off on the hosts): PFC does all "
                 "the work, and flows that are not to blame wait in the same queue.",
                 "Configure ECN marking on the switches' lossless queue, and DCQCN on the hosts."},
    FindingEntry{"topo.net-pcie-stall", Severity::kWarning, Layer::kHardware,
                 "A NIC waited for PCIe.",
                 "The slot is narrower or slower than the port, peer traffic goes up to the root "
                 "complex (ACS), the memory of another NUMA node, MaxReadReq too small, relaxed "
                 "ordering off.",
                 "`comm-probe topo check` shows slot, ACS and IOMMU; `lspci -vv` MaxReadReq "
                 "(512 or more) and RlxdOrd+."},
    FindingEntry{"topo.net-physical-errors", Severity::kWarning, Layer::kHardware,
                 "A link makes bit errors.",
                 "Dirt on the fibre, a bad cable or transceiver, a connector that is not seated.",
                 "`mlxlink -d DEVICE -m -c -e` shows error rates and the optics of both ends; "
                 "clean or change, and look whether the errors stay with the port or move with "
                 "the cable."},
    FindingEntry{"topo.net-port-down", Severity::kError, Layer::kHardware,
                 "A port of an RDMA device is down.",
                 "It was up before: the cable, the transceiver, the switch port, somebody at the "
                 "switch. It is down all the time: the same, or a port that is not cabled.",
                 "`mlxlink -d DEVICE -m -c` shows why; try the cable in another port. A port that "
                 "is not meant to be used need not worry."},
    FindingEntry{"topo.net-port-gone", Severity::kError, Layer::kHardware,
                 "An RDMA device that was there is gone.",
                 "The card fell off PCIe, its driver was unloaded or reset, the function was given "
                 "to a container or a guest.",
                 "`dmesg -T | grep -i -e mlx -e pcie -e aer` shows when; `lspci` whether the card "
                 "is still there."},
    FindingEntry{"topo.net-rate-fell", Severity::kWarning, Layer::kHardware,
                 "A link came back at a lower rate.",
                 "A lane of the cable or of the transceiver is bad, or the switch port was set to "
                 "another speed.",
                 "`mlxlink -d DEVICE -m -c` shows lanes, speed and the reason; seat or change the "
                 "cable, then toggle the port."},
    FindingEntry{"topo.net-receiver-late", Severity::kWarning, Layer::kRdma,
                 "Messages came before the receiver had posted a buffer.",
                 "The receiving process has no CPU (quota, pinning), is stopped, or is late. NCCL "
                 "tries for ever: a receiver that never comes hangs the sender silently.",
                 "Look at the receiving processes (py-spy, CPU quota, affinity), not at the "
                 "network."},
    FindingEntry{"topo.net-uneven", Severity::kWarning, Layer::kNccl,
                 "NICs that are alike carried very different amounts.",
                 "NCCL uses only some of them (NCCL_IB_HCA, a port that is down, a NIC that is far "
                 "from every GPU), or one rail is slow.",
                 "`comm-probe log` shows which NIC each channel uses, `comm-probe nccl plan` which "
                 "it should use."},
    FindingEntry{"topo.ranks-off-rail", Severity::kWarning, Layer::kTopology,
                 "A rank uses another NIC than the ranks with the same GPU index of other hosts.",
                 "NICs are named in another order, one is missing, or NCCL_IB_HCA differs.",
                 "Make names and order of the NICs alike on every host; traffic between rails goes "
                 "over the spine."},
    FindingEntry{
        "topo.ranks-scattered", Severity::kInfo, Layer::kApplication,
        "Neighbouring ranks are on different hosts.",
        "A cyclic distribution of the launcher. NCCL orders its rings by host all the "
        "same, but the framework's groups are made of neighbouring ranks: tensor "
        "parallel groups then span hosts.",
        "Start with `srun --distribution=block` or `mpirun --map-by ppr:N:node`; then compare "
        "again."},
    FindingEntry{"topo.ranks-uneven", Severity::kInfo, Layer::kApplication,
                 "Hosts have different numbers of ranks.",
                 "The number of ranks is no multiple of the GPUs of a host, or a GPU is missing.",
                 "NCCL uses as many channels as the smallest host allows; give every host as many "
                 "ranks."},
    FindingEntry{
        "topo.shm-small", Severity::kWarning, Layer::kTopology,
        "/dev/shm is too small for the ranks of this host.", "Containers get 64 MiB by default.",
        "Use `docker run --shm-size=16g` or --ipc=host; in Kubernetes an emptyDir with medium "
        "Memory at /dev/shm. NCCL ends with \"No space left on device\" or a bus error."},
};

constexpr std::array kCaveats = {
    CaveatEntry{"topo.counters-cut", "A text holds more counters than are read.",
                "Give the outputs of fewer hosts at once."},
    CaveatEntry{"topo.counters-cut-end", "A text of counters ends within its last number.",
                "Give the whole output, with the end of its last line."},
    CaveatEntry{"topo.counters-full", "A counter stands at its largest value.",
                "Reset the counters (perfquery -R), or read the wide ones (perfquery -x, sysfs)."},
    CaveatEntry{"topo.counters-no-time",
                "The time between two snapshots of the counters is not known.",
                "Put the output of `date` above each, or let `topo check --net --watch 60s` take "
                "both."},
    CaveatEntry{"topo.counters-none", "No counter of a network port could be read.",
                "Run where the RDMA devices are; in a container mount /sys/class/infiniband and "
                "use the host's network. Texts: perfquery -x, ethtool -S, rdma statistic."},
    CaveatEntry{"topo.counters-once",
                "Counters were read once, and count since the driver was "
                "loaded.",
                "Take two snapshots: `comm-probe topo check --net --watch 60s`, or two files."},
    CaveatEntry{"topo.counters-unjudged", "A counter of trouble rose that no rule knows.",
                "Look it up in the documentation of the driver (`ethtool -i IFACE` names it)."},
    CaveatEntry{"topo.counters-unknown", "None of the counters is one that a rule knows.",
                "Give `rdma statistic`, perfquery -x or `ethtool -S` of the RDMA ports."},
    CaveatEntry{"topo.counters-unnamed",
                "Several outputs of `ethtool -S` came without the name of their interface.",
                "Keep the command above each output: echo '$ ethtool -S ens1f0np0'; ethtool -S "
                "ens1f0np0."},
    CaveatEntry{"topo.counters-unpaired", "A port is in one of two snapshots only.",
                "Take both with the same commands on the same hosts."},
    CaveatEntry{"topo.counters-unordered",
                "which of two snapshots of a port's counters was made first is not known",
                "put the output of `date` above each, or name the files before and after"},
    CaveatEntry{"topo.counters-went-back",
                "Counters are lower in the second snapshot than in the first.",
                "Take two snapshots without a reboot, a driver reload or a reset between them."},
    CaveatEntry{"topo.counters-whose",
                "Two texts show the same port, and whether they are of one machine is not known.",
                "Name the two of one machine before and after (or t0 and t1, or by date), or give "
                "each machine a folder of its own."},
    CaveatEntry{"topo.net-drops-open",
                "An interface drops packets, and whether the job uses it is not known.",
                "Put `rdma link` (or /sys of the machine: topo record) beside the counters."},
    CaveatEntry{"topo.net-likeness-open",
                "Some ports carried nothing, and whether they are like the others is not known.",
                "Put `ibstat`, or `ethtool IFACE` of each port, beside the counters."},
    CaveatEntry{"topo.net-over-rate", "A port carried more than the rate that is shown allows.",
                "Take both snapshots with the machine's state (topo record, --watch)."},
    CaveatEntry{"topo.watch-cut", "The waiting of --watch was interrupted.",
                "Let it run to its end, or ask for a shorter time."},
};

}  // namespace

std::span<const FindingEntry> net_findings() { return kFindings; }
std::span<const CaveatEntry> net_caveats() { return kCaveats; }

}  // namespace comm_probe::core
