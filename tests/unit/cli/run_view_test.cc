#include "cli/run_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report.h"

namespace comm_probe::cli {
namespace {

using core::Duration;
using testing::HasSubstr;
using testing::Not;

measure::HostLink link(measure::LinkKind kind, const std::string& name, double spread) {
  measure::HostLink link;
  link.name = name;
  link.kind = kind;
  link.alpha = core::Sourced<Duration>{Duration::from_us(2), core::Basis::kMeasured, "clock"};
  link.beta = core::Sourced<core::Bandwidth>{core::Bandwidth::from_GBps(5), core::Basis::kMeasured,
                                             "clock"};
  link.seconds = {1, 1 - spread / 2, 1 + spread / 2, 9};
  return link;
}

// Every figure of the machine with one spread, one collective with blocks `ratio` apart.
std::string shown(double spread, double ratio) {
  using measure::LinkKind;
  RunFacts facts;
  facts.links.links = {link(LinkKind::kFlag, "CPU 0 - CPU 1", spread),
                       link(LinkKind::kWake, "CPU 0 - CPU 1", spread),
                       link(LinkKind::kMemory, "CPU 0 read", spread),
                       link(LinkKind::kTcp, "127.0.0.1", spread)};
  facts.links.links[3].level = "one way";
  facts.links.flag = facts.links.wake = Duration::from_us(2);
  diagnose::WalkStep step{.name = "all_reduce 8 B"};
  step.beside.row.out_of_place = {.time = Duration::from_us(3),
                                  .fastest = Duration::from_us(2.9),
                                  .slowest = Duration::from_us(2.9) * ratio};
  facts.steps = {step};
  return report::render_text(run_document(facts), {});
}

// A number whose samples disagree is marked wherever it stands, and the mark is explained.
TEST(RunView, MarksEveryNoisyNumber) {
  const std::string noisy = shown(1.5, 4);
  for (const char* marked : {"~2 us one way", "~2 us where", "read ~5 GB/s", "alpha ~2 us, beta ~5",
                             "~3 us", "~: repeated samples lie more than 20 % apart"})
    EXPECT_THAT(noisy, HasSubstr(marked));
  EXPECT_THAT(shown(0.01, 1.05), Not(HasSubstr("~")));
  EXPECT_THAT(shown(0.01, 4), HasSubstr("~3 us"));
}

}  // namespace
}  // namespace comm_probe::cli
