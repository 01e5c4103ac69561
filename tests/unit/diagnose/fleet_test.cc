// Slow node or slow path: made clusters of which the truth is known, and the public ones c72, c73.
#include "diagnose/fleet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;

std::string node(int number) { return "node" + std::to_string(number); }

Fleet all_pairs(int nodes, double GBps) {
  Fleet fleet;
  for (int a = 1; a <= nodes; ++a)
    for (int b = a + 1; b <= nodes; ++b)
      fleet.pairs.push_back({"alltoall_perf with 1 GPU per node", node(a), node(b), false,
                             Bandwidth::from_GBps(GBps + 0.01 * a), "pairs.csv",
                             fleet.pairs.size() + 2});
  return fleet;
}

void set(Fleet& fleet, int a, int b, double GBps) {
  for (PairResult& pair : fleet.pairs)
    if (pair.node_a == node(a) && pair.node_b == node(b)) pair.rate = Bandwidth::from_GBps(GBps);
}
void set_all_of(Fleet& fleet, int a, double GBps) {
  for (PairResult& pair : fleet.pairs)
    if (pair.node_a == node(a) || pair.node_b == node(a)) pair.rate = Bandwidth::from_GBps(GBps);
}
void keep(Fleet& fleet, std::initializer_list<std::pair<int, int>> pairs) {
  std::erase_if(fleet.pairs, [&](const PairResult& pair) {
    return std::none_of(pairs.begin(), pairs.end(), [&](const auto& wanted) {
      return pair.node_a == node(wanted.first) && pair.node_b == node(wanted.second);
    });
  });
}

TEST(Fleet, AUniformClusterHasNoFinding) {
  EXPECT_TRUE(judge_fleet(all_pairs(6, 13.4)).findings.empty());
}

// The worked example of fleet.h.
TEST(Fleet, OneSlowPairOfProvenNodesIsThePath) {
  Fleet fleet = all_pairs(4, 13.4);
  set(fleet, 1, 3, 5.8);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.pair-slow");
  EXPECT_EQ(judgement.findings[0].evidence.at(0).line, 3U);
  EXPECT_NE(judgement.findings[0].summary.find("node1-node3"), std::string::npos);
}

TEST(Fleet, ANodeWhosePairsAreAllSlowIsTheNode) {
  Fleet fleet = all_pairs(6, 13.4);
  set_all_of(fleet, 3, 6);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.node-slow");
  EXPECT_EQ(judgement.findings[0].confidence, core::Confidence::kLikely);
  EXPECT_NE(judgement.findings[0].summary.find("node3"), std::string::npos);
}

// Half of the pairs of four nodes are those of one node.
TEST(Fleet, OneNodeOfFourIsTheNode) {
  Fleet fleet = all_pairs(4, 13.4);
  set_all_of(fleet, 4, 6);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.node-slow");
}

TEST(Fleet, InATriangleTheNodeIsPossible) {
  Fleet fleet = all_pairs(4, 13.4);
  keep(fleet, {{1, 2}, {1, 3}, {1, 4}, {2, 3}, {2, 4}});
  set_all_of(fleet, 4, 6);  // 1-4 and 2-4
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.node-slow");
  EXPECT_EQ(judgement.findings[0].confidence, core::Confidence::kPossible);
}

TEST(Fleet, ThreeSlowPairsAroundOneNodeOfManyAreNotTheNode) {
  Fleet fleet = all_pairs(12, 13.4);  // 11 pairs per node
  for (const int other : {5, 6, 7}) set(fleet, 4, other, 5);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.pair-slow");
}

