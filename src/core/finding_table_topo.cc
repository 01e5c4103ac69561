#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr CaveatEntry kCaveats[] = {
    {"topo.elements-skipped",
     "a topology file holds elements at places or of kinds that NCCL does not read",
     "compare the file with a fresh dump: NCCL_TOPO_DUMP_FILE=topo.xml with any NCCL program"},
    {"nccl.setting-unused", "a setting was given that this command does not take into account",
     "check the name for a typing error; settings of algorithms and channels do not change paths"},
};

}  // namespace

std::span<const CaveatEntry> topo_caveats() { return kCaveats; }

}  // namespace comm_probe::core
