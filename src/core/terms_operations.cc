#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

// The commands of this page share their links: 10 us a step, 25 GB/s (golden G1-01).
constexpr std::array kTerms = {
    TermEntry{"rank",
              "One process (or GPU) of a communicator, numbered from 0. A rank of a subgroup has "
              "its own number there, so logs of two groups can mean two GPUs by one number.",
              "", "", "comm-probe log FILE"},
    TermEntry{"rail",
              "The NICs with the same number in every node, joined by the same leaf switches. "
              "Traffic on one rail never crosses to another. NCCL's rings and trees stay on their "
              "rail unless NCCL_CROSS_NIC lets them change it.",
              "", "", "comm-probe topo check --from FILE"},
    TermEntry{"all_reduce",
              "Every rank gives S bytes and gets the sum of all. The least that a rank sends is "
              "2(n-1)/n * S, which the ring does in 2(n-1) steps. Data parallel gradients and "
              "tensor parallel layers use it.",
              "8 ranks, 1 GB, 25 GB/s: 70.14 ms", "computed, alpha 10 us",
              "comm-probe calc all_reduce -n 8 -s 1GB --alpha 10us --beta 25GB/s"},
    TermEntry{"all_gather",
              "Every rank gives S/n bytes and gets all S; a rank receives (n-1)/n * S. nccl-tests "
              "prints the total S as size. FSDP gathers parameters with it.",
              "8 ranks, 2 GB, 25 GB/s: 70.07 ms, algbw 28.54, busbw 24.98 GB/s",
              "computed, alpha 10 us",
              "comm-probe calc all_gather -n 8 -s 2GB --alpha 10us --beta 25GB/s"},
    TermEntry{"reduce_scatter",
              "Every rank gives S bytes and gets its S/n of the sum; a rank sends (n-1)/n * S. "
              "nccl-tests prints the total S as size. FSDP reduces gradients with it.",
              "", "", "comm-probe calc reduce_scatter -n 8 -s 2GB --alpha 10us --beta 25GB/s"},
    TermEntry{"broadcast",
              "One rank, the root, gives S bytes to all others. A pipelined chain or tree takes "
              "little longer than one message.",
              "", "", "comm-probe calc broadcast -n 8 -s 1GB --alpha 10us --beta 25GB/s"},
    TermEntry{"reduce",
              "The root gets the sum of the S bytes of every rank. It is broadcast run backwards "
              "and costs the same.",
              "", "", "comm-probe calc reduce -n 8 -s 1GB --alpha 10us --beta 25GB/s"},
    TermEntry{"all_to_all",
              "Every rank sends a different S/n bytes to every other rank: n(n-1) flows at once. "
              "MoE dispatch and combine are of this kind. The fullest link and the slowest rank "
              "set the time. nccl-tests calls it alltoall.",
              "64 ranks: 4032 flows", "n(n-1)",
              "comm-probe calc all_to_all -n 64 -s 64MiB --alpha 10us --beta 50GB/s"},
    TermEntry{"alltoall", "nccl-tests' name of all_to_all. The prefix of its program is the same.",
              "", "", "comm-probe curve FILE"},
    TermEntry{"send_recv",
              "Every rank sends S bytes to one neighbour and receives S from another, as in "
              "pipeline parallelism. Both calls belong into one group, or the two ends wait for "
              "each other. nccl-tests calls it sendrecv.",
              "", "", "comm-probe calc send_recv -n 8 -s 16MiB --alpha 10us --beta 25GB/s"},
    TermEntry{"sendrecv", "nccl-tests' name of send_recv. Its busbw is its algbw.", "", "",
              "comm-probe curve FILE"},
};

}  // namespace

std::span<const TermEntry> operation_terms() { return kTerms; }

}  // namespace comm_probe::core
