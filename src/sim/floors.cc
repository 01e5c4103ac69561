#include "sim/floors.h"

namespace comm_probe::sim {
namespace {

using core::Bytes;
using core::Duration;
using model::Op;

Bytes needs(const model::Collective& of, const Unit& unit) {
  const double others = static_cast<double>(of.ranks - unit.ranks) / of.ranks;
  switch (of.op) {
    case Op::kAllGather:
    case Op::kReduceScatter:
      return of.bytes * others;
    case Op::kAllToAll:
      return of.bytes * others * unit.ranks;
    case Op::kAllReduce:
    case Op::kBroadcast:
    case Op::kReduce:
    case Op::kSendRecv:
      return of.bytes;
  }
  COMM_PROBE_CHECK(false, "an unknown operation");
}

}  // namespace

Duration bandwidth_floor(const model::Collective& of, std::span<const Unit> units) {
  Duration floor;
  if (units.size() < 2) return floor;
  core::Bandwidth all = {};
  for (const Unit& unit : units) {
    all = all + unit.out;
    floor = std::max(floor, needs(of, unit) / unit.out);
  }
  if (of.op == Op::kAllReduce)
    floor = std::max(floor, of.bytes * (2.0 * (static_cast<double>(units.size()) - 1)) / all);
  return floor;
}

void check_floors(Duration time, const Floors& floors) {
  constexpr double kRounding = 1 - 1e-9;  // sums of many terms: the last digits may differ
  COMM_PROBE_CHECK(time >= floors.both() * kRounding, "a simulated time is below its floor");
}

}  // namespace comm_probe::sim
