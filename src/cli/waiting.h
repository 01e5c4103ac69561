// Waits some time; Ctrl-C ends the waiting, not the program (a second Ctrl-C does).
#pragma once

#include <functional>

#include "core/quantity.h"

namespace comm_probe::cli {

// False where it was cut short by SIGINT or SIGTERM. `tick` is called about every second with the
// time that is left.
bool wait_for(core::Duration time, const std::function<void(core::Duration)>& tick);

}  // namespace comm_probe::cli
