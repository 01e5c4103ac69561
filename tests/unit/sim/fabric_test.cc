// Fabrics: what a file says, which links a message crosses, what they make of a collective.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/sim.h"

namespace comm_probe::sim {
namespace {

using core::Bandwidth;
using core::Bytes;
using core::Duration;
using testing::HasSubstr;

// Bertsekas and Gallager's way by hand: the small link is full first, its two flows have 2 each,
// and the third what is left of the other.
TEST(FlowSharing, TheSmallLinkIsFullFirst) {
  const Bandwidth capacity[] = {Bandwidth::from_bytes_per_second(10),
                                Bandwidth::from_bytes_per_second(4)};
  model::FlowSharing sharing(capacity);
  model::Path both, large, small;
  both.add(0);
  both.add(1);
  large.add(0);
  small.add(1);
  const auto a = sharing.begin(both, Bytes::of(100)), b = sharing.begin(large, Bytes::of(100)),
             c = sharing.begin(small, Bytes::of(100));
  EXPECT_EQ(sharing.rate(a).in_bytes_per_second(), 2);
  EXPECT_EQ(sharing.rate(b).in_bytes_per_second(), 8);
  EXPECT_EQ(sharing.rate(c).in_bytes_per_second(), 2);
  EXPECT_EQ(sharing.bottleneck(b), 0u);
  EXPECT_EQ(sharing.bottleneck(a), 1u);
  // 100 B at 8 B/s; then the other two still have 75 B at 2 B/s
  EXPECT_DOUBLE_EQ(sharing.next_end().in_seconds(), 12.5);
  sharing.advance(sharing.next_end());
  EXPECT_DOUBLE_EQ(sharing.next_end().in_seconds(), 50);
}

FabricWhatIf one_gpu_nodes(const char* fabric, int ranks, double bytes) {
  FabricWhatIf what{.what = {.collective = {model::Op::kSendRecv, ranks, Bytes::of(bytes)},
                             .algorithm = model::Algorithm::kDirect}};
  what.what.fabric.link = {Duration::from_us(1), Bandwidth::from_GBps(50)};
  what.what.fabric.inter = what.what.fabric.link;
  what.what.fabric.ranks_per_node = 1;
  what.shape = *fabric_line(fabric);
  return what;
}

std::size_t links_between(const FabricGraph& graph, int from, int to) {
  std::vector<model::Route> routes;
  graph.find({.from = from, .to = to}, routes);
  EXPECT_EQ(routes.size(), 1u);
  return routes[0].path.links().size();
}

TEST(Fabric, LeavesShareTheirUplinks) {
  const char* fabric = "fat-tree:nodes_per_leaf=2,oversubscription=2";
  const FabricWhatIf what = one_gpu_nodes(fabric, 4, 50e6);
  const auto graph =
      FabricGraph::create({.shape = what.shape, .links = what.what.fabric, .ranks = 4});
  ASSERT_TRUE(graph);
  EXPECT_EQ((*graph)->leaves(), 2);
  EXPECT_EQ(links_between(**graph, 0, 1), 2u);
  EXPECT_EQ(links_between(**graph, 0, 2), 4u);
  // 0 to 2 and 1 to 3 share the uplink of leaf 0: 50 MB at 25 GB/s
  FabricWhatIf pairs = what;
  pairs.what.collective.ranks = 2;
  pairs.places = {0, 2};
  pairs.others = {{{model::Op::kSendRecv, 2, Bytes::of(50e6)}, {1, 3}}};
  const auto outcome = play_on_fabric(pairs);
  ASSERT_TRUE(outcome);
  EXPECT_NEAR(outcome->outcome.time.in_us(), 1 + 2000, 1e-6);
  ASSERT_EQ(outcome->jobs.size(), 2u);
  EXPECT_NEAR(outcome->jobs[0].alone.in_us(), 1 + 1000, 1e-6);
  EXPECT_NEAR(outcome->jobs[1].shared.in_us(), 1 + 2000, 1e-6);
  EXPECT_THAT(outcome->bottlenecks[0].link, HasSubstr("link"));
}

TEST(Fabric, WaysOfEveryKindHaveTheirLength) {
  struct Case {
    const char* fabric;
    int to;
    std::size_t links;
  };
  const Case all[] = {
      {"fat-tree:nodes_per_leaf=2,leaves_per_pod=2", 1, 2},
      {"fat-tree:nodes_per_leaf=2,leaves_per_pod=2", 2, 4},
      {"fat-tree:nodes_per_leaf=2,leaves_per_pod=2", 4, 6},
      {"dragonfly:nodes_per_switch=1,switches_per_group=4", 0 + 1, 3},
      {"dragonfly:nodes_per_switch=2,switches_per_group=1", 1, 2},
      {"dragonfly:nodes_per_switch=2,switches_per_group=1", 2, 3},
  };
  for (const Case& one : all) {
    const FabricWhatIf what = one_gpu_nodes(one.fabric, 8, 1);
    const auto graph =
        FabricGraph::create({.shape = what.shape, .links = what.what.fabric, .ranks = 8});
    ASSERT_TRUE(graph) << one.fabric;
    EXPECT_EQ(links_between(**graph, 0, one.to), one.links) << one.fabric << " " << one.to;
  }
}

// A rail is left over NVLink (NCCL's PXN), else over the spine.
TEST(Fabric, RailsAreChangedInsideTheNode) {
  FabricWhatIf what = one_gpu_nodes("rail-optimised:nodes_per_leaf=4", 8, 1);
  what.what.fabric.ranks_per_node = 2;
  for (const bool pxn : {true, false}) {
    what.shape.pxn = pxn;
    const auto graph =
        FabricGraph::create({.shape = what.shape, .links = what.what.fabric, .ranks = 8});
    ASSERT_TRUE(graph);
    EXPECT_EQ(links_between(**graph, 0, 2), 2u);  // NIC out, NIC in: the same leaf
    EXPECT_EQ(links_between(**graph, 0, 3), 4u);
    std::vector<model::Route> routes;
    (*graph)->find({.from = 0, .to = 3}, routes);
    std::set<std::string> kinds;
    for (const model::LinkId link : routes[0].path.links())
      kinds.insert(link_kind_name((*graph)->kind(link)));
    EXPECT_EQ(kinds.contains("NVLink port"), pxn);
    EXPECT_EQ(kinds.contains("leaf uplink"), !pxn);
  }
}

TEST(Fabric, EveryLinkHasANameOfItsOwn) {
  for (const char* fabric :
       {"fat-tree:nodes_per_leaf=1,leaves_per_pod=2", "rail-optimised:nodes_per_leaf=2",
        "dragonfly:nodes_per_switch=1,switches_per_group=2"}) {
    const FabricWhatIf what = one_gpu_nodes(fabric, 8, 1);
    const auto graph =
        FabricGraph::create({.shape = what.shape, .links = what.what.fabric, .ranks = 8});
    std::set<std::string> names;
    for (model::LinkId link = 0; link < (*graph)->links(); ++link)
      names.insert((*graph)->name(link));
    EXPECT_EQ(names.size(), (*graph)->links()) << fabric;
  }
}

// Where one rank stands for all, the fullest links are as busy as when every message is followed.
TEST(Fabric, OneRankStandsForAll) {
  for (const char* fabric : {"fat-tree:nodes_per_leaf=4,oversubscription=4,routing=spread",
                             "fat-tree:nodes_per_leaf=4,oversubscription=2,routing=spread"}) {
    const FabricWhatIf what = one_gpu_nodes(fabric, 64, 64e6);
    const auto graph =
        FabricGraph::create({.shape = what.shape, .links = what.what.fabric, .ranks = 64});
    const auto loads =
        all_to_all_loads(**graph, what.shape, {model::Op::kAllToAll, 64, Bytes::of(64e6)});
    ASSERT_TRUE(loads) << loads.error().one_line();
    FabricWhatIf played = what;
    played.what.collective.op = model::Op::kAllToAll;
    const auto flows = play_on_fabric(played);
    ASSERT_TRUE(flows);
    // by hand: 4 of 64 ranks send to 60 others 1 MB each over 1 or 2 links of 50 GB/s
    const double uplinks = what.shape.oversubscription == 4 ? 1 : 2;
    EXPECT_NEAR(loads->time.in_us(), 63 * 1 + 4 * 60 * 1e6 / (uplinks * 50e9) * 1e6, 1e-6);
    // rounds in order leave the uplinks idle now and then
    EXPECT_GE(flows->outcome.time / loads->time, 0.99) << fabric;
    EXPECT_LE(flows->outcome.time / loads->time, 1.1) << fabric;
  }
}

TEST(Fabric, RoundsInStepAreTheFlows) {
  FabricWhatIf what = one_gpu_nodes("fat-tree:nodes_per_leaf=32,routing=spread", 2048, 1e9);
  what.what.collective.op = model::Op::kAllReduce;
  what.what.algorithm = model::Algorithm::kRing;
  const auto outcome = play_on_fabric(what);
  ASSERT_TRUE(outcome) << outcome.error().one_line();
  EXPECT_EQ(outcome->model, FabricOutcome::Model::kRounds);
  EXPECT_NEAR(outcome->outcome.time / outcome->outcome.closed_form.time(), 1, 1e-9);
}

// Both trees together use every port both ways: 2 S over it, as the closed form says, and what the
// chunks need to fill the pipeline.
TEST(Fabric, TwoTreesHaveFullBandwidth) {
  for (const int ranks : {15, 16, 64}) {
    FabricWhatIf what = one_gpu_nodes("nvlink", ranks, 1e9);
    what.what.fabric = {.link = what.what.fabric.link};
    what.what.collective.op = model::Op::kAllReduce;
    what.what.algorithm = model::Algorithm::kDoubleTree;
    const auto two = play_on_fabric(what);
    ASSERT_TRUE(two) << two.error().one_line();
    EXPECT_GE(two->outcome.time.in_ms(), 2 * 1e9 / 50e9 * 1e3 * (ranks - 1) / ranks) << ranks;
    EXPECT_LE(two->outcome.time.in_ms(), 2 * 1e9 / 50e9 * 1e3 * 1.1) << ranks;
    what.what.algorithm = model::Algorithm::kTree;
    const auto one = play_on_fabric(what);
    ASSERT_TRUE(one);
    EXPECT_GT(one->outcome.time / two->outcome.time, 1.8);
  }
}

// Between two nodes of 8 with a NIC each of 50 GB/s NCCL's trees send S each way; the chains inside
// are faster.
TEST(Fabric, NcclsTreesCrossOnce) {
  FabricWhatIf what = one_gpu_nodes("fat-tree:nodes_per_leaf=2", 16, 1e9);
  what.what.collective.op = model::Op::kAllReduce;
  what.what.algorithm = model::Algorithm::kNcclTree;
  what.what.fabric.link.beta = Bandwidth::from_GBps(400);
  what.what.fabric.ranks_per_node = 8;
  const auto trees = play_on_fabric(what);
  ASSERT_TRUE(trees) << trees.error().one_line();
  EXPECT_GE(trees->outcome.time.in_ms(), 1e9 / 50e9 * 1e3);
  EXPECT_LE(trees->outcome.time.in_ms(), 1e9 / 50e9 * 1e3 * 1.1);
}

TEST(FabricFile, IsReadWithItsLinks) {
  const auto shape = read_fabric("f.toml", R"(
kind = "rail-optimised"
source = "purchase order"
nodes_per_leaf = 32
uplinks = 16
gpus_per_node = 8
hop = "300ns"
[inside]
alpha = "3us"
beta = "450GB/s"
[nic]
alpha = "10us"
beta = "400Gb/s"
)");
  ASSERT_TRUE(shape) << shape.error().one_line();
  EXPECT_EQ(shape->kind, FabricShape::Kind::kRailOptimised);
  EXPECT_EQ(shape->uplinks, 16);
  EXPECT_EQ(shape->nic->beta, Bandwidth::from_GBps(50));
  EXPECT_DOUBLE_EQ(shape->hop.in_ns(), 300);
  EXPECT_EQ(shape->source, "purchase order");
}

TEST(FabricFile, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "'kind' is missing"},
      {"kind = 3", "'kind' is a whole number"},
      {"kind = \"torus\"", "torus"},
      {"kind = \"fat-tree\"", "'nodes_per_leaf' is missing"},
      {"kind = \"fat-tree\"\nnodes_per_leaf = 0", "'nodes_per_leaf' is 0, expected 1 to 4096"},
      {"kind = \"fat-tree\"\nnodes_per_leaf = 4\nnodes_per_switch = 4", "nodes_per_switch"},
      {"kind = \"fat-tree\"\nnodes_per_leaf = 4\nrouting = \"valiant\"", "routing 'valiant'"},
      {"kind = \"fat-tree\"\nnodes_per_leaf = 4\nuplinks = 2\noversubscription = 2",
       "uplinks and oversubscription say the same"},
      {"kind = \"nvlink\"\ngpus_per_node = 72", "the links are given in part"},
      {"kind = \"nvlink\"\ngpus_per_node = 72\n[inside]\nalpha = \"3us\"", "'beta' is missing"},
      {"kind = \"nvlink\"\nhop = \"3\"", "has no unit"},
      {"kind = [", "f.toml:1"}};
  for (const auto& [text, message] : cases) {
    const auto shape = read_fabric("f.toml", text);
    ASSERT_FALSE(shape) << text;
    EXPECT_THAT(shape.error().one_line(), HasSubstr(message)) << text;
  }
}

TEST(FabricFile, ALineIsTheSameOnOneLine) {
  const auto shape = fabric_line("fat-tree:nodes_per_leaf=4,oversubscription=2,routing=spread");
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->oversubscription, 2);
  EXPECT_EQ(shape->routing, FabricShape::Routing::kSpread);
  EXPECT_FALSE(fabric_line("fat-tree:nodes_per_leaf"));
  EXPECT_FALSE(fabric_line("fat-tree:nodes_per_leaf=4\n,x=1"));
  EXPECT_FALSE(fabric_line("fat-tree:=4"));
  EXPECT_FALSE(is_fabric_line("fat-tree.toml"));
}

}  // namespace
}  // namespace comm_probe::sim
