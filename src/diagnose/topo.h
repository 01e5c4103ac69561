// What a topology says about itself: NVLinks that are missing, GPUs far from their NIC, ports wider
// than their slot, a virtual machine that hides the tree. Facts come from topology::Survey; a rule
// whose facts the source does not hold says so in `checked`.
//
// The standard of comparison is the machine itself: a GPU counts as faulty only where the others
// of the same machine show what it should have. What a box is built like (two GPUs on one NIC, no
// switch between GPU and NIC) is information, no fault.
//
//   8 GPUs, 7 of them with NV18 to all the others, GPU2 with none
//     -> topo.nvlink-incomplete (error): GPU2 has NVLink to 0 of 7 GPUs, the others to 6 or more
#pragma once

#include <string>
#include <vector>

#include "core/document.h"
#include "core/finding.h"
#include "topology/survey.h"

namespace comm_probe::diagnose {

struct CheckedRule {
  std::string what = {};  // "NVLink between all GPUs"
  std::string outcome =
      {};  // "fine", "wrong", "does not apply: ...", "not known from this source: ..."
};

// A device that an error or a warning is about, for a drawing.
struct Blame {
  enum class Part { kDevice, kSlot, kNvlink };
  int device = 0;  // index in the survey
  Part part = Part::kDevice;
};

struct RuleAnswer;

struct TopoJudgement {
  std::vector<core::Finding> findings = {};
  std::vector<Blame> blamed = {};
  std::vector<core::Caveat> caveats = {};
  std::vector<CheckedRule> rules = {};
  core::Json checked = core::Json::array();

  void add(const std::string& what, const RuleAnswer& answer);
  // "nothing wrong found", "1 error, 2 warnings"
  std::string verdict() const;
  std::vector<std::pair<std::string, std::string>> checked_rows() const;
};

// A NIC needs more than its slot where the port is wider than the PCIe link after packet overhead;
// at 78 % of the nominal rate (25 of 32, 50 of 64 GB/s) they match (golden G2-11..13).
TopoJudgement judge_topology(const topology::Survey& survey);

}  // namespace comm_probe::diagnose
