#include "nccl/search_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace comm_probe::nccl {
namespace {

using testing::ElementsAre;

// Spec part 9.3, from the tags of NVIDIA/nccl.
TEST(SearchSpeeds, FollowTheVersion) {
  EXPECT_THAT(search_speeds({2, 18, 1}, 90, true),
              ElementsAre(48, 45, 42, 40, 30, 24, 15, 12, 6, 3, 2.4F, 1.2F, 0.24F, 0.12F));
  EXPECT_THAT(search_speeds({2, 18, 1}, 90, false), ElementsAre(60, 40, 30, 24, 20, 15, 12, 6, 3));
  EXPECT_THAT(
      search_speeds({2, 28, 9}, 90, true),
      ElementsAre(48, 45, 42, 40, 30, 24, 22, 20, 17.5F, 15, 12, 6, 3, 2.4F, 1.2F, 0.24F, 0.12F));
  EXPECT_THAT(search_speeds({2, 24, 3}, 100, false), search_speeds({2, 24, 3}, 90, false));
  EXPECT_THAT(search_speeds({2, 28, 9}, 100, false),
              ElementsAre(90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18));
}

TEST(SearchSpeeds, TheFirstSpeedOfBlackwellChangedOften) {
  const auto first = [](topology::NcclVersion version) {
    return search_speeds(version, 100, true).front();
  };
  EXPECT_EQ(first({2, 25, 1}), 48);
  EXPECT_EQ(first({2, 27, 3}), 47.9F);
  EXPECT_EQ(first({2, 27, 5}), 48);
  EXPECT_EQ(first({2, 27, 6}), 96);
  EXPECT_THAT(search_speeds({2, 30, 3}, 100, true),
              testing::IsSupersetOf({96.F, 86.F, 80.F, 48.F, 45.1F}));
}

TEST(SearchRules, NvlsChannelsByVersionAndDomain) {
  EXPECT_EQ(default_nvls_channels({2, 28, 9}, 90, true), 16);
  EXPECT_EQ(default_nvls_channels({2, 28, 9}, 100, true), 24);
  EXPECT_EQ(default_nvls_channels({2, 28, 9}, 100, false), 32);
  EXPECT_EQ(default_nvls_channels({2, 25, 1}, 100, true), 32);
  EXPECT_EQ(default_nvls_channels({2, 24, 3}, 100, true), 16);
}

}  // namespace
}  // namespace comm_probe::nccl
