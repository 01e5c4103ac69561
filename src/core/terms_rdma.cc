#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

// Verbs and lossless Ethernet. Figures: golden G3-13 to G3-26, the InfiniBand specification.
constexpr std::string_view kTopoCheck = "comm-probe topo check --from FILE";
constexpr std::string_view kLog = "comm-probe log FILE";

constexpr std::array kTerms = {
    TermEntry{"RDMA",
              "The NIC moves data between the memories of two machines without either kernel: "
              "set up once, then only posting and polling. The CPU works per message, not per "
              "byte.",
              "1 to 2 us over InfiniBand, 2 to 4 us over RoCE, TCP 15 to 50 us",
              "recap of communication and interconnect (arganzheng.life), ch. 3",
              "comm-probe calc path --gpu H100 --nic NDR"},
    TermEntry{"QP",
              "Queue pair: a send and a receive queue, one end of an RDMA connection. It goes "
              "through RESET, INIT, RTR, RTS; after an error everything queued ends with status "
              "5. NCCL has one reliable QP per connection, more with NCCL_IB_QPS_PER_CONNECTION.",
              "", "", "comm-probe nccl env --explain NCCL_IB_QPS_PER_CONNECTION"},
    TermEntry{"CQ",
              "Completion queue: where the NIC says how each work request ended. Status 12 there "
              "means no answer from the peer, 5 only that an earlier one failed. The first one "
              "that is not 5 is the cause.",
              "", "", kLog},
    TermEntry{"MR",
              "Memory region: pages that were pinned and told to the NIC, which costs time that "
              "grows with the size. So buffers are registered once, when the job starts.",
              "hundreds of ms for a buffer of some GB",
              "recap of communication and interconnect (arganzheng.life), ch. 3", kLog},
    TermEntry{"rkey",
              "The key of a memory region that a peer must show to read or write it. Stale after "
              "the owner restarts: then the access fails with status 10.",
              "", "", kLog},
    TermEntry{"WQE",
              "Work queue element: one request in a queue pair. The CPU writes it and rings the "
              "NIC's doorbell; with IBGDA the GPU does both.",
              "DeepEP's decode needs about 6 per us and GPU",
              "1024 messages in 173 us: DeepEP docs/legacy.md", kLog},
    TermEntry{"RNR",
              "Receiver not ready: the peer has no receive posted, so it asks the sender to wait. "
              "NCCL lets it wait without end (rnr_retry 7), so a stuck peer shows as a silent "
              "hang and not as status 13.",
              "", "", "comm-probe hang PATH"},
    TermEntry{"local ack timeout",
              "How long a sender waits for an acknowledgement: 4.096 us x 2^NCCL_IB_TIMEOUT, "
              "then it tries again, NCCL_IB_RETRY_CNT times. Only then comes status 12. Raising it "
              "delays the message and cures no broken path.",
              "20 gives 4.295 s, with 7 retries 30.06 s (18 before 2.23: 7.516 s)",
              "InfiniBand Architecture 1.6, 9.7.6.1.3",
              "comm-probe nccl env --explain NCCL_IB_TIMEOUT"},
    TermEntry{"RoCE v2",
              "RDMA in UDP packets (port 4791) over Ethernet. It wants a network that loses "
              "nothing: PFC and ECN on every hop, in the same traffic class. A lost packet makes "
              "the NIC send again from there on.",
              "400 Gb/s leaves 49.02 GB/s of payload at MTU 4096, 46.29 at 1024",
              "packet headers of 82 B", "comm-probe calc path --gpu H100 --nic 400GbE --mtu 1024"},
    TermEntry{"GID",
              "The address of a port in RoCE and InfiniBand, one of a table of 16 bytes each. "
              "RoCE needs an entry of type v2 with an IPv4 or routable address; a link-local or "
              "v1 entry works nowhere or only inside one switch. NCCL chooses itself since 2.21.",
              "often index 3 on mlx5, but bonds and containers shift it", "rdma.md section 4",
              "comm-probe nccl env --explain NCCL_IB_GID_INDEX"},
    TermEntry{"PFC",
              "Priority flow control: a full receiver pauses one traffic class of the link before "
              "it. It keeps RoCE free of losses, and it spreads congestion backwards when nothing "
              "else slows the senders.",
              "", "", kTopoCheck},
    TermEntry{"ECN",
              "Explicit congestion notification: a switch marks packets instead of dropping them "
              "when its queue grows. RoCE receivers answer with CNPs. Pauses without marks mean "
              "that ECN is not set up.",
              "", "", kTopoCheck},
    TermEntry{"CNP",
              "Congestion notification packet: the receiver of a marked packet tells the sender "
              "to slow down. Counters: np_cnp_sent at the receiver, rp_cnp_handled at the sender.",
              "", "", kTopoCheck},
    TermEntry{"DCQCN",
              "The congestion control of RoCE: the sender cuts its rate at a CNP and grows it "
              "again. It needs ECN on the switches and the same traffic class everywhere "
              "(NCCL_IB_TC).",
              "", "", "comm-probe nccl env --explain NCCL_IB_TC"},
    TermEntry{"ECMP",
              "Equal-cost multipath: a switch chooses one of several uplinks per flow by a hash. "
              "A few large flows may share one link while others idle, differently in every run. "
              "More QPs per connection make more flows.",
              "", "", "comm-probe nccl env --explain NCCL_IB_QPS_PER_CONNECTION"},
    TermEntry{"memlock",
              "The limit of memory that a process may pin. Registration fails above it with "
              "'Cannot allocate memory', or RDMA is not used at all. It belongs to the daemon "
              "that starts the job, not to your login shell.",
              "unlimited is right; 64 KiB and 8 MiB are usual defaults", "rdma.md section 5", kLog},
    TermEntry{"peermem",
              "nvidia_peermem: the kernel module through which a NIC's driver gets at the memory "
              "of a GPU. Loaded after the NIC's driver, on every host. DMA-BUF replaces it.",
              "", "", "comm-probe topo check"},
    TermEntry{"DMA-BUF",
              "The kernel's own way to share the memory of a GPU with a NIC: GPUDirect RDMA "
              "without nvidia_peermem. It needs support from the kernel, the driver and the verbs "
              "library.",
              "kernel 5.12 or later and the open kernel modules of the driver", "rdma.md section 5",
              "comm-probe topo check"},
    TermEntry{"IBGDA",
              "InfiniBand GPUDirect Async: a warp writes the work request and rings the NIC's "
              "doorbell itself, with no CPU thread between. It removes the limit on messages per "
              "second, not the one on bytes. Needs driver options (PeerMappingOverride) and "
              "mlx5.",
              "1024 messages of 7.4 KB per layer in decode: 6 per us",
              "128 tokens x top-8 in 173 us: DeepEP docs/legacy.md", kLog},
    TermEntry{"NVSHMEM",
              "A symmetric heap over the GPUs of a job and calls that kernels make on it. DeepEP "
              "and PyTorch's all_to_all_vdev stand on it. Its network side can be a CPU proxy or "
              "IBGDA.",
              "NVSHMEM_IB_ENABLE_IBGDA=1 switches IBGDA on",
              "DeepEP sets it itself, deep_ep/buffer.py", kLog},
};

}  // namespace

std::span<const TermEntry> rdma_terms() { return kTerms; }

}  // namespace comm_probe::core
