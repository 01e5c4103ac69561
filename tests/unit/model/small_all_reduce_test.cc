// Kernels of inference engines: the worked examples, the constants of the source, and the shape of
// the curves against published points.
#include "model/small_all_reduce.h"

#include <gtest/gtest.h>

namespace comm_probe::model {
namespace {

using namespace core::literals;  // NOLINT

const SmallJob kH100 = {8, 128_KiB, 450_GBps, 90, true};

TEST(SmallAllReduce, WorkedExample) {
  const SmallTime time = small_time(SmallKernel::kOneShot, kH100);
  EXPECT_EQ(time.read.whole(), 7u * 131072);
  EXPECT_NEAR(time.rate.in_GBps(), 391.5, 1e-9);
  EXPECT_NEAR(time.total().in_us(), 8.84, 5e-3);
  EXPECT_EQ((DecodeStep{80, 2}).calls(), 160);
}

// vLLM csrc/custom_all_reduce.cuh (golden G7-09)
TEST(SmallAllReduce, OneShotUpToItsLimit) {
  EXPECT_EQ(custom_kernel(2, 8_MiB), SmallKernel::kOneShot);
  EXPECT_EQ(custom_kernel(4, core::Bytes::of(524288 - 16)), SmallKernel::kOneShot);
  EXPECT_EQ(custom_kernel(4, 512_KiB), SmallKernel::kTwoShot);
  EXPECT_EQ(custom_kernel(8, core::Bytes::of(262144 - 16)), SmallKernel::kOneShot);
  EXPECT_EQ(custom_kernel(8, 256_KiB), SmallKernel::kTwoShot);
}

// custom-allreduce.md 8.2: the crossover lies at 0.6 to 1.4 MB, above vLLM's 256 KiB.
TEST(SmallAllReduce, CrossoverOfOneAndTwoShot) {
  SmallJob job = kH100;
  job.bytes = 600_KB;
  EXPECT_LT(small_time(SmallKernel::kOneShot, job).total(),
            small_time(SmallKernel::kTwoShot, job).total());
  job.bytes = 1500_KB;
  EXPECT_GT(small_time(SmallKernel::kOneShot, job).total(),
            small_time(SmallKernel::kTwoShot, job).total());
}

// Time never falls with the size, and outside a graph nothing is faster.
TEST(SmallAllReduce, GrowsWithTheSize) {
  for (const KernelModel& model : small_kernels()) {
    core::Duration before = {};
    for (double bytes = 16; bytes < 1e9; bytes *= 2) {
      SmallJob job = kH100;
      job.bytes = core::Bytes::of(bytes);
      const core::Duration time = small_time(model.kernel, job).total();
      EXPECT_GE(time, before) << small_kernel_name(model.kernel) << " " << bytes;
      before = time;
      job.in_graph = false;
      EXPECT_GT(small_time(model.kernel, job).total(), time);
    }
  }
}

}  // namespace
}  // namespace comm_probe::model
