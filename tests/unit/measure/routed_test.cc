// A routed all_to_all without processes: ranks as turns of one thread over plain buffers, so that
// what is packed, passed on, answered and added up is seen whole, and faults can be put in.
#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "measure/routed/cases.h"
#include "measure/routed/predict.h"
#include "model/moe/skew.h"

namespace comm_probe::measure {
namespace {

using namespace core::literals;  // NOLINT
using model::MoeScheme;
using model::Routing;

// The worked example of stages.h: 4 experts, one per rank; every rank has one token.
TEST(RoutedStages, TwoNodesOfTwo) {
  const Routing routing{.topk = 2, .experts = 4, .picks = {2, 3, 1, 1, 2, 3, 3, 3}};
  const RoutedShape shape = {4, 2, 96, 64};
  const RoutedStages flat = stages_of(routing, shape, MoeScheme::kFlat);
  const std::size_t record = dispatch_record(shape, 1);
  EXPECT_EQ(record, 112u);
  EXPECT_EQ(flat.dispatch[0].at(0, 2), record);
  EXPECT_EQ(flat.dispatch[0].at(0, 3), record);
  EXPECT_EQ(flat.dispatch[0].most_between_nodes(shape), 2 * record);
  const RoutedStages dedup = stages_of(routing, shape, MoeScheme::kDedup);
  const std::size_t with_two = dispatch_record(shape, 2);
  EXPECT_EQ(with_two, 128u);  // 16 + 8 + 96, up to a multiple of 16
  EXPECT_EQ(dedup.dispatch[0].at(0, 2), with_two);
  EXPECT_EQ(dedup.dispatch[0].at(0, 3), 0u);
  EXPECT_EQ(dedup.dispatch[1].at(2, 2), 2 * with_two);  // from rank 0 and its own
  EXPECT_EQ(dedup.dispatch[1].at(2, 3), 2 * with_two);
  EXPECT_EQ(dedup.dispatch[0].most_between_nodes(shape), with_two);
  EXPECT_EQ(dedup.combine[1].at(2, 0), combine_record(shape));
}

TEST(RoutedPredict, TheSlowerOfNicAndMoving) {
  // the worked example of predict.h: 8 MB at 100 MB/s against 40 MB at 1 ns, alpha 2 ms
  RoutedStages stages;
  stages.dispatch = {{2, {16'000'000, 8'000'000, 8'000'000, 8'000'000}}};
  const RoutedShape shape = {2, 1, 0, 0};
  RoutedRow row;
  const auto cost = [](double alpha, double per_byte) { return RoutedCost{{alpha, per_byte}, {}}; };
  const RoutedCosts costs = {cost(2e-3, 1e-9), cost(1e-3, 0.5e-9), cost(4e-3, 3e-9)};
  predict(stages, shape, core::Bandwidth::from_GBps(0.1), costs, row);
  EXPECT_NEAR(row.dispatch.predicted.in_ms(), 82, 1e-9);
  EXPECT_NEAR(row.dispatch.predicted_least.in_ms(), 81, 1e-9);
  EXPECT_NEAR(row.dispatch.predicted_most.in_ms(), 4 + 120, 1e-9) << "moving is slower then";
  predict(stages, shape, {}, costs, row);
  EXPECT_NEAR(row.dispatch.predicted.in_ms(), 42, 1e-9);
}

// Empty 2 ms (1 to 4), even 42 ms (21 to 124) for 40 MB: 1 ns per byte, 0.5 to 3.
TEST(RoutedPredict, CostsGoAsFarAsTheSamples) {
  RoutedRow empty, even;
  empty.dispatch = {.time = 2_ms, .fastest = 1_ms, .slowest = 4_ms};
  even.dispatch = {.time = 42_ms, .fastest = 21_ms, .slowest = 124_ms};
  even.dispatch.all = 40_MB;
  const RoutedCosts costs = routed_costs(empty, even);
  EXPECT_NEAR(costs.median.dispatch.per_byte, 1e-9, 1e-15);
  EXPECT_NEAR(costs.least.dispatch.per_byte, 0.5e-9, 1e-15);
  EXPECT_NEAR(costs.most.dispatch.per_byte, 3e-9, 1e-15);
  EXPECT_NEAR(costs.most.dispatch.alpha, 4e-3, 1e-9);
}

// Two ranks on two nodes, one token each, picks of the other rank's expert: 288 and 528 B (16 + 264
// and 16 + 512) each way, flat and dedup alike, at 816 B/s: 1 s each, 2 s a repetition.
TEST(RoutedPredict, ASlowLimitTakesRepetitionsOff) {
  RoutedPlan plan;
  plan.routing = Routing{.topk = 1, .experts = 2, .picks = {1, 0}};
  plan.shape = {2, 1, 264, 512};
  plan.nic = core::Bandwidth::from_bytes_per_second(816);
  const double once = limited_time(plan).in_seconds();
  EXPECT_NEAR(once, 2, 0.05);
  RoutedPlan enough = plan;
  fit_repetitions(core::Duration::from_seconds(once * 6), enough);
  EXPECT_EQ(enough.blocks, 5);
  EXPECT_EQ(enough.warmup, 1);
  RoutedPlan fewer = plan;
  fit_repetitions(core::Duration::from_seconds(once * 4.5), fewer);
  EXPECT_EQ(fewer.blocks, 3);
  RoutedPlan one = plan;
  fit_repetitions(core::Duration::from_seconds(once / 2), one);
  EXPECT_EQ(one.blocks, 1);
  EXPECT_EQ(one.warmup, 0);
  plan.nic = {};
  fit_repetitions(core::Duration::from_us(1), plan);
  EXPECT_EQ(plan.blocks, 5) << "no limit, no floor";
}

// All ranks in one thread cannot meet in an exchange; so the parts of a round are driven by threads
// that a barrier holds together.
class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(ranks) {}
  void meet() {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (++here_ == ranks_) {
      here_ = 0;
      ++round_;
      all_.notify_all();
    } else {
      all_.wait(lock, [&] { return round_ != round; });
    }
  }

