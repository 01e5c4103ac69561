// The subcommands that are for a person and the machine in front of them: the page in the browser.
// Listed with all others in subcommands.cc.
#pragma once

#include "cli/shell.h"

namespace comm_probe::cli {

void add_serve(CLI::App& root, Shell& shell);

}  // namespace comm_probe::cli