// A node that was measured once, slowly: node and path both fit, and the next run is named.
TEST(Fleet, WhereBothFitTheNextPairIsNamed) {
  Fleet fleet = all_pairs(5, 13.4);
  keep(fleet, {{1, 2}, {1, 3}, {2, 3}, {1, 4}, {2, 4}, {3, 5}});
  set(fleet, 3, 5, 5.8);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  const auto& finding = judgement.findings[0];
  EXPECT_EQ(finding.id, "curve.pair-or-node");
  EXPECT_EQ(finding.confidence, core::Confidence::kPossible);
  ASSERT_EQ(finding.next.size(), 1U);
  EXPECT_TRUE(finding.next[0].starts_with("node5 with node1:")) << finding.next[0];
}

// Disjoint pairs, one of them slow: neither of its nodes is proven.
TEST(Fleet, OfDisjointPairsBothNodesAreOpen) {
  Fleet fleet = all_pairs(8, 13.4);
  keep(fleet, {{1, 2}, {3, 4}, {5, 6}, {7, 8}});
  set(fleet, 5, 6, 6);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.pair-or-node");
  EXPECT_EQ(judgement.findings[0].next.size(), 2U);
}

// The worked example of pair_levels.h: two of three pairs are slow, so the median is.
TEST(Fleet, WhereMostPairsAreSlowWhatIsLeftIsSaid) {
  Fleet fleet = all_pairs(3, 24);
  set(fleet, 2, 3, 48.3);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  const auto& finding = judgement.findings[0];
  EXPECT_EQ(finding.id, "curve.pair-or-node");
  EXPECT_EQ(finding.confidence, core::Confidence::kPossible);
  EXPECT_NE(finding.summary.find("node1"), std::string::npos) << finding.summary;
  EXPECT_NEAR(finding.expected->value, 48.3, 0.1);
  EXPECT_NEAR(finding.observed->value, 24, 0.1);
  EXPECT_FALSE(finding.next.empty());
}

// Any number of slow nodes that have most of the pairs: all of them are named, no other one is.
TEST(Fleet, HalfAFleetThatIsSlow) {
  for (const auto& [all, slow] : {std::pair(8, 4), std::pair(6, 3), std::pair(16, 7)}) {
    Fleet fleet = all_pairs(all, 48);
    for (int each = 1; each <= slow; ++each) set_all_of(fleet, each, 24);
    const Judgement judgement = judge_fleet(fleet);
    ASSERT_EQ(judgement.findings.size(), 1U) << all;
    const auto& finding = judgement.findings[0];
    EXPECT_EQ(finding.confidence, core::Confidence::kPossible);
    for (int each = 1; each <= all; ++each)
      EXPECT_EQ(finding.summary.find(node(each) + (each == slow ? " " : ",")) != std::string::npos,
                each <= slow)
          << finding.summary;
  }
}

// Fast inside of two groups, slow between them: as many fabrics are built, so only noted.
TEST(Fleet, GroupsOfNodesWithNarrowPathsBetweenThem) {
  Fleet fleet = all_pairs(8, 24);
  for (int a = 1; a <= 8; ++a)
    for (int b = a + 1; b <= 8; ++b)
      if ((a <= 4) == (b <= 4)) set(fleet, a, b, 48);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].severity, core::Severity::kInfo);
  EXPECT_NE(judgement.findings[0].summary.find("groups"), std::string::npos);
}

// Racks of unlike sizes: most pairs are of the large one and fast, so that every node of a small
// one has mostly slow pairs. None of them is at fault.
TEST(Fleet, NodesOfASmallRackAreNotSlowNodes) {
  for (const std::vector<int>& racks :
       {std::vector<int>{6, 2}, {12, 2, 2}, {9, 3}, {20, 2, 3, 4}}) {
    std::vector<int> rack_of = {0};
    for (std::size_t i = 0; i < racks.size(); ++i) rack_of.insert(rack_of.end(), racks[i], i);
    const int nodes = static_cast<int>(rack_of.size()) - 1;
    Fleet fleet = all_pairs(nodes, 48);
    for (int a = 1; a <= nodes; ++a)
      for (int b = a + 1; b <= nodes; ++b)
        if (rack_of[a] != rack_of[b]) set(fleet, a, b, 23.0 + 0.1 * ((a + b) % 5));
    set(fleet, 1, 2, 47.1);  // figures differ
    const Judgement judgement = judge_fleet(fleet);
    ASSERT_EQ(judgement.findings.size(), 1U);
    EXPECT_EQ(judgement.findings[0].id, "curve.pair-or-node");
    EXPECT_EQ(judgement.findings[0].severity, core::Severity::kInfo);
    EXPECT_NE(judgement.findings[0].summary.find("groups"), std::string::npos);
  }
}

