// The main job on this machine, step by step: what a collective costs in the ledger, what it cost
// when it ran, how far both are apart, and why.
//
//   gap = measured / predicted - 1; up to kExplainedGap in either direction the ledger explains it,
//   and so does a difference below the flag latency: an all_to_all of 8 B that takes 67 ns and not
//   48 ns on a machine whose flag takes 31 ns is no fault of its links.
// Beyond it the circumstances of that very measurement are asked: did the machine change its state,
// did others work on it, did the blocks differ among themselves? What none of them explains, and
// is slower than the ledger, is a finding.
//
// Worked example (tests/unit/diagnose/walk_test.cc): predicted 10 us, measured 16 us, all blocks
// within 5 %, flag latency steady, nobody else at work: gap 0.6, link.gap-unexplained.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "measure/beside.h"
#include "topology/topology.h"

namespace comm_probe::diagnose {

inline constexpr double kExplainedGap = 0.25;
// Fastest and slowest block of a quiet measurement lie closer together than this.
inline constexpr double kSteadyBlocks = 1.3;

struct WalkStep {
  std::string name = {};  // "all_reduce 64 KiB"
  measure::Beside beside = {};
  std::optional<double> gap = {};  // absent: not priced
  std::vector<std::string> explained_by = {};
  bool is_explained = true;
};

// Slowest and fastest block are further apart than those of a quiet measurement.
bool is_uneven(const measure::Timing& timing);

WalkStep judge_step(const measure::Beside& beside);
// Within kExplainedGap, or less than one flag apart; false where there is no ledger.
bool is_as_predicted(const WalkStep& step);
// Slower than the ledger without a reason: measured again before it becomes a finding.
bool needs_another_look(const WalkStep& step);
// No time is left for that look: one measurement alone is no finding.
void give_up_looking(WalkStep& step);
// Wrong results, dead ranks, steps slower than their ledger without a reason.
std::vector<core::Finding> walk_findings(const std::vector<WalkStep>& steps);
// Steps without a ledger or whose gap only has an outer reason.
std::vector<core::Caveat> walk_caveats(const std::vector<WalkStep>& steps);

// One line of --accept. The expectation is computed for this host.
struct Check {
  // kNotHere: this host cannot have or show it
  enum class Outcome { kPass, kFail, kUndecided, kNotHere };
  std::string name = {};
  std::string expected = {};
  std::string observed = {};
  Outcome outcome = Outcome::kPass;
  std::string why = {};  // not decided, or what would decide it
};
const char* outcome_name(Check::Outcome outcome);  // "pass" | "fail" | "undecided" | "not here"
std::vector<Check> acceptance(const topology::HostTopology& host,
                              const std::vector<WalkStep>& steps);
// Undecided lines limit the conclusion (exit status 5): a machine is accepted when every line is
// decided.
std::vector<core::Caveat> acceptance_caveats(const std::vector<Check>& checks);
// One finding for the lines that fail: exit status 1.
std::vector<core::Finding> acceptance_findings(const std::vector<Check>& checks);
// "refused: NUMA affinity", "not accepted yet: locked memory open", "accepted"
std::string acceptance_verdict(const std::vector<Check>& checks);

}  // namespace comm_probe::diagnose
