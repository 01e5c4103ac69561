#include "topology/path_type.h"

#include <array>

namespace comm_probe::topology {
namespace {

struct Word {
  const char* name;
  const char* meaning;
};
constexpr std::array<Word, kPathTypes> kWords = {{
    {"LOC", "the device itself"},
    {"NVL", "NVLink, direct or through the NVSwitches"},
    {"NVB", "NVLink by way of one other GPU"},
    {"C2C", "the chip-to-chip link between a GPU and its CPU"},
    {"PIX", "at most one PCIe switch"},
    {"PXB", "several PCIe switches, no CPU"},
    {"P2C", "C2C to the CPU, then PCIe to the NIC"},
    {"PXN", "NVLink to a neighbour GPU, then its NIC"},
    {"PHB", "through a CPU (PCIe host bridge)"},
    {"SYS", "through the link between two CPUs"},
    {"NET", "through the network"},
    {"DIS", "no path"},
}};

}  // namespace

const char* path_type_name(PathType type) { return kWords[static_cast<std::size_t>(type)].name; }

const char* path_type_meaning(PathType type) {
  return kWords[static_cast<std::size_t>(type)].meaning;
}

std::optional<PathType> parse_path_type(std::string_view word) {
  for (std::size_t i = 0; i < kWords.size(); ++i)
    if (word == kWords[i].name) return static_cast<PathType>(i);
  return std::nullopt;
}

}  // namespace comm_probe::topology
