#include "model/island.h"

namespace comm_probe::model {
namespace {

struct Shares {
  double ring = 1;
  double least = 1;
};

Shares crossing_shares(Op op, int ranks, int islands) {
  const double n = ranks, N = islands, g = n / N;
  switch (op) {
    case Op::kAllReduce:
      return {2 * (n - 1) / n, 1};
    case Op::kAllGather:
    case Op::kReduceScatter:
      return {(n - 1) / n, (N - 1) / N};
    case Op::kAllToAll:
      return {g * (n - g) / n, g * (n - g) / n};
    case Op::kBroadcast:
    case Op::kReduce:
    case Op::kSendRecv:
      return {};
  }
  return {};
}

}  // namespace

std::optional<IslandBound> island_bound(Op op, int ranks, int islands, core::Bandwidth capacity) {
  if (islands < 2 || ranks < islands || ranks % islands != 0) return std::nullopt;
  const Shares shares = crossing_shares(op, ranks, islands);
  const double factor = busbw_factor(op, ranks);
  return IslandBound{capacity * (factor / shares.ring), capacity * (factor / shares.least)};
}

}  // namespace comm_probe::model
