// How far apart two devices of a machine are, in the words of `nvidia-smi topo -m`, best first:
// NV# (bonded NVLinks), PIX (one PCIe switch), PXB (several switches), PHB (a host bridge), NODE
// (several host bridges of one NUMA node), SYS (the link between sockets). "X" marks the device
// itself. Source: the legend of nvidia-smi topo -m.
// Worked example: 12 NVLinks print as NV12 (golden G2-25).
#pragma once

#include <array>
#include <string>

namespace comm_probe::topology {

enum class PathLevel { kNvLink, kPix, kPxb, kPhb, kNode, kSys };
inline constexpr std::array kAllPathLevels = {PathLevel::kNvLink, PathLevel::kPix,
                                              PathLevel::kPxb,    PathLevel::kPhb,
                                              PathLevel::kNode,   PathLevel::kSys};

struct PathSymbol {
  PathLevel level = PathLevel::kSys;
  int nvlinks = 0;  // with kNvLink only
};
// "NV12", "PIX"; "NV#" for NVLinks of unknown number.
std::string path_symbol_name(const PathSymbol& symbol);

}  // namespace comm_probe::topology
