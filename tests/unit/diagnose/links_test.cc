#include "diagnose/links.h"

#include <gtest/gtest.h>

namespace comm_probe::diagnose {
namespace {

using namespace core::literals;

topology::HostTopology recorded(const std::string& name) {
  const auto host = core::Host::recorded(COMM_PROBE_SOURCE_DIR "/tests/inputs/hosts/" + name);
  EXPECT_TRUE(host.ok());
  return topology::read_host(*host);
}

measure::HostLink link_with(double p10, double median, double p90) {
  measure::HostLink link;
  link.name = "CPU 0 - CPU 1";
  link.kind = measure::LinkKind::kCopy;
  link.level = "L2";
  link.seconds = {median, p10, p90, 9};
  return link;
}

TEST(JudgeHost, AHealthyMachineSaysNothing) {
  const LinkJudgement judgement = judge_host(recorded("kvm-2cpu"));
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_TRUE(judgement.caveats.empty());
}

// the recorded quota is 4 of 16 CPUs; GPU 9a:00.0 runs on 8 of 16 lanes
TEST(JudgeHost, NamesQuotaAndNarrowLink) {
  const LinkJudgement judgement = judge_host(recorded("two-socket"));
  ASSERT_EQ(judgement.findings.size(), 2U);
  EXPECT_EQ(judgement.findings[0].id, "link.cpu-quota");
  EXPECT_EQ(judgement.findings[0].expected->value, 16);
  EXPECT_EQ(judgement.findings[0].observed->value, 4);
  EXPECT_EQ(judgement.findings[1].id, "link.pci-width");
  EXPECT_NE(judgement.findings[1].summary.find("0000:9a:00.0"), std::string::npos);
  EXPECT_EQ(judgement.findings[1].observed->value, 8);
}

TEST(JudgeHost, NamesTheSingleCpu) {
  auto host = recorded("kvm-2cpu");
  host.allowed = {1};
  const LinkJudgement judgement = judge_host(host);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "link.one-cpu");
}

// the worked example of links.h
TEST(JudgeLinks, NoiseIsACaveat) {
  measure::HostLinks links;
  links.links = {link_with(8e-6, 10e-6, 13e-6), link_with(9.9e-6, 10e-6, 10.1e-6)};
  const LinkJudgement judgement = judge_links(links);
  EXPECT_TRUE(judgement.findings.empty());
  ASSERT_EQ(judgement.caveats.size(), 1U);
  EXPECT_EQ(judgement.caveats[0].id, "link.noisy");
  EXPECT_NE(judgement.caveats[0].missing.find("1 of 2 links: copy L2 (50 %)"), std::string::npos);
  EXPECT_FALSE(judgement.caveats[0].limits);
}

// The caveat names the worst and counts the rest; a spread of 313 times the median is no
// percentage.
TEST(JudgeLinks, ManyNoisyLinksAreCounted) {
  measure::HostLinks links;
  for (int i = 0; i < 17; ++i) links.links.push_back(link_with(8e-6, 10e-6, (13 + i) * 1e-6));
  links.links.push_back(link_with(1e-6, 2e-6, 625e-6));
  const std::string missing = judge_links(links).caveats.at(0).missing;
  EXPECT_NE(missing.find("18 of 18 links: copy L2 (over 1000 %), "), std::string::npos) << missing;
  EXPECT_TRUE(missing.ends_with(" and 14 more")) << missing;
}

TEST(JudgeLinks, AChangedStateIsACaveat) {
  measure::HostLinks links;
  links.context.alpha_before = core::Duration::from_ns(32);
  links.context.alpha_after = core::Duration::from_ns(193);
  ASSERT_EQ(judge_links(links).caveats.size(), 1U);
  EXPECT_EQ(judge_links(links).caveats[0].id, "link.state-changed");
  links.context.alpha_after = core::Duration::from_ns(40);
  EXPECT_TRUE(judge_links(links).caveats.empty());
}

}  // namespace
}  // namespace comm_probe::diagnose
