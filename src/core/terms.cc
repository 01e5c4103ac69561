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
    TermEntry{"plateau",
              "The busbw that large messages approach; 90 % of it is reached at 9 times the knee."},
};

}  // namespace

std::span<const TermEntry> terms() { return kTerms; }

}  // namespace comm_probe::core
