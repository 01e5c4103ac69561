#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array<FindingEntry, 0> kFindings = {};
constexpr std::array<CaveatEntry, 0> kCaveats = {};

}  // namespace

std::span<const FindingEntry> bench_findings() { return kFindings; }
std::span<const CaveatEntry> bench_caveats() { return kCaveats; }

}  // namespace comm_probe::core
