// The parts of `calc` that are commands of their own.
#pragma once

#include "cli/shell.h"

namespace comm_probe::cli {

void add_calc_bucket(CLI::App& calc, Shell& shell);
void add_calc_moe(CLI::App& calc, Shell& shell);
void add_calc_decode(CLI::App& calc, Shell& shell);
void add_calc_kv(CLI::App& calc, Shell& shell);
void add_calc_path(CLI::App& calc, Shell& shell);

}  // namespace comm_probe::cli
