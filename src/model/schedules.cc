#include "model/schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "model/algorithm_table.h"
#include "model/algorithms.h"

namespace comm_probe::model {
namespace {

using core::Bytes;
using core::Duration;
using Message = Rounds::Message;

// One call: everything that a schedule needs.
struct Game {
  Rounds& ranks;
  Bytes size;
  int n;
  int per_node;
  int nodes;
  Bytes share() const { return size / n; }
};
// One whose messages do not come in rounds.
struct FreeGame {
  Recurrence& ranks;
  Bytes size;
  Bytes chunk;
  int n;
};

int ceil_log2(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n) - 1)); }

void go_around(const Game& game, const Shift& shape, int rounds, Bytes bytes) {
  for (int round = 0; round < rounds; ++round) game.ranks.shift(shape, bytes);
}

void ring_once(const Game& game) { go_around(game, {1, game.n}, game.n - 1, game.share()); }
void ring_twice(const Game& game) { go_around(game, {1, game.n}, 2 * (game.n - 1), game.share()); }

// Calls step(bytes) for every chunk; the last one may be shorter.
template <class Step>
void in_chunks(Bytes size, Bytes chunk, Step step) {
  double left = size.count();
  do {
    const double bytes = std::min(left, chunk.count());
    step(Bytes::of(bytes));
    left -= bytes;
  } while (left > 0);
}

// From rank to rank, each handing on what it has got (and, where they reduce, added its own to).
void chain(const FreeGame& game, int first, int by) {
  const Duration begin = game.ranks.ready(first);
  in_chunks(game.size, game.chunk, [&](Bytes bytes) {
    Duration have = begin;
    for (int i = 1; i < game.n; ++i) {
      const int from = first + (i - 1) * by, to = from + by;
      game.ranks.wait_until(to, game.ranks.send({from, to, bytes}, have));
      have = game.ranks.ready(to);
    }
  });
}
void chain_broadcast(const FreeGame& game) { chain(game, 0, 1); }
void chain_reduce(const FreeGame& game) { chain(game, game.n - 1, -1); }

constexpr auto kByPlace = Recurrence::Ports::kByPlace;

// Rank v has the children 2v+1 and 2v+2. A chunk that all have passed on is followed by the next.
void tree_up(const FreeGame& game) {
  std::vector<Duration> begin;
  for (int rank = 0; rank < game.n; ++rank) begin.push_back(game.ranks.ready(rank));
  in_chunks(game.size, game.chunk, [&](Bytes bytes) {
    std::vector<Duration> have = begin;
    for (int rank = game.n - 1; rank > 0; --rank) {
      const int parent = (rank - 1) / 2;
      const auto at = static_cast<std::size_t>(parent);
      have[at] = std::max(
          have[at],
          game.ranks.send({rank, parent, bytes}, have[static_cast<std::size_t>(rank)], kByPlace));
    }
    game.ranks.wait_until(0, have[0]);
  });
}
void tree_down(const FreeGame& game) {
  const Duration begin = game.ranks.ready(0);
  in_chunks(game.size, game.chunk, [&](Bytes bytes) {
    for (int rank = 1; rank < game.n; ++rank) {
      const int parent = (rank - 1) / 2;
      const Duration have = parent == 0 ? begin : game.ranks.ready(parent);
      game.ranks.wait_until(rank, game.ranks.send({parent, rank, bytes}, have, kByPlace));
    }
  });
}
void tree_up_and_down(const FreeGame& game) {
  tree_up(game);
  tree_down(game);
}

int power_of_two_below(int n) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n))); }

// The ranks above the power of two give their data to one below it, and get the result from there.
void fold(const Game& game, bool is_out) {
  const int power = power_of_two_below(game.n);
  std::vector<Message> all;
  for (int rank = power; rank < game.n; ++rank)
    all.push_back(is_out ? Message{rank - power, rank, game.size}
                         : Message{rank, rank - power, game.size});
  if (!all.empty()) game.ranks.messages(all);
}
void doubling_all_reduce(const Game& game) {
  const int power = power_of_two_below(game.n);
  fold(game, false);
  for (int mask = 1; mask < power; mask *= 2) game.ranks.exchange(mask, power, game.size);
  fold(game, true);
}
void doubling_all_gather(const Game& game) {
  for (int mask = 1; mask < game.n; mask *= 2)
    game.ranks.exchange(mask, game.n, game.share() * mask);
}
void halving_reduce_scatter(const Game& game) {
  for (int mask = game.n / 2; mask > 0; mask /= 2)
    game.ranks.exchange(mask, game.n, game.share() * mask);
}

