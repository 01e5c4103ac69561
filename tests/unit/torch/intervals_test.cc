// The interval algebra of spec traces 2.1 on the examples of intervals.h and breakdown.h, and the
// identity that ties the figures together.
#include "torch/intervals.h"

#include <gtest/gtest.h>

#include <random>

#include "torch/breakdown.h"

namespace comm_probe::torch {
namespace {

TEST(Intervals, UnionsMergeWhatTouches) {
  const Intervals a = unite({{30, 40}, {0, 10}, {10, 20}, {15, 15}});
  EXPECT_EQ(a, (Intervals{{0, 20}, {30, 40}}));
  EXPECT_EQ(length(a), 30);
  EXPECT_EQ(shared_length(a, unite({{15, 35}})), 10);
  EXPECT_EQ(intersect(a, {{15, 35}}), (Intervals{{15, 20}, {30, 35}}));
  EXPECT_EQ(subtract(a, {{5, 8}, {12, 33}}), (Intervals{{0, 5}, {8, 12}, {33, 40}}));
  EXPECT_EQ(clip(a, {5, 5}), Intervals{});
}

Trace trace_of(const std::vector<GpuOp>& ops) {
  Trace trace;
  trace.streams = {{0, 7}};
  trace.gpu_ops = ops;
  settle(trace);
  return trace;
}

GpuOp op(GpuKind kind, std::int64_t start, std::int64_t end) {
  GpuOp one{start, end};
  one.kind = kind;
  return one;
}

TEST(Breakdown, TheExampleOfItsHeader) {
  const Trace trace = trace_of({op(GpuKind::kCompute, 0, 100), op(GpuKind::kCommunication, 80, 130),
                                op(GpuKind::kCopy, 125, 140), op(GpuKind::kCompute, 150, 160)});
  const Breakdown one = breakdown_of(unions_of(trace));
  EXPECT_EQ(one.span, 160);
  EXPECT_EQ(one.compute, 110);
  EXPECT_EQ(one.communication, 50);
  EXPECT_EQ(one.overlap, 20);
  EXPECT_EQ(one.exposed_communication, 30);
  EXPECT_EQ(one.exposed_memory, 10);
  EXPECT_EQ(one.idle, 10);
  EXPECT_DOUBLE_EQ(*one.overlap_percent(), 40);
}

TEST(Breakdown, WithoutCommunicationThereIsNoShare) {
  EXPECT_FALSE(breakdown_of(unions_of(trace_of({op(GpuKind::kCompute, 0, 5)}))).overlap_percent());
}

// Against time counted one by one.
TEST(Breakdown, EqualsCountingEveryNanosecond) {
  std::mt19937 random(6);
  const auto below = [&random](int limit) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(limit));
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<GpuOp> ops;
    for (int i = 0; i < 12; ++i) {
      const std::int64_t start = below(200);
      ops.push_back(op(static_cast<GpuKind>(below(4)), start, start + below(40)));
    }
    const Breakdown one = breakdown_of(unions_of(trace_of(ops)));
    std::int64_t compute = 0, exposed = 0, copies = 0, busy = 0;
    for (std::int64_t t = 0; t < 300; ++t) {
      bool k = false, c = false, m = false;
      for (const GpuOp& each : ops) {
        const bool runs = each.start <= t && t < each.end;
        k = k || (runs && each.kind == GpuKind::kCompute);
        c = c || (runs && each.kind == GpuKind::kCommunication);
        m = m || (runs && each.kind >= GpuKind::kCopy);
      }
      compute += k;
      exposed += c && !k;
      copies += m && !k && !c;
      busy += k || c || m;
    }
    EXPECT_EQ(one.compute, compute);
    EXPECT_EQ(one.exposed_communication, exposed);
    EXPECT_EQ(one.exposed_memory, copies);
    EXPECT_EQ(one.idle, one.span - busy);
  }
}

}  // namespace
}  // namespace comm_probe::torch
