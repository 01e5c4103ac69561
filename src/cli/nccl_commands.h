// The commands below `nccl`, one file each.
#pragma once

#include "cli/shell.h"

namespace comm_probe::cli {

void add_nccl_choose(CLI::App& nccl, Shell& shell);
void add_nccl_env(CLI::App& nccl, Shell& shell);

}  // namespace comm_probe::cli
