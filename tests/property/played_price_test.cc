// calc and sim say the same: the closed form beside the played algorithm, over ranks, nodes, bytes
// and both kinds of network (a NIC of its own for each rank; all NICs of a node for its ranks).
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "model/algorithms.h"
#include "model/schedules.h"
#include "sim/fabric_run.h"

namespace comm_probe::sim {
namespace {

using core::Bandwidth;
using core::Bytes;
using core::Duration;
using model::Algorithm;
using model::Op;

struct Case {
  FabricWhatIf what = {};
  std::string text = {};
};

// Nothing is shared above the NICs.
Case case_of(Op op, Algorithm algorithm, int ranks, int per_node, double bytes) {
  Case one{.what = {.what = {.collective = {op, ranks, Bytes::of(bytes)}, .algorithm = algorithm}}};
  one.what.what.fabric.link = {Duration::from_us(4), Bandwidth::from_GBps(25)};
  if (per_node < ranks) {
    one.what.what.fabric.inter = one.what.what.fabric.link;
    one.what.what.fabric.ranks_per_node = per_node;
    one.what.shape = {.kind = FabricShape::Kind::kFatTree,
                      .nodes_per_leaf = (ranks + per_node - 1) / per_node};
  }
  std::ostringstream text;
  text << op_name(op) << " " << algorithm_name(algorithm) << " " << ranks << " ranks in nodes of "
       << per_node << ", " << bytes << " B";
  one.text = text.str();
  return one;
}

bool is_pipelined(Op op, Algorithm algorithm) {
  const bool is_chain =
      algorithm == Algorithm::kRing && (op == Op::kBroadcast || op == Op::kReduce);
  return is_chain || algorithm == Algorithm::kTree;
}
bool is_shot(Algorithm algorithm) {
  return algorithm == Algorithm::kOneShot || algorithm == Algorithm::kTwoShot;
}

constexpr double kEqual = 1e-9;
constexpr double kSizes[] = {4096, 1e6, 1e9};

// Of a direct all_to_all the closed form hides the bytes of the own node behind the others; the
// rounds that are played follow each other.
Duration played_in_rounds(const model::Ledger& closed) {
  Duration time = closed.time();
  for (const model::Term& term : closed.terms)
    if (closed.collective.op == Op::kAllToAll) time += term.hidden / term.link.beta;
  return time;
}

TEST(PlayedPrice, OfRoundsOverAlikeLinksIsTheClosedForm) {
  std::size_t compared = 0;
  for (const Op op : model::kAllOps)
    for (const Algorithm algorithm : model::playable(op)) {
      if (is_pipelined(op, algorithm)) continue;
      for (const int ranks : {2, 4, 8, 16, 32})
        for (const int per_node : {1, 2, 4, 8, 32})
          for (const double bytes : kSizes) {
            if (per_node > ranks && per_node != 32) continue;
            const Case one = case_of(op, algorithm, ranks, std::min(ranks, per_node), bytes);
            const auto ports = play(one.what.what);
            ASSERT_TRUE(ports) << one.text << ": " << ports.error().one_line();
            const Duration closed = played_in_rounds(ports->closed_form);
            EXPECT_NEAR(ports->time / closed, 1, kEqual) << one.text;
            ++compared;
            if (is_shot(algorithm)) continue;  // reads from both ports of a rank at once
            const auto flows = play_on_fabric(one.what);
            ASSERT_TRUE(flows) << one.text << ": " << flows.error().one_line();
            EXPECT_NEAR(flows->outcome.time / closed, 1, kEqual) << one.text;
          }
    }
  EXPECT_GE(compared, 1000u);
}

// Chains and trees are cut into chunks: longer by what fills the pipeline, and shorter by no more
// than the levels that the shape does not have.
void expect_tree(const FabricWhatIf& what, const Outcome& outcome, const std::string& text) {
  const int n = what.what.collective.ranks;
  const Duration closed = outcome.closed_form.time();
  const bool is_nccl = what.what.algorithm == Algorithm::kNcclTree;
  const double chain = is_nccl ? 4.0 * model::place(n, what.what.fabric).ranks_per_node : 0;
  const double edges = 8 * std::ceil(std::log2(n)) + chain;
  const auto& at = what.what.fabric;
  const Bandwidth slowest = at.inter ? std::min(at.inter->beta, at.link.beta) : at.link.beta;
  const Duration fill = std::min(outcome.chunk, what.what.collective.bytes) / slowest * edges;
  EXPECT_LE(outcome.time.in_seconds(), (closed + fill).in_seconds() * (1 + kEqual)) << text;
  EXPECT_GE(outcome.time.in_seconds(),
            (closed - outcome.closed_form.latency()).in_seconds() * (1 - kEqual))
      << text;
}

constexpr double kLarge = 5e8;  // 512 chunks

// All three trees, also where a node has one NIC, or eight for all its ranks.
TEST(PlayedPrice, OfTreesIsTheClosedFormAndTheirFilling) {
  std::size_t compared = 0;
  for (const Algorithm algorithm : {Algorithm::kTree, Algorithm::kDoubleTree, Algorithm::kNcclTree})
    for (const int ranks : {2, 3, 4, 6, 9, 16, 24, 33})
      for (const int per_node : {1, 2, 4, 8, 128})
        for (const int rails : {0, 1, 8})
          for (const double inside : {10.0, 450.0}) {
            if (algorithm == Algorithm::kNcclTree && ranks % std::min(ranks, per_node) != 0)
              continue;
            Case one = case_of(Op::kAllReduce, algorithm, ranks, std::min(ranks, per_node), kLarge);
            model::Fabric& fabric = one.what.what.fabric;
            fabric.link.beta = Bandwidth::from_GBps(inside);
            if (fabric.inter && rails > 0) {
              fabric.rails = rails;
              fabric.rail = Bandwidth::from_GBps(25);
              fabric.inter->beta = *fabric.rail * (static_cast<double>(rails) / per_node);
            }
            one.text += ", " + std::to_string(rails) + " rails, " + std::to_string(inside);
            const auto flows = play_on_fabric(one.what);
            ASSERT_TRUE(flows) << one.text << ": " << flows.error().one_line();
            expect_tree(one.what, flows->outcome, one.text + ", flows");
            ++compared;
            if (algorithm != Algorithm::kTree) continue;
            const auto ports = play(one.what.what);
            ASSERT_TRUE(ports) << one.text;
            expect_tree(one.what, *ports, one.text + ", ports");
          }
  EXPECT_GE(compared, 300u);
}

// 1 GB, 4 nodes of 8 ranks, each rank with a NIC of 25 GB/s: three half messages meet at the NICs
// of ranks 15 and 16 each way, 60 ms. nccl-tree: four halves at two nodes, 80 ms; two nodes: 40 ms.
TEST(PlayedPrice, OfTwoTreesWithANicForEachRank) {
  const struct {
    Algorithm algorithm;
    int ranks;
    double ms;
  } cases[] = {{Algorithm::kDoubleTree, 32, 60},
               {Algorithm::kNcclTree, 32, 80},
               {Algorithm::kNcclTree, 16, 40}};
  for (const auto& [algorithm, ranks, ms] : cases) {
    Case one = case_of(Op::kAllReduce, algorithm, ranks, 8, 1e9);
    one.what.what.fabric.link = {Duration::from_us(1), Bandwidth::from_GBps(300)};
    const auto flows = play_on_fabric(one.what);
    ASSERT_TRUE(flows) << flows.error().one_line();
    EXPECT_NEAR(flows->outcome.closed_form.time().in_ms() / ms, 1, 0.003) << one.text;
    EXPECT_NEAR(flows->outcome.time.in_ms() / ms, 1, 0.03) << one.text;
  }
}

}  // namespace
}  // namespace comm_probe::sim
