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
              "8 GPUs: one-shot below 256 KiB; at most 8 MiB",
              "vLLM csrc/custom_all_reduce.cuh, custom_all_reduce.py",
              "comm-probe calc decode --model llama-3-70b --batch 8 --tp 8 --machine dgx-h100"},
    TermEntry{
        "backend chain",
        "The all-reduce backends of an inference engine in the order in which they are asked: "
        "the first whose test passes for a message takes it. Which ones exist is said once at "
        "start-up; sizes are tested per call.",
        "vLLM 0.23: NCCL_SYMM_MEM, QUICK_REDUCE, FLASHINFER, CUSTOM, SYMM_MEM, PYNCCL",
        "vLLM v0.23.0 cuda_communicator.py",
        "comm-probe calc decode --model llama-3-70b --batch 8 --tp 8 --machine dgx-h100"},
    TermEntry{
        "MLA",
        "Multi-head latent attention: the cache holds one vector per token and layer for all "
        "heads together, so it is small. Tensor parallelism cannot split it: every rank holds, "
        "and gets, all of it.",
        "DeepSeek-V3: 576 values per token and layer, 68.6 KiB per token", "its config.json",
        "comm-probe calc kv --model deepseek-v3 --tp 8 --nic NDR"},
    TermEntry{"KV descriptor",
              "One contiguous piece of a KV transfer that the CPU hands to the NIC: a block of one "
              "layer, K and V apart. Below 64 KiB each, handing over takes longer than moving, "
              "whatever the NIC.",
              "about 3.5 us each; 4096 tokens of Llama-3-70B: 40960 pieces of 4 KiB per rank",
              "vLLM #50913", "comm-probe calc kv --model llama-3-70b --tp 8 --nic NDR"},
    TermEntry{"MoE dispatch",
              "The all_to_all that sends each token to the GPUs of its experts. Who gets how much "
              "is known only at run time, and the fullest rank sets the pace.",
              "hidden 7168, top-8, FP8: 59.1 KB per token", "8 x (7168 + 7168 / 128 x 4) B",
              "comm-probe calc moe --hidden 7168 --topk 8 --nodes 8 --machine dgx-h100 --tokens "
              "4096"},
    TermEntry{
        "MoE combine",
        "The all_to_all that brings the experts' results back and adds them: dispatch "
        "turned round, usually in BF16 and so twice the bytes. It ends the layer, so its slowest "
        "message is waited for.",
        "hidden 7168, top-8, BF16: 114.7 KB per token", "8 x 7168 x 2 B",
        "comm-probe calc moe --hidden 7168 --topk 8 --nodes 8 --machine dgx-h100 --tokens 128"},
    TermEntry{"dedup",
              "A token that several experts of one node want crosses the network once and is "
              "copied there over NVLink. It pays for few nodes and many experts per token.",
              "top-8 on 8 nodes: 4.59 copies on the NIC instead of 7",
              "k(1-1/N); N(1-(1-1/N)^k)(1-1/N)",
              "comm-probe calc moe --hidden 7168 --topk 8 --nodes 8 --machine dgx-h100 --tokens "
              "4096"},
    TermEntry{
        "group-limited routing",
        "The router may spread a token over M nodes at most. Where dedup alone no longer helps "
        "(many nodes), this bounds the copies on the NIC.",
        "top-8 on 8 nodes, M = 4: 3.15 copies on the NIC instead of 4.59", "M(1-(1-1/M)^k)(1-1/N)",
        "comm-probe calc moe --hidden 7168 --topk 8 --nodes 8 --machine dgx-h100 --tokens "
        "4096 --group-limit 4"},
    TermEntry{"logical bandwidth",
              "What tests of MoE kernels print: it counts every token, also those that stay on the "
              "node, so it can pass the NIC's rate. On the wire is (1 - 1/N) of it.",
              "DeepEP EP16: 43 GB/s printed are 21.5 GB/s on the NIC", "docs/measured/deepep.md",
              "comm-probe calc moe --published"},
    TermEntry{"EPLB",
              "Expert parallel load balancer: copies the hottest experts to other ranks and moves "
              "the rest so that ranks get alike much. The slowest rank sets the time of a MoE "
              "layer; balancedness b (mean over most) makes it 1/b of the mean.",
              "vLLM: window 1000 steps, every 3000; none redundant by default",
              "vLLM --enable-eplb",
              "comm-probe calc moe --hidden 7168 --topk 8 --nodes 8 --machine dgx-h100 --tokens "
              "4096 --skew zipf:1.2"},
    TermEntry{"KV transfer",
              "Moving the attention cache of a request from a prefill to a decode machine: "
              "point to point, large, between changing partners. One-sided RDMA on memory that "
              "was registered once fits it; NCCL's fixed communicators do not.",
              "Llama-3-70B: 320 KiB per token; 4096 tokens over TP8 160 MiB per rank, 3.36 ms at "
              "400 Gb/s",
              "2 (K, V) x 80 layers x 8 heads x 128 x 2 B per token: its config.json",
              "comm-probe calc kv --model llama-3-70b --tp 8 --gpu H100 --nic NDR"},
    TermEntry{"tensor parallel decode",
              "Every layer of every step has two small all_reduce calls, each below the knee: "
              "only steps and launches count. So engines keep several ways to do it.",
              "batch 8, hidden 8192, BF16: 128 KiB, 160 calls per step of 80 layers",
              "8 x 8192 x 2 B; 2 calls x 80 layers: config.json of Llama-3-70B",
              "comm-probe calc decode --model llama-3-70b --batch 8 --tp 8 --machine dgx-h100"},
};

}  // namespace

std::span<const TermEntry> serving_terms() { return kTerms; }

}  // namespace comm_probe::core
