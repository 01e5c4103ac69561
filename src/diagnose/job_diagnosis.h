// One verdict from everything: which trees apply, what explains what, and what comes first.
//
// Order: findings that explain an error or a gap stand before what they explain; errors before
// warnings before information; among equals the order of the tree, bottom up for a slow job and top
// down for a stuck one. A conjecture ("possible ACS") is dropped where another artifact proves it.
//
//   ACS redirect in lspci + status 4 in the log -> topo.acs-redirects first, likely; log.ib-local-
//   protection behind it, "explained by topo.acs-redirects"
#pragma once

#include "diagnose/job.h"
#include "diagnose/job_gap.h"
#include "diagnose/job_tree.h"

namespace comm_probe::diagnose {

struct JobDiagnosis {
  std::vector<JobTree> trees = {};  // that apply, the leading one first
  std::vector<core::Finding> findings = {};
  std::vector<std::vector<JobVisit>> paths = {};  // of each tree; indices into findings
  std::optional<JobGap> gap = {};
  std::vector<core::Caveat> caveats = {};
  std::string verdict = {};
};

// `found`: what the areas and the joins found.
JobDiagnosis diagnose_job(const JobFacts& facts, std::vector<core::Finding> found);

}  // namespace comm_probe::diagnose
