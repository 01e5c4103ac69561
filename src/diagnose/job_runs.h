// How many runs do the logs of a pile show? Ranks that share a communicator are of one run. Two
// sets of ranks that share none are of two runs where
//   - both have a process of their own on one GPU (host and bus id): it was started again,
//   - they are of different releases of NCCL,
//   - each is whole (all ranks of its largest communicator, and no other process), and these have
//     different sizes.
// Otherwise they may be groups of one job as well as two jobs, and nothing tells which.
//
//   a.log: node1:100, GPU 0x18000, communicator 0xab of 4; b.log: node1:200, the same GPU, 0xcd
//   -> two runs {a.log}, {b.log}
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/finding.h"
#include "nccl/debug_log.h"
#include "torch/digest.h"

namespace comm_probe::diagnose {

struct LogRun {
  std::vector<std::string> files = {};  // that hold its ranks
  int size = 0;                         // of its largest communicator
  std::string name = {};                // "a.log and 3 more files"
};
struct LogRuns {
  // The one with the largest set of ranks first. Fewer than two: the logs can be judged as one.
  std::vector<LogRun> runs = {};
  std::vector<core::Caveat> caveats = {};
};
LogRuns runs_of(const nccl::DebugLog& log);

// Things of ranks by the folders they lie in: folders that hold a rank in common are of two jobs,
// the others of one (a folder for each node). Indices, in the order that was given.
struct PlacedRank {
  std::string file = {};
  int rank = -1;  // -1: not known, in common with nothing
};
std::vector<std::vector<std::size_t>> jobs_by_folder(const std::vector<PlacedRank>& ranks);

// Dumps are of two jobs where their groups of all ranks list other ranks, or where folders hold all
// ranks each. Those of the job with the most dumps are kept; others that hold all their ranks can
// be judged by themselves, the rest is left out.
using Digests = std::vector<std::shared_ptr<const torch::Digest>>;
struct OtherDumps {
  std::vector<Digests> jobs = {};
  std::vector<core::Caveat> caveats = {};
};
OtherDumps keep_one_job(Digests& digests);

}  // namespace comm_probe::diagnose
