// What messages between pairs of ranks cost, as `bench` shows it above the table of an engine that
// measured them (measure::Level).
#pragma once

#include <vector>

#include "core/document.h"
#include "core/json.h"
#include "measure/measure.h"

namespace comm_probe::cli {

// Way, pairs, 8 B, alpha and beta of the fit, bandwidth of the largest message, fresh and resent.
core::Table levels_table(const std::vector<measure::Level>& levels);
// {level, pairs, alpha_us, beta_GBps, r2, fresh, resent = {one_way[], exchange[] = {bytes, time_us,
// GBps}}}
core::Json levels_json(const std::vector<measure::Level>& levels);

}  // namespace comm_probe::cli
