#include "nccl/settings.h"

#include <gtest/gtest.h>

namespace comm_probe::nccl {
namespace {

using topology::PathType;

TEST(Settings, DefaultsOfTheBaseVersion) {
  const Settings settings = read_settings({});
  EXPECT_FALSE(settings.p2p_level.has_value());
  EXPECT_FALSE(settings.gdr_level.has_value());
  EXPECT_TRUE(settings.pxn);
  EXPECT_TRUE(settings.pxn_c2c);
  EXPECT_TRUE(settings.gdr_c2c);
  EXPECT_EQ(settings.p2p_pxn_level, 2);
  EXPECT_EQ(settings.cross_nic, 2);
}

// spec nccl-6-env.md 6.6
TEST(Settings, DefaultsThatChanged) {
  EXPECT_FALSE(read_settings({}, {2, 26, 0}).gdr_c2c);
  EXPECT_TRUE(read_settings({}, {2, 27, 0}).gdr_c2c);
  EXPECT_FALSE(read_settings({}, {2, 27, 0}).pxn_c2c);
}

// NCCL reads numbers with strtoll: text is 0, so `yes` switches nothing on.
TEST(Settings, TextIsZeroAndEmptyIsUnset) {
  EXPECT_FALSE(read_settings({{"NCCL_P2P_DISABLE", "yes"}}).p2p_level.has_value());
  EXPECT_EQ(read_settings({{"NCCL_P2P_DISABLE", "0x1"}}).p2p_level, PathType::kLoc);
  EXPECT_TRUE(read_settings({{"NCCL_PXN_DISABLE", ""}}).pxn);
  EXPECT_FALSE(read_settings({{"NCCL_PXN_DISABLE", "1"}}).pxn);
  EXPECT_EQ(read_settings({{"NCCL_NET_GDR_READ", "off"}}).gdr_read, false);
}

TEST(Settings, LevelsAreExactWordsOrOldDigits) {
  const auto level = [](const char* text) {
    return read_settings({{"NCCL_P2P_LEVEL", text}}).p2p_level;
  };
  EXPECT_EQ(level("NVL"), PathType::kNvl);
  EXPECT_EQ(level("PXN"), PathType::kPxn);
  EXPECT_EQ(level("0"), PathType::kLoc);
  EXPECT_EQ(level("3"), PathType::kPhb);
  EXPECT_EQ(level("9"), PathType::kSys);
  EXPECT_FALSE(level("nvl").has_value());
  EXPECT_FALSE(level("NET").has_value());
  EXPECT_FALSE(level("-1").has_value());
}

TEST(Settings, NetDevicesPolicy) {
  const auto policy = [](const char* text) {
    return read_settings({{"NCCL_NETDEVS_POLICY", text}}).net_devices;
  };
  EXPECT_EQ(policy("all").kind, NetDevicesPolicy::Kind::kAll);
  EXPECT_EQ(policy("MAX:3").most, 3);
  EXPECT_EQ(policy("MAX:0").kind, NetDevicesPolicy::Kind::kAuto);
  EXPECT_EQ(policy("some").kind, NetDevicesPolicy::Kind::kAuto);
}

}  // namespace
}  // namespace comm_probe::nccl
