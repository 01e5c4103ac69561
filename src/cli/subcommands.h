// The subcommands, grouped by the four steps of the method: calculate, look, measure, compare.
#pragma once

#include "cli/shell.h"

namespace comm_probe::cli {

void add_bench(CLI::App& root, Shell& shell);
void add_calc(CLI::App& root, Shell& shell);
void add_machines(CLI::App& root, Shell& shell);
void add_curve(CLI::App& root, Shell& shell);
void add_doctor(CLI::App& root, Shell& shell);
void add_explain(CLI::App& root, Shell& shell);
void add_hang(CLI::App& root, Shell& shell);
void add_topo(CLI::App& root, Shell& shell);
void add_nccl(CLI::App& root, Shell& shell);
void add_lab(CLI::App& root, Shell& shell);
void add_link(CLI::App& root, Shell& shell);
void add_log(CLI::App& root, Shell& shell);
void add_report(CLI::App& root, Shell& shell);
void add_run(CLI::App& root, Shell& shell);
void add_sim(CLI::App& root, Shell& shell);
void add_trace(CLI::App& root, Shell& shell);

// All of the above, in the order of the help.
void add_subcommands(CLI::App& root, Shell& shell);

// The whole program: parse, run, exit status.
int run_program(int argc, char** argv);

}  // namespace comm_probe::cli
