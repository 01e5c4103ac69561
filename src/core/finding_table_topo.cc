#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kFindings = {
    FindingEntry{"topo.fabric-not-ready", Severity::kError, Layer::kHardware,
                 "The NVLink fabric of a GPU is not set up.",
                 "The fabric manager is not running, has another version than the driver, or found "
                 "a failed NVSwitch.",
                 "Start or restart nvidia-fabricmanager and read its log; CUDA programs fail with "
                 "error 802 until the state is completed."},
    FindingEntry{"topo.gdr-no-module", Severity::kWarning, Layer::kRdma,
                 "GPUDirect RDMA has neither of the two things that can carry it.",
                 "nvidia_peermem is not loaded and the driver is not the open one.",
                 "`modprobe nvidia_peermem` (and load it at boot), or install the open kernel "
                 "modules: NCCL then uses DMA-BUF from kernel 5.12 on."},
    FindingEntry{
        "topo.nic-other-numa", Severity::kInfo, Layer::kTopology,
        "NCCL gives a GPU a NIC that hangs on another NUMA node.",
        "The box has no NIC there, or a wider path leads to the far one.",
        "Nothing is broken; expect the bandwidth of the link between the CPUs. Start ranks "
        "on the NUMA node of their GPU, or leave such GPUs out of jobs over several "
        "nodes."},
    FindingEntry{"topo.nvlink-incomplete", Severity::kError, Layer::kHardware,
                 "A GPU lacks NVLink to GPUs that the others of the same machine reach by it.",
                 "The GPU is off the NVLink fabric: fabric manager not running or started before "
                 "the GPU was ready, a failed NVSwitch or baseboard, an Xid of the NVLink family.",
                 "Look at `nvidia-smi nvlink -s` and the fabric state of `nvidia-smi -q`, restart "
                 "nvidia-fabricmanager, reset or replace the GPU. Take the node out of the job "
                 "meanwhile: one such GPU slows every collective to PCIe."},
    FindingEntry{
        "topo.nvlink-inactive", Severity::kWarning, Layer::kHardware,
        "A GPU has fewer NVLinks than the others of the same machine.",
        "Links are inactive after training failed (dirt, a bent pin, a bad bridge), or "
        "were switched off.",
        "`nvidia-smi nvlink -s` names the inactive links, `-e` their error counters; reset "
        "the GPU, then have the baseboard or the bridge checked."},
    FindingEntry{"topo.gpu-without-nic", Severity::kWarning, Layer::kTopology,
                 "NICs exist, but this GPU has no path to any of them.",
                 "A topology file that does not match the machine, or a NIC that was left out of "
                 "it.",
                 "Compare with `nvidia-smi topo -m` on the machine; dump a fresh file with "
                 "NCCL_TOPO_DUMP_FILE."},
    FindingEntry{
        "topo.gpu-nic-far", Severity::kInfo, Layer::kTopology,
        "GPUs reach their nearest NIC only through a CPU (PHB, NODE or SYS).",
        "The box is built so: NIC and GPU hang on different root ports.",
        "Nothing is broken. NCCL copies through host memory there; NCCL_NET_GDR_LEVEL=PHB "
        "allows GPUDirect RDMA through the CPU, which is faster on some CPUs and slower on "
        "others: measure both. Or move the NIC under the switch of the GPUs."},
    FindingEntry{
        "topo.nic-missing", Severity::kWarning, Layer::kHardware,
        "A place of the machine (a switch, a socket) has fewer NICs than the others, which "
        "have one for each of their GPUs.",
        "A NIC that is not found any more (power, slot, firmware, taken out), one that a "
        "container or a virtual machine was not given, or a machine that is built so.",
        "Look for the card in `lspci` and for its loss in `dmesg`; compare with a node of "
        "the same kind."},
    FindingEntry{"topo.nic-misplaced", Severity::kWarning, Layer::kTopology,
                 "There are near NICs enough for all GPUs, but some GPUs have none near.",
                 "A NIC is in the wrong slot, or a topology file places NICs or GPUs under the "
                 "wrong switch.",
                 "Compare `lspci -tv` with the layout of the vendor; move the card or correct the "
                 "file."},
    FindingEntry{"topo.nic-shared", Severity::kInfo, Layer::kTopology,
                 "There are fewer NICs near the GPUs than GPUs.", "The box is built so.",
                 "Nothing is broken; divide the NIC bandwidth by the GPUs that share it when a "
                 "measured busbw over several nodes is compared with theory."},
    FindingEntry{
        "topo.nic-wider-than-slot", Severity::kWarning, Layer::kHardware,
        "The ports of a NIC carry more than its PCIe link after packet overhead.",
        "A 400G card in a Gen4 slot or in 8 lanes, a link that trained down, or a topology "
        "file with the wrong link_speed or link_width.",
        "`lspci -vv` shows LnkCap and LnkSta of the card and of the port above; move the "
        "card, check bifurcation, or correct the file. A match is 78 %: 25 of 32, 50 of 64 "
        "GB/s."},
    FindingEntry{
        "topo.nic-without-gdr", Severity::kWarning, Layer::kRdma,
        "A NIC cannot do GPUDirect RDMA, the others of its kind can.",
        "The driver or the firmware of this one card does not offer DMA-BUF, or nvidia_peermem "
        "serves another stack; or the topology file says so of a card that can.",
        "Compare driver and firmware of this NIC with those of the others (`ethtool -i`, "
        "`ibv_devinfo`). NCCL copies through host memory on its rail, and a ring over all rails "
        "runs at the pace of this one."},
    FindingEntry{
        "topo.port-slow", Severity::kWarning, Layer::kHardware,
        "A network port runs at half or less of the rate of the others of its kind.",
        "The link trained down: a bad cable or transceiver, dirt on the fibre, a switch port set "
        "to a lower speed; or a topology file with the wrong speed.",
        "`mlxlink -d DEVICE` shows what both ends offer and the error counters; clean or change "
        "cable and transceiver, compare the port of the switch. A ring over all rails runs at the "
        "pace of this one."},
    FindingEntry{
        "topo.slot-differs", Severity::kWarning, Layer::kHardware,
        "A GPU, or the uplink of a PCIe switch, has a slower PCIe link than most of its kind in "
        "the "
        "machine.",
        "A card that is not seated well, a slot with fewer lanes, firmware that splits it; of an "
        "uplink a link of the board or a cable that trained down.",
        "`lspci -vv` shows LnkCap and LnkSta; reseat a card, check bifurcation; of an uplink "
        "compare "
        "with a node of the same kind, then have the board or its cables checked."},
    FindingEntry{
        "topo.diff-missing", Severity::kWarning, Layer::kHardware,
        "A machine lacks a GPU, NIC or CPU that the others have.",
        "The device fell off the bus, its driver did not bind, or the job's container "
        "shows only part of the machine.",
        "Look for the device in `lspci` and for its last words in `dmesg` on that machine; "
        "in a container compare with the host."},
    FindingEntry{
        "topo.diff-extra", Severity::kWarning, Layer::kTopology,
        "A machine has a device that the others lack.",
        "Another kind of machine, or names that differ (NIC naming rules, a card in "
        "another slot).",
        "Compare the names of the NICs first; then keep the machine out of jobs that count "
        "on machines being alike."},
    FindingEntry{"topo.diff-device", Severity::kWarning, Layer::kHardware,
                 "A device is of another model than its like on the other machines.",
                 "A replaced card, or another kind of machine.",
                 "The slowest model sets the speed of every collective; do not mix them in a job."},
    FindingEntry{"topo.diff-link", Severity::kWarning, Layer::kHardware,
                 "A link has other lanes, speed or number of NVLinks than on the other machines.",
                 "A link that trained down, a card not seated well, bifurcation, inactive NVLinks, "
                 "a port at a lower rate.",
                 "`lspci -vv`, `nvidia-smi nvlink -s` and `ibstat` on that machine show which; the "
                 "narrowest link of all machines sets the speed of a ring."},
    FindingEntry{
        "topo.diff-place", Severity::kWarning, Layer::kTopology,
        "A device stands elsewhere in the tree than on the other machines.",
        "A card in another slot, other BIOS settings (NUMA per socket), or a topology "
        "file of another machine.",
        "Compare `nvidia-smi topo -m` of both; NCCL gives GPUs other NICs there, and rails "
        "no longer line up."},
    FindingEntry{"topo.diff-order", Severity::kWarning, Layer::kTopology,
                 "A machine has the same devices as the others under other names or numbers.",
                 "NICs are named in the order of discovery, CUDA_DEVICE_ORDER or "
                 "CUDA_VISIBLE_DEVICES differ, or a topology file lists them in another order.",
                 "Give NICs persistent names (udev rules), set NCCL_IB_HCA for each machine, or "
                 "renumber the GPUs; otherwise GPU k of one machine talks to GPU k of the other "
                 "across rails."},
    FindingEntry{"topo.diff-rails", Severity::kWarning, Layer::kTopology,
                 "NCCL gives a GPU another NIC than on most of the machines compared.",
                 "NICs are named or numbered in another order, one is missing, down or slower, or "
                 "a topology file differs.",
                 "Make the NICs alike (names, NCCL_IB_HCA with the same order on every machine); "
                 "otherwise sends to this GPU leave on one rail and arrive on another, over the "
                 "upper switches of a rail-optimised network."},
    FindingEntry{"topo.diff-split", Severity::kWarning, Layer::kTopology,
                 "The machines differ and no side is the majority.",
                 "Several kinds of machine were compared.", "Compare each kind with itself."},
    FindingEntry{
        "topo.link-degraded", Severity::kWarning, Layer::kHardware,
        "A PCIe link runs narrower or slower than both of its ends can.",
        "The card is not seated well, a riser or cable is bad, the firmware splits or limits the "
        "slot, or errors made the link train down.",
        "`sudo lspci -vv` shows LnkCap and LnkSta of both ends, `dmesg` PCIe errors (AER); reseat "
        "the card, change slot or riser, check the firmware. The speed of an idle GPU is low by "
        "design and not judged."},
    FindingEntry{
        "topo.acs-redirects", Severity::kWarning, Layer::kTopology,
        "Bridges redirect traffic between devices up to the root complex (PCIe ACS).",
        "ACS is switched on in the firmware, or by the kernel with the IOMMU.",
        "Switch it off in the firmware, or for each bridge `setpci -s BRIDGE ECAP_ACS+6.w=0` after "
        "every boot. In a virtual machine it must stay on; there the NIC needs ATS. SrcValid alone "
        "does no harm."},
    FindingEntry{
        "topo.iommu-translates", Severity::kWarning, Layer::kTopology,
        "The IOMMU translates the addresses of GPUs or NICs.",
        "The kernel runs with the IOMMU on and without pass-through.",
        "Boot with `iommu=pt` (or `amd_iommu=off`, `intel_iommu=off`). Until then "
        "NCCL_P2P_DISABLE=1 avoids hangs of two PCIe GPUs, at the price of speed; a custom "
        "all-reduce of an inference engine has its own switch."},
    FindingEntry{
        "topo.p2p-refused", Severity::kWarning, Layer::kHardware,
        "The driver refuses P2P between GPUs.",
        "CNS: the chipset or its place in the tree; GNS, NS: the GPUs or the driver do not "
        "offer it (consumer GPUs, a virtual machine, a registry key); TNS: the topology. "
        "With NVLink between the two it is a fault, and NCCL ends.",
        "NCCL goes through host memory there. With NVLink: look at the state of the fabric "
        "(`nvidia-smi -q`), at the fabric manager and at `dmesg`."},
    FindingEntry{"topo.port-not-active", Severity::kInfo, Layer::kRdma,
                 "RDMA ports are not active; NCCL does not use them.",
                 "DOWN: no cable, no peer, or switched off (unused ports are normal; a port beside "
                 "a GPU is not, and is a warning). INIT: no "
                 "subnet manager reaches an InfiniBand port.",
                 "`ibstat` shows the physical state: Polling is no cable or peer, Disabled is "
                 "switched off. For INIT start or reach the subnet manager."},
    FindingEntry{"topo.interface-dark", Severity::kWarning, Layer::kHardware,
                 "A network interface is set up and has no carrier.",
                 "A cable or a transceiver that is missing or broken, a port of the switch that is "
                 "off, another speed or FEC at the other end.",
                 "`ethtool IFACE` and `ethtool -m IFACE` show link and optics; compare the port of "
                 "the switch. An interface that nobody set up is not judged."},
    FindingEntry{"topo.mtu-differs", Severity::kWarning, Layer::kRdma,
                 "An interface has a smaller MTU than those it should be like.",
                 "Set by hand on the others and not here, or lost at a reboot or a new card.",
                 "Set it as on the others, after the port of the switch: `ip link set dev IFACE "
                 "mtu 9000`, and in the configuration of the network, so that it stays. Both ends "
                 "of an RDMA connection use the smaller one."},
    FindingEntry{"topo.bond-short", Severity::kWarning, Layer::kHardware,
                 "A bond runs on a part of its links.",
                 "One of its ports has no carrier: cable, transceiver, switch port.",
                 "`cat /proc/net/bonding/BOND` shows its ports and the mode; in all modes but "
                 "active-backup its rate is that of the links that are left."},
    FindingEntry{
        "topo.roce-unprotected", Severity::kInfo, Layer::kRdma,
        "Nothing on this host shows PFC or ECN on an active RoCE port.",
        "Neither is set up, or no congestion came since the counters began.",
        "Check `mlnx_qos -i IFACE` (PFC) and the switch; without both, many senders to one "
        "receiver lose packets, and collectives collapse above a few nodes."},
    FindingEntry{"topo.gid-index", Severity::kWarning, Layer::kRdma,
                 "The GID that RoCE would use is empty, link-local or RoCE v1.",
                 "NCCL_IB_GID_INDEX is set to an index of another host, or the interface has no "
                 "address. NCCL before 2.21 takes index 0.",
                 "Unset NCCL_IB_GID_INDEX (2.21 and later choose by themselves), or set the index "
                 "that `show_gids` prints with v2 and an IPv4 address; give the interface one."},
    FindingEntry{"topo.memlock-low", Severity::kWarning, Layer::kRdma,
                 "The limit of locked memory is too low for RDMA.",
                 "The default of the distribution, of the scheduler's daemon or of the container.",
                 "`memlock unlimited` in /etc/security/limits.d, LimitMEMLOCK=infinity of the "
                 "daemon (slurmd, docker), `docker run --ulimit memlock=-1`."},
    FindingEntry{"topo.vm-hides-tree", Severity::kInfo, Layer::kTopology,
                 "The machine is virtual and does not show the PCIe tree below it.",
                 "Pass-through puts every device on bus 00 of the guest, without switches, link "
                 "width and NUMA node.",
                 "Give NCCL the topology file of the cloud (NCCL_TOPO_FILE, or "
                 "/var/run/nvidia-topologyd/virtualTopology.xml); until then believe no distance."},
};