TEST(Fleet, ASlowNodeBesideASmallRackIsStillTheNode) {
  Fleet fleet = all_pairs(14, 48);
  for (int a = 1; a <= 12; ++a)
    for (int b = 13; b <= 14; ++b) set(fleet, a, b, 24);
  set_all_of(fleet, 4, 12);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 2U);
  EXPECT_EQ(judgement.findings[0].id, "curve.node-slow");
  EXPECT_NE(judgement.findings[0].summary.find("node4"), std::string::npos);
  EXPECT_EQ(judgement.findings[1].id, "curve.pair-or-node");
}

// Two bad nodes are slow with each other too.
TEST(Fleet, TwoSlowNodesAreNoRack) {
  Fleet fleet = all_pairs(8, 48);
  set_all_of(fleet, 2, 20);
  set_all_of(fleet, 7, 20);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 2U);
  for (const auto& finding : judgement.findings) EXPECT_EQ(finding.id, "curve.node-slow");
}

// Three figures of a noisy network are no levels, whatever their order.
TEST(Fleet, NoiseOfThreePairsIsNoFinding) {
  for (const double third : {20.0, 22.0, 27.0, 30.0}) {
    Fleet fleet = all_pairs(3, 24);
    set(fleet, 1, 2, third);
    set(fleet, 2, 3, 26);
    EXPECT_TRUE(judge_fleet(fleet).findings.empty()) << third;
  }
}

// Noise that is as wide as the gap is no slow pair.
TEST(Fleet, NoiseIsNoFinding) {
  Fleet fleet = all_pairs(6, 13.4);
  for (std::size_t i = 0; i < fleet.pairs.size(); ++i)
    fleet.pairs[i].rate = Bandwidth::from_GBps(9 + 0.6 * static_cast<double>(i * 7 % 15));
  EXPECT_TRUE(judge_fleet(fleet).findings.empty());
}

// Six single figures of four healthy nodes; chance alone makes one of a hundred fleets look odd.
TEST(Fleet, NoiseOfFourNodesAccusesNobody) {
  for (const auto& [noise, most] : {std::pair(0.05, 0), std::pair(0.1, 4), std::pair(0.15, 6)}) {
    int accused = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
      std::mt19937 random(seed);
      std::normal_distribution<double> factor(1, noise);
      Fleet fleet = all_pairs(4, 48);
      for (PairResult& pair : fleet.pairs)
        pair.rate = Bandwidth::from_GBps(48 * std::max(0.1, factor(random)));
      accused += judge_fleet(fleet).findings.empty() ? 0 : 1;
    }
    EXPECT_LE(accused, most) << noise;
  }
}

// The path that is half as fast is found all the same.
TEST(Fleet, ASlowPathOfFourNodesIsFoundThroughNoise) {
  int found = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> factor(1, 0.03);
    Fleet fleet = all_pairs(4, 48);
    for (PairResult& pair : fleet.pairs) pair.rate = Bandwidth::from_GBps(48 * factor(random));
    set(fleet, 1, 3, 24 * factor(random));
    const Judgement judgement = judge_fleet(fleet);
    if (judgement.findings.size() == 1 && judgement.findings[0].id == "curve.pair-slow") ++found;
  }
  EXPECT_GE(found, 48);
}

TEST(Fleet, APairWithoutAResultIsNamed) {
  Fleet fleet = all_pairs(5, 13.4);
  fleet.pairs[0].rate.reset();
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.pair-failed");
}

