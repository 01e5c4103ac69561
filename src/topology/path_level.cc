#include "topology/path_level.h"

#include <charconv>

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

std::optional<PathSymbol> path_symbol_from_name(std::string_view name) {
  for (const PathLevel level : kAllPathLevels)
    if (name == level_name(level)) return PathSymbol{level, 0};
  if (!name.starts_with("NV")) return std::nullopt;
  int links = 0;
  const auto [end, error] = std::from_chars(name.data() + 2, name.data() + name.size(), links);
  if (error != std::errc() || end != name.data() + name.size() || links < 1 || links > 64)
    return std::nullopt;
  return PathSymbol{PathLevel::kNvLink, links};
}

}  // namespace comm_probe::topology
