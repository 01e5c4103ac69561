// Laws that every algorithm must keep, and the closed form against a slow recurrence that moves
// every block of every rank.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model/compare.h"
#include "model/model.h"

namespace comm_probe::model {
namespace {

using namespace core::literals;  // NOLINT

struct Case {
  Collective collective;
  Method method;
  Fabric fabric;
};
std::ostream& operator<<(std::ostream& stream, const Case& one) {
  return stream << op_name(one.collective.op) << " " << algorithm_name(one.method.algorithm) << "/"
                << protocol_name(one.method.protocol) << " n=" << one.collective.ranks
                << " S=" << one.collective.bytes.count() << " p=" << one.fabric.ranks_per_node;
}

// The same cases in every run: each recipe with many sizes, links, ranks, with one link and two.
std::vector<Case> cases() {
  std::mt19937_64 random(20240607);
  const auto pick = [&random](double low, double high) {
    return std::exp(std::uniform_real_distribution<>(std::log(low), std::log(high))(random));
  };
  std::vector<Case> all;
  for (const Recipe& recipe : recipes())
    for (int i = 0; i < 60; ++i) {
      const Link inside = {core::Duration::from_us(pick(0.1, 50)),
                           core::Bandwidth::from_GBps(pick(0.1, 900))};
      const Link between = {core::Duration::from_us(pick(1, 100)),
                            core::Bandwidth::from_GBps(pick(0.1, 100))};
      Fabric fabric{.link = inside};
      if (i % 3 == 2) fabric.inter = between;
      if (i % 3 != 0) fabric.ranks_per_node = 1 << (i % 4);
      const int ranks = i % 2 == 0 ? 1 << (i % 11) : 1 + i;
      all.push_back({{recipe.op, ranks, core::Bytes::of(std::round(pick(1, 1e11)))},
                     {recipe.algorithm, kAllProtocols[static_cast<std::size_t>(i) % 3]},
                     fabric});
    }
  return all;
}

// Calls `check(case, ledger)` for every case that can be priced; at least half of them can.
template <class Check>
void for_each_ledger(Check check) {
  std::size_t priced = 0, all = 0;
  for (const Case& one : cases()) {
    ++all;
    const auto ledger = price(one.collective, one.method, one.fabric);
    if (!ledger) continue;
    ++priced;
    check(one, *ledger);
  }
  EXPECT_GT(priced, all / 2);
}

TEST(ClosedFormLaws, TimeGrowsWithBytes) {
  for_each_ledger([](const Case& one, const Ledger& ledger) {
    Case larger = one;
    larger.collective.bytes = one.collective.bytes * 1.5;
    const Ledger more = *price(larger.collective, larger.method, larger.fabric);
    EXPECT_GE(more.time(), ledger.time()) << one;
    EXPECT_EQ(more.time() > ledger.time(), one.collective.ranks > 1) << one;
  });
}

TEST(ClosedFormLaws, NeverBelowTheStepsNorTheBytes) {
  for_each_ledger([](const Case& one, const Ledger& ledger) {
    const Placement at = place(one.collective.ranks, one.fabric);
    const core::Duration least_alpha =
        at.nodes > 1 ? std::min(at.intra.alpha, at.inter.alpha) : at.intra.alpha;
    EXPECT_GE(ledger.time().in_us(), (least_alpha * ledger.steps).in_us() * (1 - 1e-12)) << one;
    const core::Duration floor = ledger.bytes_per_rank.count() > 0
                                     ? ledger.bytes_per_rank / ledger.link.beta
                                     : core::Duration();
    EXPECT_GE(ledger.time().in_us(), floor.in_us() * (1 - 1e-12)) << one;
  });
}

TEST(ClosedFormLaws, OneRankIsFree) {
  for_each_ledger([](const Case& one, const Ledger&) {
    const Ledger alone =
        *price({one.collective.op, 1, one.collective.bytes}, one.method, one.fabric);
    EXPECT_EQ(alone.time(), core::Duration()) << one;
    EXPECT_EQ(alone.steps, 0) << one;
    EXPECT_EQ(alone.knee, core::Bytes()) << one;
  });
}

TEST(ClosedFormLaws, RingStaysBelowItsLink) {
  for_each_ledger([](const Case& one, const Ledger& ledger) {
    if (one.method.algorithm != Algorithm::kRing) return;
    EXPECT_LE(ledger.busbw().in_GBps(), ledger.link.beta.in_GBps() * (1 + 1e-12)) << one;
  });
}

// The definitions of the contract, checked by pricing at the sizes themselves: both terms equal at
// the knee, 90 % of what a message of 10^16 B reaches at plateau90. Two links included.
TEST(ClosedFormLaws, KneeAndPlateauAreWhatTheySay) {
  for_each_ledger([](const Case& one, const Ledger& ledger) {
    if (one.collective.ranks == 1) return;
    const auto at = [&one](core::Bytes bytes) {
      return *price({one.collective.op, one.collective.ranks, bytes}, one.method, one.fabric);
    };
    const Ledger knee = at(ledger.knee);
    EXPECT_NEAR(knee.latency() / knee.bandwidth(), 1, 1e-9) << one;
    const double reached = at(core::Bytes::of(1e18)).busbw().in_GBps();
    EXPECT_NEAR(ledger.plateau_busbw.in_GBps() / reached, 1, 1e-3) << one;
    EXPECT_NEAR(at(ledger.plateau90).busbw() / ledger.plateau_busbw, 0.9, 1e-9) << one;
  });
}

TEST(ClosedFormLaws, CrossoversReallyCross) {
  std::size_t crossed = 0;
  for (const Op op : kAllOps) {
    std::vector<Method> methods;
    for (const Recipe& recipe : recipes())
      if (recipe.op == op) methods.push_back({recipe.algorithm, Protocol::kSimple});
    const Fabric fabric = {.link = {3_us, 300_GBps}};
    const Comparison comparison = *compare({op, 16, 1_MB}, methods, fabric);
    const auto time = [&](const Method& method, core::Bytes bytes) {
      return price({op, 16, bytes}, method, fabric)->time().in_us();
    };
    for (const Crossover& one : comparison.crossovers) {
      ++crossed;
      EXPECT_NEAR(time(one.below, one.size) / time(one.above, one.size), 1, 1e-9);
      EXPECT_LT(time(one.below, one.size * 0.5), time(one.above, one.size * 0.5));
      EXPECT_GT(time(one.below, one.size * 2), time(one.above, one.size * 2));
    }
    // inside a stretch nothing is faster than its method
    for (const Stretch& stretch : comparison.stretches) {
      const core::Bytes middle =
          (stretch.from + stretch.to.value_or(stretch.from * 2 + 1_MB)) * 0.5;
      for (const Method& other : methods)
        EXPECT_GE(time(other, middle), time(stretch.fastest, middle) * (1 - 1e-12));
    }
  }
  EXPECT_GT(crossed, 20u);
}

// Every rank has a clock; in a step it sends one block of S/n to its right neighbour and receives
// one from the left; the block arrives alpha + bytes/beta after both are ready.
double ring_recurrence_us(int ranks, double bytes, const Link& link) {
  std::vector<double> clock(static_cast<std::size_t>(ranks), 0);
  const double cost = link.alpha.in_us() + bytes / ranks / link.beta.in_bytes_per_second() * 1e6;
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    std::vector<double> next(clock.size());
    for (std::size_t rank = 0; rank < clock.size(); ++rank)
      next[rank] = std::max(clock[rank], clock[(rank + clock.size() - 1) % clock.size()]) + cost;
    clock = next;
  }
  return *std::max_element(clock.begin(), clock.end());
}

// Partners at distance 1, 2, 4 exchange the whole message.
double doubling_recurrence_us(int ranks, double bytes, const Link& link) {
  std::vector<double> clock(static_cast<std::size_t>(ranks), 0);
  const double cost = link.alpha.in_us() + bytes / link.beta.in_bytes_per_second() * 1e6;
  for (int distance = 1; distance < ranks; distance *= 2) {
    std::vector<double> next(clock.size());
    for (int rank = 0; rank < ranks; ++rank)
      next[static_cast<std::size_t>(rank)] =
          std::max(clock[static_cast<std::size_t>(rank)],
                   clock[static_cast<std::size_t>(rank ^ distance)]) +
          cost;
    clock = next;
  }
  return clock.front();
}

// A binary tree in heap order (children 2i+1, 2i+2), the message cut in chunks that follow each
// other. A rank has one link: what its children send arrives one after the other. Returns when the
// root has reduced the last chunk; the way down mirrors it.
double tree_wave_recurrence_us(int ranks, double bytes, int chunks, const Link& link) {
  const double alpha = link.alpha.in_us();
  const double wire = bytes / chunks / link.beta.in_bytes_per_second() * 1e6;
  std::vector<double> in_free(static_cast<std::size_t>(ranks), 0), ready = in_free;
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (int rank = ranks - 1; rank >= 0; --rank) {
      const auto self = static_cast<std::size_t>(rank);
      ready[self] = 0;
      for (int child = 2 * rank + 1; child <= std::min(2 * rank + 2, ranks - 1); ++child) {
        const double start = std::max(in_free[self], ready[static_cast<std::size_t>(child)]);
        in_free[self] = start + wire;
        ready[self] = std::max(ready[self], start + wire + alpha);
      }
    }
  return ready.front();
}

TEST(ClosedFormRecurrence, RingAndDoubling) {
  const Link link = {10_us, 25_GBps};
  for (const int ranks : {2, 3, 4, 7, 8, 16, 33, 64, 128})
    for (const double bytes : {1.0, 65536.0, 1e6, 1e9}) {
      const Collective collective = {Op::kAllReduce, ranks, core::Bytes::of(bytes)};
      EXPECT_NEAR(price(collective, {Algorithm::kRing}, {.link = link})->time().in_us() /
                      ring_recurrence_us(ranks, bytes, link),
                  1, 1e-9)
          << ranks << " " << bytes;
      if ((ranks & (ranks - 1)) != 0) continue;
      EXPECT_NEAR(
          price(collective, {Algorithm::kRecursiveDoubling}, {.link = link})->time().in_us() /
              doubling_recurrence_us(ranks, bytes, link),
          1, 1e-9)
          << ranks << " " << bytes;
    }
}

// The closed form is the limit of many small chunks. A complete tree of 2^k - 1 ranks has k-1
// levels where ceil(log2 n) says k, so powers of two are compared.
TEST(ClosedFormRecurrence, Tree) {
  const Link link = {10_us, 25_GBps};
  for (const int ranks : {2, 4, 8, 16, 64, 256})
    for (const double bytes : {65536.0, 1e6, 1e9}) {
      const double slow = tree_wave_recurrence_us(ranks, bytes, 20000, link);
      const Collective collective = {Op::kReduce, ranks, core::Bytes::of(bytes)};
      EXPECT_NEAR(price(collective, {Algorithm::kTree}, {.link = link})->time().in_us() / slow, 1,
                  2e-3)
          << ranks << " " << bytes;
    }
}

}  // namespace
}  // namespace comm_probe::model