void all_pairs(const Game& game, Bytes bytes) {
  std::vector<Shift> shapes;
  for (int distance = 1; distance < game.n; ++distance) shapes.push_back({distance, game.n});
  game.ranks.shift_at_once(shapes, bytes);
}
// Flags, then data, between all pairs.
void shot(const Game& game, Bytes bytes) {
  all_pairs(game, {});
  all_pairs(game, bytes);
}
void one_shot_whole(const Game& game) { shot(game, game.size); }
void one_shot_shares(const Game& game) { shot(game, game.share()); }
void two_shots(const Game& game) {
  shot(game, game.share());
  shot(game, game.share());
}
// Flags first: the data is there; then those who want it read it.
void root_shot(const FreeGame& game, bool is_out) {
  std::vector<Message> flags, data;
  for (int rank = 1; rank < game.n; ++rank) {
    flags.push_back(is_out ? Message{0, rank, {}} : Message{rank, 0, {}});
    data.push_back({flags.back().from, flags.back().to, game.size});
  }
  game.ranks.messages(flags);
  const Duration root = game.ranks.ready(0);
  for (const Message& message : data)
    game.ranks.wait_until(message.to,
                          game.ranks.send(message, is_out ? game.ranks.ready(message.to) : root));
}
void one_shot_broadcast(const FreeGame& game) { root_shot(game, true); }
void one_shot_reduce(const FreeGame& game) { root_shot(game, false); }

void inside(const Game& game, Bytes bytes) {
  go_around(game, {1, game.per_node}, game.per_node - 1, bytes);
}
// The ranks at the same place of every node form a ring.
void across(const Game& game, Bytes bytes) {
  go_around(game, {game.per_node, game.n}, game.nodes - 1, bytes);
}
void hierarchical_all_reduce(const Game& game) {
  inside(game, game.size / game.per_node);
  across(game, game.share());
  across(game, game.share());
  inside(game, game.size / game.per_node);
}
void hierarchical_all_gather(const Game& game) {
  across(game, game.share());
  inside(game, game.size / game.per_node);
}
void hierarchical_reduce_scatter(const Game& game) {
  inside(game, game.size / game.per_node);
  across(game, game.share());
}
void hierarchical_all_to_all(const Game& game) {
  for (int distance = 1; distance < game.per_node; ++distance)
    game.ranks.shift({distance, game.per_node}, game.size / game.per_node);
  for (int distance = 1; distance < game.nodes; ++distance)
    game.ranks.shift({distance * game.per_node, game.n}, game.size / game.nodes);
}

void direct_all_to_all(const Game& game) {
  for (int distance = 1; distance < game.n; ++distance)
    game.ranks.shift({distance, game.n}, game.share());
}
void direct_send_recv(const Game& game) { game.ranks.shift({1, game.n}, game.size); }

// Round k sends every block whose distance has bit k set.
void bruck_all_to_all(const Game& game) {
  for (int bit = 0; bit < ceil_log2(game.n); ++bit) {
    const int period = 2 << bit, half = 1 << bit;
    const int blocks = game.n / period * half + std::max(0, game.n % period - half);
    game.ranks.shift({half, game.n}, game.share() * blocks);
  }
}
void bruck_all_gather(const Game& game) {
  for (int have = 1; have < game.n; have *= 2)
    game.ranks.shift({have, game.n}, game.share() * std::min(have, game.n - have));
}

