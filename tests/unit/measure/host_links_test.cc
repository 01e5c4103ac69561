#include <gtest/gtest.h>

#include "measure/link/link.h"

namespace comm_probe::measure {
namespace {

using namespace core::literals;

topology::HostTopology recorded(const std::string& name) {
  const auto host = core::Host::recorded(COMM_PROBE_SOURCE_DIR "/tests/inputs/hosts/" + name);
  EXPECT_TRUE(host.ok());
  return topology::read_host(*host);
}

// caches of 32 KiB, 1 MiB, 32 MiB: 3w in L1 and L2, 4w in L3
TEST(HostLinks, LevelsFollowTheCaches) {
  const auto host = recorded("kvm-2cpu");
  EXPECT_EQ(level_of(host, 8_B), "L1");
  EXPECT_EQ(level_of(host, 10_KiB), "L1");
  EXPECT_EQ(level_of(host, 11_KiB), "L2");
  EXPECT_EQ(level_of(host, 341_KiB), "L2");
  EXPECT_EQ(level_of(host, 342_KiB), "L3");
  EXPECT_EQ(level_of(host, 8_MiB), "L3");
  EXPECT_EQ(level_of(host, 9_MiB), "memory");
}

TEST(HostLinks, ThePairAvoidsSmtSiblings) {
  auto host = recorded("two-socket");
  EXPECT_EQ(chosen_pair(host), (std::vector{0, 1}));
  host.allowed = {0, 8, 9};  // 8 shares the core of 0
  EXPECT_EQ(chosen_pair(host), (std::vector{0, 9}));
  host.allowed = {0, 8};
  EXPECT_EQ(chosen_pair(host), (std::vector{0, 8}));
  host.allowed = {3};
  EXPECT_EQ(chosen_pair(host), (std::vector{3, 3}));
}

LinkPlan short_plan() {
  LinkPlan plan{.is_quick = true, .with_memory = false, .with_tcp = false};
  plan.largest_message = 64_KiB;
  return plan;
}

TEST(HostLinks, MeasuresThisMachine) {
  auto host = topology::read_host(core::Host::real());
  int steps = 0;
  const auto links =
      measure_host_links(host, short_plan(), [&steps](const std::string&) { ++steps; });
  ASSERT_TRUE(links.ok()) << links.error().one_line();
  EXPECT_GE(steps, 2);
  EXPECT_GT(links->flag.in_ns(), 0);
  EXPECT_GT(links->wake, 0_us);
  ASSERT_GE(links->transfers.size(), 5U);
  for (const TransferCost& cost : links->transfers) {
    EXPECT_GT(cost.exchange.in_ns(), 0) << cost.message.count();
    EXPECT_GT(cost.copy.in_ns(), 0) << cost.message.count();
    EXPECT_GT(cost.reduce.in_ns(), 0) << cost.message.count();
    EXPECT_GT(cost.relay.in_ns(), 0) << cost.message.count();
  }
  for (const HostLink& link : links->links) {
    EXPECT_TRUE(link.alpha || link.beta) << link.name;
    EXPECT_LE(link.seconds.p10, link.seconds.median) << link.name;
    EXPECT_LE(link.seconds.median, link.seconds.p90) << link.name;
    EXPECT_EQ(link.alpha ? link.alpha->basis : link.beta->basis, core::Basis::kMeasured);
  }
}

TEST(HostLinks, OneCpuStillMeasures) {
  auto host = topology::read_host(core::Host::real());
  host.allowed = {host.allowed.empty() ? 0 : host.allowed.front()};
  const auto links = measure_host_links(host, short_plan(), [](const std::string&) {});
  ASSERT_TRUE(links.ok()) << links.error().one_line();
  EXPECT_EQ(links->context.cpus[0], links->context.cpus[1]);
  EXPECT_GT(links->flag.in_ns(), 0);
}

}  // namespace
}  // namespace comm_probe::measure