// Another number of GPUs per node is another group: 92 GB/s beside 38 GB/s is not a slow pair.
TEST(Fleet, GroupsAreNotMixed) {
  Fleet fleet = all_pairs(6, 92);
  for (PairResult& pair : all_pairs(6, 38).pairs) {
    pair.group = "alltoall_perf with 8 GPUs per node";
    fleet.pairs.push_back(pair);
  }
  EXPECT_TRUE(judge_fleet(fleet).findings.empty());
}

// A repeat that is fast shows that the pair can be fast; a matrix counts the slower direction.
TEST(Fleet, RepeatsAndDirections) {
  Fleet fleet = all_pairs(5, 13.4);
  set(fleet, 2, 3, 6);
  fleet.pairs.push_back(fleet.pairs[0]);
  fleet.pairs.back().node_a = node(2);
  fleet.pairs.back().node_b = node(3);
  fleet.pairs.back().rate = Bandwidth::from_GBps(13.4);
  EXPECT_TRUE(judge_fleet(fleet).findings.empty());
  for (PairResult& pair : fleet.pairs) pair.is_directed = true;
  std::swap(fleet.pairs.back().node_a, fleet.pairs.back().node_b);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_NE(judgement.findings[0].summary.find("node2->node3"), std::string::npos);
}

TEST(Fleet, ANodeThatIsSlowAloneIsSaid) {
  Fleet fleet = all_pairs(6, 13.4);
  set_all_of(fleet, 2, 6);
  for (int i = 1; i <= 6; ++i)
    fleet.nodes.push_back({"all_reduce inside one node, 8 GPUs", node(i),
                           Bandwidth::from_GBps(i == 2 ? 210 : 480 + i), node(i) + ".txt", 12});
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 2U);
  EXPECT_NE(judgement.findings[0].summary.find("slow alone too"), std::string::npos);
  EXPECT_EQ(judgement.findings[1].id, "curve.node-slow-inside");
  fleet.nodes[1].rate = Bandwidth::from_GBps(482);
  const Judgement outside = judge_fleet(fleet);
  ASSERT_EQ(outside.findings.size(), 1U);
  EXPECT_NE(outside.findings[0].summary.find("NICs, cables"), std::string::npos);
}

// Racks: `GBps` inside, `between` from one to another; node `slow` reaches a share of that with
// all.
Fleet racks_of(const std::vector<int>& racks, double GBps, double between, int slow, double share) {
  std::vector<int> rack_of = {0};
  for (std::size_t i = 0; i < racks.size(); ++i)
    rack_of.insert(rack_of.end(), static_cast<std::size_t>(racks[i]), static_cast<int>(i));
  const int nodes = static_cast<int>(rack_of.size()) - 1;
  Fleet fleet = all_pairs(nodes, GBps);
  for (int a = 1; a <= nodes; ++a)
    for (int b = a + 1; b <= nodes; ++b) {
      const bool is_inside =
          rack_of[static_cast<std::size_t>(a)] == rack_of[static_cast<std::size_t>(b)];
      const double noise = 1 + 0.002 * ((a * 7 + b * 3) % 5);
      set(fleet, a, b, (is_inside ? GBps : between) * noise * (a == slow || b == slow ? share : 1));
    }
  return fleet;
}

