// The subcommands that are for a person and the machine in front of them: the page in the browser,
// what a shell completes, the manual. Listed with all others in subcommands.cc.
#pragma once

#include "cli/shell.h"

namespace comm_probe::cli {

void add_completion(CLI::App& root, Shell& shell);
void add_man(CLI::App& root, Shell& shell);
void add_serve(CLI::App& root, Shell& shell);

}  // namespace comm_probe::cli
