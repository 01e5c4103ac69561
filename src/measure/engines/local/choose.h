// Which algorithm the local engine takes where the user names none.
#pragma once

#include "measure/measure.h"

namespace comm_probe::measure::local {

model::Algorithm choose(const Plan& plan, core::Bytes bytes);

}  // namespace comm_probe::measure::local
