#include "diagnose/job_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/finding_table.h"
#include "job_parts.h"

namespace comm_probe::diagnose {
namespace {

TEST(JobTree, AStarTakesWhatBeginsSo) {
  EXPECT_TRUE(takes("topo.nvlink-*", "topo.nvlink-inactive"));
  EXPECT_FALSE(takes("topo.nvlink-*", "topo.port-slow"));
  EXPECT_TRUE(takes("job.gap", "job.gap"));
  EXPECT_FALSE(takes("job.gap", "job.gap-wide"));
}

// The document: slow from the bottom up, stuck from the top down.
TEST(JobTree, SlowGoesUpAndStuckGoesDown) {
  const std::vector<const char*> upwards = {
      "topo.nvlink-inactive", "topo.acs-redirects", "topo.port-slow",    "log.tcp-fallback",
      "log.gdr-distance",     "job.nics-unused",    "curve.plateau-low", "trace.straggler"};
  for (std::size_t i = 1; i < upwards.size(); ++i)
    EXPECT_LT(place_in(JobTree::kSlow, upwards[i - 1]), place_in(JobTree::kSlow, upwards[i]))
        << upwards[i];
  const std::vector<const char*> downwards = {"hang.count-mismatch",  "log.exception",
                                              "log.ib-no-answer",     "topo.acs-redirects",
                                              "topo.port-not-active", "log.gpu-fault"};
  for (std::size_t i = 1; i < downwards.size(); ++i)
    EXPECT_LT(place_in(JobTree::kStuck, downwards[i - 1]), place_in(JobTree::kStuck, downwards[i]))
        << downwards[i];
  EXPECT_GT(place_in(JobTree::kSlow, "no.such-id"), place_in(JobTree::kSlow, "trace.straggler"));
}

// A question that asks for an id which nobody says would stay "fine" for ever.
TEST(JobTree, EveryPatternTakesAFindingThatExists) {
  const auto all = core::all_findings();
  for (const JobQuestion& question : job_questions())
    for (const std::string_view pattern : question.ids)
      EXPECT_TRUE(
          std::any_of(all.begin(), all.end(),
                      [&](const core::FindingEntry* entry) { return takes(pattern, entry->id); }))
          << question.key << ": " << pattern;
}

// Wrong numbers are never the network's.
TEST(JobTree, WrongNumbersAskNoNetwork) {
  for (const JobQuestion& question : job_questions()) {
    if (question.tree != JobTree::kWrong) continue;
    for (const std::string_view id : question.ids) {
      EXPECT_FALSE(id.starts_with("topo.")) << id;
      EXPECT_FALSE(takes("log.ib-*", id) || takes("log.tcp-*", id)) << id;
    }
  }
}

TEST(JobTree, EveryQuestionSaysWhatWouldAnswerIt) {
  std::set<std::pair<JobTree, std::string>> keys;
  for (const JobQuestion& question : job_questions()) {
    EXPECT_NE(std::string(question.to_know), "") << question.key;
    EXPECT_FALSE(question.ids.empty()) << question.key;
    EXPECT_TRUE(keys.emplace(question.tree, question.key).second) << question.key;
  }
}

const JobVisit& visit_of(const std::vector<JobVisit>& visits, const std::string& key) {
  for (const JobVisit& visit : visits)
    if (visit.question->key == key) return visit;
  ADD_FAILURE() << key;
  return visits.front();
}

TEST(JobTree, EachQuestionIsFoundFineOrNotThere) {
  JobParts parts;
  parts.add_machine("node1", true, {matrix_of_two(), ibstat_of({"mlx5_0", "mlx5_4"})});
  ASSERT_EQ(parts.machines.size(), 1U);
  std::vector<core::Finding> findings = {core::make_finding("topo.port-slow", "slow"),
                                         core::make_finding("topo.nic-shared", "shared")};
  const auto visits = walk(JobTree::kSlow, parts.facts(), findings);
  using Outcome = JobVisit::Outcome;
  EXPECT_EQ(visit_of(visits, "hardware").outcome, Outcome::kNotThere);  // paths have no rates
  EXPECT_EQ(visit_of(visits, "ports").outcome, Outcome::kFound);
  EXPECT_EQ(visit_of(visits, "ports").findings, (std::vector<std::size_t>{0}));
  EXPECT_EQ(visit_of(visits, "network").outcome, Outcome::kNotThere);
  EXPECT_EQ(visit_of(visits, "framework").outcome, Outcome::kNotThere);
  EXPECT_EQ(visit_of(visits, "alike").outcome, Outcome::kNotThere);  // one machine alone
  // Information is named where it belongs and decides nothing.
  EXPECT_NE(visit_of(visits, "nics").outcome, Outcome::kFound);
  EXPECT_EQ(visit_of(visits, "nics").findings, (std::vector<std::size_t>{1}));
}

// "Fine" needs the fact that the question asks for, not one that stands near it.
TEST(JobTree, WhatOnlyStandsNearAQuestionClearsNothing) {
  using Outcome = JobVisit::Outcome;
  JobParts parts;
  parts.add_machine("node1", true, {matrix_of_two()});
  const auto outcome = [&](JobTree tree, const std::string& key) {
    return visit_of(walk(tree, parts.facts(), {}), key).outcome;
  };
  EXPECT_EQ(outcome(JobTree::kSlow, "hardware"), Outcome::kNotThere);
  EXPECT_EQ(outcome(JobTree::kStuck, "hardware"), Outcome::kNotThere);
  // A log of sockets; a NIC that could do GPUDirect RDMA; one rank of sixteen.
  parts.add_log(
      "node1:1:1 [0] NCCL INFO NCCL version 2.28.3+cuda13.0\n"
      "node1:1:1 [0] NCCL INFO NET/Socket : GPU Direct RDMA Enabled for HCA 0 'eth0'\n"
      "node1:1:1 [0] NCCL INFO Using network Socket\n"
      "node1:1:1 [0] NCCL INFO ncclCommInitRank comm 0x5 rank 0 nranks 16 cudaDev 0 nvmlDev 0 "
      "busId "
      "60 commId 0x89 - Init START\n"
      "node1:1:1 [0] NCCL INFO comm 0x5 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL "
      "0\n");
  for (const char* key : {"processes", "start", "network", "calls"})
    EXPECT_EQ(outcome(JobTree::kStuck, key), Outcome::kNotThere) << key;
  for (const char* key : {"network", "gdr", "nics", "links", "ports"})
    EXPECT_EQ(outcome(JobTree::kSlow, key), Outcome::kNotThere) << key;
  for (const char* key : {"numbers", "order"})
    EXPECT_EQ(outcome(JobTree::kWrong, key), Outcome::kNotThere) << key;
}

// ibstat of a RoCE port prints no GID.
TEST(JobTree, PortsOfRoceNeedTheirGids) {
  for (const auto& [layer, is_fine] : {std::pair("InfiniBand", true), {"Ethernet", false}}) {
    JobParts parts;
    std::string text = ibstat_of({"mlx5_0"});
    text.replace(text.find("InfiniBand"), 10, layer);
    parts.add_machine("node1", true, {text});
    EXPECT_EQ(visit_of(walk(JobTree::kSlow, parts.facts(), {}), "ports").outcome ==
                  JobVisit::Outcome::kFine,
              is_fine)
        << layer;
  }
}

// A finding belongs to one question of a tree.
TEST(JobTree, NoFindingIsCountedTwice) {
  JobParts parts;
  std::vector<core::Finding> findings;
  for (const char* id :
       {"topo.memlock-low", "topo.net-discards", "log.no-interface", "topo.gdr-no-module"})
    if (core::find_finding(id) != nullptr) findings.push_back(core::make_finding(id, "so"));
  std::size_t named = 0;
  for (const JobVisit& visit : walk(JobTree::kSlow, parts.facts(), findings))
    named += visit.findings.size();
  EXPECT_EQ(named, findings.size());
}

}  // namespace
}  // namespace comm_probe::diagnose
