#include "topology/path_level.h"

namespace comm_probe::topology {
namespace {

const char* level_name(PathLevel level) {
  switch (level) {
    case PathLevel::kNvLink:
      return "NV#";
    case PathLevel::kPix:
      return "PIX";
    case PathLevel::kPxb:
      return "PXB";
    case PathLevel::kPhb:
      return "PHB";
    case PathLevel::kNode:
      return "NODE";
    case PathLevel::kSys:
      return "SYS";
  }
  return "?";
}

}  // namespace

std::string path_symbol_name(const PathSymbol& symbol) {
  if (symbol.level != PathLevel::kNvLink || symbol.nvlinks == 0) return level_name(symbol.level);
  return "NV" + std::to_string(symbol.nvlinks);
}

}  // namespace comm_probe::topology
