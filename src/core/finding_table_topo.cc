#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr CaveatEntry kCaveats[] = {
    {"topo.elements-skipped",
     "a topology file holds elements at places or of kinds that NCCL does not read",
     "compare the file with a fresh dump: NCCL_TOPO_DUMP_FILE=topo.xml with any NCCL program"},
};

}  // namespace

std::span<const CaveatEntry> topo_caveats() { return kCaveats; }

}  // namespace comm_probe::core
