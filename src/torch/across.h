// Everything that several ranks show together: who met whom, who waited, how fast it went. The
// facts that diagnose/ judges and the command shows.
#pragma once

#include "torch/rates.h"
#include "torch/readers/inspector.h"
#include "torch/trace.h"

namespace comm_probe::torch {

struct AcrossRanks {
  CommJob job = {};
  Matching matching = {};
  std::vector<RankActivity> activities = {};  // of job.ranks; empty for Inspector logs
  std::vector<const Trace*> traces = {};      // of job.ranks; empty for Inspector logs
  Waits waits = {};
  std::vector<Rate> rates = {};

  int rank_number(int index) const { return job.ranks[static_cast<std::size_t>(index)].rank; }
  const CommGroup& group_of(const Meeting& meeting) const {
    return job.groups[static_cast<std::size_t>(meeting.group)];
  }
};

// Ranks are known and differ; the traces outlive the result. `message`: bytes of collectives whose
// size is not recorded; 0: they have none.
AcrossRanks across_ranks(std::vector<const Trace*> traces, std::uint64_t message = 0);
AcrossRanks across_ranks(CommJob job);

}  // namespace comm_probe::torch
