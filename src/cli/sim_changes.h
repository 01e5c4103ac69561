// --slow-link and --late: what is unlike, and who comes late.
#pragma once

#include <fmt/format.h>

#include "cli/shell.h"
#include "core/document.h"
#include "core/units.h"
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

// What slow links and late ranks cost; nothing where none was asked for.
// Outcome: sim::Outcome, sim::ProgramOutcome
template <class Outcome>
void add_change_costs(const Outcome& outcome, core::KeyValues& pairs) {
  if (outcome.without_slow)
    pairs.rows.emplace_back("slow links", "cost " + cost_text(outcome.time, *outcome.without_slow));
  if (outcome.without_late)
    pairs.rows.emplace_back("late ranks",
                            fmt::format("cost {}; the latest comes {} late",
                                        cost_text(outcome.time, *outcome.without_late),
                                        core::format_duration(outcome.last_late)));
}

}  // namespace comm_probe::cli
