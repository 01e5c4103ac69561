// The verbs of `topo` that have a file of their own.
#pragma once

#include "cli/shell.h"

namespace comm_probe::cli {

void add_topo_diff(CLI::App& topo, Shell& shell);

}  // namespace comm_probe::cli
