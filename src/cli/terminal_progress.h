// The one line of progress on the terminal of this program: what commands with long work feed. It
// is silent until the command line is read, and where stderr is no terminal, with -q and with
// --json.
//
//   terminal_progress().begin("doctor: reading", files.size(), "files");
#pragma once

#include "core/progress.h"

namespace comm_probe::cli {

core::Progress& terminal_progress();
// Where somebody can see it.
void show_progress();

}  // namespace comm_probe::cli
