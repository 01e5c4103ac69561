// What a plan's file says, and what it refuses; the channels of a plan, played.
#include "sim/readers/nccl_plan.h"

#include <gtest/gtest.h>

#include "sim/fabric_run.h"

namespace comm_probe::sim {
namespace {

using core::Bandwidth;
using core::Bytes;
using core::Duration;
using model::Algorithm;
using model::Op;

// A plan of `rings` and `trees`, each used by one channel.
std::string plan_of(const std::string& rings, const std::string& trees, const char* full = "1") {
  return R"({"result": {"rings": {"full": )" + std::string(full) +
         R"(, "channel_to_unique": [0], "unique": [)" + rings +
         R"(]}, "trees": {"channel_to_unique": [0], "unique": [)" + trees + "]}}}";
}

constexpr const char* kPair = R"("-1:1/-1/-1 0:-1/-1/-1")";

TEST(NcclPlan, IsReadWithItsChannels) {
  const auto plan = read_nccl_plan("p", R"({"rings": {"full": 1, "channel_to_unique": [0, 1, 0],
      "unique": [[0, 1, 2], [0, 2, 1]]}, "trees": {"full": 1, "channel_to_unique": [0, 0, 0],
      "unique": ["1:-1/-1/-1 -1:0/2/-1 1:-1/-1/-1"]}})");
  ASSERT_TRUE(plan) << plan.error().one_line();
  EXPECT_EQ(plan->ranks, 3);
  ASSERT_EQ(plan->rings.size(), 2u);
  EXPECT_EQ(plan->rings[0].channels, 2);
  EXPECT_EQ(plan->rings[1].channels, 1);
  EXPECT_EQ(plan->rings[1].order, (std::vector<int>{0, 2, 1}));
  ASSERT_EQ(plan->trees.size(), 1u);
  EXPECT_EQ(plan->trees[0].parent, (std::vector<int>{1, -1, 1}));
  EXPECT_EQ(plan->trees[0].channels, 3);
}

TEST(NcclPlan, RefusesWhatIsNone) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "p: this is no JSON"},
      {"\x93NUMPY\x01", "p: this is no JSON"},
      {R"({"rings": )", "p: this is no JSON"},
      {"[]", "p: no \"rings\" of a plan"},
      {R"({"result": 4})", "p: no \"rings\" of a plan"},
      {plan_of("[0, 1]", kPair, "0"), "p: the rings are shortened"},
      {R"({"rings": {"channel_to_unique": [0], "unique": []}})", "p: no orders in \"rings\""},
      {R"({"rings": {"channel_to_unique": [2], "unique": [[0, 1]]}})",
       "p: \"channel_to_unique\" of the rings names no order"},
      {plan_of("[0, 0]", kPair), "p: ring 0 does not visit every rank once"},
      {plan_of("[0, 2]", kPair), "p: ring 0 does not visit every rank once"},
      {plan_of("[0, -1]", kPair), "p: ring 0 does not visit every rank once"},
      {plan_of("[0, 1], [0]", kPair), "p: ring 1 does not visit every rank once"},
      {plan_of("[]", kPair), "p: ring 0 does not visit every rank once"},
      {plan_of("[0, 1]", "7"), "p: tree 0 does not join the 2 ranks"},
      {plan_of("[0, 1]", R"("-1:1 x")"), "p: tree 0 does not join the 2 ranks"},
      {plan_of("[0, 1]", R"("-1:1/-1/-1")"), "p: tree 0 does not join the 2 ranks"},
      {plan_of("[0, 1]", R"("1:1/-1/-1 0:-1/-1/-1")"), "p: tree 0 does not join the 2 ranks"},
      {plan_of("[0, 1]", R"("-1:1/-1/-1 9:-1/-1/-1")"), "p: tree 0 does not join the 2 ranks"}};
  for (const auto& [text, expected] : cases) {
    const auto plan = read_nccl_plan("p", text);
    ASSERT_FALSE(plan) << text;
    EXPECT_EQ(plan.error().message, expected) << text;
  }
}

FabricWhatIf on_alike_links(int ranks, double bytes) {
  FabricWhatIf what{.what = {.collective = {Op::kAllReduce, ranks, Bytes::of(bytes)},
                             .algorithm = Algorithm::kRing}};
  what.what.fabric = {.link = {Duration::from_us(3), Bandwidth::from_GBps(40)}};
  return what;
}

