// Every algorithm over messages, played by all ranks in one process: in each slot what is sent is
// what is received, nothing arrives where something still leaves, and the result is right bit for
// bit.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>

#include "measure/engines/local/kernels.h"
#include "measure/engines/mpi/schedule_builder.h"
#include "measure/known_data.h"

namespace comm_probe::measure::mpi {
namespace {

using model::Algorithm;
using model::Op;

// One rank: its buffers, and the schedule of its call.
struct Player {
  Call call = {};
  Schedule schedule = {};
  std::vector<std::byte> send = {}, recv = {}, scratch = {};

  std::byte* at(const Spot& spot) {
    switch (spot.place) {
      case Place::kInput:
        return const_cast<std::byte*>(call.sent(spot.first));
      case Place::kOutput:
        return call.received(spot.first);
      case Place::kScratch:
        return scratch.data() + call.bytes(spot.first);
    }
    return nullptr;
  }
  const Slot* slot(std::size_t number) const {
    return number < schedule.slots.size() ? &schedule.slots[number] : nullptr;
  }
};

struct Play {
  std::vector<Player> players = {};
  std::string fault = {};

  Play(Builder build, Call shape, Case asked, bool in_place)
      : players(static_cast<std::size_t>(asked.ranks)) {
    for (int rank = 0; rank < asked.ranks; ++rank) {
      Player& player = players[static_cast<std::size_t>(rank)];
      const std::size_t most =
          std::max(send_count(shape, asked.ranks), recv_count(shape, asked.ranks));
      player.send.resize(shape.bytes(most));
      player.recv.resize(shape.bytes(most), std::byte{0x5a});
      player.call = shape;
      player.call.send = player.send.data();
      player.call.recv = player.recv.data();
      if (in_place) player.call = measure::in_place(player.call, rank, player.recv.data());
      asked.rank = rank;
      asked.is_in_place = in_place;
      player.schedule = build(asked);
      player.scratch.resize(shape.bytes(player.schedule.scratch));
      fill_input(player.call, rank, asked.ranks, const_cast<std::byte*>(player.call.send));
    }
  }

