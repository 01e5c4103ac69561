// Logs of several runs in one pile: each run's lines are read again by themselves, so that no rule
// compares ranks of one run with those of another (diagnose/job_runs.h tells the runs apart).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/doctor_pile.h"

namespace comm_probe::cli {

struct RunOfPile {
  std::string name = {};  // "b.log and 3 more files"
  nccl::DebugLog log = {};
  torch::JobLines lines = {};
  torch::NumberLines numbers = {};
};
struct RunsOfPile {
  std::string main =
      {};  // the name of the run that stays in the pile; empty where it is the only one
  std::vector<RunOfPile> others = {};
  // The lines of all runs together, for what is a question between runs (did they add in the same
  // order?); nothing where there is one run.
  std::optional<nccl::DebugLog> together = {};
  std::vector<core::Caveat> caveats = {};
};
// The lines of all runs but the first are taken out of the pile.
RunsOfPile split_runs(Pile& pile);

}  // namespace comm_probe::cli
