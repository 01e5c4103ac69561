// What of a host starves communication: recorded cgroups, affinities and mounts in memory; each
// fault has a twin without it.
#include "diagnose/host_state.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/finding_table.h"

namespace comm_probe::diagnose {
namespace {

using core::Archive;
using core::Finding;
using core::Host;
using core::Severity;
using testing::HasSubstr;

// Two sockets of 48 CPUs, four GPUs on each, RDMA; nothing limits the process.
Archive healthy() {
  Archive archive;
  archive.add_file("sys/devices/system/cpu/online", "0-95\n");
  archive.add_file("proc/self/status", "Name:\tbash\nCpus_allowed_list:\t0-95\n");
  archive.add_file("proc/self/cgroup", "0::/job/step\n");
  archive.add_file("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  archive.add_file("sys/fs/cgroup/job/step/cpu.stat",
                   "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
  archive.add_file("proc/meminfo", "MemTotal:       263000000 kB\n");
  archive.add_file("proc/self/mounts", "tmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0\n");
  for (int i = 0; i < 8; ++i) {
    const std::string at = fmt::format("sys/bus/pci/devices/0000:{}8:00.0/", i + 1);
    archive.add_file(at + "class", "0x030200\n");
    archive.add_file(at + "vendor", "0x10de\n");
    archive.add_file(at + "numa_node", i < 4 ? "0\n" : "1\n");
    archive.add_file(at + "local_cpulist", i < 4 ? "0-47\n" : "48-95\n");
  }
  archive.add_file("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  archive.add_folder("sys/module/gdrdrv");
  archive.add_file("proc/driver/nvidia/params",
                   "EnableStreamMemOPs: 1\nRegistryDwords: \"PeerMappingOverride=1;\"\n");
  return archive;
}

NetJudgement judged(Archive archive) {
  return judge_host_state(
      topology::read_host_state(Host::archived("node7.tar", std::move(archive))));
}

std::string ids_of(const std::vector<Finding>& findings) {
  std::string ids;
  for (const Finding& finding : findings) ids += finding.id + " ";
  return ids;
}

TEST(HostState, AHealthyHostIsQuiet) {
  const NetJudgement judgement = judged(healthy());
  EXPECT_EQ(ids_of(judgement.findings), "");
  for (const NetCheck& check : judgement.checks) {
    const bool has_periods = check.what.find("throttled") == std::string::npos;
    EXPECT_EQ(check.outcome == "fine", has_periods) << check.what << ": " << check.outcome;
  }
}

TEST(HostState, QuotaOfVersionTwo) {
  Archive archive = healthy();
  archive.add_file("sys/fs/cgroup/job/cpu.max", "400000 100000\n");  // of the parent: 4 CPUs
  const NetJudgement judgement = judged(archive);
  ASSERT_EQ(ids_of(judgement.findings), "topo.cpu-quota ");
  EXPECT_EQ(judgement.findings[0].expected->value, 16);  // 8 ranks x 2
  EXPECT_EQ(judgement.findings[0].observed->value, 4);
  EXPECT_EQ(judgement.findings[0].evidence[0].source, "/sys/fs/cgroup/job/cpu.max");
  archive.add_file("sys/fs/cgroup/job/cpu.max", "1600000 100000\n");
  EXPECT_EQ(ids_of(judged(archive).findings), "");
  // one rank of the launcher with one visible GPU
  archive.add_file("sys/fs/cgroup/job/cpu.max", "400000 100000\n");
  archive.add_file("environment", "LOCAL_RANK=3\nCUDA_VISIBLE_DEVICES=3\n");
  EXPECT_EQ(ids_of(judged(archive).findings), "");
}

TEST(HostState, QuotaOfVersionOne) {
  Archive archive = healthy();
  archive.add_file("proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/docker/abc\n");
  archive.add_file("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "200000\n");
  archive.add_file("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
  archive.add_file("sys/fs/cgroup/cpu/docker/abc/cpu.stat",
                   "nr_periods 1000\nnr_throttled 400\nthrottled_time 9000000000\n");
  const NetJudgement judgement = judged(archive);
  ASSERT_EQ(ids_of(judgement.findings), "topo.cpu-quota topo.cpu-throttled ");
  EXPECT_EQ(judgement.findings[0].observed->value, 2);
  EXPECT_THAT(judgement.findings[1].summary, HasSubstr("400 of 1000 periods"));
  EXPECT_EQ(judgement.findings[1].severity, Severity::kInfo);  // ever, not now
}

TEST(HostState, ThrottledBetweenTwoSnapshots) {
  const auto state_with = [](const char* stat) {
    Archive archive = healthy();
    archive.add_file("sys/fs/cgroup/job/step/cpu.stat", stat);
    return topology::read_host_state(Host::archived("node7.tar", std::move(archive)));
  };
  const auto before = state_with("nr_periods 1000\nnr_throttled 400\nthrottled_usec 1000000\n");
  const auto after = state_with("nr_periods 1600\nnr_throttled 550\nthrottled_usec 7000000\n");
  const NetJudgement judgement = judge_host_change(before, after);
  ASSERT_EQ(ids_of(judgement.findings), "topo.cpu-throttled ");
  EXPECT_THAT(judgement.findings[0].summary, HasSubstr("150 of 600 periods meanwhile (25 %), 6 s"));
  EXPECT_EQ(judgement.findings[0].severity, Severity::kWarning);
  const auto calm = state_with("nr_periods 1600\nnr_throttled 401\nthrottled_usec 1000100\n");
  EXPECT_EQ(ids_of(judge_host_change(before, calm).findings), "");
  EXPECT_EQ(ids_of(judge_host_change(after, before).findings), "");  // went back
}

TEST(HostState, AffinityTooNarrowAndFar) {
  Archive archive = healthy();
  archive.add_file("proc/self/status", "Cpus_allowed_list:\t0-7\n");
  NetJudgement judgement = judged(archive);
  ASSERT_EQ(ids_of(judgement.findings), "topo.cpu-affinity topo.cpu-far ");
  EXPECT_THAT(judgement.findings[0].summary, HasSubstr("8 CPUs (0-7)"));
  EXPECT_THAT(judgement.findings[1].summary, HasSubstr("GPU4 GPU5 GPU6 GPU7"));
  archive.add_file("proc/self/status", "Cpus_allowed_list:\t0-15,48-63\n");
  EXPECT_EQ(ids_of(judged(archive).findings), "");
}

TEST(HostState, SharedMemoryOfAContainer) {
  Archive archive = healthy();
  archive.add_file("proc/self/mounts", "shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n");
  const NetJudgement judgement = judged(archive);
  ASSERT_EQ(ids_of(judgement.findings), "topo.shm-small ");
  EXPECT_EQ(judgement.findings[0].observed->value, 64);
  archive.add_file("proc/self/mounts", "shm /dev/shm tmpfs rw,nosuid,size=16777216k 0 0\n");
  EXPECT_EQ(ids_of(judged(archive).findings), "");
}

TEST(HostState, IbgdaPrerequisites) {
  Archive archive = healthy();
  archive.add_file("proc/driver/nvidia/params",
                   "EnableStreamMemOPs: 0\nRegistryDwords: \"\"\nEnableUserNUMAManagement: 1\n");
  NetJudgement judgement = judged(archive);
  ASSERT_EQ(ids_of(judgement.findings), "topo.ibgda-not-ready ");
  EXPECT_EQ(judgement.findings[0].severity, Severity::kInfo);
  EXPECT_EQ(judgement.findings[0].evidence.at(0).text, "EnableStreamMemOPs: 0");
  archive.add_file("environment", "NVSHMEM_IB_ENABLE_IBGDA=1\n");
  judgement = judged(archive);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].severity, Severity::kWarning);
  EXPECT_THAT(judgement.findings[0].summary, HasSubstr("NVSHMEM_IB_ENABLE_IBGDA=1, but"));
}

TEST(HostState, NothingOnRecordIsNotWrong) {
  const NetJudgement judgement = judged(Archive{});
  EXPECT_TRUE(judgement.findings.empty());
  for (const NetCheck& check : judgement.checks) EXPECT_NE(check.outcome, "wrong") << check.what;
}

std::vector<RankPlace> places(int hosts, int each, bool cyclic) {
  std::vector<RankPlace> all;
  for (int rank = 0; rank < hosts * each; ++rank) {
    const int host = cyclic ? rank % hosts : rank / each;
    const int gpu = cyclic ? rank / hosts : rank % each;
    all.push_back({rank, fmt::format("node{}", host), gpu, fmt::format("mlx5_{}", gpu)});
  }
  return all;
}

TEST(RankPlaces, PackedNodeByNodeIsQuiet) {
  EXPECT_TRUE(judge_rank_places(places(2, 8, false)).empty());
  EXPECT_TRUE(judge_rank_places(places(1, 8, false)).empty());
  EXPECT_TRUE(judge_rank_places(places(4, 1, false)).empty());
  EXPECT_TRUE(judge_rank_places({}).empty());
}

TEST(RankPlaces, CyclicUnevenAndOffTheRail) {
  const auto cyclic = judge_rank_places(places(2, 8, true));
  ASSERT_EQ(ids_of(cyclic), "topo.ranks-scattered ");
  EXPECT_THAT(cyclic[0].summary, HasSubstr("of 15 pairs of neighbouring ranks 15 are on two hosts, "
                                           "packed it would be 1"));
  auto uneven = places(2, 8, false);
  uneven.pop_back();
  EXPECT_EQ(ids_of(judge_rank_places(uneven)), "topo.ranks-uneven ");
  auto swapped = places(3, 8, false);
  std::swap(swapped[8].nic, swapped[9].nic);
  const auto off = judge_rank_places(swapped);
  ASSERT_EQ(ids_of(off), "topo.ranks-off-rail ");
  EXPECT_THAT(off[0].ranks, testing::ElementsAre(8, 9));
  EXPECT_THAT(off[0].summary, HasSubstr("GPU0 of node1 uses mlx5_1, elsewhere mlx5_0"));
}

// A rank that no file shows may be on any host.
TEST(RankPlaces, UnevenOnlyWhereAllRanksAreSeen) {
  auto all = places(2, 8, false);
  all.pop_back();
  for (const int size : {0, 15, 16, 64}) {
    for (RankPlace& place : all) place.of_ranks = size;
    EXPECT_EQ(ids_of(judge_rank_places(all)), size <= 15 ? "topo.ranks-uneven " : "") << size;
  }
}

TEST(RankPlaces, OfALog) {
  nccl::DebugLog log;
  log.hosts = {"node0", "node1"};
  log.processes = {{.host = 0}, {.host = 1}, {.host = 0}, {.host = 1}};
  log.comms = {{.size = 2}, {.size = 4}};
  for (int i = 0; i < 4; ++i)
    log.ranks.push_back({.comm = 1, .process = i, .rank = i, .bus_id = i < 2 ? 0x18U : 0x2aU});
  log.ranks.push_back({.comm = 0, .process = 3, .rank = 0});
  const auto places = rank_places_of(log);
  ASSERT_EQ(places.size(), 4U);
  EXPECT_EQ(places[2].host, "node0");
  EXPECT_EQ(places[2].local_gpu, 1);
  EXPECT_EQ(places[2].of_ranks, 4);
  EXPECT_EQ(ids_of(judge_rank_places(places)), "topo.ranks-scattered ");
}

TEST(HostState, LimitsHaveSourcesAndIdsEntries) {
  for (const NetLimit& row : host_limits()) EXPECT_NE(std::string(row.source), "") << row.name;
  for (const char* id : {"topo.cpu-quota", "topo.ranks-scattered", "topo.shm-small"})
    EXPECT_NE(core::find_finding(id), nullptr) << id;
}

}  // namespace
}  // namespace comm_probe::diagnose
