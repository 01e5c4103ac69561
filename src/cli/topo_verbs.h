// The verbs of `topo` that have a file of their own.
#pragma once

#include "cli/shell.h"

namespace comm_probe::cli {

// `topo record FILE`: this machine as a tar that `--from` replays.
void add_topo_record(CLI::App& topo, Shell& shell);
void add_topo_diff(CLI::App& topo, Shell& shell);

}  // namespace comm_probe::cli
