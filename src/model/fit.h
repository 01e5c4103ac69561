// How much latency and how much bandwidth explain the measured times of one operation?
//
//   T(S) = latency + S * wire_share / beta,   latency = steps * alpha
//
// Formula: the alpha-beta ring ledger (golden G1-01, G6-06). For ring all_reduce steps = 2(n-1) and
// wire_share = 2(n-1)/n, so that knee = latency * beta / wire_share = n * alpha * beta, and
// busbw(S) = beta * S / (S + knee) reaches 90 % at 9 * knee. A link between two points has steps =
// 1 and wire_share = 1.
//
// The fit minimises relative errors, because times span six decades, with weights that fall to zero
// for points off the line (Tukey's biweight, scaled by the spread at both ends): protocol and
// algorithm switches make steps and humps, and a step is not noise around the line. Every point
// says whether it counts, and why not.
//
// Fewer than three sizes are no fit: a line through two points always fits, and says nothing.
//
// Worked example (tests/unit/model/fit_test.cc repeats it): 8 ranks, alpha 10 us, beta 25 GB/s,
// sizes 8 B .. 1 GiB -> latency 140 us, alpha 10 us, beta 25 GB/s, knee 2 MB, 90 % point 18 MB.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/quantity.h"
#include "model/collective.h"

namespace comm_probe::model {

struct FitPoint {
  core::Bytes bytes = {};
  core::Duration time = {};
};

// What one operation is made of, seen from its size.
struct FitShape {
  double steps = 1;  // of alpha
  double wire_share =
      1;  // bytes over the busiest link per byte of size; busbw = algbw * wire_share
  // False where the points took different numbers of steps, or nobody knows which: only the
  // latency of a whole call means something then.
  bool has_steps = true;
};
// The ring (direct exchange for all_to_all and send_recv): steps 2(n-1), n-1 or 1, share
// busbw_factor(). One rank moves nothing: the shape of a link.
FitShape ring_shape(Op op, int ranks);
// The steps of an algorithm's closed form (model/algorithms.h), the share of busbw. Without steps
// where there is no such form.
FitShape algorithm_shape(Op op, Algorithm algorithm, int ranks);

enum class PointUse {
  kCounts,
  kColdStart,  // one of the first rows, at least twice the rows after it: connections were set up
  kOffLine,    // a step, a hump or an outlier: weight below 0.1
  kRefused     // no size or no time
};
const char* point_use_name(PointUse use);  // "counts" | "cold start" | "off the line" | "refused"

struct FittedPoint {
  FitPoint point = {};
  core::Duration predicted = {};
  double residual = 0;  // time / predicted - 1
  double weight = 0;    // 0..1
  PointUse use = PointUse::kRefused;
};

struct Fit {
  FitShape shape = {};
  core::Duration latency = {};  // of one operation
  core::Duration alpha = {};    // latency / steps
  core::Bandwidth beta = {};    // asymptotic busbw
  core::Bytes knee = {};
  core::Bytes plateau90 = {};
  // False where the sizes do not show it: beta when even the largest size is mostly latency
  // (latency share above 90 %), latency when even the smallest is mostly transfer (below 10 %; then
  // it is an extrapolation, and zero where the line crosses below zero).
  bool latency_known = false;
  bool beta_known = false;
  double r2 = 0;      // of log(time), over the points that count; 0 where all times are equal
  double spread = 0;  // robust sigma of the relative residuals over all points but the cold ones
  int used = 0;       // points that count
  std::vector<FittedPoint> points = {};  // in the order given

  // Where both terms are equal; 0 where the fit has no latency.
  core::Duration predict(core::Bytes bytes) const;
  // The fastest point whose busbw is more than 5 % above beta: where there is one, beta is not what
  // is reached in the end. Null otherwise.
  const FittedPoint* faster_than_beta() const;
  core::Bandwidth busbw(const FittedPoint& point) const;
};

// Nothing where fewer than two different sizes can be used, or fewer than three points of three and
// more lie on one line.
std::optional<Fit> fit_line(std::span<const FitPoint> points, FitShape shape);

}  // namespace comm_probe::model
