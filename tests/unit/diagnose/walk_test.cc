#include "diagnose/walk.h"

#include <gtest/gtest.h>

#include "diagnose/links.h"

namespace comm_probe::diagnose {
namespace {

using namespace core::literals;
using core::Duration;

// predicted 10 us, measured as asked for, blocks within 5 %, a steady and quiet machine
measure::Beside quiet(double measured_us) {
  measure::Beside b;
  b.plan = {.op = model::Op::kAllReduce, .ranks = 2};
  b.row.bytes = 64_KiB;
  const Duration time = Duration::from_us(measured_us);
  b.row.out_of_place = {time, time * 0.98, time * 1.03, 20, 0};
  b.context.cores = 2;
  b.ledger = model::Ledger{};
  b.predicted = 10_us;
  b.flag_before = b.flag_after = Duration::from_ns(190);
  return b;
}

TEST(Walk, WithinAQuarterTheLedgerExplains) {
  for (const double measured : {7.6, 10.0, 12.4}) {
    const WalkStep step = judge_step(quiet(measured));
    EXPECT_NEAR(*step.gap, measured / 10 - 1, 1e-9);
    EXPECT_EQ(step.explained_by, std::vector<std::string>{"the ledger"});
    EXPECT_TRUE(walk_findings({step}).empty());
    EXPECT_TRUE(walk_caveats({step}).empty());
  }
}

// the worked example of walk.h
TEST(Walk, SlowerWithoutAReasonIsAFinding) {
  const WalkStep step = judge_step(quiet(16));
  EXPECT_FALSE(step.is_explained);
  const auto findings = walk_findings({step});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "link.gap-unexplained");
  EXPECT_NEAR(findings[0].expected->value, 10, 1e-9);
  EXPECT_NEAR(findings[0].observed->value, 16, 1e-9);
  EXPECT_NE(findings[0].summary.find("64 KiB"), std::string::npos);
}

// Seen on a healthy machine: all_to_all of 8 B took 66.9 ns, its ledger said 48.4 ns, a flag 31 ns.
TEST(Walk, LessThanAFlagApartIsNoGap) {
  measure::Beside tiny = quiet(0.0669);
  tiny.predicted = Duration::from_ns(48.4);
  tiny.flag_before = tiny.flag_after = Duration::from_ns(31);
  const WalkStep step = judge_step(tiny);
  EXPECT_TRUE(step.is_explained);
  EXPECT_TRUE(is_as_predicted(step));
  EXPECT_FALSE(is_as_predicted(judge_step(quiet(16))));
  EXPECT_FALSE(needs_another_look(step));
  EXPECT_TRUE(walk_findings({step}).empty());
  EXPECT_TRUE(walk_caveats({step}).empty());
  EXPECT_EQ(acceptance({}, {step}).back().outcome, Check::Outcome::kPass);
  EXPECT_EQ(acceptance({}, {step}).back().expected, "at most 79.4 ns");  // 48.4 + 31
  tiny.row.out_of_place.time = tiny.row.out_of_place.slowest = tiny.row.out_of_place.fastest =
      Duration::from_ns(48.4 + 32);
  EXPECT_TRUE(needs_another_look(judge_step(tiny)));
}

// One look alone is no proof: where no time is left for another, it is a caveat.
TEST(Walk, WithoutTimeForAnotherLookThereIsNoFinding) {
  WalkStep step = judge_step(quiet(16));
  ASSERT_TRUE(needs_another_look(step));
  give_up_looking(step);
  EXPECT_TRUE(walk_findings({step}).empty());
  ASSERT_EQ(walk_caveats({step}).size(), 1U);
  EXPECT_EQ(walk_caveats({step})[0].id, "link.disturbed");
  EXPECT_EQ(acceptance({}, {step}).back().outcome, Check::Outcome::kUndecided);
}

TEST(Walk, FasterThanTheLedgerIsNoFinding) {
  EXPECT_TRUE(walk_findings({judge_step(quiet(5))}).empty());
}

// Uneven blocks make a collective slower, never faster than its links.
TEST(Walk, AFasterStepIsNotBlamedOnItsBlocks) {
  measure::Beside jumpy = quiet(5);
  jumpy.row.out_of_place.slowest = 30_us;
  EXPECT_EQ(judge_step(jumpy).explained_by,
            std::vector<std::string>{"faster than the same steps were one by one"});
}

TEST(Walk, EveryCircumstanceIsAReason) {
  measure::Beside moved = quiet(16);
  moved.flag_after = Duration::from_ns(32);
  measure::Beside jumpy = quiet(16);
  jumpy.row.out_of_place.slowest = 30_us;
  measure::Beside loaded = quiet(16);
  loaded.load = 11;
  measure::Beside preempted = quiet(16);
  preempted.preemptions = 500;
  for (const measure::Beside& beside : {moved, jumpy, loaded, preempted}) {
    const WalkStep step = judge_step(beside);
    EXPECT_TRUE(step.is_explained) << step.explained_by.front();
    EXPECT_TRUE(walk_findings({step}).empty()) << step.explained_by.front();
    ASSERT_EQ(walk_caveats({step}).size(), 1U);
    EXPECT_EQ(walk_caveats({step})[0].id, "link.disturbed");
  }
}

TEST(Walk, WhatIsNotPricedStandsAlone) {
  measure::Beside crowded = quiet(16);
  crowded.ledger.reset();
  crowded.not_priced = "not priced: 4 ranks on 2 cores take turns";
  const WalkStep step = judge_step(crowded);
  EXPECT_FALSE(step.gap.has_value());
  EXPECT_EQ(step.explained_by.front(), crowded.not_priced);
  ASSERT_EQ(walk_caveats({step}).size(), 1U);
  EXPECT_EQ(walk_caveats({step})[0].id, "link.no-ledger");
}

TEST(Walk, AcceptanceSaysPassFailAndUndecided) {
  topology::HostTopology host;
  host.cpus = host.allowed = {0, 1};
  measure::Beside wrong = quiet(10);
  wrong.row.out_of_place.wrong = 3;
  measure::Beside loaded = quiet(16);
  loaded.load = 11;
  const std::vector<WalkStep> steps = {judge_step(quiet(10)), judge_step(quiet(16)),
                                       judge_step(wrong), judge_step(loaded)};
  const std::vector<Check> checks = acceptance(host, steps);
  ASSERT_EQ(checks.size(), 5U);
  EXPECT_EQ(checks[0].outcome, Check::Outcome::kPass);  // two CPUs, no quota
  EXPECT_EQ(checks[1].outcome, Check::Outcome::kPass);
  EXPECT_EQ(checks[2].outcome, Check::Outcome::kFail);
  EXPECT_EQ(checks[3].outcome, Check::Outcome::kFail);
  EXPECT_EQ(checks[4].outcome, Check::Outcome::kUndecided);
  EXPECT_EQ(checks[1].expected, "at most 12.5 us");
  host.quota = 0.5;
  EXPECT_EQ(acceptance(host, {})[0].outcome, Check::Outcome::kFail);
}

// A burn-in script reads exit status 0 as accepted.
TEST(Walk, OnlyDecidedLinesAreAnAcceptance) {
  topology::HostTopology host;
  host.cpus = host.allowed = {0, 1};
  measure::Beside loaded = quiet(45);
  loaded.load = 11;
  measure::Beside unpriced = quiet(16);
  unpriced.ledger.reset();
  for (const measure::Beside& beside : {loaded, unpriced}) {
    const auto caveats = acceptance_caveats(acceptance(host, {judge_step(beside)}));
    ASSERT_EQ(caveats.size(), 1U);
    EXPECT_EQ(caveats[0].id, "link.accept-undecided");
    EXPECT_NE(caveats[0].missing.find("all_reduce 64 KiB"), std::string::npos);
    EXPECT_TRUE(caveats[0].limits);
  }
  EXPECT_TRUE(acceptance_caveats(acceptance(host, {judge_step(quiet(10))})).empty());
}

// A line that fails refuses the machine: finding (exit status 1), verdict and caveat agree.
TEST(Walk, AFailedLineRefusesTheMachineWhateverIsOpen) {
  const std::vector<Check> checks = {{"NVLink", "18", "17", Check::Outcome::kFail},
                                     {"locked memory", "", "", Check::Outcome::kUndecided}};
  ASSERT_EQ(acceptance_findings(checks).size(), 1U);
  EXPECT_EQ(acceptance_findings(checks)[0].severity, core::Severity::kWarning);
  EXPECT_EQ(acceptance_verdict(checks), "refused: NVLink");
  ASSERT_EQ(acceptance_caveats(checks).size(), 1U);
  EXPECT_EQ(acceptance_caveats(checks)[0].effect.find("neither"), std::string::npos);
  EXPECT_TRUE(acceptance_findings({checks[1]}).empty());
  EXPECT_EQ(acceptance_verdict({checks[1]}), "neither accepted nor refused, open: locked memory");
  EXPECT_EQ(acceptance_verdict({{"NVLink", "18", "18", Check::Outcome::kPass}}), "accepted");
}

// Whatever fails has a finding, so that the exit status says so too.
TEST(Walk, EveryFailedLineHasAFinding) {
  topology::HostTopology one_cpu, quota, narrow;
  one_cpu.cpus = one_cpu.allowed = {0};
  quota.cpus = quota.allowed = narrow.cpus = narrow.allowed = {0, 1};
  quota.quota = 0.5;
  topology::PciDevice device;
  device.current.width = 8;
  device.maximum.width = 16;
  narrow.devices = {device};
  for (const topology::HostTopology& host : {one_cpu, quota, narrow}) {
    int failed = 0;
    for (const Check& check : acceptance(host, {}))
      failed += check.outcome == Check::Outcome::kFail ? 1 : 0;
    EXPECT_EQ(failed, 1);
    EXPECT_EQ(judge_host(host).findings.size(), 1U);
  }
}

TEST(Walk, WrongResultsAreAnErrorWhateverTheTime) {
  measure::Beside wrong = quiet(10);
  wrong.row.out_of_place.wrong = 3;
  const auto findings = walk_findings({judge_step(wrong)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "bench.wrong-results");
}

}  // namespace
}  // namespace comm_probe::diagnose
