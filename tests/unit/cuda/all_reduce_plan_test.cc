#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/engines/cuda/all_reduce.h"
#include "measure/engines/cuda/all_reduce_kernels.h"
#include "measure/engines/cuda/kernel_image.h"

namespace comm_probe::measure::cuda {
namespace {

using model::Algorithm;
using testing::HasSubstr;

constexpr std::uint64_t kKiB = 1024;

// vLLM's thresholds (docs of its custom all-reduce: strictly less; two ranks always one-shot).
TEST(UsualAllReduce, TakesWhatInferenceEnginesTake) {
  EXPECT_EQ(usual_all_reduce(2, core::Bytes::of(64 * 1024 * kKiB)), Algorithm::kOneShot);
  EXPECT_EQ(usual_all_reduce(4, core::Bytes::of(512 * kKiB - 1)), Algorithm::kOneShot);
  EXPECT_EQ(usual_all_reduce(4, core::Bytes::of(512 * kKiB)), Algorithm::kTwoShot);
  EXPECT_EQ(usual_all_reduce(8, core::Bytes::of(256 * kKiB - 1)), Algorithm::kOneShot);
  EXPECT_EQ(usual_all_reduce(8, core::Bytes::of(256 * kKiB)), Algorithm::kTwoShot);
}

TEST(CheckAllReduce, SaysWhatTheEngineHasNot) {
  const auto refusal = [](auto change) {
    Plan plan;
    change(plan);
    const auto checked = check_all_reduce(plan);
    EXPECT_FALSE(checked.ok());
    if (checked.ok()) return std::string();
    EXPECT_EQ(checked.error().code, core::ErrorCode::kInput);
    return checked.error().one_line();
  };
  EXPECT_TRUE(check_all_reduce(Plan{}).ok());
  EXPECT_THAT(refusal([](Plan& plan) { plan.op = model::Op::kAllGather; }),
              HasSubstr("has all_reduce, not all_gather"));
  EXPECT_THAT(refusal([](Plan& plan) { plan.reduction = Reduction::kMax; }), HasSubstr("-o max"));
  EXPECT_THAT(refusal([](Plan& plan) { plan.element = Element::kI32; }),
              HasSubstr("float, half and bfloat16, not int32"));
  EXPECT_THAT(refusal([](Plan& plan) { plan.algorithm = Algorithm::kTree; }),
              HasSubstr("no tree all_reduce"));
  EXPECT_THAT(refusal([](Plan& plan) { plan.ranks = 9; }), HasSubstr("--ranks 9"));
  EXPECT_THAT(refusal([](Plan& plan) { plan.ranks = 1; }), HasSubstr("outside 2..8"));
  EXPECT_THAT(refusal([](Plan& plan) { plan.registration = 2; }), HasSubstr("-R"));
}

// Blocks that wait for each other must all be resident.
TEST(LaunchShape, NeverHoldsMoreBlocksThanFit) {
  for (const int ranks_here : {1, 2, 8})
    for (const unsigned resident : {8u, 9u, 100u, 264u, 100000u})
      for (const std::uint64_t bytes : {0ULL, 16ULL, 8192ULL, 1ULL << 30})
        for (const Algorithm algorithm :
             {Algorithm::kOneShot, Algorithm::kTwoShot, Algorithm::kRing}) {
          const auto shape = shape_for({algorithm, bytes, 8, ranks_here, resident, 132});
          ASSERT_TRUE(shape.ok());
          EXPECT_GE(shape->blocks, 1u);
          EXPECT_LE(shape->blocks * static_cast<unsigned>(ranks_here), resident);
          EXPECT_LE(shape->blocks, static_cast<unsigned>(kMostBlocks));
          EXPECT_LE(shape->threads, static_cast<unsigned>(kMostThreads));
          EXPECT_GE(shape->threads, 32u);  // one thread for each peer
        }
}

TEST(LaunchShape, RefusesRanksThatDoNotFitTogether) {
  const auto shape = shape_for({Algorithm::kOneShot, 8192, 8, 8, 7, 132});
  ASSERT_FALSE(shape.ok());
  EXPECT_EQ(shape.error().code, core::ErrorCode::kMissing);
  EXPECT_THAT(shape.error().message, HasSubstr("8 ranks do not fit one GPU"));
}

TEST(KernelName, OneKernelServesTwoNumbersOfRanks) {
  EXPECT_EQ(kernel_name(Algorithm::kOneShot, Element::kF16, 8), "all_reduce_one_shot_half_8");
  EXPECT_EQ(kernel_name(Algorithm::kTwoShot, Element::kBf16, 7), "all_reduce_two_shot_bfloat16_8");
  EXPECT_EQ(kernel_name(Algorithm::kOneShot, Element::kF32, 3), "all_reduce_one_shot_float_4");
  EXPECT_EQ(kernel_name(Algorithm::kRing, Element::kF32, 5), "all_reduce_ring_float");
}

// Every name that can be asked for stands in the image that the program carries. (The images hold
// PTX and machine code packed; the names of an ELF are found in the unpacked ones only, so that
// this looks for the three images.)
TEST(KernelImages, ThreeForTheAllReduce) {
  if (kernel_images().empty()) GTEST_SKIP() << "built without nvcc";
  for (const char* name : {"all_reduce", "all_reduce_check", "all_reduce_stress"})
    EXPECT_TRUE(kernel_image(name).ok()) << name;
}

}  // namespace
}  // namespace comm_probe::measure::cuda