constexpr std::array kCaveats = {
    CaveatEntry{
        "topo.template", "A topology file has no gpu elements, as the files that clouds ship.",
        "Let NCCL write the whole topology on the machine: NCCL_TOPO_DUMP_FILE=topo.xml with "
        "any NCCL program."},
    CaveatEntry{"topo.plan-refused", "NCCL's decisions on this machine could not be derived.",
                "The message says why; `comm-probe nccl plan --topo FILE` shows the same."},
    CaveatEntry{
        "topo.no-gpu", "The source shows no GPU.",
        "Where the machine has GPUs: dmesg | grep -i xid (fallen off the bus), lspci | grep "
        "-i nvidia, nvidia-smi; in a container: was it started with the GPUs?"},
    CaveatEntry{"topo.nothing-judged",
                "The source was read, but shows nothing that a rule of `topo check` could judge.",
                "Give `nvidia-smi topo -m`, an NCCL topology XML, `lspci -vv` or the tar of `topo "
                "record`; several sources are merged."},
    CaveatEntry{"topo.p2p-unnamed",
                "A matrix of `nvidia-smi topo -p2p` does not say which capability it shows.",
                "Keep the command above its output: echo '$ nvidia-smi topo -p2p r'; nvidia-smi "
                "topo -p2p r."},
    CaveatEntry{"topo.driver-silent", "The GPU driver could not be asked (NVML).",
                "Run where `nvidia-smi` works; in a container pass the GPUs and the driver's "
                "libraries in (--gpus all)."},
    CaveatEntry{"topo.elements-skipped",
                "A topology file holds elements at places or of kinds that NCCL does not read.",
                "Compare with a fresh dump: NCCL_TOPO_DUMP_FILE=topo.xml with any NCCL program."},
    CaveatEntry{"topo.matrix-incomplete",
                "Parts of the matrix of `nvidia-smi topo -m` are missing.",
                "Paste the whole output; `nvidia-smi topo -m > topo.txt` keeps its columns."},
    CaveatEntry{
        "topo.diff-unread", "An input of the comparison could not be read, or holds no topology.",
        "Give it as `nvidia-smi topo -m`, NCCL topology XML, or the saved JSON of `topo show`."},
    CaveatEntry{"topo.diff-sources", "The machines were described by different kinds of source.",
                "Take the same kind of output on every machine; what only one kind says is not "
                "compared."},
    CaveatEntry{"topo.sources-disagree",
                "Two sources say different things of one device; the first is believed.",
                "Make both anew on the same machine at the same time; a file of another host or of "
                "before a reboot is the usual cause."},
    CaveatEntry{"topo.tree-hidden", "A virtual machine hides the PCIe tree.",
                "Run on the host, or use the topology file of the cloud."},
};

}  // namespace

std::span<const FindingEntry> topo_findings() { return kFindings; }
std::span<const CaveatEntry> topo_caveats() { return kCaveats; }

}  // namespace comm_probe::core