using Play = void (*)(const Game&);
using FreePlay = void (*)(const FreeGame&);
using O = Op;
using A = Algorithm;
constexpr AlgorithmEntry<Play> kEntries[] = {
    {O::kAllReduce, A::kRing, ring_twice},
    {O::kAllReduce, A::kRecursiveDoubling, doubling_all_reduce},
    {O::kAllReduce, A::kOneShot, one_shot_whole},
    {O::kAllReduce, A::kTwoShot, two_shots},
    {O::kAllReduce, A::kHierarchical, hierarchical_all_reduce},
    {O::kAllGather, A::kRing, ring_once},
    {O::kAllGather, A::kRecursiveDoubling, doubling_all_gather},
    {O::kAllGather, A::kOneShot, one_shot_shares},
    {O::kAllGather, A::kHierarchical, hierarchical_all_gather},
    {O::kAllGather, A::kBruck, bruck_all_gather},
    {O::kReduceScatter, A::kRing, ring_once},
    {O::kReduceScatter, A::kRecursiveDoubling, halving_reduce_scatter},
    {O::kReduceScatter, A::kOneShot, one_shot_shares},
    {O::kReduceScatter, A::kHierarchical, hierarchical_reduce_scatter},
    {O::kAllToAll, A::kDirect, direct_all_to_all},
    {O::kAllToAll, A::kBruck, bruck_all_to_all},
    {O::kAllToAll, A::kHierarchical, hierarchical_all_to_all},
    {O::kSendRecv, A::kDirect, direct_send_recv},
};

constexpr AlgorithmTable<Play> kTable = {kEntries};

constexpr AlgorithmEntry<FreePlay> kFreeEntries[] = {
    {O::kAllReduce, A::kTree, tree_up_and_down}, {O::kBroadcast, A::kRing, chain_broadcast},
    {O::kBroadcast, A::kTree, tree_down},        {O::kBroadcast, A::kOneShot, one_shot_broadcast},
    {O::kReduce, A::kRing, chain_reduce},        {O::kReduce, A::kTree, tree_up},
    {O::kReduce, A::kOneShot, one_shot_reduce},
};

constexpr AlgorithmTable<FreePlay> kFreeTable = {kFreeEntries};

core::Error cannot_play(const Collective& what, Algorithm algorithm) {
  std::string names = kTable.names_of(what.op);
  const std::string more = kFreeTable.names_of(what.op);
  if (!names.empty() && !more.empty()) names += ", ";
  return core::input_error(
      fmt::format("{} by {} cannot be played", op_name(what.op), algorithm_name(algorithm)),
      fmt::format("what can: {}", names + more));
}

// What the algorithm cannot serve is refused in the closed form's own words.
std::optional<core::Error> cannot_serve(const Collective& what, Algorithm algorithm,
                                        const Placement& at) {
  const Recipe* recipe = find_recipe(what.op, algorithm);
  COMM_PROBE_CHECK(recipe != nullptr, "what is played has a closed form");
  const auto parts = recipe->build(at);
  if (!parts) return parts.error();
  return std::nullopt;
}

}  // namespace

std::vector<Algorithm> playable(Op op) {
  std::vector<Algorithm> all = kTable.of(op);
  for (const Algorithm algorithm : kFreeTable.of(op)) all.push_back(algorithm);
  return all;
}

core::Result<bool> play_rounds(const Collective& collective, Algorithm algorithm,
                               const Placement& at, Rounds& rounds) {
  const Play play = kTable.find(collective.op, algorithm);
  if (play == nullptr) return cannot_play(collective, algorithm);
  if (auto error = cannot_serve(collective, algorithm, at)) return *error;
  if (collective.ranks > 1) play({rounds, collective.bytes, at.ranks, at.ranks_per_node, at.nodes});
  return true;
}

core::Result<bool> play(const Collective& collective, const Played& how, const Network& network,
                        Recurrence& ranks) {
  const FreePlay play = kFreeTable.find(collective.op, how.algorithm);
  const Placement& at = network.placement();
  if (play == nullptr) return play_rounds(collective, how.algorithm, at, ranks);
  if (auto error = cannot_serve(collective, how.algorithm, at)) return *error;
  if (collective.ranks > 1) play({ranks, collective.bytes, how.chunk, at.ranks});
  return true;
}

}  // namespace comm_probe::model
