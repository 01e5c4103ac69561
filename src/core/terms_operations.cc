#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kTerms = {
    TermEntry{"rank", "One process (or GPU) of a communicator, numbered from 0."},
    TermEntry{"channel",
              "One of the parallel rings or trees over which NCCL spreads a collective; each has "
              "its own thread block and usually its own NIC."},
    TermEntry{"rail",
              "The NICs with the same number in every node, joined by the same switches: traffic "
              "on one rail never crosses to another."},
    TermEntry{"all_reduce",
              "Every rank gives S bytes and gets the sum of all. The least that a rank sends is "
              "2(n-1)/n * S, which the ring does in 2(n-1) steps."},
    TermEntry{"all_gather",
              "Every rank gives S/n bytes and gets all S; a rank receives (n-1)/n * S. nccl-tests "
              "prints the total S as size."},
    TermEntry{"reduce_scatter",
              "Every rank gives S bytes and gets its S/n of the sum; a rank sends (n-1)/n * S. "
              "nccl-tests prints the total S as size."},
    TermEntry{"broadcast", "One rank, the root, gives S bytes to all others."},
    TermEntry{"reduce", "The root gets the sum of the S bytes of every rank."},
    TermEntry{"all_to_all",
              "Every rank sends a different S/n bytes to every other rank: n(n-1) flows at once. "
              "MoE dispatch and combine are of this kind. nccl-tests calls it alltoall."},
    TermEntry{"alltoall", "nccl-tests' name of all_to_all."},
    TermEntry{"send_recv",
              "Every rank sends S bytes to one neighbour and receives S from another, as in "
              "pipeline parallelism. nccl-tests calls it sendrecv."},
    TermEntry{"sendrecv", "nccl-tests' name of send_recv."},
};

}  // namespace

std::span<const TermEntry> operation_terms() { return kTerms; }

}  // namespace comm_probe::core
