#include "core/parallel.h"

#include <gtest/gtest.h>

namespace comm_probe::core {
namespace {

TEST(Parallel, EveryIndexIsTakenOnce) {
  for (const std::size_t count : {0U, 1U, 15U, 16U, 33U, 1000U, 10007U}) {
    for (const std::size_t chunk : {1U, 16U}) {
      std::vector<std::atomic<int>> taken(count);
      for_each_index(
          count, [&](std::size_t i) { ++taken[i]; }, chunk);
      for (const auto& times : taken) EXPECT_EQ(times, 1);
    }
  }
}

}  // namespace
}  // namespace comm_probe::core
