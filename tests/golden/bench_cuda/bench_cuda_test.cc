// `bench --backend cuda` where there is no GPU, and what it refuses before it asks for one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "measure/engines/cuda/all_reduce.h"
#include "run_binary.h"

namespace comm_probe {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(BenchCuda, WhatIsMissingIsOneLine) {
  if (!measure::cuda::missing_all_reduce()) GTEST_SKIP() << "this machine has a GPU";
  const auto run = test::run_binary({"bench", "all_reduce", "--backend", "cuda"});
  EXPECT_EQ(run.status, 3);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, StartsWith("comm-probe: bench --backend cuda: "));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1);
}

// On a machine with a GPU the whole path: measured, checked, beside its floor.
TEST(BenchCuda, MeasuresOnAGpu) {
  if (const auto absent = measure::cuda::missing_all_reduce()) GTEST_SKIP() << absent->one_line();
  const auto run = test::run_binary({"bench", "all_reduce", "--backend", "cuda", "--ranks", "8",
                                     "-b", "8K", "-e", "8K", "-G", "2"});
  EXPECT_THAT(run.out, HasSubstr("# Out of bounds values : 0 OK"));
  EXPECT_THAT(run.out, HasSubstr("measured/no data"));
  const auto refused = test::run_binary({"bench", "all_gather", "--backend", "cuda"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("the cuda engine has all_reduce, not all_gather"));
}

}  // namespace
}  // namespace comm_probe
