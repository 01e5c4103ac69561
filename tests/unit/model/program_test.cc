// Explicit schedules: the same times as the algorithms that have no need of one, dependencies,
// matching, and schedules that stand still.
#include "model/program.h"

#include <gtest/gtest.h>

#include "model/closed_form.h"
#include "model/flow_play.h"
#include "model/program_flow.h"
#include "model/program_play.h"

namespace comm_probe::model {
namespace {

using namespace core::literals;
using core::Bytes;
using core::Duration;
using Kind = ProgramOp::Kind;

ProgramOp send(int from, int to, Bytes bytes, std::uint32_t tag = 0) {
  return {.kind = Kind::kSend, .rank = from, .peer = to, .tag = tag, .bytes = bytes};
}
ProgramOp recv(int at, int from, Bytes bytes, std::uint32_t tag = 0) {
  return {.kind = Kind::kRecv, .rank = at, .peer = from, .tag = tag, .bytes = bytes};
}
ProgramOp calc(int rank, Duration time, std::uint8_t cpu = 0) {
  return {.kind = Kind::kCalc, .cpu = cpu, .rank = rank, .time = time};
}

Network links(int ranks, Link link) { return {ranks, {.link = link}, Crossing::kOwnShare, {}}; }

ProgramTimes play(Program& program, Link link) {
  EXPECT_TRUE(program.seal().empty());
  return play_program(program, links(program.ranks(), link), {});
}

TEST(Program, ThereAndBack) {
  Program program(2);
  program.add(send(0, 1, 1_MB));
  const OpId back = program.add(send(1, 0, 1_MB));
  program.require(back, program.add(recv(1, 0, 1_MB)));
  program.add(recv(0, 1, 1_MB));
  const ProgramTimes times = play(program, {1_us, 1_GBps});
  EXPECT_NEAR(times.last().in_us(), 2002, 1e-9);
  EXPECT_NEAR(times.dependencies.in_us(), 2, 1e-9);
  EXPECT_EQ(times.ends.never, 0U);
}

// Two rounds of a ring: every rank sends what it has received in the round before.
Program ring(int ranks, int rounds, Bytes bytes) {
  Program program(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    std::optional<OpId> before;
    for (int round = 0; round < rounds; ++round) {
      const OpId sent = program.add(send(rank, (rank + 1) % ranks, bytes));
      if (before) program.require(sent, *before);
      before = program.add(recv(rank, (rank + ranks - 1) % ranks, bytes));
    }
  }
  return program;
}

TEST(Program, ARingIsTheClosedForm) {
  for (const int ranks : {2, 3, 8, 64}) {
    Program program = ring(ranks, 2 * (ranks - 1), 1_GiB / ranks);
    const auto closed = price({Op::kAllReduce, ranks, 1_GiB}, {Algorithm::kRing},
                              {.link = {Duration::from_ns(500), 50_GBps}});
    ASSERT_TRUE(closed);
    const ProgramTimes times = play(program, {Duration::from_ns(500), 50_GBps});
    EXPECT_NEAR(times.last() / closed->time(), 1, 1e-9) << ranks;
    EXPECT_LE(times.dependencies, times.last());
  }
}

TEST(Program, AProcessorDoesOneThingAfterTheOther) {
  Program program(1);
  program.add(calc(0, 3_us));
  program.add(calc(0, 4_us));
  program.add(calc(0, 5_us, 1));
  EXPECT_NEAR(play(program, {1_us, 1_GBps}).last().in_us(), 7, 1e-9);
}

// `irequires` waits until the other has begun, `requires` until it is over.
TEST(Program, BegunIsLessThanOver) {
  for (const bool begun : {true, false}) {
    Program program(1);
    const OpId first = program.add(calc(0, 10_us, 0));
    program.require(program.add(calc(0, 2_us, 1)), first, begun);
    EXPECT_NEAR(play(program, {1_us, 1_GBps}).last().in_us(), begun ? 10 : 12, 1e-9);
  }
}

// What is posted first takes what comes first; a tag and a peer of its own matter.
TEST(Program, MessagesFindTheirReceives) {
  Program program(3);
  const OpId any = program.add(recv(2, ProgramOp::kAnyPeer, 8_B, ProgramOp::kAnyTag));
  const OpId tagged = program.add(recv(2, 1, 8_B, 7));
  program.require(program.add(calc(2, 1_ms, 0)), any);
  program.require(program.add(calc(2, 1_ms, 1)), tagged);
  program.require(program.add(send(0, 2, 8_B)), program.add(calc(0, 50_us)));
  program.require(program.add(send(1, 2, 8_B, 7)), program.add(calc(1, 90_us)));
  const ProgramTimes times = play(program, {1_us, 1_GBps});
  EXPECT_EQ(times.ends.never, 0U);
  EXPECT_NEAR(times.last().in_us(), 1091.008, 1e-6);
}

TEST(Program, StandsStillWhereNothingComes) {
  Program program(2);
  const OpId zero = program.add(recv(0, 1, 8_B)), one = program.add(recv(1, 0, 8_B));
  program.require(program.add(send(0, 1, 8_B)), zero);
  program.require(program.add(send(1, 0, 8_B)), one);
  program.add(send(0, 1, 8_B, 9));
  const ProgramTimes times = play(program, {1_us, 1_GBps});
  EXPECT_EQ(times.ends.starved, (std::vector<OpId>{zero, one}));
  EXPECT_EQ(times.ends.never, 4U);
  EXPECT_EQ(times.ends.unreceived, (std::vector<OpId>{4}));
}

TEST(Program, CirclesAreFound) {
  Program program(1);
  const OpId a = program.add(calc(0, 1_us)), b = program.add(calc(0, 1_us)),
             c = program.add(calc(0, 1_us));
  program.require(b, a);
  program.require(c, b);
  program.require(b, c, true);
  EXPECT_EQ(program.seal().size(), 2U);
}

// One link into each rank and one out of it, shared.
class Ports : public Routes {
 public:
  Ports(int ranks, Link link)
      : link_(link), rates_(static_cast<std::size_t>(2 * ranks), link.beta) {}
  std::span<const core::Bandwidth> capacities() const override { return rates_; }
  void find(const Ask& ask, std::vector<Route>& routes) const override {
    Route route{.alpha = link_.alpha};
    route.path.add(static_cast<LinkId>(2 * ask.from));
    route.path.add(static_cast<LinkId>(2 * ask.to + 1));
    routes.push_back(route);
  }

