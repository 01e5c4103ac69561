#include "diagnose/job_gap.h"

#include <gtest/gtest.h>

#include "job_parts.h"

namespace comm_probe::diagnose {
namespace {

std::vector<core::Finding> found(const std::vector<std::string>& ids) {
  std::vector<core::Finding> findings;
  for (const std::string& id : ids) findings.push_back(core::make_finding(id, "it is so"));
  return findings;
}

// Two nodes of 4 GPUs: a run at 9.45 GB/s over sockets beside one at 40 GB/s (public runs on
// Slingshot: 9.5 with sockets, about 40 with the fabric's provider).
JobParts on_sockets() {
  JobParts parts;
  parts.add_table("good.txt", 8, 2, 40);
  parts.add_table("slow.txt", 8, 2, 9.45);
  return parts;
}

// The worked example of job_gap.h.
TEST(JobGap, SocketsExplainAllOfIt) {
  const JobParts parts = on_sockets();
  const auto gap = find_gap(parts.facts());
  ASSERT_TRUE(gap.has_value());
  EXPECT_EQ(gap->curve->curve->file, "slow.txt");
  EXPECT_NEAR(gap->expected.in_GBps(), 40, 0.1);
  EXPECT_NEAR(gap->observed.in_GBps(), 9.45, 0.05);
  EXPECT_NEAR(gap->size().in_GBps(), 30.55, 0.15);
  EXPECT_EQ(gap->basis, core::Basis::kMeasured);
  auto findings = found({"log.tcp-fallback"});
  explain_gap(parts.facts(), *gap, findings);
  ASSERT_TRUE(findings[0].explains.has_value());
  EXPECT_NEAR(findings[0].explains->value, 30.55, 0.15);
  EXPECT_EQ(findings[0].explains->unit, "GB/s");
}

// A run at half of the other is far above what TCP lets through, but not above staging.
TEST(JobGap, ACauseThatLetsLessThroughDidNotHold) {
  JobParts parts;
  parts.add_table("good.txt", 8, 2, 40);
  parts.add_table("slow.txt", 8, 2, 20);
  const auto gap = find_gap(parts.facts());
  ASSERT_TRUE(gap.has_value());
  auto findings = found({"log.tcp-fallback", "log.gdr-distance", "topo.memlock-low"});
  explain_gap(parts.facts(), *gap, findings);
  EXPECT_FALSE(findings[0].explains.has_value());
  ASSERT_TRUE(findings[1].explains.has_value());
  EXPECT_NEAR(findings[1].explains->value, 20, 0.2);
  EXPECT_FALSE(findings[2].explains.has_value());  // no cause of a gap in bandwidth
}

// NCCL's topology file says of every NIC that it cannot do GPUDirect RDMA: a note by itself, and
// the cause that accounts for the gap beside a slow run between nodes. Two NDR ports for two GPUs:
// 80 to 96 GB/s (golden G6-11: 40 to 48 each), a run at 20 misses 60, and staging lets 5 to 70 %
// through.
TEST(JobGap, StagingOfEveryNicAccountsForTheGap) {
  const auto told = [](double GBps, const char* line) {
    JobParts parts;
    parts.add_machine("node01", true, {ibstat_of({"mlx5_0", "mlx5_1"})});
    parts.add_table("2n.txt", 4, 2, GBps);
    if (line != nullptr) parts.add_log(line);
    std::vector<core::Finding> findings = found({"topo.nic-without-gdr"});
    findings[0].severity = core::Severity::kInfo;
    findings[0].confidence = core::Confidence::kLikely;
    findings[0].evidence = {{parts.machines.front().survey.source, 12, "mlx5_0: gdr=\"0\""}};
    if (const auto gap = find_gap(parts.facts())) explain_gap(parts.facts(), *gap, findings);
    return findings[0];
  };
  const core::Finding slow = told(20, nullptr);
  EXPECT_EQ(slow.severity, core::Severity::kWarning);
  ASSERT_TRUE(slow.explains.has_value());
  EXPECT_NEAR(slow.explains->value, 60, 1.5);
  EXPECT_NE(slow.explains->source.find("staging"), std::string::npos);
  const core::Finding healthy = told(88, nullptr);
  EXPECT_EQ(healthy.severity, core::Severity::kInfo);
  EXPECT_FALSE(healthy.explains.has_value());
  // the log shows connections that have it: the file is of another day
  const core::Finding stale = told(
      20,
      "node01:7:8 [0] NCCL INFO comm 0x1 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1000 commId 0x9 "
      "- Init START\n"
      "node01:7:8 [0] NCCL INFO Channel 00/0 : 2[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n");
  EXPECT_EQ(stale.severity, core::Severity::kInfo);
  EXPECT_FALSE(stale.explains.has_value());
}

// Golden G6-11: two nodes with eight NDR ports reach 40 to 48 GB/s for each of 8 GPUs.
TEST(JobGap, PortsOfANodeSayWhatTwoNodesReach) {
  std::vector<std::string> devices;
  for (int i = 0; i < 8; ++i) devices.push_back("mlx5_" + std::to_string(i));
  JobParts healthy;
  healthy.add_machine("node01", true, {ibstat_of(devices)});
  ASSERT_EQ(healthy.machines.size(), 1U);
  healthy.add_table("2n.txt", 16, 2, 320);
  EXPECT_FALSE(find_gap(healthy.facts()).has_value());

  JobParts slow;
  slow.add_machine("node01", true, {ibstat_of(devices)});
  slow.add_table("2n.txt", 16, 2, 46);
  const auto gap = find_gap(slow.facts());
  ASSERT_TRUE(gap.has_value());
  EXPECT_EQ(gap->basis, core::Basis::kComputed);
  EXPECT_GE(gap->expected.in_GBps(), 0.99 * 320);
  EXPECT_LE(gap->expected.in_GBps(), 384);
  EXPECT_NE(gap->source.find("400 GB/s"), std::string::npos) << gap->source;
}

// One port of 400 Gb/s for eight GPUs (golden G6-13: 6.25 GB/s for each): 46 GB/s is all there is.
TEST(JobGap, OnePortIsNoGap) {
  JobParts parts;
  parts.add_machine("node01", true, {ibstat_of({"mlx5_0"})});
  parts.add_table("2n.txt", 16, 2, 46);
  EXPECT_FALSE(find_gap(parts.facts()).has_value());
}

// Fewer GPUs than NICs: a GPU sends over the NIC near it (golden G6-11: 40 to 48 of 50 GB/s each).
TEST(JobGap, FewerGpusThanNicsReachTheNicsOfTheirOwn) {
  std::vector<std::string> devices;
  for (int i = 0; i < 8; ++i) devices.push_back("mlx5_" + std::to_string(i));
  const auto gap_at = [&](int per_node, double GBps) {
    JobParts parts;
    parts.add_machine("node01", true, {ibstat_of(devices)});
    parts.add_table("2n.txt", 2 * per_node, 2, GBps);
    return find_gap(parts.facts());
  };
  for (const int per_node : {1, 2, 4, 8}) {
    EXPECT_FALSE(gap_at(per_node, 46.0 * per_node).has_value()) << per_node;
    const auto slow = gap_at(per_node, 20.0 * per_node);
    ASSERT_TRUE(slow.has_value()) << per_node;
    EXPECT_NEAR(slow->expected.in_GBps(), 40.0 * per_node, 1) << slow->source;
  }
}

// Ports of management and storage beside those of the job add nothing.
TEST(JobGap, SlowPortsBesideFastOnesDoNotCount) {
  JobParts parts;
  parts.add_machine("node01", true, {ibstat_of({"mlx5_0"}) + ibstat_of({"mlx5_1"}, 100)});
  parts.add_table("2n.txt", 16, 2, 20);
  const auto gap = find_gap(parts.facts());
  ASSERT_TRUE(gap.has_value());
  EXPECT_LE(gap->expected.in_GBps(), 50);
}

TEST(JobGap, WhatTheCurveSaysIsNotSaidAgain) {
  const JobParts parts = on_sockets();
  const auto gap = find_gap(parts.facts());
  EXPECT_TRUE(judge_gap(gap, found({"curve.plateau-low"})).empty());
  EXPECT_TRUE(judge_gap({}, {}).empty());
  const auto said = judge_gap(gap, found({"log.tcp-fallback"}));
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].id, "job.gap");
  EXPECT_NE(said[0].summary.find("good.txt"), std::string::npos) << said[0].summary;
}

