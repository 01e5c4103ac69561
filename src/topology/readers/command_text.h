// The outputs of commands in one text, found by the readers of fact_reader.h and by that of
// `nvidia-smi topo -m`; each takes its own lines.
#pragma once

#include "core/host.h"
#include "core/input.h"
#include "topology/merge.h"

namespace comm_probe::topology {

// Fails where no reader knows any line, and on data that is no text. `command` is what the text is
// known to be the output of ("nvidia-smi topo -p2p r"), empty where that is not known.
core::Result<Source> read_command_text(core::Input& input, const std::string& command = "");
// What record_machine() kept of the commands.
std::vector<Source> read_recorded_commands(const core::Host& host);

}  // namespace comm_probe::topology
