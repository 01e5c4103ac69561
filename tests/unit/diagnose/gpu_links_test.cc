#include "diagnose/gpu_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/gpu_acceptance.h"

namespace comm_probe::diagnose {
namespace {

using measure::GpuLink;
using measure::GpuLinkKind;
using measure::GpuLinks;
using measure::HostMemory;

core::Sourced<core::Bandwidth> measured(double GBps) {
  return {core::Bandwidth::from_GBps(GBps), core::Basis::kMeasured, "test"};
}

GpuLinks of(std::vector<GpuLink> links, int gpus = 1) {
  GpuLinks all;
  for (int i = 0; i < gpus; ++i)
    all.devices.push_back(
        {.index = i, .name = "NVIDIA H200", .bus_id = "0000:0" + std::to_string(i) + ":06.0"});
  all.links = std::move(links);
  return all;
}

// A GPU on gen5 x16, as the virtual machine of docs/measured/h200-links.md shows it.
topology::Survey machine(const char* speed = "32.0 GT/s PCIe") {
  topology::Survey survey;
  topology::SurveyDevice device;
  device.name = "GPU0";
  device.bus_id = "0000:00:06.0";
  device.trained = {speed, 16};
  device.slot = {"32.0 GT/s PCIe", 16};
  survey.devices.push_back(device);
  return survey;
}

GpuLink from_host(double GBps, GpuLinkKind kind = GpuLinkKind::kDeviceToHost) {
  return {.kind = kind, .memory = HostMemory::kPinned, .rate = measured(GBps)};
}

TEST(GpuLinks, HostLinkIsComparedWithItsSlotAfterPacketOverhead) {
  const GpuLinks links = of({from_host(55.2)});
  const auto ceiling = ceiling_of(links.links[0], links, machine());
  ASSERT_TRUE(ceiling.has_value());
  EXPECT_NEAR(ceiling->rate.value.in_GBps(), 56.41, 0.01);
  EXPECT_EQ(ceiling->name, "PCIe gen5 x16");
  EXPECT_TRUE(judge_gpu_links(links, machine()).findings.empty());
}

TEST(GpuLinks, BothWaysCarryTwice) {
  const GpuLinks links = of({from_host(80, GpuLinkKind::kHostBothWays)});
  EXPECT_NEAR(ceiling_of(links.links[0], links, machine())->rate.value.in_GBps(), 112.82, 0.02);
}

TEST(GpuLinks, FarBelowTheSlotIsAFinding) {
  const auto judgement = judge_gpu_links(of({from_host(40)}), machine());
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].id, "link.gpu-below-slot");
  EXPECT_THAT(judgement.findings[0].summary, testing::HasSubstr("40 GB/s"));
}

// An H200 in a virtual machine, 2026-11-30: 55.4 and 55.3 alone, 84.0 together.
TEST(GpuLinks, TwoSoundWaysThatShareSomethingAreNoFaultOfTheSlot) {
  const GpuLink both = from_host(84, GpuLinkKind::kHostBothWays);
  const GpuLinks links = of({from_host(55.4, GpuLinkKind::kHostToDevice), from_host(55.3), both});
  const auto judgement = judge_gpu_links(links, machine());
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].id, "link.gpu-ways-share");
  EXPECT_EQ(judgement.findings[0].severity, core::Severity::kInfo);
  // one way below the slot: then it is the slot
  const GpuLinks slow = of({from_host(30, GpuLinkKind::kHostToDevice), from_host(55.3), both});
  for (const auto& finding : judge_gpu_links(slow, machine()).findings)
    EXPECT_EQ(finding.id, "link.gpu-below-slot");
}

TEST(GpuLinks, PageableMemoryIsNotHeldAgainstTheSlot) {
  GpuLink link = from_host(12);
  link.memory = HostMemory::kPageable;
  EXPECT_TRUE(judge_gpu_links(of({link}), machine()).findings.empty());
}

TEST(GpuLinks, IdleLinkOfALowerGenerationIsNotTheCeiling) {
  const GpuLinks links = of({from_host(55)});
  EXPECT_EQ(ceiling_of(links.links[0], links, machine("2.5 GT/s PCIe"))->name, "PCIe gen5 x16");
}

