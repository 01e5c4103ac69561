// Two healthy jobs in one folder: what differs between them is no fault. And what joins hosts of
// one job is found, so that what differs inside of it still is.
#include <gtest/gtest.h>

#include <regex>

#include "pile.h"

namespace comm_probe::test {
namespace {

const fs::path kHealthy = fs::path(COMM_PROBE_SOURCE_DIR) / "tests/inputs/healthy";

std::vector<json> weighty(const json& document) {
  std::vector<json> findings;
  for (const json& finding : document["findings"])
    if (finding["severity"] != "info") findings.push_back(finding);
  return findings;
}

class TwoJobs : public Pile {};
class HealthyPairs : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(HealthyPairs, AreQuiet) {
  const auto& [one, other] = GetParam();
  const BinaryRun run =
      run_binary({"doctor", (kHealthy / one).string(), (kHealthy / other).string(), "--json"});
  const json document = json::parse(run.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << run;
  EXPECT_TRUE(weighty(document).empty()) << json(weighty(document)).dump(1);
  EXPECT_EQ(run.status, 0) << document["caveats"].dump(1);
}

INSTANTIATE_TEST_SUITE_P(All, HealthyPairs,
                         testing::Values(std::pair("dgx-h100", "pcie-box"),
                                         std::pair("dgx-h100", "ndr-2n"),
                                         std::pair("ndr-2n", "pcie-box")),
                         [](const auto& info) {
                           return std::regex_replace(
                               std::string(info.param.first) + "_and_" + info.param.second,
                               std::regex("-"), "_");
                         });

struct JobText {
  std::string host = "a";
  int nodes = 2;
  int nics = 8;
  std::string id = "0xab";  // empty: no line names a communicator
  std::string network = "IB";
  std::string bootstrap = "eth0:192.0.2.7";
};

std::string log_of(const JobText& job, int only_node = -1) {
  std::string log, nics = "NET/IB : Using";
  for (int i = 0; i < job.nics; ++i)
    nics += " [" + std::to_string(i) + "]mlx5_" + std::to_string(i) + ":1/IB";
  for (int rank = 0; rank < 2 * job.nodes; ++rank) {
    if (only_node >= 0 && rank / 2 != only_node) continue;
    const std::string gpu = std::to_string(rank % 2), pid = std::to_string(4000 + rank);
    const std::string head = job.host + std::to_string(1 + rank / 2) + ":" + pid + ":" + pid +
                             " [" + gpu + "] NCCL INFO ";
    log += head + "NCCL version 2.28.9+cuda12.8\n" + head + "Bootstrap: Using " + job.bootstrap +
           "<0>\n";
    if (job.network == "IB") log += head + nics + " [RO]; OOB eth0:192.0.2.7<0>\n";
    log += head + "Using network " + job.network + "\n";
    if (!job.id.empty())
      log += head + "ncclCommInitRankConfig comm 0x55c6d68d7b2" + std::to_string(rank) + " rank " +
             std::to_string(rank) + " nranks " + std::to_string(2 * job.nodes) + " cudaDev " + gpu +
             " nvmlDev " + gpu + " busId " + std::to_string(rank % 2 + 7) + "000 commId " + job.id +
             " - Init COMPLETE\n";
  }
  return log;
}

// A fixed NCCL_COMM_ID gives every job the same identity: a rank is one process all the same.
TEST_F(TwoJobs, OneIdentityOfTwoJobsIsNoCommunicator) {
  for (const std::string id : {"0xab", "0xcd"}) {
    const json document =
        told({put("a.log", log_of({})), put("b.log", log_of({.host = "b", .nics = 2, .id = id}))});
    EXPECT_TRUE(weighty(document).empty()) << json(weighty(document)).dump(1);
  }
}

TEST_F(TwoJobs, InOneJobFewerNicsAreAFault) {
  JobText fewer{.nics = 2};
  const json document = told({put("a.log", log_of({}, 0)), put("b.log", log_of(fewer, 1)),
                              put("c.log", log_of({.host = "c", .nics = 4, .id = "0xcd"}))});
  ASSERT_TRUE(has_id(document["findings"], "log.nics-differ")) << document.dump(1);
  const json& finding = document["findings"][0];
  EXPECT_EQ(finding["id"], "log.nics-differ");
  EXPECT_EQ(finding["confidence"], "certain");
  EXPECT_NE(finding["summary"].get<std::string>().find("a2 uses 2 NICs where a1"),
            std::string::npos)
      << finding;
}

// Lines of two hosts that nothing joins: said, accused of nothing. One text, or a table, joins
// them.
TEST_F(TwoJobs, WhatNothingJoinsIsOnlyNoted) {
  const JobText many{.nodes = 1, .id = ""}, few{.host = "b", .nodes = 1, .nics = 2, .id = ""};
  const json apart = told({put("a.log", log_of(many)), put("b.log", log_of(few))});
  EXPECT_TRUE(weighty(apart).empty()) << json(weighty(apart)).dump(1);
  EXPECT_TRUE(has_id(apart["findings"], "log.nics-differ"));
  const json together = told({put("both.log", log_of(many) + log_of(few))});
  EXPECT_EQ(weighty(together).size(), 1u) << together["findings"].dump(1);
  std::string hosts = table(2, 2, 40);
  hosts = std::regex_replace(std::regex_replace(hosts, std::regex("node01"), "a1    "),
                             std::regex("node02"), "b1    ");
  const json by_table =
      told({put("a.log", log_of(many)), put("b.log", log_of(few)), put("table.txt", hosts)});
  EXPECT_TRUE(has_id(weighty(by_table), "log.nics-differ")) << by_table["findings"].dump(1);
}

// A job on Ethernet beside one on InfiniBand; two jobs of one node each that meet at a loopback
// address.
TEST_F(TwoJobs, NetworksOfTwoJobsAreTheirOwn) {
  const json sockets =
      told({put("a.log", log_of({})),
            put("b.log", log_of({.host = "b", .id = "0xcd", .network = "Socket"}))});
  EXPECT_TRUE(weighty(sockets).empty()) << json(weighty(sockets)).dump(1);
  const JobText one{.nodes = 1, .bootstrap = "lo:127.0.0.1"};
  JobText other = one;
  other.host = "b";
  other.id = "0xcd";
  const json loopback = told({put("a.log", log_of(one)), put("b.log", log_of(other))});
  EXPECT_TRUE(weighty(loopback).empty()) << json(weighty(loopback)).dump(1);
}

}  // namespace
}  // namespace comm_probe::test
