// A fit and the rows of a measured curve as every command shows them.
#pragma once

#include <optional>

#include "core/document.h"
#include "core/json.h"
#include "model/fit.h"
#include "model/shape.h"

namespace comm_probe::cli {

// result.fit of the contract; a value that the sizes do not show is null. More keys: latency_us,
// steps, used_points, points, spread.
core::Json fit_json(const model::Fit& fit, const std::optional<model::Plateau>& plateau);
// Per point: size, time, predicted, residual, whether it counts (--explain).
core::Table fit_points_table(const model::Fit& fit);
// "alpha 10 us x 14 steps, beta 25 GB/s; knee 2 MB"; "start 3.9 us per call, ..." without steps
std::string fit_sentence(const model::Fit& fit);

}  // namespace comm_probe::cli
