#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

// What the host adds: memory, address translation, places.
constexpr std::array kTerms = {
    TermEntry{"IOMMU",
              "Translates the addresses that devices use. In a translated mode (DMA, DMA-FQ) "
              "peer traffic takes the way through it, where P2P slows, hangs or corrupts on some "
              "boards; identity (iommu=pt) leaves it alone. Virtual machines need it, with ATS.",
              "", "", "comm-probe topo check"},
    TermEntry{"ATS",
              "Address translation services: a device asks the IOMMU once and then uses real "
              "addresses, so that peer traffic stays inside the switch. The way to fast P2P in a "
              "virtual machine, where ACS cannot be switched off.",
              "", "", "comm-probe topo check"},
    TermEntry{"BAR1",
              "The window of PCIe addresses through which others reach the memory of a GPU. "
              "GPUDirect RDMA registers buffers in it, so it should be as large as the memory.",
              "", "", "comm-probe topo show"},
    TermEntry{"NUMA",
              "Memory and devices belong to one CPU socket or part of it. Proxy threads and "
              "staging buffers should be on the GPU's own. NVLink does not care.",
              "", "", "comm-probe topo check"},
    TermEntry{"UPI",
              "Intel's link between two sockets (Infinity Fabric at AMD): what SYS paths cross. "
              "NCCL counts little bandwidth for it.",
              "6 to 40 GB/s in NCCL's model, by CPU generation", "NCCL src/graph/topo.h",
              "comm-probe machines --links"},
    TermEntry{"PCIe",
              "The tree that joins CPUs, switches, GPUs and NICs. A NIC fits its slot at about "
              "78 % of the link; more is cut off, less wastes the slot.",
              "x16 in one direction: gen3 15.75, gen4 31.5, gen5 63 GB/s raw",
              "GT/s x 16 lanes x 128/130", "comm-probe machines --links"},
    TermEntry{"NVLink",
              "The link between GPUs. The vendor's number is the sum of both directions: half of "
              "it is beta.",
              "one direction: A100 300, H100 450, Blackwell 900 GB/s",
              "12 x 25, 18 x 25, 18 x 50 GB/s: NVLink 3, 4 and 5", "comm-probe machines --gpus"},
    TermEntry{"SHM",
              "NCCL's way between GPUs of one host that may not talk directly: a buffer in host "
              "memory (/dev/shm). Between GPUs with NVLink it means that P2P was switched off.",
              "", "", "comm-probe log FILE"},
};

}  // namespace

std::span<const TermEntry> host_terms() { return kTerms; }

}  // namespace comm_probe::core
