// What kernels for MoE print: DeepEP.
#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kFindings = {
    FindingEntry{
        "moe.ibgda-fallback", Severity::kWarning, Layer::kRdma,
        "NVSHMEM could not let the GPU post RDMA by itself (IBGDA).",
        "The driver does not map the NIC's doorbells into the GPU: NVreg_EnableStreamMemOPs and "
        "PeerMappingOverride are not set, or the NIC is no mlx5 device. With the legacy kernels of "
        "DeepEP the CPU-assisted mode hangs on the first dispatch (PR 677).",
        "options nvidia NVreg_EnableStreamMemOPs=1 "
        "NVreg_RegistryDwords=\"PeerMappingOverride=1;\" in /etc/modprobe.d, rebuild the "
        "initramfs, "
        "reboot; check /proc/driver/nvidia/params."},
    FindingEntry{"moe.logical-bandwidth", Severity::kInfo, Layer::kFramework,
                 "The printed bandwidth is above the rate of the NIC.",
                 "Tests of DeepEP count every token, also those that stay on the node; (1 - 1/N) "
                 "of it is on "
                 "the wire.",
                 "Compare the wire column with the NIC. New tests have --ignore-local-traffic."},
    FindingEntry{"moe.low-latency-slow", Severity::kWarning, Layer::kRdma,
                 "A low-latency kernel takes much longer than its bytes.",
                 "IBGDA fell back to the CPU, all ranks share one NIC (bandwidth / 8), or NVLink "
                 "between the "
                 "GPUs of a node is switched off.",
                 "Look for IBGDA warnings at the start; NVSHMEM_ENABLE_NIC_PE_MAPPING=1 or "
                 "NVSHMEM_HCA_LIST; "
                 "per-NIC counters while it runs: one busy, the others idle."},
    FindingEntry{"moe.nvlink-low", Severity::kWarning, Layer::kTopology,
                 "Dispatch or combine inside a node is far below NVLink.",
                 "Peer access is off or a pair goes over PCIe, links are down, or the GPUs have no "
                 "NVLink; chunk sizes or SMs not tuned cost less than that.",
                 "nvidia-smi topo -p2p r and nvidia-smi nvlink -s on the node; p2pBandwidthLatency"
                 "Test or nvbandwidth tells the links from the kernel."},
    FindingEntry{
        "moe.peer-missing", Severity::kError, Layer::kApplication,
        "Ranks waited for messages of dispatch or combine until they gave up.",
        "The rank that all name did not enter the call (an exception, another branch, another "
        "number "
        "of batches), or its node or NIC is gone. All counters -1 on the CPU: the counts were "
        "never "
        "exchanged, some rank did not call dispatch.",
        "Look at that rank first: its log, its stack. Several named: look for what they share, a "
        "node, a switch."},
    FindingEntry{
        "moe.stalls", Severity::kWarning, Layer::kRdma,
        "A kernel is many times slower in the mean than at best.",
        "Time-outs and retransmissions (RoCE without PFC, wrong traffic class), a rank that comes "
        "late, or first iterations in the mean.",
        "Per-port counters while it runs (pauses, out of sequence, retransmissions); traffic class "
        "and GID index; measure again without the first iterations."},
    FindingEntry{
        "moe.wire-low", Severity::kWarning, Layer::kRdma,
        "Dispatch or combine fills neither the NIC nor NVLink.",
        "About a half: one port or one direction, PCIe Gen4, chunk sizes or SMs not tuned. A fifth "
        "on four nodes and more: adaptive routing, congestion, spine paths. A tenth: RoCE without "
        "PFC, or all ranks on one NIC.",
        "ib_write_bw between the same nodes, all pairs at once, tells network from kernel; then "
        "NIC "
        "mapping and counters; then the tuning of chunks and SMs."},
};
constexpr std::array kCaveats = {
    CaveatEntry{"moe.wire-above-nic",
                "What DeepEP printed would be more on the wire than a NIC carries, or its bytes "
                "would take longer than the kernel did.",
                "Give the right --nodes (1: all ranks in one node, nothing is on the wire) and "
                "--machine."},
    CaveatEntry{"moe.nodes-unknown",
                "DeepEP prints no number of nodes in these lines, and it cannot be inferred.",
                "Give it: --nodes N."},
};

}  // namespace

std::span<const FindingEntry> moe_findings() { return kFindings; }
std::span<const CaveatEntry> moe_caveats() { return kCaveats; }

}  // namespace comm_probe::core