TEST(GpuLinks, LocalCopyReadsAndWritesTheMemory) {
  const GpuLinks links = of({{.kind = GpuLinkKind::kLocalCopy, .peer = 0, .rate = measured(2080)}});
  // 4.8 TB/s of the data sheet
  EXPECT_NEAR(ceiling_of(links.links[0], links, std::nullopt)->rate.value.in_GBps(), 2400, 1);
}

TEST(GpuLinks, WithoutASurveyThereIsNoCeilingAndNoFinding) {
  const GpuLinks links = of({from_host(10)});
  EXPECT_FALSE(ceiling_of(links.links[0], links, std::nullopt).has_value());
  EXPECT_TRUE(judge_gpu_links(links, std::nullopt).findings.empty());
}

std::vector<GpuLink> pairs(int gpus, double GBps, std::pair<int, int> slow = {-1, -1}) {
  std::vector<GpuLink> links;
  for (int a = 0; a < gpus; ++a)
    for (int b = 0; b < gpus; ++b)
      if (a != b)
        links.push_back({.kind = GpuLinkKind::kPeerWrite,
                         .peer_mode = measure::PeerMode::kDirect,
                         .gpu = a,
                         .peer = b,
                         .rate = measured((a == slow.first || b == slow.first) ? GBps / 2 : GBps)});
  return links;
}

// The rules for nvbandwidth's matrices, on our own figures.
TEST(GpuLinks, OneSlowGpuAmongEightIsFoundAsInNvbandwidthsOutput) {
  EXPECT_TRUE(judge_gpu_links(of(pairs(8, 390), 8), std::nullopt).findings.empty());
  const auto judgement = judge_gpu_links(of(pairs(8, 390, {3, -1}), 8), std::nullopt);
  ASSERT_FALSE(judgement.findings.empty());
  EXPECT_EQ(judgement.findings[0].id, "curve.gpu-slow");
  EXPECT_THAT(judgement.findings[0].summary, testing::HasSubstr("GPU 3"));
}

TEST(GpuLinks, OneSlowHostLinkAmongFourIsFound) {
  std::vector<GpuLink> links;
  for (int gpu = 0; gpu < 4; ++gpu) {
    GpuLink link = from_host(gpu == 2 ? 26 : 55, GpuLinkKind::kHostToDevice);
    link.gpu = gpu;
    links.push_back(link);
  }
  const auto judgement = judge_gpu_links(of(links, 4), std::nullopt);
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].id, "curve.host-link-slow");
}

// On 2026-11-30 another job ran on GPU 0: copies of 16 bytes took 2.388 ms instead of 7 us.
TEST(GpuLinks, WorkOfOthersIsACaveat) {
  GpuLinks links = of({from_host(55.2)});
  links.devices[0].busy_percent = 100;
  links.devices[0].processes = 1;
  const auto judgement = judge_gpu_links(links, machine());
  ASSERT_EQ(judgement.caveats.size(), 1u);
  EXPECT_EQ(judgement.caveats[0].id, "link.gpu-busy");
  EXPECT_THAT(judgement.caveats[0].missing, testing::HasSubstr("100 % busy"));
  links.devices[0].busy_percent = 0;
  EXPECT_TRUE(judge_gpu_links(links, machine()).caveats.empty());
}

TEST(GpuAcceptance, LinesAreDecidedByTheWorstLink) {
  const auto checks =
      gpu_acceptance(of({from_host(55.4, GpuLinkKind::kHostToDevice), from_host(30)}), machine());
  ASSERT_EQ(checks.size(), 3u);
  EXPECT_EQ(checks[0].outcome, Check::Outcome::kPass);
  EXPECT_EQ(checks[0].expected, "at least 42.3 GB/s (75 % of PCIe gen5 x16)");
  EXPECT_EQ(checks[0].observed, "55.4 GB/s");
  EXPECT_EQ(checks[1].outcome, Check::Outcome::kFail);
  EXPECT_EQ(checks[1].why, "slowest: GPU 0 -> host");
  EXPECT_EQ(checks[2].outcome, Check::Outcome::kNotHere);
}

TEST(GpuAcceptance, WhatIsNotKnownIsUndecided) {
  const auto checks = gpu_acceptance(of(pairs(2, 390), 2), std::nullopt);
  for (const Check& check : checks) EXPECT_EQ(check.outcome, Check::Outcome::kUndecided);
  EXPECT_EQ(checks[2].observed, "no rate of the link is known");
  EXPECT_EQ(checks[0].observed, "not measured");
}

}  // namespace
}  // namespace comm_probe::diagnose
