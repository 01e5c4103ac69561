#include "measure/engines/cuda/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/engines/cuda/kernel_image.h"

namespace comm_probe::measure::cuda {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Driver, MissingLibraryIsOneLineThatNamesIt) {
  const auto driver = load_driver({"libcuda-not-there.so.1"});
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code, core::ErrorCode::kMissing);
  EXPECT_THAT(driver.error().message, StartsWith("libcuda-not-there.so.1 does not load: "));
  EXPECT_THAT(driver.error().hint, HasSubstr("NVIDIA driver"));
  EXPECT_EQ(driver.error().one_line().find('\n'), std::string::npos);
}

TEST(Driver, LibraryThatLacksSymbolsIsRefusedByName) {
  const auto driver = load_driver({"libc.so.6"});
  ASSERT_FALSE(driver.ok());
  EXPECT_THAT(driver.error().message, HasSubstr("libc.so.6 lacks cuInit, "));
  EXPECT_THAT(driver.error().message, HasSubstr("cuMemAlloc_v2"));
}

TEST(KernelImage, IsAFatbinOrSaysThatNvccWasMissing) {
  const auto image = kernel_image("probe");
  if (kernel_images().empty()) {
    EXPECT_EQ(image.error().message, "this program was built without nvcc: it has no GPU kernels");
    GTEST_SKIP() << "built without nvcc";
  }
  ASSERT_TRUE(image.ok());
  // the magic number of a fatbin, little endian
  ASSERT_GT(image->size(), 64u);
  EXPECT_EQ((*image)[0], 0x50);
  EXPECT_EQ((*image)[1], 0xed);
  EXPECT_EQ((*image)[2], 0x55);
  EXPECT_EQ((*image)[3], 0xba);
  EXPECT_THAT(kernel_image("unknown").error().message, HasSubstr("no kernels named 'unknown'"));
}

}  // namespace
}  // namespace comm_probe::measure::cuda
