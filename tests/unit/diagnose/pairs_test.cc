#include "diagnose/pairs.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;

curve::Reading all_pairs(int nodes, double GBps) {
  curve::Reading reading;
  reading.file = "pairs.csv";
  for (int a = 1; a <= nodes; ++a)
    for (int b = a + 1; b <= nodes; ++b) {
      curve::Pair pair;
      pair.test = "alltoall_perf";
      pair.node_a = "node" + std::to_string(a);
      pair.node_b = "node" + std::to_string(b);
      pair.gpus_per_node = 1;
      pair.avg_busbw = Bandwidth::from_GBps(GBps + 0.01 * a);
      pair.line = reading.pairs.size() + 2;
      reading.pairs.push_back(pair);
    }
  return reading;
}

template <class Change>
void change_pairs_of(curve::Reading& reading, const std::string& node, Change change) {
  for (auto& pair : reading.pairs)
    if (pair.node_a == node || pair.node_b == node) change(pair);
}

TEST(Pairs, AUniformClusterHasNoFinding) {
  EXPECT_TRUE(judge_pairs(all_pairs(6, 13.4)).findings.empty());
}

TEST(Pairs, OneSlowPairIsAPair) {
  curve::Reading reading = all_pairs(6, 13.4);
  reading.pairs[2].avg_busbw = Bandwidth::from_GBps(5.7);
  const Judgement judgement = judge_pairs(reading);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.pair-slow");
  EXPECT_EQ(judgement.findings[0].evidence[0].line, 4U);
  EXPECT_NE(judgement.findings[0].summary.find("node1-node4"), std::string::npos);
}

TEST(Pairs, ANodeWhosePairsAreAllSlowIsTheNode) {
  curve::Reading reading = all_pairs(6, 13.4);
  change_pairs_of(reading, "node3",
                  [](curve::Pair& pair) { pair.avg_busbw = Bandwidth::from_GBps(6); });
  const Judgement judgement = judge_pairs(reading);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.node-slow");
  EXPECT_NE(judgement.findings[0].summary.find("node3"), std::string::npos);
}

TEST(Pairs, ThreeSlowPairsAroundOneNodeOfManyAreNotTheNode) {
  curve::Reading reading = all_pairs(12, 13.4);  // 11 pairs per node
  int slow = 0;
  change_pairs_of(reading, "node4", [&](curve::Pair& pair) {
    if (slow++ < 3) pair.avg_busbw = Bandwidth::from_GBps(5);
  });
  const Judgement judgement = judge_pairs(reading);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.pair-slow");
}

TEST(Pairs, APairWithoutAResultIsNamed) {
  curve::Reading reading = all_pairs(5, 13.4);
  reading.pairs[0].avg_busbw.reset();
  const Judgement judgement = judge_pairs(reading);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.pair-failed");
}

// Another number of GPUs per node is another group: 92 GB/s beside 38 GB/s is not a slow pair.
TEST(Pairs, GroupsAreNotMixed) {
  curve::Reading reading = all_pairs(6, 38), eight = all_pairs(6, 92);
  for (auto& pair : eight.pairs) {
    pair.gpus_per_node = 8;
    reading.pairs.push_back(pair);
  }
  EXPECT_TRUE(judge_pairs(reading).findings.empty());
}

}  // namespace
}  // namespace comm_probe::diagnose