PlannedRing stride(int ranks, int by) {
  PlannedRing ring;
  for (int i = 0; i < ranks; ++i) ring.order.push_back(i * by % ranks);
  return ring;
}

double time_over_closed_form(const FabricWhatIf& what) {
  const auto outcome = play_on_fabric(what);
  EXPECT_TRUE(outcome) << outcome.error().one_line();
  return outcome ? outcome->outcome.time / outcome->outcome.closed_form.time() : 0;
}

// Rings of strides 1, 2, 4, 5, 7 and 8 of 9 ranks have no edge in common, and share the ports of
// their ranks evenly: all of them together are one ring with all the bytes.
TEST(PlannedChannels, RingsWithoutACommonEdgeAreTheClosedForm) {
  for (const Op op : {Op::kAllReduce, Op::kAllGather, Op::kReduceScatter})
    for (const double bytes : {900.0, 9e6, 9e9}) {
      FabricWhatIf what = on_alike_links(9, bytes);
      what.what.collective.op = op;
      what.channels.ranks = 9;
      for (const int by : {1, 2, 4, 5, 7, 8}) what.channels.rings.push_back(stride(9, by));
      what.channels.rings.back().channels = 1;
      EXPECT_NEAR(time_over_closed_form(what), 1, 1e-9) << op_name(op) << " " << bytes;
    }
}

// Two nodes of 4 ranks, NICs as fast as the inside. One ring of all channels crosses by the NICs of
// ranks 3 and 7; four rings that cross by NICs of their own have four times the way out.
TEST(PlannedChannels, EachRingLeavesByItsOwnNic) {
  FabricWhatIf what = on_alike_links(8, 8e9);
  what.what.fabric.inter = model::Link{Duration::from_us(3), Bandwidth::from_GBps(10)};
  what.what.fabric.ranks_per_node = 4;
  what.shape = {.kind = FabricShape::Kind::kFatTree, .nodes_per_leaf = 2};
  what.channels = {.ranks = 8, .rings = {{{0, 1, 2, 3, 4, 5, 6, 7}, 4}}};
  const auto one = play_on_fabric(what);
  ASSERT_TRUE(one) << one.error().one_line();
  // 2 x 7/8 x 8 GB through one NIC of 10 GB/s
  EXPECT_NEAR(one->outcome.time.in_seconds(), 1.4, 0.02);
  what.channels.rings = {{{0, 1, 2, 3, 4, 5, 6, 7}, 1},
                         {{0, 5, 6, 7, 4, 1, 2, 3}, 1},
                         {{0, 1, 6, 7, 4, 5, 2, 3}, 1},
                         {{0, 1, 2, 7, 4, 5, 6, 3}, 1}};
  const auto four = play_on_fabric(what);
  ASSERT_TRUE(four) << four.error().one_line();
  // a quarter of it through every NIC; inside the nodes there is more room
  EXPECT_NEAR(four->outcome.time.in_seconds(), 0.35, 0.02);
}

// A chain of 3 as a tree is NCCL's tree on one node: 2 S through the middle; broadcast and reduce
// go along the ring, S over every link.
TEST(PlannedChannels, TreesAndChainsTakeTheirBytes) {
  FabricWhatIf what = on_alike_links(3, 4e9);
  what.channels = {.ranks = 3, .rings = {{{0, 2, 1}, 1}}, .trees = {{{-1, 0, 1}, 2}}};
  what.what.algorithm = Algorithm::kNcclTree;
  EXPECT_NEAR(time_over_closed_form(what), 1, 0.01);
  what.what.algorithm = Algorithm::kRing;
  for (const Op op : {Op::kBroadcast, Op::kReduce}) {
    what.what.collective.op = op;
    EXPECT_NEAR(time_over_closed_form(what), 1, 0.01) << op_name(op);
  }
}

TEST(PlannedChannels, AreOfTheirRanksAndAlgorithms) {
  FabricWhatIf what = on_alike_links(4, 1e6);
  what.channels = {.ranks = 3, .rings = {{{0, 2, 1}, 1}}, .trees = {{{-1, 0, 1}, 1}}};
  const auto other = play_on_fabric(what);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "the plan is of 3 ranks, and 4 ranks are asked for");
  what.what.collective.ranks = 3;
  what.what.algorithm = Algorithm::kTwoShot;
  const auto shot = play_on_fabric(what);
  ASSERT_FALSE(shot);
  EXPECT_EQ(shot.error().message, "the plan has no channels for all_reduce by two-shot");
}

}  // namespace
}  // namespace comm_probe::sim
