#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

// The path words of nvidia-smi and NCCL (src/graph/topo.h of 2.28.9, nvidia-smi's own legend).
constexpr std::string_view kShow = "comm-probe topo show --from FILE";
constexpr std::string_view kPlan = "comm-probe nccl plan --topo FILE";

constexpr std::array kTerms = {
    TermEntry{"X", "nvidia-smi: the device itself; NCCL says LOC. It stands on the diagonal.", "",
              "", kShow},
    TermEntry{"LOC", "NCCL: a path from a device to itself. It is the nearest of all path types.",
              "", "", kPlan},
    TermEntry{"NV#",
              "nvidia-smi: so many NVLinks (NV18: 18) to the other GPU, direct or through "
              "NVSwitches; NCCL says NVL. Multiply by the rate of one link to get beta.",
              "NV18 on H100: 18 x 25 = 450 GB/s; NV12 on A100: 300 GB/s", "catalog", kShow},
    TermEntry{"NVL",
              "NCCL: NVLinks only, direct or through NVSwitches; nvidia-smi says NV#. NCCL counts "
              "a little less than the vendor's rate per link.",
              "20.6 GB/s per link of an H100, 370.8 GB/s per GPU", "NCCL src/graph/topo.h", kPlan},
    TermEntry{"NVB",
              "NCCL: NVLink by way of one other GPU, which passes the data on. Only machines "
              "whose GPUs are not all linked have it (DGX-1).",
              "", "", kPlan},
    TermEntry{"C2C",
              "The chip-to-chip link between a GPU and its own CPU (Grace Hopper, GB200). Data "
              "through the CPU is fast there, so PHB does not mean slow.",
              "", "", "comm-probe machines gh200"},
    TermEntry{"PIX",
              "At most one PCIe switch between the two devices: the nearest that PCIe has. "
              "GPUDirect RDMA works at full speed if ACS leaves the switch alone.",
              "ceiling min(NIC, PCIe): NDR on PCIe 5.0 50 GB/s", "port 50 GB/s, slot 63 GB/s",
              kShow},
    TermEntry{"PXB",
              "Several PCIe switches, but no CPU. The default limit of NCCL for GPUDirect RDMA, "
              "and since 2.23 for P2P between GPUs.",
              "", "", kShow},
    TermEntry{"P2C",
              "NCCL: from a GPU over C2C to its CPU, then over PCIe to a NIC. The default limit "
              "of GPUDirect RDMA since 2.29.",
              "", "", kPlan},
    TermEntry{"PXN",
              "NCCL: a GPU sends over NVLink to a neighbour GPU and from there through that "
              "GPU's own NIC. It keeps traffic on its rail and joins messages for one "
              "destination. Only outbound; what is received comes straight.",
              "", "", kPlan},
    TermEntry{"PHB",
              "Through a CPU: from one PCIe root port to another. Peer traffic there is slow on "
              "many CPUs, and NCCL allows neither P2P nor GPUDirect RDMA by default.",
              "", "", kShow},
    TermEntry{"NODE",
              "nvidia-smi: between PCIe host bridges inside of one NUMA node; NCCL counts it as "
              "PHB. For GPUDirect RDMA it is too far.",
              "", "", kShow},
    TermEntry{"SYS",
              "Through the link between two CPU sockets (UPI, Infinity Fabric): the farthest "
              "inside a machine. A NIC at SYS from its GPU loses GPUDirect RDMA and most of its "
              "rate.",
              "an A30 across sockets got 11 GB/s, host memory 23 GB/s", "perftest issue 241",
              kShow},
    TermEntry{"SOC", "nvidia-smi before 2016: what is SYS today. Old pastes still have it.", "", "",
              kShow},
    TermEntry{"NET",
              "NCCL: only the network connects the two GPUs, even inside of one host. Between "
              "GPUs of one machine it means that P2P and shared memory were refused.",
              "", "", "comm-probe log FILE"},
    TermEntry{"GDR",
              "GPUDirect RDMA: the NIC reads and writes the memory of the GPU, without a copy in "
              "host memory. Needs nvidia_peermem or DMA-BUF, and a path of PXB or nearer. Without "
              "it every byte crosses the host memory twice on each end.",
              "8 H100 with NDR: 49.66 GB/s per GPU with it, 30.72 GB/s without",
              "computed, host memory 614.4 GB/s assumed",
              "comm-probe calc path --gpu H100 --nic NDR"},
    TermEntry{"P2P",
              "Peer to peer: one GPU reads or writes the memory of another directly. NCCL takes "
              "it over NVLink always, over PCIe where the path is near enough. Refused, the data "
              "goes through shared memory of the host.",
              "", "", kPlan},
    TermEntry{"ACS",
              "PCIe access control services: with request redirection on, a switch sends the "
              "traffic between its own devices up to the CPU. P2P under it loses its speed, with "
              "an IOMMU it can hang or corrupt. First suspect where the topology is perfect and "
              "P2P is slow.",
              "0x001d in ACSCtl stood behind a hang report", "NCCL issue 2079",
              "comm-probe topo check"},
    TermEntry{"rail-optimised",
              "A network in which the NICs of one number in all nodes share a leaf switch. GPUs "
              "of one number reach each other in one hop. Traffic between numbers goes over "
              "NVLink first (PXN).",
              "", "", "comm-probe topo check --from FILE"},
    TermEntry{"NVSwitch",
              "The crossbar of a node: any two GPUs at full NVLink rate at once. From the third "
              "generation on it can add (NVLS).",
              "8 x 450 GB/s inside against 8 x 50 GB/s of NICs: nine times (H100 with NDR)",
              "450 / 50 GB/s", "comm-probe machines dgx-h100"},
};

}  // namespace

std::span<const TermEntry> topo_terms() { return kTerms; }

}  // namespace comm_probe::core