// A slow node is slow beside its mates, whatever the racks; the figures of pairs have three or four
// levels then, and the median is of none of them.
TEST(Fleet, ASlowNodeOfAnyRackIsTheNode) {
  for (const std::vector<int>& racks :
       {std::vector<int>{8, 8}, {12, 12}, {12, 8}, {10, 3, 3}, {8, 8, 8, 8}, {16, 4}})
    for (const double share : {0.2, 0.5, 0.7}) {
      int nodes = 0;
      for (const int rack : racks) nodes += rack;
      for (const int slow : {3, nodes}) {
        const Judgement judgement = judge_fleet(racks_of(racks, 48, 28, slow, share));
        std::vector<std::string> accused;
        for (const auto& finding : judgement.findings)
          if (finding.severity != core::Severity::kInfo) accused.push_back(finding.summary);
        ASSERT_EQ(accused.size(), 1U) << racks.size() << " racks, " << share;
        EXPECT_NE(accused[0].find(": " + node(slow) + " reaches"), std::string::npos) << accused[0];
        EXPECT_TRUE(judgement.has("curve.node-slow"));
      }
    }
}
TEST(Fleet, RacksWithoutASlowNodeAccuseNobody) {
  for (const std::vector<int>& racks :
       {std::vector<int>{8, 8}, {12, 12}, {12, 8}, {10, 3, 3}, {8, 8, 8, 8}, {16, 4}, {20, 2}})
    for (const auto& finding : judge_fleet(racks_of(racks, 48, 28, 0, 1)).findings)
      EXPECT_EQ(finding.severity, core::Severity::kInfo) << finding.summary;
}

// Gauss noise from a fixed seed: the node is named, no path, and healthy fleets accuse nobody.
Fleet noisy(int nodes, double sigma, const std::set<int>& slow, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(1, sigma);
  Fleet fleet = all_pairs(nodes, 48);
  for (PairResult& pair : fleet.pairs) {
    const auto is_slow = [&](const std::string& name) {
      return std::any_of(slow.begin(), slow.end(), [&](int each) { return node(each) == name; });
    };
    const double share = is_slow(pair.node_a) || is_slow(pair.node_b) ? 0.6 : 1;
    pair.rate = Bandwidth::from_GBps(48 * share * std::max(0.3, noise(random)));
  }
  return fleet;
}

TEST(Fleet, NoiseHidesNoSlowNode) {
  for (const auto& [nodes, sigma] : {std::pair(6, 0.06), {8, 0.06}, {16, 0.08}, {12, 0.08}})
    for (unsigned seed = 1; seed <= 12; ++seed) {
      const Judgement judgement = judge_fleet(noisy(nodes, sigma, {2}, seed));
      EXPECT_TRUE(judgement.has("curve.node-slow")) << nodes << " nodes, seed " << seed;
      for (const auto& finding : judgement.findings)
        if (finding.id == "curve.node-slow") {
          EXPECT_NE(finding.summary.find(" node2 "), std::string::npos) << finding.summary;
        }
    }
  for (unsigned seed = 1; seed <= 12; ++seed)
    EXPECT_TRUE(judge_fleet(noisy(12, 0.06, {2, 5}, seed)).has("curve.node-slow")) << seed;
}
TEST(Fleet, NoiseAloneAccusesNoNode) {
  for (const int nodes : {6, 8, 16})
    for (unsigned seed = 1; seed <= 12; ++seed)
      EXPECT_FALSE(judge_fleet(noisy(nodes, 0.08, {}, seed)).has("curve.node-slow")) << seed;
}

// Below the limit, and neither node nor path: never "healthy".
TEST(Fleet, WhatIsNotJudgedIsSaid) {
  Fleet wide = all_pairs(6, 13.4);
  for (std::size_t i = 0; i < wide.pairs.size(); ++i)
    wide.pairs[i].rate = Bandwidth::from_GBps(9 + 0.6 * static_cast<double>(i * 7 % 15));
  const Judgement scattered = judge_fleet(wide);
  ASSERT_EQ(scattered.caveats.size(), 1U);
  EXPECT_EQ(scattered.caveats[0].id, "curve.pairs-scattered");
  EXPECT_TRUE(scattered.caveats[0].limits);
  Fleet two = all_pairs(4, 48);
  keep(two, {{1, 2}, {3, 4}});
  set(two, 3, 4, 5);
  const Judgement few = judge_fleet(two);
  ASSERT_EQ(few.caveats.size(), 1U);
  EXPECT_EQ(few.caveats[0].id, "curve.pairs-few");
  EXPECT_NE(few.caveats[0].missing.find("node3-node4 5 GB/s"), std::string::npos)
      << few.caveats[0].missing;
  EXPECT_TRUE(judge_fleet(all_pairs(6, 13.4)).caveats.empty());
}

