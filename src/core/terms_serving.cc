#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

// Inference and MoE. Figures: golden G7-*, G8-*.
constexpr std::array kTerms = {
    TermEntry{"custom all-reduce",
              "The all_reduce kernel of vLLM and SGLang for one node: the GPUs map each other's "
              "buffers, read them and add, one-shot or two-shot. It saves launches, steps and "
              "copies on small messages. It needs fixed addresses and pays (n-1) times the bytes, "
              "so gradients are not for it.",
              "8 GPUs: one-shot below 256 KiB; at most 8 MiB", "golden G7-09, G7-10",
              "comm-probe calc all_reduce -n 8 -s 128KiB --machine dgx-h100 --compare "
              "ring,one-shot"},
    TermEntry{"MoE dispatch",
              "The all_to_all that sends each token to the GPUs of its experts. Who gets how much "
              "is known only at run time, and the fullest rank sets the pace.",
              "hidden 7168, top-8, FP8: 59.1 KB per token", "golden G8-03",
              "comm-probe calc all_to_all -n 64 -s 64MiB --alpha 10us --beta 50GB/s"},
    TermEntry{
        "MoE combine",
        "The all_to_all that brings the experts' results back and adds them: dispatch "
        "turned round, usually in BF16 and so twice the bytes. It ends the layer, so its slowest "
        "message is waited for.",
        "hidden 7168, top-8, BF16: 114.7 KB per token", "golden G8-04",
        "comm-probe calc all_to_all -n 64 -s 64MiB --alpha 10us --beta 50GB/s"},
    TermEntry{"dedup",
              "A token that several experts of one node want crosses the network once and is "
              "copied there over NVLink. It pays for few nodes and many experts per token.",
              "top-8 on 8 nodes: 4.59 copies on the NIC instead of 7", "golden G8-06, G8-07",
              "comm-probe explain \"MoE dispatch\""},
    TermEntry{"KV transfer",
              "Moving the attention cache of a request from a prefill to a decode machine: "
              "point to point, large, between changing partners. One-sided RDMA on memory that "
              "was registered once fits it; NCCL's fixed communicators do not.",
              "Llama-3-70B: 320 KiB per token; 4096 tokens over TP8 160 MiB per rank, 3.36 ms at "
              "400 Gb/s",
              "golden G7-14 to G7-18", "comm-probe calc path --gpu H100 --nic NDR"},
    TermEntry{"tensor parallel decode",
              "Every layer of every step has two small all_reduce calls, each below the knee: "
              "only steps and launches count. So engines keep several ways to do it.",
              "batch 8, hidden 8192, BF16: 128 KiB, 160 calls per step of 80 layers",
              "golden G7-01, G7-06",
              "comm-probe calc all_reduce -n 8 -s 128KiB --machine dgx-h100"},
};

}  // namespace

std::span<const TermEntry> serving_terms() { return kTerms; }

}  // namespace comm_probe::core
