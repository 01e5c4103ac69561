// Results of many nodes: which node or which path is slow, and what would tell the two apart?
//
// Results of pairs come from tables of pairs, matrices of nodes, and benchmarks of two hosts each;
// results of single nodes from benchmarks inside one host. Only like is compared with like: the
// same test, GPUs per node, GPU and sizes.
//
// The pair test: a pair is slow where it is an outlier (outliers.h) below 85 % of the median of its
// group. A node that is slow with all or most of its partners is the node; a slow pair whose nodes
// are both fast with others is the path between them; where a node of a slow pair has no other
// result, node and path fit both, and the finding names the pair to run next. Where most pairs are
// slow the median is no measure: pair_levels.h. 85 % and the data are
// those of the public cluster report c72/c73 of the field curves: 13.4 GB/s for nearly all pairs,
// 5-6 for the slow ones; the uniform cluster stays above 85 % everywhere.
//
// Worked example (tests/unit/diagnose/fleet_test.cc repeats it): a-b 13.4, b-c 13.4, a-c 5.8, with
// d: a-d, b-d, c-d 13.4 -> a-c is the path: both nodes are fast with others.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "diagnose/diagnose.h"
#include "diagnose/reading_judgement.h"

namespace comm_probe::diagnose {

struct PairResult {
  std::string group = {};  // what is compared: "alltoall_perf with 1 GPU per node"
  std::string node_a = {};
  std::string node_b = {};
  bool is_directed = false;
  std::optional<core::Bandwidth> rate = {};  // absent: the run failed
  std::string file = {};
  std::uint64_t line = 0;
};
struct NodeResult {
  std::string group = {};
  std::string node = {};
  core::Bandwidth rate = {};
  std::string file = {};
  std::uint64_t line = 0;
};
struct Fleet {
  std::vector<PairResult> pairs = {};
  std::vector<NodeResult> nodes = {};
};

// Everything that the readings say about pairs of nodes and about single nodes.
Fleet fleet_of(std::span<const JudgedReading> readings);
Judgement judge_fleet(const Fleet& fleet);
// What several readings say together: the fleet, and tests of links beside each other.
Judgement judge_together(std::span<const JudgedReading> readings);

// One group of pairs, for people: how many, the median, the slowest.
struct PairSummary {
  std::string group = {};
  std::size_t measured = 0;
  std::size_t failed = 0;
  std::size_t slow = 0;
  core::Bandwidth median = {};
  core::Bandwidth slowest = {};
  std::string slowest_pair = {};
};
std::vector<PairSummary> summarise_pairs(const Fleet& fleet);

}  // namespace comm_probe::diagnose
