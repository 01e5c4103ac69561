// How far is the measured bandwidth from what it should be, and which of the findings accounts for
// how much of that? The expectation is, best first: that of the curve's own reference (a machine or
// links that were named), the ports that the pile shows for its nodes, a tenth of what one node
// alone reaches (a single NIC gives 1/8 to 1/10 of that, golden GB-02a), the best run of the same
// kind in the pile.
//
//   gap = expected - observed        explains = expected - max(observed, lowest share * expected)
//
// where a cause lets through between a lowest and a highest share of the expectation (a table with
// sources). A cause whose highest share lies below the observed figure did not hold for that run.
//
// Worked example (tests/unit/diagnose/job_gap_test.cc): 9.45 of 40 GB/s with NCCL on sockets: the
// gap is 30.55 GB/s, and TCP (1 to 35 % of the fabric) explains all of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/job.h"

namespace comm_probe::diagnose {

struct JobGap {
  const JudgedCurve* curve = nullptr;
  core::Bandwidth expected = {};
  core::Bandwidth observed = {};
  core::Basis basis = core::Basis::kComputed;  // of `expected`
  std::string source = {};
  bool is_of_other_hosts = false;  // the run that is compared with is
  core::Bandwidth size() const { return expected - observed; }
};
// The widest gap of the curves, by its share; those inside of what is usual are none.
std::optional<JobGap> find_gap(const JobFacts& facts);

// Sets `explains` of findings that can account for a part of it.
// Over sockets an RDMA port carries nothing, and a port explains no more than its share of the
// ports of its node: one of eight at most 1/8 of the rate.
void explain_gap(const JobFacts& facts, const JobGap& gap, std::vector<core::Finding>& findings);

// Whether something says what the table should reach.
bool is_compared(const JobFacts& facts, const JudgedCurve& judged);
// A reader of tables alone has no reference where the pile has one: the ports of its nodes.
void drop_answered(const JobFacts& facts, std::vector<core::Caveat>& caveats);

// What limits the comparison: a table that does not say its GPUs may be of other ones.
std::vector<core::Caveat> caveats_of(const std::optional<JobGap>& gap);

// job.gap, where no finding of the curve says it already.
std::vector<core::Finding> judge_gap(const std::optional<JobGap>& gap,
                                     const std::vector<core::Finding>& others);

}  // namespace comm_probe::diagnose
