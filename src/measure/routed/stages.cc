#include "measure/routed/stages.h"

#include <algorithm>
#include <numeric>

namespace comm_probe::measure {
namespace {

using model::MoeScheme;
using model::Routing;

std::size_t padded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

StageBytes empty_stage(int ranks) {
  return {ranks, std::vector<std::uint64_t>(static_cast<std::size_t>(ranks) *
                                            static_cast<std::size_t>(ranks))};
}
std::uint64_t& cell(StageBytes& stage, int from, int to) {
  return stage.bytes[static_cast<std::size_t>(from) * static_cast<std::size_t>(stage.ranks) +
                     static_cast<std::size_t>(to)];
}

// Records of the same way back, each of `record` bytes instead of `was`.
StageBytes turned_round(const StageBytes& stage, std::size_t was, std::size_t record) {
  StageBytes back = empty_stage(stage.ranks);
  for (int from = 0; from < stage.ranks; ++from)
    for (int to = 0; to < stage.ranks; ++to)
      cell(back, to, from) = stage.at(from, to) / was * record;
  return back;
}

void add_flat(const std::vector<int>& ranks, int source, std::size_t record, StageBytes& stage) {
  for (const int rank : ranks) cell(stage, source, rank) += record;
}

// `ranks` sorted, each once.
void add_dedup(const std::vector<int>& ranks, int source, const RoutedShape& shape,
               RoutedStages& stages) {
  int last_node = -1;
  for (const int rank : ranks) {
    const int node = shape.node_of(rank), gate = shape.gate(node, source);
    if (node != last_node) cell(stages.dispatch[0], source, gate) += stages.record;
    last_node = node;
    cell(stages.dispatch[1], gate, rank) += stages.record;
  }
}

// The ranks of a token's experts, one per pick.
void ranks_of(const Routing& routing, const RoutedShape& shape, std::int64_t token,
              std::vector<int>& ranks) {
  const int share = routing.experts / shape.ranks;
  ranks.clear();
  for (int slot = 0; slot < routing.topk; ++slot) {
    const auto pick = routing.picks[static_cast<std::size_t>(token * routing.topk + slot)];
    if (pick != model::kNoExpert) ranks.push_back(pick / share);
  }
}

}  // namespace

std::size_t dispatch_record(const RoutedShape& shape, int picks) {
  const std::size_t more = static_cast<std::size_t>(std::max(0, picks - 1)) * sizeof(Pick);
  return padded(sizeof(TokenHeader) + more + shape.dispatch_bytes);
}
std::size_t combine_record(const RoutedShape& shape) {
  return padded(sizeof(TokenHeader) + shape.combine_bytes);
}

std::uint64_t StageBytes::sent_by(int rank) const {
  std::uint64_t sum = 0;
  for (int to = 0; to < ranks; ++to) sum += at(rank, to);
  return sum;
}
std::uint64_t StageBytes::received_by(int rank) const {
  std::uint64_t sum = 0;
  for (int from = 0; from < ranks; ++from) sum += at(from, rank);
  return sum;
}
std::uint64_t StageBytes::send_offset(int from, int to) const {
  std::uint64_t sum = 0;
  for (int before = 0; before < to; ++before) sum += at(from, before);
  return sum;
}
std::uint64_t StageBytes::receive_offset(int from, int to) const {
  std::uint64_t sum = 0;
  for (int before = 0; before < from; ++before) sum += at(before, to);
  return sum;
}
std::uint64_t StageBytes::all() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}
std::uint64_t StageBytes::most_between_nodes(const RoutedShape& shape) const {
  std::uint64_t most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    std::uint64_t out = 0, in = 0;
    for (int other = 0; other < ranks; ++other) {
      if (shape.node_of(other) == shape.node_of(rank)) continue;
      out += at(rank, other);
      in += at(other, rank);
    }
    most = std::max({most, out, in});
  }
  return most;
}

std::pair<std::int64_t, std::int64_t> tokens_of(const Routing& routing, const RoutedShape& shape,
                                                int rank) {
  const std::int64_t tokens = routing.tokens();
  return {tokens * rank / shape.ranks, tokens * (rank + 1) / shape.ranks};
}

RoutedStages stages_of(const Routing& routing, const RoutedShape& shape, MoeScheme scheme) {
  const bool is_flat = scheme == MoeScheme::kFlat;
  RoutedStages stages{.scheme = scheme,
                      .record = dispatch_record(shape, is_flat ? 1 : routing.topk)};
  stages.dispatch.assign(is_flat ? 1 : 2, empty_stage(shape.ranks));
  std::vector<int> ranks;
  for (int source = 0; source < shape.ranks; ++source) {
    const auto [first, end] = tokens_of(routing, shape, source);
    for (std::int64_t token = first; token < end; ++token) {
      ranks_of(routing, shape, token, ranks);
      if (is_flat) {
        add_flat(ranks, source, stages.record, stages.dispatch[0]);
        continue;
      }
      std::sort(ranks.begin(), ranks.end());
      ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
      add_dedup(ranks, source, shape, stages);
    }
  }
  for (auto stage = stages.dispatch.rbegin(); stage != stages.dispatch.rend(); ++stage)
    stages.combine.push_back(turned_round(*stage, stages.record, combine_record(shape)));
  return stages;
}

}  // namespace comm_probe::measure