 private:
  Link link_;
  std::vector<core::Bandwidth> rates_;
};

Duration played_as_flows(const Program& program, Link link) {
  const Ports ports(program.ranks(), link);
  ProgramSchedule schedule(program);
  FlowJob job{&schedule, {}, {}, false};
  for (int rank = 0; rank < program.ranks(); ++rank) job.places.push_back(rank);
  const FlowTimes times = play_flows(ports, {&job, 1});
  EXPECT_EQ(schedule.run().ends().never, 0U);
  return times.jobs[0].last;
}

TEST(Program, IsTheSameOnSharedLinksThatNobodyShares) {
  Program around = ring(8, 14, 1_MB);
  const Duration of_ports = play(around, {1_us, 1_GBps}).last();
  EXPECT_NEAR(of_ports / played_as_flows(around, {1_us, 1_GBps}), 1, 1e-9);
  Program work(1);
  const OpId first = work.add(calc(0, 3_us));
  work.require(work.add(calc(0, 5_us, 1)), first, true);
  work.add(calc(0, 4_us));
  EXPECT_NEAR(play(work, {1_us, 1_GBps}).last().in_us(), 7, 1e-9);
  EXPECT_NEAR(played_as_flows(work, {1_us, 1_GBps}).in_us(), 7, 1e-9);
}

// A long line of messages without bytes behind one that has some: no depth of calls for each.
TEST(Program, ManyEmptyMessagesBehindALargeOne) {
  Program program(2);
  constexpr int kMessages = 300000;
  program.add(send(0, 1, 1_GB));
  for (int i = 0; i < kMessages; ++i) program.add(send(0, 1, 0_B));
  for (int i = 0; i <= kMessages; ++i) program.add(recv(1, 0, 0_B));
  EXPECT_TRUE(program.seal().empty());
  EXPECT_NEAR(played_as_flows(program, {1_us, 1_GBps}).in_seconds(), 1.000001, 1e-9);
}

}  // namespace
}  // namespace comm_probe::model
