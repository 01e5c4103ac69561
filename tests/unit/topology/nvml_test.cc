// NVML through a library that only this test has (fake_nvml/): order, links, hidden switches, P2P.
#include "topology/readers/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace comm_probe::topology {
namespace {

TEST(Nvml, ThreeGpus) {
  const auto facts = read_nvml(COMM_PROBE_FAKE_NVML);
  ASSERT_TRUE(facts.ok()) << facts.error().one_line();
  ASSERT_EQ(facts->gpus.size(), 3U);
  EXPECT_EQ(facts->gpus[1].bus_id, "0000:23:00.0");
  EXPECT_EQ(facts->gpus[1].sm, 90);
  EXPECT_EQ(facts->gpus[1].name, "NVIDIA H100");
  ASSERT_EQ(facts->nvlinks.size(), 36U);
  int inactive = 0;
  for (const NvlinkState& link : facts->nvlinks) {
    inactive += link.is_active ? 0 : 1;
    EXPECT_EQ(link.remote,
              link.is_active ? NvlinkState::Remote::kSwitch : NvlinkState::Remote::kUnknown);
  }
  EXPECT_EQ(inactive, 1);
  int refused = 0;
  for (const PeerStatus& peer : facts->peers) refused += peer.status == "OK" ? 0 : 1;
  EXPECT_EQ(facts->peers.size(), 12U);  // six ordered pairs, read and write
  EXPECT_EQ(refused, 8);
}

TEST(Nvml, WhatGpusDoJustNow) {
  const auto use = read_gpu_use(COMM_PROBE_FAKE_NVML);
  ASSERT_EQ(use.size(), 3U);
  EXPECT_EQ(use[0].bus_id, "0000:13:00.0");
  EXPECT_EQ(use[0].busy_percent, 100);
  EXPECT_EQ(use[0].processes, 2);
  EXPECT_EQ(use[1].busy_percent, 0);
  EXPECT_EQ(use[1].processes, 0);
  EXPECT_TRUE(read_gpu_use("libno-such-driver.so.1").empty());
}

TEST(Nvml, AbsentOrOtherLibrary) {
  const auto absent = read_nvml("libno-such-driver.so.1");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, core::ErrorCode::kMissing);
  EXPECT_THAT(absent.error().message, testing::HasSubstr("libno-such-driver.so.1 not found"));
  EXPECT_FALSE(read_nvml("libm.so.6").ok());
}

}  // namespace
}  // namespace comm_probe::topology
