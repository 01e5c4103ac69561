// Findings of `curve` about tests of links: perftest, nvbandwidth, p2pBandwidthLatencyTest, OSU.
#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr auto kError = Severity::kError;
constexpr auto kWarning = Severity::kWarning;
constexpr auto kInfo = Severity::kInfo;

constexpr std::array kFindings = {
    FindingEntry{"curve.link-failed", kError, Layer::kRdma,
                 "a test of a link stopped with an error of its own",
                 "memory that cannot be registered (memlock, no GPUDirect module), a wrong GID or "
                 "MTU, a port that is down, or a peer that does not answer: the error line says "
                 "which",
                 "do what the finding names for its error line, then run the test again; `ibstat` "
                 "and `comm-probe topo check` show ports, GIDs and modules"},
    FindingEntry{"curve.link-below-port", kWarning, Layer::kRdma,
                 "a bandwidth test between two NICs is far below what port and PCIe slot carry",
                 "a PCIe slot that is trained down or narrower than it should be, a port at a "
                 "lower rate, the wrong NUMA node, relaxed ordering off, a congested or lossy path",
                 "`lspci -vv -s BDF | grep LnkSta` at both ends, `ibstat`, the test bound to the "
                 "NIC's NUMA node (numactl -N), with -q 4 and larger messages; then the counters: "
                 "`comm-probe topo check --net`"},
    FindingEntry{
        "curve.link-fits-slot", kInfo, Layer::kTopology,
        "a bandwidth below the port is just what a PCIe slot of a lower generation or "
        "width carries",
        "a NIC in a slot that carries less than its port: an NDR card in a gen4 slot "
        "carries 28 GB/s, and nothing is broken",
        "`lspci -vv -s BDF | grep LnkSta` shows the slot; where it should be wider, reseat "
        "the card or see the BIOS (bifurcation)"},
    FindingEntry{"curve.link-unsteady", kInfo, Layer::kRdma,
                 "the average of a test is far below its best",
                 "other traffic on the link during the test, a second NIC behind the same GPU or "
                 "switch, congestion control",
                 "repeat it alone and longer (-D 20); watch the port's counters meanwhile"},
    FindingEntry{"curve.link-latency-high", kWarning, Layer::kRdma,
                 "the latency of the smallest messages is above what a healthy path has",
                 "CPU frequency scaling and C-states, many switches or a routed path, another "
                 "NUMA node, a virtual machine without pinned cores",
                 "repeat it pinned to the NIC's NUMA node with the performance governor; compare "
                 "with another pair of nodes"},
    FindingEntry{"curve.rate-contradicts-messages", kWarning, Layer::kApplication,
                 "printed bandwidth and message rate do not belong together: size x messages per "
                 "second is not the bandwidth",
                 "a line that was edited or put together from two runs, or a version of the tool "
                 "that counts messages wrongly (post lists)",
                 "run it again with a current release and keep the whole output"},
    FindingEntry{
        "curve.transfer-posting", kWarning, Layer::kRdma,
        "more than 30 % of a transfer of large blocks is posting descriptors, not moving "
        "bytes",
        "many blocks in one batch, a thread that is short of CPU, a transport with a high "
        "cost per descriptor (cuda_ipc)",
        "larger blocks, fewer of them in a batch; `top -H` while it runs; UCX_PROTO_INFO=y "
        "names the transport"},
    FindingEntry{"curve.transfer-at-tcp-rate", kWarning, Layer::kRdma,
                 "nixlbench's large blocks reach no more than TCP gives",
                 "UCX took TCP: UCX_TLS without rc, UCX_NET_DEVICES of another NIC, a container "
                 "without /dev/infiniband; or it emulates reads",
                 "UCX_PROTO_INFO=y names the transport; ib_write_bw between the same hosts shows "
                 "what the NIC can"},
    FindingEntry{"curve.transfer-way-slow", kWarning, Layer::kRdma,
                 "one way of nixlbench (host or GPU memory, read or written) is below a quarter of "
                 "the best",
                 "GPU memory without GPUDirect RDMA, reads that UCX emulates over TCP, a device "
                 "with few outstanding reads (max_rd_atomic)",
                 "UCX_PROTO_INFO=y shows which transport carries that way; nvidia_peermem or "
                 "DMA-BUF; UCX_TLS and UCX_NET_DEVICES"},
    FindingEntry{"curve.gpu-memory-slow", kWarning, Layer::kTopology,
                 "the same NIC is much slower with GPU memory than with host memory",
                 "GPU and NIC are not below one PCIe switch, so that peer-to-peer traffic passes "
                 "the CPU or the link between sockets; or ACS sends it there",
                 "`nvidia-smi topo -m`: take a GPU with PIX or PXB to this NIC; `comm-probe topo "
                 "check` for ACS and the IOMMU"},
    FindingEntry{"curve.gpu-far-from-nic", kInfo, Layer::kTopology,
                 "the same NIC is much slower with the memory of one GPU than with that of another",
                 "the first GPU is not below the same PCIe switch as the NIC: its traffic passes "
                 "the CPU or the link between sockets, which is how the machine is built; or ACS "
                 "sends it there",
                 "`nvidia-smi topo -m` shows which NIC is near (PIX, PXB) to which GPU; NCCL takes "
                 "the near one by itself"},
    FindingEntry{"curve.p2p-slower", kWarning, Layer::kTopology,
                 "copies between GPUs are slower with P2P than without it",
                 "peer-to-peer traffic that the IOMMU translates or that ACS sends up to the root "
                 "port, a chipset that is slow at it; the figures alone do not say which",
                 "`comm-probe topo check` (IOMMU mode, ACS of the bridges); try with iommu=pt and "
                 "ACS off; until then NCCL_P2P_DISABLE=1 is the faster setting, measure both"},
    FindingEntry{"curve.p2p-unavailable", kInfo, Layer::kTopology,
                 "GPUs cannot reach each other's memory: copies pass the host",
                 "a product without P2P (GeForce RTX 40 and 50), a virtual machine, a driver or "
                 "container setting, or GPUs on two root complexes that cannot",
                 "`nvidia-smi topo -p2p r` names the reason; NCCL uses shared memory then, and "
                 "nothing needs to be set"},
    FindingEntry{"curve.gpu-slow", kWarning, Layer::kHardware,
                 "one GPU of a machine is slower with its peers than the other GPUs are with "
                 "theirs",
                 "NVLinks that are down or not trained, a PCIe slot of lower width or generation, "
                 "a GPU that throttles, another process on it",
                 "`nvidia-smi nvlink -s` and `nvidia-smi topo -m`, `nvidia-smi -q -d PERFORMANCE` "
                 "and `nvidia-smi -q | grep -A12 'GPU Link Info'` on this GPU, `dmesg | grep -i "
                 "xid`; repeat on an idle machine"},
    FindingEntry{"curve.gpu-apart", kInfo, Layer::kTopology,
                 "one GPU has a lower rate with each of the others than they have among themselves",
                 "it is the only one on its socket or root complex, which is how the machine is "
                 "built; or its own PCIe slot is narrower than the others'",
                 "`nvidia-smi topo -m`: SYS or NODE to all others means the first; the copies "
                 "between it and the host (nvbandwidth -t host_to_device_memcpy_ce) are as fast as "
                 "the others' then"},
    FindingEntry{"curve.gpu-pair-slow", kWarning, Layer::kHardware,
                 "one pair of GPUs is slower than the pairs like it",
                 "an NVLink between the two that is down or has errors, or traffic of another "
                 "process during the test",
                 "`nvidia-smi nvlink -s -i GPU` and `-e` for error counters; repeat on an idle "
                 "machine"},
    FindingEntry{"curve.host-link-slow", kWarning, Layer::kHardware,
                 "one GPU is slower from or to the host than the other GPUs are",
                 "a PCIe slot that is trained to a lower generation or width, the memory of "
                 "another NUMA node, another process on this GPU",
                 "`nvidia-smi -q | grep -A12 'GPU Link Info'` under load (current against "
                 "maximum), `lspci -vv | grep LnkSta`; reseat the card"},
    FindingEntry{"curve.link-test-slow", kWarning, Layer::kRdma,
                 "one of several tests of the same kind is slower than the others",
                 "the device, cable, slot or node of this test; the others show what is possible",
                 "repeat this test alone; then the same device with another peer"},
};

constexpr std::array kCaveats = {
    CaveatEntry{"curve.port-unknown",
                "a test between two NICs does not print the rate of the port or the PCIe slot",
                "name the port: --beta 50GB/s (or 400Gb/s), or --machine NAME; give `ibstat` of "
                "both ends to `comm-probe doctor`"},
    CaveatEntry{"curve.matrix-incomplete",
                "a matrix of GPUs has pairs with 0 or nan: those copies failed",
                "run the test again alone and keep its error output; `dmesg | grep -i xid`"},
    CaveatEntry{"curve.ends-unknown",
                "an MPI benchmark does not print where its ranks ran, or how many ports carried "
                "their sum",
                "place one rank on each of two nodes (mpirun --map-by ppr:1:node, srun "
                "--ntasks-per-node=1) and keep the command line in the text"},
};

}  // namespace

std::span<const FindingEntry> curve_link_findings() { return kFindings; }
std::span<const CaveatEntry> curve_link_caveats() { return kCaveats; }

}  // namespace comm_probe::core
