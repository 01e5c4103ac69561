// Why does a rank not come? The strongest line of the logs about one rank, in words: out of memory,
// Xid, an exit code, the last line of a Python traceback, ... A rank that was told of an error by
// its communicator, or timed out itself, is a victim and no reason.
//
//   [rank6] Traceback ... RuntimeError: loader failed  ->  "its program raised RuntimeError: loader
//   failed", although the warning that follows is also printed by processes that end well
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "diagnose/hang.h"
#include "torch/job_lines.h"

namespace comm_probe::diagnose {

core::Evidence evidence_of(const torch::JobLine& line);
// Nothing where no line tells it (`victims`: victim_ranks of the same lines); a process that ended
// well counts only when no line says that it ended otherwise.
const torch::JobLine* reason_of(const torch::JobLines& lines, int rank,
                                const std::set<int>& victims);
std::string reason_text(const torch::JobLine& line);
// The program's own fault, or that of the machine; nothing: not known.
std::optional<bool> is_code(const torch::JobLine& line);
// Ranks that waited, or were told that a peer is gone.
std::set<int> victim_ranks(const torch::JobLines& lines);
// Ranks whose log is there and holds no line of trouble.
std::vector<int> quiet_ranks(const torch::JobLines& lines);

// The events that are reasons, the strongest first.
const std::vector<torch::JobEvent>& reasons();
// One that the watchdog or the launcher has ended because of another rank is none.
bool is_consequence(const torch::JobLine& line);

}  // namespace comm_probe::diagnose
