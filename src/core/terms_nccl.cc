#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

// NCCL's own parts (2.28.9 unless another release is named).
constexpr std::string_view kPlan = "comm-probe nccl plan --topo FILE";
constexpr std::string_view kLog = "comm-probe log FILE";

constexpr std::array kTerms = {
    TermEntry{"communicator",
              "The ranks that take part in NCCL's calls, with everything decided for them: paths, "
              "channels, algorithms. Membership is fixed when it is made, and one failed member "
              "fails it. Calls of one communicator run in order; two on one GPU need the same "
              "order on all ranks.",
              "", "", kLog},
    TermEntry{"channel",
              "One of the parallel rings or trees over which NCCL spreads a collective. Each has "
              "its own thread block (so one SM), buffers, and usually its own NIC. More channels "
              "carry more bytes and cost small messages more.",
              "dgx-h100: 24 for a ring, 16 for NVLS", "plan for NCCL 2.28.9", kPlan},
    TermEntry{"proxy thread",
              "The CPU thread of a process that posts RDMA requests for the GPU kernel and polls "
              "for their ends. Every step between nodes goes through it. Preempted or on the "
              "wrong NUMA node, it shows as latency; dead, as a hang.",
              "one core can drive one 400 Gb/s NIC",
              "recap of communication and interconnect (arganzheng.life), ch. 3",
              "comm-probe nccl env --explain NCCL_IGNORE_CPU_AFFINITY"},
    TermEntry{"lazy connect",
              "NCCL opens its connections when an algorithm is first used, not when the "
              "communicator is made. The first call is therefore slow, and connection errors come "
              "at the first collective. Warm up before you measure.",
              "default since 2.22", "NCCL release notes", "comm-probe curve FILE"},
    TermEntry{"tuner plugin",
              "A library that NCCL asks for the algorithm, protocol and channels of every call "
              "(NCCL_TUNER_PLUGIN). It can change single sizes where measurement shows that "
              "NCCL's choice is wrong, and leaves the others alone. NCCL_ALGO for the whole job "
              "cannot.",
              "", "", "comm-probe nccl choose all_reduce --topo FILE --tuner FILE"},
    TermEntry{"tuning table",
              "Latency and bandwidth that NCCL computes per operation, algorithm and protocol "
              "when the communicator is made. A call looks up the smallest lat * count + bytes / "
              "bw; nothing is searched then.",
              "dgx-h100 all_reduce: Ring LL up to 1.092 MiB, then NVLS Simple",
              "tuning model of NCCL 2.28.9", "comm-probe nccl choose all_reduce --topo FILE"},
    TermEntry{"CollNet",
              "NCCL's interface to networks that add: the NIC's plugin hands the data of a node "
              "to the switches. Inside the node a chain or NVLS brings it together first. Needs "
              "the SHARP plugin and NCCL_COLLNET_ENABLE=1.",
              "", "", "comm-probe nccl plan --topo FILE --collnet 1"},
    TermEntry{"SHARP",
              "Aggregation in the switch: InfiniBand switches (through CollNet) or NVSwitches "
              "(NVLS) add what passes. Each rank sends its message once instead of 2(n-1)/n "
              "times.",
              "", "", "comm-probe nccl plan --topo FILE --collnet 1"},
    TermEntry{"PAT",
              "Parallel aggregated trees: NCCL's algorithm for all_gather and reduce_scatter with "
              "one GPU per node (2.23). Logarithmic steps where the ring has n-1.",
              "", "", "comm-probe nccl choose all_gather --topo FILE"},
    TermEntry{"multicast",
              "One store of a GPU that an NVSwitch delivers to all others. NVLS stands on it. It "
              "needs Hopper or later, the fabric manager, and cuMem handles; a partition or a VM "
              "may be without it.",
              "", "", "comm-probe nccl plan --topo FILE --multicast 0"},
    TermEntry{"fabric manager",
              "The NVIDIA service that sets up the NVSwitches of a node. Its version must be the "
              "driver's. Without it CUDA says 802 (system not yet initialized) or NVLS cannot "
              "bind its memory.",
              "", "", kLog},
    TermEntry{"MNNVL",
              "Multi-node NVLink: the GPUs of several hosts in one NVLink domain, as in a GB200 "
              "NVL72 rack. NCCL treats the domain like one node for P2P and NVLS. It needs IMEX "
              "on every host.",
              "72 GPUs in 18 trays", "catalog", "comm-probe nccl plan --topo FILE --mnnvl 1"},
    TermEntry{"IMEX",
              "The NVIDIA service and its device channels that let hosts of one NVLink domain map "
              "each other's GPU memory. A container without the channel, or a host missing in its "
              "node list, loses MNNVL.",
              "", "", kLog},
    TermEntry{"symmetric memory",
              "Buffers that every rank allocates the same way, so that each can address the "
              "others' directly. NCCL (2.27, windows) and PyTorch have kernels for it: no channel "
              "buffers, few steps, NVLink only. NCCL's tuning table is not asked then.",
              "PyTorch's on 8 x H100 in vLLM: 256 KiB to 64 MiB", "vLLM all_reduce_utils.py", kLog},
    TermEntry{"user buffer registration",
              "ncclCommRegister, ncclMemAlloc or CUDA graphs tell NCCL about the user's buffers, "
              "so that NVLS, P2P or the NIC work on them without a copy. It frees SMs and memory "
              "bandwidth.",
              "", "", kLog},
    TermEntry{"RAS",
              "A small server in every NCCL process since 2.24; ncclras prints which ranks of "
              "which communicator are behind in their calls. It works with any framework. It "
              "cannot say why.",
              "port 28028", "NCCL 2.24", "comm-probe hang PATH"},
    TermEntry{"GIN",
              "GPU-initiated networking (2.28.7): kernels put and signal over the network "
              "themselves, with the NIC's doorbell (GDAKI) or a CPU thread behind it (proxy).",
              "", "", kLog},
};

}  // namespace

std::span<const TermEntry> nccl_terms() { return kTerms; }

}  // namespace comm_probe::core
