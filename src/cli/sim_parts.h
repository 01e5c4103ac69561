// The parts of `sim` that are commands of their own.
#pragma once

#include "cli/shell.h"

namespace comm_probe::cli {

void add_sim_goal(CLI::App& sim, Shell& shell);
void add_sim_chakra(CLI::App& sim, Shell& shell);
void add_sim_step(CLI::App& sim, Shell& shell);

}  // namespace comm_probe::cli
