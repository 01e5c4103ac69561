// What the subcommands of `lab` have in common.
#pragma once

#include "cli/subcommands.h"
#include "measure/lab/job.h"

namespace comm_probe::cli {

void add_lab_slow(CLI::App& lab, Shell& shell);

void add_folder_and_python(CLI::App& app, measure::lab::Job& job, const char* usual_folder);
void add_patience(CLI::App& app, measure::lab::Job& job);

}  // namespace comm_probe::cli
