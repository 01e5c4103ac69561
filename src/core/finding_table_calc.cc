#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kCaveats = {
    CaveatEntry{"calc.alpha-assumed",
                "no alpha was given for the links of a machine, so NCCL's own constant for one "
                "step stands in its place",
                "measure it (`comm-probe link`, or the smallest sizes of nccl-tests) and give it: "
                "--alpha, --inter-alpha"},
    CaveatEntry{"calc.one-alpha",
                "one alpha was typed, and LL or LL128 is priced with it; these protocols exist "
                "because a step of theirs costs less",
                "give the alpha of that protocol, or take NCCL's constants with --machine"},
    CaveatEntry{"calc.nccl-not-priced",
                "the machine can reduce in its NVSwitches (NVLS), and NCCL decides by size whether "
                "it does; the ledger is that of the named algorithm on the links, not NCCL's",
                "take the ledger as a floor of what the links give; a measured busbw above it is "
                "healthy; --algo nvls shows the plain traffic of the switch"},
    CaveatEntry{"calc.uneven-nodes",
                "the ranks do not fill the nodes, and the hierarchical algorithm, the usual one "
                "between nodes, needs nodes that are full; a flat one is priced",
                "make -n a multiple of --gpus-per-node, or name the algorithm with --algo"},
};

}  // namespace

std::span<const CaveatEntry> calc_caveats() { return kCaveats; }

}  // namespace comm_probe::core
