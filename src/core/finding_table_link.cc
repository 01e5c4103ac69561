#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array<FindingEntry, 0> kFindings = {};
constexpr std::array kCaveats = {
    CaveatEntry{"link.host-unreadable",
                "Part of what this machine is could not be read from /sys or /proc.",
                "Mount /sys and /proc into the container, or run outside of it."},
};

}  // namespace

std::span<const FindingEntry> link_findings() { return kFindings; }
std::span<const CaveatEntry> link_caveats() { return kCaveats; }

}  // namespace comm_probe::core