// A single NIC gives a tenth of what one node reaches (golden GB-02a); a thirtieth is none at work.
TEST(JobGap, SeveralNodesBesideOneNode) {
  JobParts parts;
  parts.add_table("1n.txt", 8, 1, 460);
  parts.add_table("2n.txt", 16, 2, 15.3);
  const auto gap = find_gap(parts.facts());
  ASSERT_TRUE(gap.has_value());
  EXPECT_EQ(gap->curve->curve->file, "2n.txt");
  EXPECT_NEAR(gap->expected.in_GBps(), 46, 0.5);
}

TEST(JobGap, OneNicBesideOneNodeIsNoGap) {
  JobParts parts;
  parts.add_table("1n.txt", 8, 1, 460);
  parts.add_table("2n.txt", 16, 2, 46);
  EXPECT_FALSE(find_gap(parts.facts()).has_value());
}

void list_hosts(JobParts& parts, const std::vector<std::string>& hosts, const char* gpu) {
  for (const std::string& host : hosts) {
    curve::Device device;
    device.host = host;
    device.name = gpu;
    parts.tables.back().devices.push_back(std::move(device));
  }
}

// A run of other hosts may have another network: said, and no more than possible. Other GPUs are
// no measure at all.
TEST(JobGap, RunsOfOtherHostsAreAWeakMeasure) {
  for (const auto& [host, gpu, is_gap, confidence] :
       {std::tuple("n1", "H100", true, core::Confidence::kLikely),
        std::tuple("other1", "H100", true, core::Confidence::kPossible),
        std::tuple("other1", "A100", false, core::Confidence::kPossible)}) {
    for (const int good_nodes : {1, 2}) {
      JobParts parts;
      parts.add_table("good.txt", 4 * good_nodes, good_nodes, good_nodes == 1 ? 460 : 40);
      if (good_nodes == 1)
        list_hosts(parts, {host}, gpu);
      else
        list_hosts(parts, {host, std::string(host) + "b"}, gpu);
      parts.add_table("slow.txt", 8, 2, 9.45);
      list_hosts(parts, {"n1", "n2"}, "H100");
      const auto gap = find_gap(parts.facts());
      ASSERT_EQ(gap.has_value(), is_gap) << host << gpu << good_nodes;
      if (!is_gap) continue;
      const auto findings = judge_gap(gap, {});
      ASSERT_EQ(findings.size(), 1U);
      EXPECT_EQ(findings[0].confidence, confidence) << host << good_nodes;
    }
  }
}

}  // namespace
}  // namespace comm_probe::diagnose
