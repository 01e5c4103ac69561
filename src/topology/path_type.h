// How near two devices are: the kinds of path, nearest first, in NCCL's words, and how the words of
// `nvidia-smi topo -m` map to them. Source: NCCL 2.28.9 src/graph/topo.h (2.27 to 2.30 have the
// same order); nvidia-smi prints its own legend.
//
//   nvidia-smi   X    NV#  PIX  PXB  PHB  NODE  SYS  (SOC before 2016: SYS)
//   NCCL         LOC  NVL  PIX  PXB  PHB  PHB*  SYS
//   * NODE crosses host bridges inside of one NUMA node, which NCCL does not tell from PHB.
//
//   PathType::kPix < PathType::kPhb, path_type_name(PathType::kPxn) == "PXN"
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace comm_probe::topology {

enum class PathType : std::uint8_t {
  kLoc = 0,  // to itself
  kNvl,      // NVLinks only, direct or through the NVSwitches
  kNvb,      // NVLink by way of one other GPU
  kC2c,      // the chip-to-chip link of a GPU and its CPU
  kPix,      // at most one PCIe switch
  kPxb,      // several PCIe switches, no CPU
  kP2c,      // GPU - C2C - CPU - PCIe - NIC
  kPxn,      // GPU - NVLink - another GPU - PCIe - NIC
  kPhb,      // through a CPU (host bridge)
  kSys,      // through the link between two CPUs
  kNet,      // through the network
  kDis,      // no path
};
inline constexpr int kPathTypes = 12;

const char* path_type_name(PathType type);
// What the word means, for people: "at most one PCIe switch".
const char* path_type_meaning(PathType type);
// Exact upper-case words only, as NCCL reads them; LOC .. DIS.
std::optional<PathType> parse_path_type(std::string_view word);

}  // namespace comm_probe::topology
