#include "model/max_plus.h"

#include <gtest/gtest.h>

#include <random>

namespace comm_probe::model {
namespace {

TEST(MaxPlus, TheLongestWayCounts) {
  MaxPlus graph;
  for (int i = 0; i < 3; ++i) graph.add();
  graph.wait(1, 0, 3);
  graph.wait(2, 0, 1);
  graph.wait(1, 2, 1);
  EXPECT_EQ(*graph.times(), (std::vector<std::int64_t>{0, 3, 1}));
  graph.wait(0, 1, 0);
  EXPECT_FALSE(graph.times()) << "a circle";
}

// What the replay of steps rests on.
TEST(MaxPlus, AShorterWayMakesNothingLater) {
  std::mt19937 random(11);
  const auto below = [&](std::uint32_t n) {
    return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random);
  };
  for (int i = 0; i < 200; ++i) {
    MaxPlus slow, fast;
    const std::uint32_t events = 2 + below(30);
    for (std::uint32_t event = 0; event < events; ++event) {
      slow.add();
      fast.add();
      for (int way = 0; event > 0 && way < 3; ++way) {
        const MaxPlus::Event from = below(event);
        const std::int64_t length = below(1000);
        slow.wait(event, from, length);
        fast.wait(event, from, below(3) == 0 ? length / 2 : length);
      }
    }
    const auto before = *slow.times(), after = *fast.times();
    for (std::uint32_t event = 0; event < events; ++event) EXPECT_LE(after[event], before[event]);
  }
}

}  // namespace
}  // namespace comm_probe::model
