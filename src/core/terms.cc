#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kTerms = {
    TermEntry{"algbw",
              "Algorithm bandwidth: message bytes / time, as nccl-tests prints it. It falls with "
              "the number of ranks "
              "even on perfect hardware; compare busbw instead."},
    TermEntry{
        "busbw",
        "Bus bandwidth: algbw times a factor that makes it comparable with the speed of the link "
        "whatever the "
        "number of ranks n: 2(n-1)/n for all_reduce, (n-1)/n for all_gather, reduce_scatter and "
        "all_to_all, 1 for broadcast, reduce and send_recv. On a saturated ring it equals the "
        "link's bandwidth."},
    TermEntry{"alpha",
              "The fixed cost of one communication step (launch, synchronisation, wire latency), "
              "whatever the size."},
    TermEntry{"beta", "The bandwidth of one link in one direction, bytes per second."},
    TermEntry{"knee",
              "The message size at which the latency ledger (steps x alpha) equals the bandwidth "
              "ledger (bytes per rank "
              "/ beta); n*alpha*beta for the ring. Below it only fewer steps or a smaller alpha "
              "help, above it "
              "only fewer bytes or a faster link."},
    TermEntry{"ledger",
              "A predicted time with its reasons: the latency ledger (steps x alpha) and the "
              "bandwidth ledger (bytes per rank / beta). The larger one says what helps."},
    TermEntry{"ring",
              "Every rank talks to its two neighbours only. all_reduce: 2(n-1) steps and "
              "2(n-1)/n of the message per rank, the least bytes that any algorithm without "
              "help from the switch can move; many steps, so best for large messages."},
    TermEntry{"tree",
              "Reduce up a binary tree, broadcast down: 2*ceil(log2 n) steps, but an inner rank "
              "carries twice the message each way, so half of the ring's bandwidth. NCCL's tree is "
              "a chain inside the node and a tree over the nodes: 2((p-1) + log2 N) steps."},
    TermEntry{"double-tree",
              "Two binary trees at once, an inner rank of one is a leaf of the other and each "
              "carries half of the message: the steps of the tree with the full bandwidth of a "
              "link."},
    TermEntry{"recursive-doubling",
              "Partners at distance 1, 2, 4, ... exchange the whole message: log2 n steps, the "
              "fewest, and log2 n times the bytes; for small messages."},
    TermEntry{"one-shot",
              "Every rank reads the messages of all others at once: two steps and (n-1) times the "
              "message; needs memory that all ranks can reach; for the smallest messages."},
    TermEntry{"two-shot",
              "reduce_scatter and all_gather, each in one access to all peers: four steps, the "
              "bytes of the ring; needs memory that all ranks can reach."},
    TermEntry{"hierarchical",
              "reduce_scatter inside the node, all_reduce between nodes with 1/p of the message "
              "per rank (p ranks per node), all_gather inside: the slow network carries 1/p of "
              "what a single flat ring would send through it."},
    TermEntry{"NVLS",
              "NVLink SHARP: the NVSwitch adds the data of all GPUs and multicasts the result; "
              "the message leaves and enters each GPU once instead of 2(n-1)/n times."},
    TermEntry{"Simple",
              "NCCL protocol: data and flags apart, the whole link carries data; each step costs "
              "the most."},
    TermEntry{"LL",
              "NCCL protocol for small messages: a 4-byte flag beside every 4 bytes of data, so no "
              "step waits for a fence, but only 8 of 16 bytes on the wire are data: half the "
              "bandwidth."},
    TermEntry{"LL128",
              "NCCL protocol: 120 of every 128 bytes are data (93.75 %), steps nearly as cheap as "
              "LL's; needs links that keep 128 bytes together (NVLink)."},
    TermEntry{"crossover",
              "The message size at which two algorithms take the same time; times are straight "
              "lines in the size, so it is (L2 - L1) / (k1 - k2)."},
    TermEntry{"bucket",
              "Gradients that DDP reduces together (25 MiB by default, the first 1 MiB), while the "
              "backward pass computes the next ones."},
    TermEntry{"MPS",
              "Max payload size of a PCIe packet (128, 256 or 512 B; `lspci -vv`, MaxPayload): 26 "
              "to 30 B of headers per packet leave 81, 89.5 or 94 % of a PCIe 4.0 link for data."},
    TermEntry{"plateau",
              "The busbw that large messages approach; 90 % of it is reached at 9 times the knee."},
};

}  // namespace

std::span<const TermEntry> terms() { return kTerms; }

}  // namespace comm_probe::core
