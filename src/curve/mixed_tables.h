// Two or more runs that printed into one text line by line: every size appears once per run. Which
// rows belong to which run?
//
//   128M 4.51, 128M 4.85, 256M 4.86, 256M 4.52 -> {4.51, 4.52} and {4.85, 4.86}
#pragma once

#include <vector>

#include "curve/curve.h"

namespace comm_probe::curve {

// A size other than 0 appears more than once.
bool has_repeated_sizes(const std::vector<Row>& rows);
// `before` is a table whose rows never came because they stand, mixed, below the header of `after`.
bool is_empty_twin(const Curve& before, const Curve& after);
// One curve per run: each row goes to the run that has no row of this size yet and whose last algbw
// is nearest.
std::vector<Curve> separate(Curve mixed);

}  // namespace comm_probe::curve
