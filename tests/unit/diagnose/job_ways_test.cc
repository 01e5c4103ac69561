#include "diagnose/job_ways.h"

#include <gtest/gtest.h>

#include "job_parts.h"

namespace comm_probe::diagnose {
namespace {

struct Ways {
  int ranks = 4;
  int nodes = 1;
  std::string inside = "SHM/direct/direct";
  std::string setting = "";
  int nics = 4;       // that NCCL lists
  int nics_used = 4;  // of each node
};

// A job as NCCL prints it: a ring inside of each node, one connection between nodes per rank.
std::string log_of(const Ways& ways) {
  std::string log, list = "NET/IB : Using";
  for (int i = 0; i < ways.nics; ++i)
    list += " [" + std::to_string(i) + "]mlx5_" + std::to_string(i) + ":1/IB";
  const int local = ways.ranks / ways.nodes;
  for (int rank = 0; rank < ways.ranks; ++rank) {
    const std::string gpu = std::to_string(rank % local), pid = std::to_string(100 + rank);
    const std::string head = "node" + std::to_string(1 + rank / local) + ":" + pid + ":" + pid +
                             " [" + gpu + "] NCCL INFO ";
    const std::string me = std::to_string(rank) + "[" + gpu + "] -> ";
    log += head + list + " [RO]; OOB eth0:192.0.2.1<0>\n";
    if (!ways.setting.empty()) log += head + ways.setting + " set by environment to 1.\n";
    log += head + "ncclCommInitRankConfig comm 0x55 rank " + std::to_string(rank) + " nranks " +
           std::to_string(ways.ranks) + " cudaDev " + gpu + " nvmlDev " + gpu + " busId " +
           std::to_string(1 + rank % local) + "8000 commId 0xab - Init START\n";
    log += head + "Channel 00 : " + me + std::to_string((rank + 1) % ways.ranks) + "[" +
           std::to_string((rank + 1) % local) + "] via " + ways.inside + "\n";
    if (ways.nodes > 1)
      log += head + "Channel 00/0 : " + me + std::to_string((rank + local) % ways.ranks) + "[" +
             gpu + "] [send] via NET/IB/" + std::to_string(rank % local % ways.nics_used) +
             "/GDRDMA\n";
  }
  return log;
}

std::vector<std::string> ids_of(const std::vector<core::Finding>& findings) {
  std::vector<std::string> ids;
  for (const core::Finding& finding : findings) ids.push_back(finding.id);
  return ids;
}

std::string without_nvlink() {
  std::string matrix = matrix_of_two();
  for (std::size_t at = matrix.find("NV18"); at != matrix.npos; at = matrix.find("NV18"))
    matrix.replace(at, 4, "SYS");
  return matrix;
}

TEST(JobWays, HostMemoryAlthoughThereIsNvlink) {
  JobParts parts;
  parts.add_machine("node1", true, {matrix_of_two()});
  parts.add_log(log_of({.ranks = 2}));
  const auto findings = judge_ways(parts.facts(), std::nullopt, {});
  ASSERT_EQ(ids_of(findings), std::vector<std::string>{"job.nvlink-unused"});
  for (const char* word : {"SHM", "NV18", "node1"})
    EXPECT_NE(findings[0].summary.find(word), std::string::npos) << findings[0].summary;
  parts.add_log(log_of({.ranks = 2, .setting = "NCCL_P2P_DISABLE"}));
  const auto by_setting = judge_ways(parts.facts(), std::nullopt, {});
  ASSERT_EQ(by_setting.size(), 1U);
  EXPECT_EQ(by_setting[0].next.front(), "unset NCCL_P2P_DISABLE");
}

TEST(JobWays, HostMemoryWithoutNvlinkAndPeersOverNvlinkAreFine) {
  JobParts plain;
  plain.add_machine("node1", true, {without_nvlink()});
  plain.add_log(log_of({.ranks = 2}));
  EXPECT_TRUE(judge_ways(plain.facts(), std::nullopt, {}).empty());
  JobParts healthy;
  healthy.add_machine("node1", true, {matrix_of_two()});
  healthy.add_log(log_of({.ranks = 2, .inside = "P2P/CUMEM"}));
  EXPECT_TRUE(judge_ways(healthy.facts(), std::nullopt, {}).empty());
}

// The machine of another host says nothing of these connections.
TEST(JobWays, AnotherHostsNvlinkSaysNothing) {
  JobParts parts;
  parts.add_machine("node7", true, {matrix_of_two()});
  parts.add_log(log_of({.ranks = 2}));
  EXPECT_TRUE(judge_ways(parts.facts(), std::nullopt, {}).empty());
}

TEST(JobWays, AFewOfTheListedNics) {
  for (const auto& [nics, used, is_found] :
       {std::tuple(4, 1, true), std::tuple(4, 2, true), std::tuple(4, 3, false),
        std::tuple(4, 4, false), std::tuple(1, 1, false)}) {
    JobParts parts;
    parts.add_log(
        log_of({.ranks = 8, .nodes = 2, .inside = "P2P/CUMEM", .nics = nics, .nics_used = used}));
    const auto findings = judge_ways(parts.facts(), std::nullopt, {});
    EXPECT_EQ(findings.size(), is_found ? 1U : 0U) << nics << " " << used;
    if (is_found) {
      EXPECT_EQ(findings[0].id, "job.nics-unused");
      EXPECT_EQ(findings[0].severity, core::Severity::kInfo);  // nothing is slow
    }
  }
}

// One GPU of each node sends over one NIC, as it should.
TEST(JobWays, FewGpusUseFewNics) {
  JobParts parts;
  parts.add_log(log_of({.ranks = 2, .nodes = 2, .nics = 8, .nics_used = 1}));
  EXPECT_TRUE(judge_ways(parts.facts(), std::nullopt, {}).empty());
}

TEST(JobWays, BesideAGapItAccountsForIt) {
  JobParts parts;
  parts.add_log(log_of({.ranks = 8, .nodes = 2, .inside = "P2P/CUMEM", .nics = 4, .nics_used = 1}));
  for (const char* host : {"node1", "node2"})
    parts.add_machine(host, true, {ibstat_of({"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"})});
  parts.add_table("slow.txt", 8, 2, 44);
  const auto gap = find_gap(parts.facts());
  ASSERT_TRUE(gap.has_value());
  auto findings = judge_ways(parts.facts(), gap, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].severity, core::Severity::kWarning);
  explain_gap(parts.facts(), *gap, findings);
  ASSERT_TRUE(findings[0].explains.has_value());
  EXPECT_GT(findings[0].explains->value, 0.9 * gap->size().in_GBps());
}

}  // namespace
}  // namespace comm_probe::diagnose