// Fast with three of seven: its port can carry the rate, so node and paths both fit.
TEST(Fleet, ANodeThatIsFastWithSomeIsNotTheNodeAlone) {
  Fleet fleet = all_pairs(8, 48);
  for (const int other : {3, 4, 5, 6}) set(fleet, 2, other, 20);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.pair-or-node");
  EXPECT_NE(judgement.findings[0].summary.find("node2 is slow with 4 of 7"), std::string::npos)
      << judgement.findings[0].summary;
}

// Two slow nodes: neither sentence says that the others are well.
TEST(Fleet, OfTwoSlowNodesNoSentenceClearsTheOther) {
  Fleet fleet = all_pairs(8, 48);
  set_all_of(fleet, 2, 20);
  set_all_of(fleet, 5, 20);
  for (const auto& finding : judge_fleet(fleet).findings) {
    EXPECT_EQ(finding.id, "curve.node-slow");
    EXPECT_EQ(finding.summary.find("other nodes are not"), std::string::npos);
  }
}

// A matrix has both directions of a pair.
TEST(Fleet, DirectionsThatDifferAreSaid) {
  Fleet fleet;
  for (int a = 1; a <= 6; ++a)
    for (int b = 1; b <= 6; ++b)
      if (a != b)
        fleet.pairs.push_back({"sendrecv", node(a), node(b), true,
                               Bandwidth::from_GBps(b == 5 ? 30 : 48), "m.csv",
                               static_cast<std::uint64_t>(a)});
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_TRUE(judgement.has("curve.directions-differ"));
  for (const auto& finding : judgement.findings)
    if (finding.id == "curve.directions-differ") {
      EXPECT_NE(finding.summary.find("only what node5 receives is slow"), std::string::npos)
          << finding.summary;
    }
  for (PairResult& pair : fleet.pairs) pair.rate = Bandwidth::from_GBps(48);
  EXPECT_TRUE(judge_fleet(fleet).findings.empty());
}

// The smaller of two racks has a slow switch: its nodes are equal among each other, so the switch
// is the simpler cause, and none of them is called slow.
TEST(Fleet, NodesThatAreFasterWithEachOtherShareACause) {
  Fleet fleet = racks_of({9, 3}, 380, 190, 0, 1);
  for (int a = 10; a <= 12; ++a)
    for (int b = a + 1; b <= 12; ++b) set(fleet, a, b, 228);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].id, "curve.pair-or-node");
  EXPECT_EQ(judgement.findings[0].confidence, core::Confidence::kPossible);
  EXPECT_NE(judgement.findings[0].summary.find(node(10) + ", " + node(11) + ", " + node(12)),
            std::string::npos)
      << judgement.findings[0].summary;
}

// Half of its NICs, in racks whose uplinks carry half: the lesser of both, so with everybody the
// same. The racks explain the other pairs.
TEST(Fleet, ALoneSlowNodeBesideRacksIsNamed) {
  Fleet fleet = racks_of({4, 4}, 380, 190, 0, 1);
  for (int other = 1; other <= 8; ++other)
    if (other != 7) set(fleet, std::min(7, other), std::max(7, other), 190.5);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  const core::Finding& finding = judgement.findings[0];
  EXPECT_EQ(finding.severity, core::Severity::kWarning);
  EXPECT_EQ(finding.confidence, core::Confidence::kPossible);
  EXPECT_NE(finding.summary.find(node(7) + " is fast with nobody"), std::string::npos)
      << finding.summary;
  EXPECT_NE(finding.summary.find(" | "), std::string::npos) << finding.summary;
}

