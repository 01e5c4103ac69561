// Who hung the job? Looks at the dumps of all ranks side by side (torch::Job) and names the class,
// the culprits, the call, and how sure that is. Rules: spec flight-recorder 5; in this order, the
// first certain one stands: ranks disagree in a call (param or count mismatch), ranks owe a call
// that others wait for and stand outside of communication (dead or stuck), messages without a
// partner, communicators used in opposite order, everybody agrees (below the program).
//
// A rank that only waits is a victim and never a culprit. Counters decide, never clocks of two
// hosts. Where dumps cannot separate two explanations, both are named (`alternatives`).
//
//   4 ranks, call 7 of group "0": rank 2 passes 1025 elements, the others 1024, none completed
//   -> param_mismatch, culprits {2}, seq 7, certain
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "diagnose/diagnose.h"
#include "torch/job.h"

namespace comm_probe::diagnose {

enum class HangKind {
  kParamMismatch,
  kCountMismatch,
  kP2pUnpaired,
  kOrderInversion,
  kRankDeadOrStuck,
  kNetworkOrHardware,
  kNotDecidable,
  kHealthy,
  kSlow,
};
const char* hang_kind_name(HangKind kind);  // "param_mismatch", as in result.verdict.class
// The finding that says it; healthy has none.
std::string hang_finding_id(HangKind kind);

struct HangAlternative {
  HangKind kind = HangKind::kNotDecidable;
  std::vector<int> ranks = {};
  std::string decided_by = {};  // what would tell it from the verdict
};

// What one rank or one side did at the call in question, for a table.
struct HangSide {
  std::vector<int> ranks = {};
  std::string call = {};   // "all_reduce [[1024]] Float"
  std::string state = {};  // "pending", "not issued", "no dump"
  std::string site = {};   // "train.py:88 backward"
  std::vector<std::string> stack = {};
};

struct HangVerdict {
  HangKind kind = HangKind::kHealthy;
  std::vector<int> culprits = {};
  std::vector<int> victims = {};
  std::optional<std::size_t> group = {};  // in Job::groups
  std::optional<std::uint32_t> seq = {};
  std::optional<std::uint32_t> p2p_seq = {};
  std::string op = {};
  core::Confidence confidence = core::Confidence::kLikely;
  std::string summary = {};
  std::optional<bool> is_code = {};  // told by a log; else by the class
  std::vector<HangSide> sides = {};
  std::vector<HangAlternative> alternatives = {};
  std::vector<core::Evidence> evidence = {};
  std::vector<std::string> next = {};
};
// "code", "environment" or "undecided"
const char* code_or_environment(const HangVerdict& verdict);

struct HangJudgement {
  HangVerdict verdict = {};
  std::vector<HangVerdict> others = {};  // independent explanations, less certain ones
  std::vector<core::Caveat> caveats = {};
};

HangJudgement judge_hang(const torch::Job& job);
// None where nothing is wrong.
std::optional<core::Finding> finding_of(const HangVerdict& verdict);

}  // namespace comm_probe::diagnose