 private:
  int ranks_, here_ = 0, round_ = 0;
  std::mutex mutex_;
  std::condition_variable all_;
};

enum class Fault { kNone, kLost, kTwice, kDamaged, kElsewhere };

struct World {
  std::vector<std::array<std::vector<std::byte>, 4>> send, receive;
  Meeting meeting;
  Fault fault = Fault::kNone;
  World(const RoutedCases& cases, int ranks) : meeting(ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      const SlotBytes bytes = slot_bytes(cases, rank);
      send.emplace_back();
      receive.emplace_back();
      for (std::size_t slot = 0; slot < 4; ++slot) {
        send.back()[slot].resize(bytes.send[slot]);
        receive.back()[slot].resize(bytes.receive[slot]);
      }
    }
  }
};

class ThreadTransport final : public RoutedTransport {
 public:
  ThreadTransport(World& world, int rank) : world_(world), rank_(rank) {}
  int rank() const override { return rank_; }
  void barrier() override { world_.meeting.meet(); }
  std::byte* send_buffer(int slot) override { return buffer(world_.send, rank_, slot); }
  std::byte* receive_buffer(int slot) override { return buffer(world_.receive, rank_, slot); }
  void exchange(const StageBytes& stage, int slot, NicLimit) override {
    for (int to = 0; to < stage.ranks; ++to)
      if (stage.at(rank_, to) > 0)
        std::memcpy(buffer(world_.receive, to, slot) + stage.receive_offset(rank_, to),
                    send_buffer(slot) + stage.send_offset(rank_, to), stage.at(rank_, to));
    barrier();
    // the first stage of combine: what came back to rank 0 first
    if (world_.fault != Fault::kNone && rank_ == 0 && slot == 1) spoil(receive_buffer(slot));
    barrier();
  }

 private:
  static std::byte* buffer(std::vector<std::array<std::vector<std::byte>, 4>>& all, int rank,
                           int slot) {
    return all[static_cast<std::size_t>(rank)][static_cast<std::size_t>(slot)].data();
  }
  void spoil(std::byte* records) const {
    TokenHeader header;
    std::memcpy(&header, records, sizeof header);
    switch (world_.fault) {
      case Fault::kNone:
        return;
      case Fault::kLost:
        header.mask = 0;
        break;
      case Fault::kTwice:
        header.mask = 3;
        break;
      case Fault::kElsewhere:
        header.token += 1;
        break;
      case Fault::kDamaged:
        records[sizeof header] ^= std::byte{1};
        break;
    }
    std::memcpy(records, &header, sizeof header);
  }
  World& world_;
  int rank_;
};