// Seven nodes alike and a faster one accuse nobody.
TEST(Fleet, AFasterNodeIsNoFaultOfTheOthers) {
  Fleet fleet = racks_of({8}, 380, 380, 0, 1);
  for (int other = 1; other <= 8; ++other)
    if (other != 4) set(fleet, std::min(4, other), std::max(4, other), 571 + other);
  const Judgement judgement = judge_fleet(fleet);
  for (const core::Finding& finding : judgement.findings) {
    EXPECT_EQ(finding.severity, core::Severity::kInfo) << finding.summary;
    EXPECT_NE(finding.summary.find(node(4) + " is the odd one"), std::string::npos)
        << finding.summary;
  }
}

// A node alone behind the uplink of its switch gives the figures of a slow node.
TEST(Fleet, TheUplinkOfALoneNodeIsNotCleared) {
  for (const auto& finding : judge_fleet(racks_of({8, 1}, 380, 190, 0, 1)).findings)
    EXPECT_NE(finding.summary.find("the uplink fits too"), std::string::npos) << finding.summary;
}

TEST(Fleet, BothDirectionsOfAFailedPairAreOne) {
  Fleet fleet = all_pairs(5, 13.4);
  PairResult back = fleet.pairs[0];
  std::swap(back.node_a, back.node_b);
  back.rate.reset();
  fleet.pairs[0].rate.reset();
  fleet.pairs.push_back(back);
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_TRUE(judgement.findings[0].summary.starts_with("1 pair of nodes has no result"))
      << judgement.findings[0].summary;
}

// Two nodes alone: which is the odd one is open, that they are unlike is not.
TEST(Fleet, TwoUnlikeNodesAreNoted) {
  Fleet fleet;
  for (const auto& [name, GBps] : {std::pair("a", 478.0), {"b", 346.0}})
    fleet.nodes.push_back(
        {"all_reduce inside one node, 8 GPUs", name, Bandwidth::from_GBps(GBps), "t.txt", 5});
  const Judgement judgement = judge_fleet(fleet);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].severity, core::Severity::kInfo);
  fleet.nodes[1].rate = Bandwidth::from_GBps(470);
  EXPECT_TRUE(judge_fleet(fleet).findings.empty());
}

class PublicClusters : public testing::Test {
 protected:
  Judgement judge(const std::string& name) {
    const std::string path = COMM_PROBE_SHARED "/data/field/curves/" + name;
    auto input = core::Input::open(path);
    if (!input.ok()) return {};
    auto reading = curve::read(*input);
    EXPECT_TRUE(reading.ok());
    const JudgedReading judged = judge_reading(*reading, {});
    return judge_fleet(fleet_of(std::span(&judged, 1)));
  }
  void SetUp() override {
    if (!std::filesystem::exists(COMM_PROBE_SHARED "/data/field/curves"))
      GTEST_SKIP() << "no field curves";
  }
};

// cases.md, text-only extras: 8 slow pairs of 134 per operation, no single node explains them.
TEST_F(PublicClusters, C72HasSlowPathsAndNoSlowNode) {
  const Judgement judgement = judge("c72_h100_17n_pairwise_G1.csv");
  EXPECT_TRUE(judgement.has("curve.pair-slow"));
  EXPECT_FALSE(judgement.has("curve.node-slow"));
  EXPECT_FALSE(judgement.has("curve.pair-or-node"));
  EXPECT_TRUE(judgement.has("curve.pair-failed"));
  for (const auto& finding : judgement.findings) {
    const bool is_path = finding.id == "curve.pair-slow";
    EXPECT_TRUE(!is_path || finding.summary.find("8 of 13") != std::string::npos)
        << finding.summary;
  }
}

TEST_F(PublicClusters, C73IsUniform) {
  EXPECT_TRUE(judge("c73_h100_10n_pairwise_uniform.csv").findings.empty());
}

}  // namespace
}  // namespace comm_probe::diagnose
