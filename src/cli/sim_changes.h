// --slow-link and --late: what is unlike, and who comes late.
#pragma once

#include "cli/shell.h"
#include "sim/sim.h"

namespace comm_probe::cli {

struct ChangeFlags {
  std::vector<std::string> slow = {};
  std::vector<std::string> late = {};

  void add_to(CLI::App& app);
  core::Result<std::vector<model::SlowLink>> slow_links() const;
  core::Result<std::vector<sim::LateRank>> late_ranks() const;
};

// "4.551 ns (+0.000173 %)", "nothing"
std::string cost_text(core::Duration with, core::Duration without);

}  // namespace comm_probe::cli
