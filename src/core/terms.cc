#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

// The two ledgers and the algorithms. Figures: golden G1-01 to G1-19, G4-01 to G4-05, G7-09.
constexpr std::array kTerms = {
    TermEntry{"algbw",
              "Algorithm bandwidth: message bytes / time, as nccl-tests prints it. It falls with "
              "the number of ranks even on perfect hardware, because every rank must move more "
              "than the message. Compare busbw with the hardware instead.",
              "8 ranks, 1 GB, ring on 25 GB/s links: algbw 14.26 GB/s, busbw 24.95 GB/s",
              "computed, alpha 10 us",
              "comm-probe calc all_reduce -n 8 -s 1GB --alpha 10us --beta 25GB/s"},
    TermEntry{"busbw",
              "Bus bandwidth: algbw times a factor that makes it comparable with the speed of the "
              "link whatever the number of ranks n: 2(n-1)/n for all_reduce, (n-1)/n for "
              "all_gather, reduce_scatter and all_to_all, 1 for broadcast, reduce and send_recv. "
              "On a saturated ring it equals the link's bandwidth. With NVLS the factor of the "
              "ring overstates the traffic, so busbw above the link is no error there.",
              "8 ranks: 1.75 for all_reduce, 0.875 for all_gather", "2(n-1)/n and (n-1)/n",
              "comm-probe curve FILE"},
    TermEntry{"alpha",
              "The fixed cost of one communication step (launch, synchronisation, wire latency), "
              "whatever the size. Small messages pay nothing else. It falls with nearer hardware "
              "and a lighter protocol, never with a wider link.",
              "typical: 5 to 20 us for a step over InfiniBand, 2 to 5 us over NVLink",
              "recap of communication and interconnect (arganzheng.life), ch. 6, marked as not "
              "measured there",
              "comm-probe curve FILE"},
    TermEntry{"beta",
              "The bandwidth of one link in one direction, bytes per second. Vendors print the sum "
              "of both directions for NVLink; half of it is beta. It sets the right end of every "
              "curve.",
              "NVLink of an H100 450 GB/s, NDR port 50 GB/s, PCIe 5.0 x16 64 GB/s nominal",
              "catalog", "comm-probe machines --links"},
    TermEntry{"knee",
              "The message size at which the latency ledger (steps x alpha) equals the bandwidth "
              "ledger (bytes per rank / beta); n*alpha*beta for the ring. Below it only fewer "
              "steps or a smaller alpha help, above it only fewer bytes or a faster link. A faster "
              "link moves the knee to larger messages.",
              "8 ranks, 10 us, 25 GB/s: 2 MB; 64 ranks, 10 us, 45 GB/s: 28.8 MB", "n*alpha*beta",
              "comm-probe calc all_reduce -n 64 -s 25MB --alpha 10us --beta 45GB/s"},
    TermEntry{"plateau",
              "The busbw that large messages approach. Half of it is reached at the knee, 90 % at "
              "9 times the knee. A low plateau is a question of paths and links, a bad left end "
              "one of steps.",
              "8 x H100 in one node: 350 to 480 GB/s; two NDR nodes: 40 to 48 GB/s per GPU",
              "recap of communication and interconnect (arganzheng.life), ch. 6",
              "comm-probe curve FILE --machine dgx-h100"},
    TermEntry{"ledger",
              "A predicted time with its reasons: the latency ledger (steps x alpha) and the "
              "bandwidth ledger (bytes per rank / beta). The larger one says what helps: fewer "
              "steps and merging on one side, fewer bytes and faster links on the other.",
              "8 ranks, 64 KiB, 10 us, 25 GB/s: 140 us of steps and 4.588 us of bytes", "computed",
              "comm-probe calc all_reduce -n 8 -s 64KiB --alpha 10us --beta 25GB/s"},
    TermEntry{"latency ledger",
              "Steps x alpha: what a message costs before its first byte counts. It rules below "
              "the knee. A faster NIC buys nothing there; fewer steps (tree, one-shot), a cheaper "
              "step (LL, NVLink) and merging calls do.",
              "1024 ranks, 64 KiB: ring 20.47 ms in 2046 steps, double tree 205.2 us in 20",
              "computed, alpha 10 us, 25 GB/s",
              "comm-probe calc all_reduce -n 1024 -s 64KiB --alpha 10us --beta 25GB/s --compare "
              "ring,double-tree"},
    TermEntry{"bandwidth ledger",
              "Bytes per rank / beta: what the data costs. It rules above the knee. Faster links, "
              "more NICs per node, smaller data types and algorithms that move fewer bytes help; "
              "fewer steps do not.",
              "8 ranks, 1 GB, 25 GB/s: 70 ms of 70.14 ms", "computed, alpha 10 us",
              "comm-probe calc all_reduce -n 8 -s 1GB --alpha 10us --beta 25GB/s"},
    TermEntry{"crossover",
              "The message size at which two algorithms take the same time. Times are straight "
              "lines in the size, so it is (L2 - L1) / (k1 - k2), the difference of the latency "
              "ledgers over the difference of the costs per byte. A step of a few percent in a "
              "measured curve at such a size is normal.",
              "dgx-h100, one node: Ring LL up to 1.092 MiB, then NVLS Simple",
              "tuning model of NCCL 2.28.9", "comm-probe nccl choose all_reduce --topo FILE"},
    TermEntry{"ring",
              "Every rank talks to its two neighbours only. all_reduce takes 2(n-1) steps and "
              "2(n-1)/n of the message per rank, the least bytes that any algorithm without help "
              "from the switch can move. The steps grow with n, so it is best for large messages "
              "and loses small ones at scale.",
              "256 ranks: 510 steps", "2(n-1)",
              "comm-probe calc all_reduce -n 256 -s 25MB --gpus-per-node 8 --alpha 10us --beta "
              "50GB/s --compare ring,nccl-tree"},
    TermEntry{"tree",
              "Reduce up a binary tree, broadcast down: 2*ceil(log2 n) steps, but an inner rank "
              "carries twice the message each way, so half of the ring's bandwidth. NCCL's tree is "
              "a chain inside the node and a double tree over the nodes: 2((p-1) + log2 N) steps.",
              "32 nodes of 8: 24 steps where the ring has 510", "2((p-1) + log2 N)",
              "comm-probe calc all_reduce -n 256 -s 25MB --gpus-per-node 8 --alpha 10us --beta "
              "50GB/s --algo nccl-tree"},
    TermEntry{"double-tree",
              "Two binary trees at once; an inner rank of one is a leaf of the other and each "
              "carries half of the message. It has the steps of the tree with the full bandwidth "
              "of a link. NCCL builds its trees over the nodes this way.",
              "1024 ranks, 64 KiB: 205.2 us against 20.47 ms with a ring",
              "computed, alpha 10 us, 25 GB/s",
              "comm-probe calc all_reduce -n 1024 -s 64KiB --alpha 10us --beta 25GB/s --compare "
              "ring,double-tree"},
    TermEntry{"recursive-doubling",
              "Partners at distance 1, 2, 4, ... exchange the whole message: log2 n steps, the "
              "fewest, and log2 n times the bytes. It is for small messages.",
              "8 ranks, 64 KiB: 37.86 us where a ring takes 144.6 us",
              "computed, alpha 10 us, 25 GB/s",
              "comm-probe calc all_reduce -n 8 -s 64KiB --alpha 10us --beta 25GB/s --compare "
              "ring,recursive-doubling"},
    TermEntry{"one-shot",
              "Every rank reads the messages of all others at once and adds them itself: two "
              "flags instead of 2(n-1) steps, and (n-1) times the message. It needs memory that "
              "all ranks can reach, so it stays inside one NVLink domain. For the smallest "
              "messages.",
              "vLLM takes it below 256 KiB on 8 fully connected GPUs",
              "vLLM csrc/custom_all_reduce.cuh",
              "comm-probe calc all_reduce -n 8 -s 128KiB --machine dgx-h100 --compare "
              "ring,one-shot"},
    TermEntry{"two-shot",
              "reduce_scatter and all_gather, each in one access to all peers: four steps, the "
              "bytes of the ring. It needs memory that all ranks can reach. It takes over from "
              "one-shot where (n-1) times the message becomes too much.",
              "8 ranks: 1.75 times the message, one-shot 7 times", "2(n-1)/n and n-1",
              "comm-probe calc all_reduce -n 8 -s 1MiB --machine dgx-h100 --compare "
              "one-shot,two-shot"},
    TermEntry{"hierarchical",
              "reduce_scatter inside the node, all_reduce between nodes with 1/p of the message "
              "per rank (p ranks per node), all_gather inside. The slow network carries 1/p of "
              "what a single flat ring would send through it.",
              "4 nodes of 8, 1 GB, 200 and 25 GB/s: 16.45 ms, 4.75 times faster than a flat ring",
              "computed, alpha 10 us",
              "comm-probe calc all_reduce -n 32 -s 1GB --alpha 10us --beta 200GB/s --inter-beta "
              "25GB/s --gpus-per-node 8"},
    TermEntry{"NVLS",
              "NVLink SHARP: the NVSwitch adds the data of all GPUs and multicasts the result. The "
              "message leaves and enters each GPU once instead of 2(n-1)/n times, and two steps "
              "replace 2(n-1). Needs Hopper or later, NVSwitches, a running fabric manager.",
              "dgx-h100, 1 GiB: 3.973 ms; a forced ring 5.276 ms, 1.33 times",
              "tuning model of NCCL 2.28.9",
              "comm-probe nccl choose all_reduce --topo FILE -s 1GiB --env NCCL_ALGO=Ring"},
    TermEntry{"Simple",
              "NCCL protocol: data in large slots, a flag after each slot behind a fence. The "
              "whole link carries data, each step costs the most. For large messages.",
              "slots of 512 KiB (4 MiB buffer in 8 steps)", "NCCL: NCCL_BUFFSIZE / NCCL_STEPS",
              "comm-probe nccl choose all_reduce --topo FILE"},
    TermEntry{"LL",
              "NCCL protocol for small messages: a 4-byte flag beside every 4 bytes of data, so no "
              "step waits for a fence. Only 8 of 16 bytes on the wire are data: half the "
              "bandwidth.",
              "50 % of the wire is data", "4 of 8 B are data: NCCL src/device/prims_ll.h",
              "comm-probe calc all_reduce -n 8 -s 4MiB --alpha 2us --beta 300GB/s --proto ll"},
    TermEntry{"LL128",
              "NCCL protocol: 120 of every 128 bytes are data, steps nearly as cheap as LL's. It "
              "needs links that keep 128 bytes together, which NVLink does and PCIe does not "
              "promise. NCCL enables it only there; forcing it elsewhere can give wrong numbers.",
              "93.75 % of the wire is data", "120 / 128: NCCL src/device/prims_ll128.h",
              "comm-probe calc all_reduce -n 8 -s 4MiB --alpha 2us --beta 300GB/s --proto ll128"},
    TermEntry{"bucket",
              "Gradients that DDP reduces together while the backward pass computes the next "
              "ones. Larger buckets come nearer to the plateau and overlap more coarsely; the last "
              "one can hide behind nothing.",
              "25 MiB by default, the first 1 MiB", "PyTorch DDP, bucket_cap_mb",
              "comm-probe calc bucket --params 7e9 --dtype bf16 -n 64 --beta 45GB/s --alpha 10us"},
    TermEntry{"coalescing",
              "Several small calls put into one group or one buffer, so that their steps are paid "
              "once. It is the one cure on the latency side that needs no other hardware. PyTorch "
              "has _coalescing_manager, DDP has buckets, NCCL ncclGroupStart and ncclGroupEnd.",
              "1000 messages of 25 KB: 1000 times the steps of one of 25 MB",
              "n messages: n times the steps", "comm-probe trace PATH"},
    TermEntry{"MPS",
              "Max payload size of a PCIe packet (128, 256 or 512 B; `lspci -vv`, MaxPayload). "
              "Each packet has 26 to 30 B of headers, so small packets waste the link. The root "
              "port's limit holds for everything below it.",
              "128, 256, 512 B leave 81, 89.5, 94 % of a PCIe 4.0 link for data",
              "link model of UCX", "comm-probe calc path --gpu A100 --nic NDR --mps 128"},
};

}  // namespace

std::span<const TermEntry> terms() { return kTerms; }

}  // namespace comm_probe::core
