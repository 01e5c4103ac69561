// What does one measured curve show, in numbers? The fit of alpha and beta and the shape, from the
// out-of-place times (the in-place ones where there are no others); the in-place time of the same
// size is the second timing that tells noise from steps.
//
// busbw = bytes * wire_share / time. The share is busbw_factor(op, ranks); where op or ranks are
// not known, the ratio busbw / algbw that the table prints. alpha is the step of a ring; where the
// ranks are not known it is the whole latency (steps = 1).
//
// Worked example (tests/unit/curve/analysis_test.cc repeats it): the ring of golden G1-01 printed
// as an nccl-tests table gives alpha 10 us, beta 25 GB/s, knee 2 MB.
#pragma once

#include <optional>
#include <vector>

#include "curve/curve.h"
#include "model/fit.h"
#include "model/shape.h"

namespace comm_probe::curve {

struct Analysis {
  double wire_share = 1;
  bool share_known = false;  // from op and ranks, or from the printed columns
  bool in_place_only = false;
  std::vector<model::ShapePoint> points = {};
  std::optional<model::Fit> fit = {};  // of the sizes up to the peak where the curve collapses
  model::Shape shape = {};

  core::Bandwidth busbw(core::Bytes bytes, core::Duration time) const;
};
Analysis analyse(const Curve& curve);

// A time between 0.1 ns and 30 years: anything else is damage, and would overflow what is computed.
bool is_usable(const Timing& timing);
// It was measured, and its time is usable.
bool has_time(const std::optional<Timing>& timing);

// The range that busbw / algbw can have had before both were rounded to two decimals; nothing where
// algbw is too small to say.
struct PrintedFactor {
  double low = 0;
  double high = 0;
};
std::optional<PrintedFactor> printed_factor(const Timing& timing);

// Median of the printed factors of all rows; nothing where no row is large enough.
std::optional<double> typical_factor(const Curve& curve);

}  // namespace comm_probe::curve
