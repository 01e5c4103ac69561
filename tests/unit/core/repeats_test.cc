// Equal lines are enough at some number, others never.
#include "core/repeats.h"

#include <gtest/gtest.h>

namespace comm_probe::core {
namespace {

TEST(Repeats, OneLineAgainAndAgain) {
  Repeats repeats;
  std::size_t taken = 0;
  for (int i = 0; i < 1'000'000; ++i) taken += repeats.is_enough("waiting") ? 0 : 1;
  EXPECT_EQ(taken, 100'001);
  EXPECT_FALSE(repeats.is_enough("done"));
  EXPECT_FALSE(repeats.is_enough("waiting"));
}

TEST(Repeats, LinesThatDifferAreAllTaken) {
  Repeats repeats;
  for (int i = 0; i < 300'000; ++i)
    ASSERT_FALSE(repeats.is_enough("step " + std::to_string(i / 50'000)));
  const std::string two[] = {"a", "b"};
  for (int i = 0; i < 300'000; ++i) ASSERT_FALSE(repeats.is_enough(two[i % 2]));
  const std::string longer(600, 'x');
  for (int i = 0; i < 300'000; ++i) ASSERT_FALSE(repeats.is_enough(longer));
}

}  // namespace
}  // namespace comm_probe::core
