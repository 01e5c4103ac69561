// What the recurrence must keep for every algorithm: it is the closed form where links are alike,
// and it is never faster for more bytes, slower links or later ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>

#include "model/algorithms.h"
#include "model/closed_form.h"
#include "model/schedules.h"
#include "sim/what_if.h"

namespace comm_probe::sim {
namespace {

using core::Bytes;
using core::Duration;
using model::Algorithm;
using model::Op;

std::string text_of(const WhatIf& what) {
  std::ostringstream stream;
  stream << op_name(what.collective.op) << " " << algorithm_name(what.algorithm)
         << " n=" << what.collective.ranks << " S=" << what.collective.bytes.count();
  for (const model::SlowLink& link : what.slow)
    stream << " slow " << link.a << ":" << link.b << ":" << link.factor;
  for (const LateRank& late : what.late) stream << " late " << late.rank << ":" << late.by.in_us();
  return stream.str();
}

class Cases {
 public:
  // The same in every run: all that can be played, on one link or on nodes.
  std::vector<WhatIf> all(bool has_nodes) {
    std::vector<WhatIf> cases;
    for (const Op op : model::kAllOps)
      for (const Algorithm algorithm : model::playable(op))
        for (int i = 0; i < 12; ++i) cases.push_back(one(op, algorithm, has_nodes));
    return cases;
  }
  double pick(double low, double high) {
    return std::exp(std::uniform_real_distribution<>(std::log(low), std::log(high))(random_));
  }
  int below(int n) { return std::uniform_int_distribution<>(0, n - 1)(random_); }

 private:
  WhatIf one(Op op, Algorithm algorithm, bool has_nodes) {
    const int ranks = 2 << below(6);
    WhatIf what{.collective = {op, ranks, Bytes::of(std::round(pick(8, 1e9)))},
                .algorithm = algorithm,
                .fabric = {.link = {Duration::from_us(pick(0.1, 50)),
                                    core::Bandwidth::from_GBps(pick(0.1, 900))}}};
    if (has_nodes) {
      what.fabric.inter =
          model::Link{Duration::from_us(pick(1, 100)), core::Bandwidth::from_GBps(pick(0.1, 100))};
      what.fabric.ranks_per_node = std::max(1, ranks >> below(4));
    }
    return what;
  }
  std::mt19937_64 random_ = std::mt19937_64(20261130);
};

bool is_pipelined(const WhatIf& what) {
  const bool is_chain = what.algorithm == Algorithm::kRing &&
                        (what.collective.op == Op::kBroadcast || what.collective.op == Op::kReduce);
  return is_chain || what.algorithm == Algorithm::kTree;
}

Duration time_of(const WhatIf& what) {
  const auto outcome = play(what);
  EXPECT_TRUE(outcome) << text_of(what);
  return outcome->time;
}

constexpr double kEqual = 1e-9;

TEST(Recurrence, IsTheClosedFormWhereLinksAreAlike) {
  for (const WhatIf& what : Cases().all(false)) {
    const auto outcome = play(what);
    ASSERT_TRUE(outcome) << text_of(what);
    const double closed = outcome->closed_form.time().in_seconds();
    if (is_pipelined(what)) continue;
    EXPECT_NEAR(outcome->time.in_seconds() / closed, 1, kEqual) << text_of(what);
  }
}

// Two kinds of links, each round on one of them; every rank crosses with its own share.
TEST(Recurrence, OfTwoLevelsIsTheClosedForm) {
  std::size_t tried = 0;
  for (WhatIf what : Cases().all(true)) {
    if (what.algorithm != Algorithm::kHierarchical) continue;
    what.fabric.rails = 4;
    const auto outcome = play(what);
    ASSERT_TRUE(outcome) << text_of(what);
    EXPECT_NEAR(outcome->time / outcome->closed_form.time(), 1, kEqual) << text_of(what);
    ++tried;
  }
  EXPECT_EQ(tried, 48u);
}

// Longer by the filling of the pipeline and no more: a chunk for each child and hop.
TEST(Recurrence, OfChainsAndTreesAddsTheirFilling) {
  for (const WhatIf& what : Cases().all(false)) {
    if (!is_pipelined(what)) continue;
    const auto outcome = play(what);
    ASSERT_TRUE(outcome) << text_of(what);
    const int n = what.collective.ranks;
    const bool is_tree = what.algorithm == Algorithm::kTree;
    const double hops = is_tree ? 2 * (std::log2(n) - 1) : n - 2;  // two children each
    const double waves = is_tree && what.collective.op == Op::kAllReduce ? 2 : 1;
    const Bytes chunk = std::min(outcome->chunk, what.collective.bytes);
    const Duration fill = chunk / what.fabric.link.beta * hops * waves;
    // a pair is a tree in which nobody has two children
    if (!is_tree || n > 2) {
      EXPECT_GE(outcome->time.in_seconds(),
                outcome->closed_form.time().in_seconds() * (1 - kEqual) -
                    (is_tree ? fill.in_seconds() : 0))
          << text_of(what);
    }
    EXPECT_LE(outcome->time.in_seconds(),
              (outcome->closed_form.time() + fill).in_seconds() * (1 + kEqual))
        << text_of(what);
  }
}

TEST(Recurrence, IsNeverFasterForMoreBytesSlowerLinksOrLaterRanks) {
  Cases source;
  for (WhatIf what : source.all(true)) {
    const Duration before = time_of(what);
    const auto never_faster = [&](const WhatIf& changed) {
      EXPECT_GE(time_of(changed).in_seconds(), before.in_seconds() * (1 - kEqual))
          << text_of(changed);
    };
    WhatIf changed = what;
    changed.collective.bytes = what.collective.bytes * 2;
    never_faster(changed);
    const int n = what.collective.ranks, a = source.below(n);
    changed = what;
    changed.slow = {{a, (a + 1 + source.below(n - 1)) % n, source.pick(0.01, 1)}};
    never_faster(changed);
    changed.slow = {{a, model::kAnyRank, source.pick(0.01, 1)}};
    never_faster(changed);
    changed = what;
    changed.late = {{a, before * source.pick(0.01, 10)}};
    never_faster(changed);
    // and a rank that is late by d costs d at most
    EXPECT_LE(time_of(changed).in_seconds(),
              (before + changed.late[0].by).in_seconds() * (1 + kEqual))
        << text_of(changed);
  }
}

TEST(Recurrence, OfARingDoesNotKnowTheNamesOfTheRanks) {
  Cases source;
  for (WhatIf what : source.all(false)) {
    if (what.algorithm != Algorithm::kRing || is_pipelined(what)) continue;
    const int n = what.collective.ranks, a = source.below(n);
    what.slow = {{a, (a + 1) % n, 0.3}};
    what.late = {{source.below(n), Duration::from_us(source.pick(1, 1000))}};
    const Duration before = time_of(what);
    const int turn = source.below(n);
    what.slow[0].a = (what.slow[0].a + turn) % n;
    what.slow[0].b = (what.slow[0].b + turn) % n;
    what.late[0].rank = (what.late[0].rank + turn) % n;
    EXPECT_NEAR(time_of(what) / before, 1, kEqual) << text_of(what);
  }
}

}  // namespace
}  // namespace comm_probe::sim
