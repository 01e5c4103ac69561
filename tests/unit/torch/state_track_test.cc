#include "torch/state_track.h"

#include <gtest/gtest.h>

#include <map>

#include "torch/host_nest.h"

namespace comm_probe::test {
namespace {

using core::TimelineState;
using torch::GpuKind;

torch::Trace trace_of(const std::vector<std::tuple<GpuKind, int, int>>& ops) {
  torch::Trace trace;
  trace.streams = {{0, 7}};
  const torch::NameId name = trace.names.number("k");
  for (const auto& [kind, start, end] : ops) {
    torch::GpuOp op;
    op.start = start;
    op.end = end;
    op.kind = kind;
    op.name = name;
    trace.gpu_ops.push_back(op);
  }
  return trace;
}

std::map<TimelineState, std::int64_t> sums(const torch::StateTrack& track) {
  std::map<TimelineState, std::int64_t> all;
  for (const auto& piece : track.pieces) all[piece.state] += piece.length;
  return all;
}

TEST(StateTrack, OneStateAfterTheOther) {
  const auto trace = trace_of({{GpuKind::kCompute, 100, 200},
                               {GpuKind::kCommunication, 180, 230},
                               {GpuKind::kCopy, 225, 240},
                               {GpuKind::kCompute, 250, 260}});
  const auto track = torch::state_track(torch::DeviceTime(trace), 100);
  EXPECT_EQ(track.start, 100);
  EXPECT_EQ(track.summed, 0);
  std::vector<std::pair<TimelineState, std::int64_t>> pieces;
  for (const auto& piece : track.pieces) pieces.emplace_back(piece.state, piece.length);
  EXPECT_EQ(pieces,
            (std::vector<std::pair<TimelineState, std::int64_t>>{{TimelineState::kCompute, 80},
                                                                 {TimelineState::kHidden, 20},
                                                                 {TimelineState::kExposed, 30},
                                                                 {TimelineState::kCopy, 10},
                                                                 {TimelineState::kIdle, 10},
                                                                 {TimelineState::kCompute, 10}}));
}

TEST(StateTrack, TooManyPiecesKeepTheirShares) {
  std::vector<std::tuple<GpuKind, int, int>> ops;
  for (int i = 0; i < 10'000; ++i)
    ops.emplace_back(i % 3 == 0 ? GpuKind::kCommunication : GpuKind::kCompute, 10 * i, 10 * i + 7);
  const auto trace = trace_of(ops);
  const torch::DeviceTime time(trace);
  const auto all = torch::state_track(time, 1'000'000);
  const auto few = torch::state_track(time, 500);
  EXPECT_GT(all.pieces.size(), 19'000u);
  EXPECT_LE(few.pieces.size(), 500u);
  EXPECT_GT(few.summed, 0);
  EXPECT_EQ(sums(few), sums(all));
}

TEST(StateTrack, NoWork) {
  const torch::Trace empty;
  EXPECT_TRUE(torch::state_track(torch::DeviceTime(empty), 10).pieces.empty());
}

TEST(HostNest, FramesOfTheUser) {
  EXPECT_TRUE(torch::is_user_frame("train.py(32): step"));
  EXPECT_FALSE(torch::is_user_frame("torch/nn/modules/module.py(1783): _call_impl"));
  EXPECT_FALSE(torch::is_user_frame("/opt/lib/python3.12/site-packages/apex/x.py(1): f"));
  EXPECT_EQ(torch::frame_text("train.py(32): step"), "train.py:32 (step)");
  EXPECT_EQ(torch::frame_text("strange"), "strange");
}

torch::HostOp range(torch::Trace& trace, std::int64_t from, std::int64_t to, const char* name,
                    torch::HostKind kind) {
  torch::HostOp op;
  op.start = from;
  op.end = to;
  op.name = trace.names.number(name);
  op.kind = kind;
  return op;
}

TEST(HostNest, TheInnermostRange) {
  torch::Trace trace;
  trace.threads = {{1, 1}};
  using torch::HostKind;
  trace.host_ops = {range(trace, 0, 1000, "ProfilerStep#1", HostKind::kStep),
                    range(trace, 100, 900, "aten::item", HostKind::kSync),
                    range(trace, 120, 880, "aten::_local_scalar_dense", HostKind::kSync),
                    range(trace, 920, 930, "aten::to", HostKind::kSync)};
  const torch::HostNest nest(trace);
  EXPECT_EQ(nest.innermost(0, 500), 2u);
  EXPECT_EQ(nest.parent(2), 1u);
  EXPECT_EQ(nest.innermost(0, 890), 1u);
  EXPECT_EQ(nest.innermost(0, 910), 0u);
  EXPECT_EQ(nest.innermost(0, 910, HostKind::kSync), torch::kNone);
  EXPECT_EQ(nest.innermost(0, 2000), torch::kNone);
}

}  // namespace
}  // namespace comm_probe::test
