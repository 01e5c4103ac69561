// `sim OP --fabric`: flags into a FabricWhatIf, and what it answers.
#pragma once

#include "cli/calc_request.h"
#include "cli/shell.h"
#include "sim/sim.h"

namespace comm_probe::cli {

struct FabricFlags {
  std::string fabric = {};
  std::uint64_t seed = 0;
  std::vector<std::string> jobs = {};
  std::string places = {};
  std::string plan = {};

  void add_to(CLI::App& app);
  // Only --fabric and --seed.
  void add_links_to(CLI::App& app);
  bool is_given() const { return !fabric.empty(); }
  bool has_plan() const { return !plan.empty(); }
};

core::Result<sim::FabricShape> fabric_of(const std::string& text);
// The links that the file names; nothing where it names none.
std::optional<model::Fabric> links_of(const sim::FabricShape& shape);
core::Result<sim::FabricWhatIf> fabric_what_if(const FabricFlags& flags,
                                               const sim::FabricShape& shape,
                                               const sim::WhatIf& what);

// A fabric alone, for links that are shared by something else than a collective.
sim::FabricWhatIf only_fabric(const FabricFlags& flags, const sim::FabricShape& shape);

// Beside what every outcome says.
core::Json to_json(const sim::FabricWhatIf& what, const sim::FabricOutcome& outcome);
void add_rows(const sim::FabricWhatIf& what, const sim::FabricOutcome& outcome,
              core::KeyValues& pairs);
std::optional<core::Table> jobs_table(const sim::FabricOutcome& outcome);

}  // namespace comm_probe::cli
