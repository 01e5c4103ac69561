// The price of a schedule is the closed form where a message costs alpha + w / beta; hosts,
// partners.
#include <gtest/gtest.h>

#include <cmath>

#include "measure/engines/mpi/price.h"
#include "model/closed_form.h"

namespace comm_probe::measure::mpi {
namespace {

using core::Bytes;
using core::Duration;
using model::Algorithm;
using model::Op;

// A way on which every message costs alpha + bytes / beta. Dense points: a curve is log-log between
// them.
Level linear(const char* name, Duration alpha, core::Bandwidth beta) {
  Level level = {.name = name, .pairs = 1};
  for (double bytes = 8; bytes < 1e8; bytes *= 1.01) {
    const auto size = Bytes::of(bytes);
    level.fresh.one_way.push_back({size, alpha + size / beta});
  }
  level.fresh.exchange = level.fresh.one_way;
  level.resent = level.fresh;
  return level;
}

constexpr double kClose = 2e-3;  // of the time: the curve between two points

void expect_closed_form(Op op, Algorithm algorithm, int ranks, std::uint64_t count) {
  const model::Link link = {Duration::from_us(1), core::Bandwidth::from_GBps(1)};
  const Prices prices(std::vector<int>(static_cast<std::size_t>(ranks), 0),
                      {linear("inside a host", link.alpha, link.beta)}, {});
  const Plan plan = {.op = op, .ranks = ranks};
  const bool is_divided = op == Op::kAllGather || op == Op::kReduceScatter || op == Op::kAllToAll;
  const auto bytes = Bytes::of(count * 4 * (is_divided ? static_cast<std::uint64_t>(ranks) : 1));
  const auto priced = prices.price(plan, {count, bytes}, algorithm);
  const auto closed = model::price({op, ranks, bytes}, {algorithm}, {.link = link});
  ASSERT_TRUE(priced.has_value());
  ASSERT_TRUE(closed.ok()) << closed.error().one_line();
  EXPECT_NEAR(priced->time() / closed->time(), 1, kClose)
      << algorithm_name(algorithm) << " " << op_name(op) << " on " << ranks << ": "
      << priced->time().in_us() << " us against " << closed->time().in_us();
}

// From outside: the formulas of the closed form, which golden.csv checks.
TEST(MpiPrice, IsTheClosedFormForOneKindOfWay) {
  for (const int ranks : {2, 4, 8, 16}) {
    expect_closed_form(Op::kAllReduce, Algorithm::kRing, ranks, 48000);
    expect_closed_form(Op::kAllReduce, Algorithm::kRecursiveDoubling, ranks, 48000);
    expect_closed_form(Op::kAllGather, Algorithm::kRing, ranks, 3000);
    expect_closed_form(Op::kReduceScatter, Algorithm::kRing, ranks, 3000);
  }
}

// The worked example of price.h.
TEST(MpiPrice, RingOfFour) {
  const Prices prices(
      {0, 0, 0, 0}, {linear("inside a host", Duration::from_us(1), core::Bandwidth::from_GBps(1))},
      {});
  const auto ledger =
      prices.price({.ranks = 4}, {2000, Bytes::of(std::uint64_t{8000})}, Algorithm::kRing);
  ASSERT_TRUE(ledger.has_value());
  EXPECT_NEAR(ledger->time().in_us(), 18, 18 * kClose);
  EXPECT_EQ(ledger->steps, 6);
  EXPECT_EQ(ledger->bytes_per_rank.count(), 12000);
}

// One slow way makes every step of a ring wait for it; a tree crosses it once up and once down.
TEST(MpiPrice, SlowWayBetweenHosts) {
  const std::vector<Level> levels = {
      linear("inside a host", Duration::from_us(1), core::Bandwidth::from_GBps(1)),
      linear("between hosts", Duration::from_us(100), core::Bandwidth::from_GBps(1))};
  const Prices prices({0, 0, 1, 1}, levels, {});
  const Amount amount = {2, Bytes::of(std::uint64_t{8})};
  const Plan plan = {.ranks = 4};
  const auto ring = prices.price(plan, amount, Algorithm::kRing);
  const auto doubling = prices.price(plan, amount, Algorithm::kRecursiveDoubling);
  ASSERT_TRUE(ring && doubling);
  EXPECT_GT(ring->time().in_us(), 500);
  EXPECT_NEAR(doubling->time().in_us(), 101, 1);
  EXPECT_EQ(prices.cheapest(plan, amount)->algorithm, Algorithm::kRecursiveDoubling);
}

TEST(MpiPrice, WhatWasNotMeasuredIsNotPriced) {
  const Prices prices(
      {0, 1}, {linear("inside a host", Duration::from_us(1), core::Bandwidth::from_GBps(1))}, {});
  EXPECT_FALSE(prices.price({}, {2, Bytes::of(std::uint64_t{8})}, Algorithm::kRing).has_value());
}

// The worked example of levels.h.
TEST(MpiLevels, EveryRankHasAtMostOnePartner) {
  const std::vector<int> hosts = hosts_of({0, 0, 0, 3, 3});
  EXPECT_EQ(hosts, (std::vector<int>{0, 0, 0, 1, 1}));
  EXPECT_EQ(partners_inside(hosts), (std::vector<int>{1, 0, -1, 4, 3}));
  EXPECT_EQ(partners_between(hosts), (std::vector<int>{3, 4, -1, 0, 1}));
  EXPECT_EQ(partners_between({0, 0}), (std::vector<int>{-1, -1}));
}

}  // namespace
}  // namespace comm_probe::measure::mpi
