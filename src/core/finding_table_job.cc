// What shows only where several artifacts of one job lie side by side.
#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kFindings = {
    FindingEntry{
        "job.gap", Severity::kWarning, Layer::kNccl,
        "A benchmark reaches far less than the ports of its nodes carry, or than another run of "
        "the same kind in the pile.",
        "TCP instead of RDMA, no GPUDirect RDMA, fewer NICs than the node has, a slow link; the "
        "findings beside it say how much of the gap each of them explains.",
        "From the bottom up: `ib_write_bw` between the two nodes (host memory, then --use_cuda), "
        "then NCCL's log (which network, which NICs, /GDRDMA), then the benchmark again."},
    FindingEntry{
        "job.gdr-unused", Severity::kWarning, Layer::kRdma,
        "Network connections of NCCL go through host memory: no GPUDirect RDMA on a transport that "
        "has it.",
        "nvidia_peermem is not loaded and DMA-BUF is not available, NCCL_NET_GDR_LEVEL or "
        "NCCL_NET_GDR_READ switches it off, GPU and NIC are too far apart, or the GPU has none.",
        "`lsmod | grep nvidia_peermem`; unset NCCL_NET_GDR_*; then the lines of the connections "
        "end "
        "in /GDRDMA. Without a slow table beside it, it is only noted."},
    FindingEntry{
        "job.nic-far", Severity::kWarning, Layer::kNccl,
        "The log shows a GPU that sends over a NIC which is farther from it than another one.",
        "NCCL saw another topology than the machine has (a virtual machine, a stale topology "
        "file), NCCL_IB_HCA leaves the near NIC out, or NICs are numbered differently there.",
        "Compare `comm-probe nccl plan --topo FILE` with the log; unset NCCL_TOPO_FILE and "
        "NCCL_IB_HCA once; check that the topology is of this host."},
    FindingEntry{
        "job.network-ignored", Severity::kWarning, Layer::kNccl,
        "NCCL uses TCP sockets between the nodes although an RDMA port of a node is up.",
        "NCCL_IB_DISABLE=1 or NCCL_NET=Socket is set, often left from a test; libibverbs or "
        "/dev/infiniband is missing in the container, NCCL_IB_HCA matches nothing, "
        "locked memory is limited, or the plugin of the fabric is not loaded.",
        "`ls /dev/infiniband`, `ldconfig -p | grep ibverbs`, `ulimit -l`, `comm-probe nccl env`; "
        "then NCCL_DEBUG=INFO must print `Using network IB`."},
    FindingEntry{
        "job.nvlink-unused", Severity::kWarning, Layer::kNccl,
        "GPUs of one node talk through host memory although the topology has NVLink between them.",
        "NCCL_P2P_DISABLE or NCCL_P2P_LEVEL forbids it; ranks in containers of their own do not "
        "see each other's GPUs; an IOMMU or a virtual machine refuses peer access.",
        "Unset NCCL_P2P_*; one container for all ranks of a node; `nvidia-smi topo -p2p r` must "
        "say OK; then the log prints `via P2P`."},
    FindingEntry{
        "job.nics-unused", Severity::kWarning, Layer::kNccl,
        "NCCL uses fewer NICs than the node has: its list is shorter than the ports that are up "
        "at full rate, or its connections go over a few of those that it lists.",
        "NCCL_IB_HCA names fewer, a RoCE port has no routable address, a port came up later, or "
        "the topology that NCCL was given puts one NIC near every GPU.",
        "`comm-probe nccl env --explain NCCL_IB_HCA`, `show_gids`; the list that NCCL prints "
        "(NET/IB : Using) must hold every compute port."},
    FindingEntry{
        "job.table-not-of-machine", Severity::kInfo, Layer::kTopology,
        "A table of one node shows more than the machine whose topology lies beside it can carry.",
        "The pile mixes files of two machines, or the topology was taken where fewer NVLinks are "
        "seen (a container, a virtual machine, another host of the same name).",
        "Take both on one host; until then believe nothing that compares the one with the other."},
    FindingEntry{
        "job.versions-differ", Severity::kInfo, Layer::kNccl,
        "A log, table, trace or dump of the pile is of another release of NCCL than another "
        "one, or hosts of a job have different NVIDIA drivers.",
        "They are of different runs, or a program brings its own NCCL; a node was not "
        "updated with the others.",
        "Take both from one run; NCCL_DEBUG=VERSION prints the release that is used; "
        "`cat /proc/driver/nvidia/version` on every node."},
};

constexpr std::array kCaveats = {
    CaveatEntry{"job.bundle-cut", "a bundle holds more files than are unpacked",
                "unpack it (tar -xf) and give the folders that matter"},
    CaveatEntry{"job.unrecognised", "files of the pile are no artifact that is known here",
                "nothing to do, unless one of them should be one: the list says what was expected"},
    CaveatEntry{"job.several-runs", "the pile holds logs or dumps of more than one run of a job",
                "give the files of one run; where one file holds two runs, cut it between them"},
    CaveatEntry{"job.nothing-checked",
                "none of the questions that are asked of a job could be answered by what is in the "
                "pile",
                "`comm-probe doctor --why` lists the questions and, of each, what would answer it"},
    CaveatEntry{"job.network-unknown",
                "NCCL goes over TCP between the hosts, and no artifact says whether they have a "
                "faster network",
                "`ibstat`, or `comm-probe topo record node.tar.gz`, of one of the hosts, in the "
                "same pile"},
    CaveatEntry{"job.machines-not-compared",
                "the pile holds machines of different runs, or of different kinds",
                "comm-probe topo diff compares any two; a log or table of one job that names both "
                "says that they belong together"},
    CaveatEntry{"job.same-kind-unknown",
                "tables are compared of which not all say on which GPUs they were measured",
                "give the whole output of the benchmark, with its list of devices"},
    CaveatEntry{
        "job.exception-survived", "a traceback was caught: steps follow it in the same text",
        "nothing, unless the steps that follow are of another rank: give each rank a log of "
        "its own"},
    CaveatEntry{"job.quiet-log",
                "a log of a rank holds nothing that the readers know, where others hold more",
                "look at its last line, and at what its launcher and the kernel say of it: a rank "
                "that died early writes no more"},
    CaveatEntry{"job.runs-unclear",
                "logs of ranks that share no communicator: groups of one job, or several jobs",
                "give the logs of all ranks of one run, from their beginning (NCCL_DEBUG=INFO)"},
    CaveatEntry{"trace.several-profiles",
                "several profiler traces of one rank, or of jobs of different sizes",
                "give the traces of one profile of one job"},
};

}  // namespace

std::span<const FindingEntry> job_findings() { return kFindings; }
std::span<const CaveatEntry> job_caveats() { return kCaveats; }

}  // namespace comm_probe::core
