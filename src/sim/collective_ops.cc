#include "sim/collective_ops.h"

#include <algorithm>
#include <bit>

namespace comm_probe::sim {
namespace {

using core::Bytes;
using model::Op;
using model::OpId;
using model::ProgramOp;
using Kind = ProgramOp::Kind;

constexpr int kChainChunks = 16;

int log2_up(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n) - 1)); }

// Rounds in which a rank sends one message and receives one.
struct Round {
  int to = 0, from = 0;  // distances around the group
  Bytes bytes = {};
};
std::vector<Round> rounds_of(const CollectiveOps& all) {
  const int n = static_cast<int>(all.members.size());
  std::vector<Round> rounds;
  if (!all.op) {
    for (int i = 0; i < log2_up(n); ++i) rounds.push_back({1 << i, n - (1 << i), {}});
  } else if (*all.op == Op::kAllToAll) {
    for (int i = 1; i < n; ++i) rounds.push_back({i, n - i, all.input / n});
  } else {
    const bool is_gather = *all.op == Op::kAllGather;
    const int count = (*all.op == Op::kAllReduce ? 2 : 1) * (n - 1);
    rounds.assign(static_cast<std::size_t>(count),
                  {1, n - 1, is_gather ? all.input : all.input / n});
  }
  return rounds;
}

bool is_chain(const CollectiveOps& all) {
  return all.op && (*all.op == Op::kBroadcast || *all.op == Op::kReduce);
}

}  // namespace

double operations_of(const CollectiveOps& all) {
  const double n = static_cast<double>(all.members.size());
  return is_chain(all) ? 2.0 * kChainChunks : 4 * n;
}

std::vector<OpId> add_member(const CollectiveOps& all, int index, const CollectiveSink& sink) {
  const int n = static_cast<int>(all.members.size());
  const auto member = [&](int at) { return all.members[static_cast<std::size_t>(at)]; };
  const int rank = member(index);
  std::vector<OpId> last;
  if (is_chain(all)) {
    const bool is_down = *all.op == Op::kBroadcast;
    const int before = is_down ? index - 1 : index + 1, after = is_down ? index + 1 : index - 1;
    for (int chunk = 0; chunk < kChainChunks; ++chunk) {
      std::vector<OpId> ops;
      if (before >= 0 && before < n)
        ops.push_back(
            sink.add({Kind::kRecv, 0, rank, member(before), all.tag, all.input / kChainChunks}));
      if (after >= 0 && after < n) {
        const OpId send =
            sink.add({Kind::kSend, 0, rank, member(after), all.tag, all.input / kChainChunks});
        if (!ops.empty()) sink.program.require(send, ops.front());
        ops.push_back(send);
      }
      for (const OpId op : ops) sink.begin(op);
      last.insert(last.end(), ops.begin(), ops.end());
    }
    return last;
  }
  for (const Round& round : rounds_of(all)) {
    const OpId send =
        sink.add({Kind::kSend, 0, rank, member((index + round.to) % n), all.tag, round.bytes});
    const OpId recv =
        sink.add({Kind::kRecv, 0, rank, member((index + round.from) % n), all.tag, round.bytes});
    for (const OpId op : {send, recv}) {
      if (last.empty()) sink.begin(op);
      for (const OpId before : last) sink.program.require(op, before);
    }
    last = {send, recv};
  }
  return last;
}

}  // namespace comm_probe::sim