  std::size_t slots() const {
    std::size_t most = 0;
    for (const Player& player : players) most = std::max(most, player.schedule.slots.size());
    return most;
  }
  // A message may not arrive where another arrives or leaves in the same slot.
  void check_overlap(Player& player, const Slot& slot) {
    std::vector<std::pair<const std::byte*, const std::byte*>> taken;
    const auto range = [&](const Transfer& t) {
      const std::byte* first = player.at(t.at);
      return std::pair<const std::byte*, const std::byte*>(first,
                                                           first + player.call.bytes(t.count));
    };
    for (const Transfer& sent : slot.sends) taken.push_back(range(sent));
    for (const Transfer& received : slot.receives) {
      const auto mine = range(received);
      for (const auto& other : taken)
        if (mine.first < other.second && other.first < mine.second) fault = "messages overlap";
      taken.push_back(mine);
    }
  }
  void transfer(std::size_t number) {
    std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> under_way;  // from, to
    for (std::size_t rank = 0; rank < players.size(); ++rank)
      if (const Slot* slot = players[rank].slot(number)) {
        check_overlap(players[rank], *slot);
        for (const Transfer& sent : slot->sends) {
          const std::byte* first = players[rank].at(sent.at);
          under_way[{static_cast<int>(rank), sent.peer}].emplace_back(
              first, first + players[rank].call.bytes(sent.count));
        }
      }
    for (std::size_t rank = 0; rank < players.size(); ++rank)
      if (const Slot* slot = players[rank].slot(number))
        for (const Transfer& received : slot->receives) {
          auto& waiting = under_way[{received.peer, static_cast<int>(rank)}];
          if (waiting.empty() ||
              waiting.front().size() != players[rank].call.bytes(received.count)) {
            fault = "a message is received that was not sent so";
            return;
          }
          std::memcpy(players[rank].at(received.at), waiting.front().data(),
                      waiting.front().size());
          waiting.pop_front();
        }
    for (const auto& [pair, waiting] : under_way)
      if (!waiting.empty()) fault = "a message is never received";
  }
  void work(std::size_t number) {
    for (Player& player : players)
      if (const Slot* slot = player.slot(number))
        for (const Work& work : slot->work) {
          const local::Kernels& loops = local::kernels();
          std::byte* to = player.at(work.to);
          if (!work.b) {
            std::memmove(to, player.at(work.a), player.call.bytes(work.count));
            continue;
          }
          loops.reduction(player.call.element, player.call.reduction)(
              to, nullptr, player.at(work.a), player.at(*work.b), work.count);
          if (work.is_last && player.call.reduction == Reduction::kAvg)
            loops.scale[static_cast<int>(player.call.element)](to, work.count,
                                                               static_cast<int>(players.size()));
        }
  }
  // Elements that are wrong at the end.
  std::uint64_t run() {
    for (std::size_t number = 0; number < slots() && fault.empty(); ++number) {
      transfer(number);
      work(number);
    }
    std::uint64_t wrong = 0;
    for (std::size_t rank = 0; rank < players.size(); ++rank)
      wrong +=
          count_wrong(players[rank].call, static_cast<int>(rank), static_cast<int>(players.size()));
    return wrong;
  }
};

bool reduces(Op op) {
  return op == Op::kAllReduce || op == Op::kReduce || op == Op::kReduceScatter;
}

void try_all(const Call& shape, int ranks) {
  for (const Algorithm algorithm : algorithms_for(shape.op))
    for (const bool in_place : {false, true})
      for (const std::size_t chunk : {std::size_t{7}, std::size_t{4096}}) {
        const Case asked = {.op = shape.op,
                            .ranks = ranks,
                            .root = shape.root,
                            .count = shape.count,
                            .chunk = chunk};
        Play play(find_builder(shape.op, algorithm), shape, asked, in_place);
        const std::uint64_t wrong = play.run();
        EXPECT_EQ(play.fault, "");
        EXPECT_EQ(wrong, 0u) << algorithm_name(algorithm) << " " << op_name(shape.op) << " "
                             << element_name(shape.element) << " "
                             << reduction_name(shape.reduction) << " count " << shape.count
                             << " ranks " << ranks << " in place " << in_place << " chunk "
                             << chunk;
      }
}

TEST(MpiSchedule, EveryAlgorithmIsRightOnAnyNumberOfRanks) {
  for (const int ranks : {2, 3, 4, 5, 6, 7, 8, 13, 16, 17})
    for (const Op op : model::kAllOps)
      for (const std::size_t count : {0, 1, 13, 100})
        for (const Reduction reduction : {Reduction::kSum, Reduction::kAvg, Reduction::kMax}) {
          if (!reduces(op) && reduction != Reduction::kSum) continue;
          try_all({.op = op, .reduction = reduction, .root = ranks / 2, .count = count}, ranks);
        }
}

TEST(MpiSchedule, EveryTypeIsReduced) {
  for (const Element element : kAllElements)
    for (const Reduction reduction : kAllReductions)
      try_all({.op = Op::kAllReduce, .element = element, .reduction = reduction, .count = 29}, 5);
}

// The worked example of schedule.h.
TEST(MpiSchedule, RingOfTwoHasTwoSlotsOfHalfTheMessage) {
  const Schedule ring = ring_all_reduce({.rank = 0, .ranks = 2, .count = 8});
  ASSERT_EQ(ring.slots.size(), 2u);
  EXPECT_EQ(ring.slots[0].sends[0].count, 4u);
  EXPECT_EQ(ring.slots[0].sends[0].at.first, 0u);
  EXPECT_EQ(ring.slots[0].receives[0].at.place, Place::kScratch);
  EXPECT_EQ(ring.slots[0].work[0].to.first, 4u);
  EXPECT_EQ(ring.slots[1].sends[0].at.first, 4u);
  EXPECT_EQ(ring.slots[1].receives[0].at.first, 0u);
}

TEST(MpiSchedule, WhatDoesNotExistIsRefusedWithWhatDoes) {
  const auto none = require_builder(Op::kAllGather, Algorithm::kTree);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().one_line(),
            "the mpi engine has no tree all_gather; it has: ring, one-shot; without --algo the "
            "library chooses");
}

}  // namespace
}  // namespace comm_probe::measure::mpi
