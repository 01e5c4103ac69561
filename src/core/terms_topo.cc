#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

// The path words of nvidia-smi and NCCL (src/graph/topo.h of 2.28.9, nvidia-smi's own legend).
constexpr std::array kTerms = {
    TermEntry{"X", "nvidia-smi: the device itself; NCCL says LOC."},
    TermEntry{"LOC", "NCCL: a path from a device to itself."},
    TermEntry{"NV#",
              "nvidia-smi: so many NVLinks (NV18: 18) to the other GPU, direct or through "
              "NVSwitches; NCCL says NVL."},
    TermEntry{"NVL", "NCCL: NVLinks only, direct or through NVSwitches; nvidia-smi says NV#."},
    TermEntry{"NVB", "NCCL: NVLink by way of one other GPU, which copies nothing itself."},
    TermEntry{"C2C", "The chip-to-chip link between a GPU and its own CPU (Grace Hopper, GB200)."},
    TermEntry{"PIX", "At most one PCIe switch between the two devices: the nearest that PCIe has."},
    TermEntry{"PXB",
              "Several PCIe switches, but no CPU. The default limit of NCCL for P2P between GPUs "
              "and for GPUDirect RDMA."},
    TermEntry{"P2C", "NCCL: from a GPU over C2C to its CPU, then over PCIe to a NIC."},
    TermEntry{"PXN",
              "NCCL: a GPU sends over NVLink to a neighbour GPU and from there through that "
              "GPU's own NIC. Only outbound; what is received comes straight."},
    TermEntry{"PHB",
              "Through a CPU: from one PCIe root port to another. Peer traffic there is slow on "
              "many CPUs, and NCCL allows neither P2P nor GPUDirect RDMA by default."},
    TermEntry{"NODE",
              "nvidia-smi: between PCIe host bridges inside of one NUMA node; NCCL counts it as "
              "PHB."},
    TermEntry{"SYS", "Through the link between two CPU sockets (UPI, Infinity Fabric)."},
    TermEntry{"SOC", "nvidia-smi before 2016: what is SYS today."},
    TermEntry{"NET", "NCCL: only the network connects the two GPUs, even inside of one host."},
    TermEntry{"GDR",
              "GPUDirect RDMA: the NIC reads and writes the memory of the GPU, without a copy in "
              "host memory. Needs nvidia_peermem or DMA-BUF, and a path of PXB or nearer."},
    TermEntry{"P2P", "Peer to peer: one GPU reads or writes the memory of another directly."},
    TermEntry{"ACS",
              "PCIe access control services: with request redirection on, a switch sends the "
              "traffic between its own devices up to the CPU, and P2P under it loses its speed."},
};

}  // namespace

std::span<const TermEntry> topo_terms() { return kTerms; }

}  // namespace comm_probe::core