struct Case {
  const char* name;
  int ranks, ranks_per_node;
  model::RoutingDraw draw;
};

RoutedCheck run(const Routing& routing, const RoutedShape& shape, MoeScheme scheme, Fault fault) {
  RoutedCases cases;
  cases.fill({nullptr, stages_of(routing, shape, scheme), NicLimit::kNone});
  World world(cases, shape.ranks);
  world.fault = fault;
  std::vector<RoutedCheck> checks(static_cast<std::size_t>(shape.ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < shape.ranks; ++rank)
    threads.emplace_back([&, rank] {
      ThreadTransport transport(world, rank);
      RoutedSession session(routing, shape, cases[0].stages, transport);
      for (int round = 0; round < 2; ++round)
        session.run_once(NicLimit::kNone, checks[static_cast<std::size_t>(rank)]);
    });
  for (std::thread& thread : threads) thread.join();
  RoutedCheck sum;
  for (const RoutedCheck& check : checks) {
    sum.picks += check.picks;
    sum.missing += check.missing;
    sum.twice += check.twice;
    sum.wrong += check.wrong;
  }
  return sum;
}

class RoutedRounds : public testing::TestWithParam<Case> {};

TEST_P(RoutedRounds, EveryPickComesBackOnceWithItsWeight) {
  const auto& [name, ranks, ranks_per_node, draw] = GetParam();
  Routing routing = draw_routing(draw);
  std::uint64_t picks = routing.picks.size();
  for (std::size_t at = 0; at < routing.picks.size(); at += 13, --picks)
    routing.picks[at] = model::kNoExpert;
  const RoutedShape shape = {ranks, ranks_per_node, 37, 50};
  for (const MoeScheme scheme : {MoeScheme::kFlat, MoeScheme::kDedup}) {
    const RoutedCheck check = run(routing, shape, scheme, Fault::kNone);
    EXPECT_TRUE(check.is_good()) << scheme_name(scheme) << check.missing << " " << check.twice
                                 << " " << check.wrong;
    EXPECT_EQ(check.picks, 2 * picks);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RoutedRounds,
                         testing::Values(Case{"FourNodesOfTwo", 8, 2, {200, 8, 32, 4, 0, 1.2, 1}},
                                         Case{"OneNode", 4, 4, {100, 3, 8, 1, 0, 1, 2}},
                                         Case{"NodesOfOne", 6, 1, {60, 2, 12, 6, 0, 0, 3}},
                                         Case{"Alone", 1, 1, {10, 2, 4, 1, 0, 1, 4}},
                                         Case{"FewTokens", 8, 4, {5, 4, 16, 2, 0, 1, 5}}),
                         [](const auto& info) { return info.param.name; });

// The check must be able to fail: each fault shows as what it is.
TEST(RoutedCheckFinds, WhatWentWrong) {
  const Routing routing{.topk = 2, .experts = 2, .picks = {0, 1, 0, 1, 0, 1, 0, 1}};
  const RoutedShape shape = {2, 1, 32, 32};
  const auto found = [&](Fault fault) { return run(routing, shape, MoeScheme::kFlat, fault); };
  EXPECT_TRUE(found(Fault::kNone).is_good());
  EXPECT_EQ(found(Fault::kLost).missing, 2u);
  EXPECT_EQ(found(Fault::kTwice).twice, 2u);
  EXPECT_EQ(found(Fault::kDamaged).wrong, 2u);
  const RoutedCheck elsewhere = found(Fault::kElsewhere);
  EXPECT_EQ(elsewhere.missing, 2u);
  EXPECT_EQ(elsewhere.twice, 2u);
  EXPECT_GT(elsewhere.wrong, 0u);
}

TEST(RoutedPlanCheck, RefusesWhatDoesNotFit) {
  RoutedPlan plan;
  plan.routing = {.topk = 1, .experts = 8, .picks = {0, 1, 2, 3}};
  plan.shape = {4, 2, 32, 32};
  EXPECT_TRUE(check_routed(plan));
  plan.shape.ranks_per_node = 3;
  EXPECT_FALSE(check_routed(plan));
  plan.shape = {3, 1, 32, 32};
  EXPECT_FALSE(check_routed(plan));
  plan.shape = {4, 2, 32, 32};
  plan.routing.topk = 65;
  EXPECT_FALSE(check_routed(plan));
}

}  // namespace
}  // namespace comm_probe::measure
