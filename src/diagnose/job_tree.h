// The decision trees as tables of questions. A slow job is looked at from the bottom up (what the
// hardware and the network can carry, then what NCCL made of it, then what the framework wasted), a
// stuck one from the top down (the calls, then the processes, then the network), wrong numbers in
// the framework and the numerics alone. Every question that was visited is kept, with what was
// found, that it was fine, or what was not there to check.
#pragma once

#include <string>
#include <vector>

#include "diagnose/job.h"

namespace comm_probe::diagnose {

enum class JobTree { kStuck, kWrong, kSlow };
const char* job_tree_name(JobTree tree);       // "stuck"
const char* job_tree_direction(JobTree tree);  // "from the top down: calls, processes, network"

struct JobQuestion {
  JobTree tree;
  const char* key;                    // "network"
  const char* text;                   // "does NCCL use the fast network"
  std::vector<std::string_view> ids;  // of findings that answer it; "topo.nvlink-*"
  bool (*is_known)(const JobFacts&);  // the artifact that answers it is there
  const char* to_know;                // what would answer it: a command
};
const std::vector<JobQuestion>& job_questions();

struct JobVisit {
  // Noted: nothing is wrong, but a remark bears on the question.
  enum class Outcome { kFound, kNoted, kFine, kNotThere };
  const JobQuestion* question = nullptr;
  Outcome outcome = Outcome::kNotThere;
  std::vector<std::size_t> findings = {};  // indices: errors and warnings before others
};
const char* outcome_name(JobVisit::Outcome outcome);  // "found" | "noted" | "fine" | "not there"

// The visits of one tree, in its order; a finding belongs to the first question that names its id.
std::vector<JobVisit> walk(JobTree tree, const JobFacts& facts,
                           const std::vector<core::Finding>& findings);
// The place of a finding in the order of a tree; behind all questions where none names it.
std::size_t place_in(JobTree tree, std::string_view id);
// "topo.nvlink-*" takes "topo.nvlink-inactive".
bool takes(std::string_view pattern, std::string_view id);
// An error or a warning.
bool is_weighty(const core::Finding& finding);

}  // namespace comm_probe::diagnose
