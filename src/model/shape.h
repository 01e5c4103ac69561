// What do the measured times show by themselves, before any model is believed? The left end
// (latency), the plateau, where 90 % of it is reached, steps, humps, a collapse, jitter.
//
// busbw(S) = S * wire_share / time. A time that falls while the size grows is a hump: whoever pads
// the message to the larger size is faster. A time that grows faster than the size cannot happen on
// one path with one protocol: it is a jump. Neither is noise when both timings of the size agree.
//
// Saturation: on the line T = c + b*S two sizes r apart whose busbw differ by the factor g have the
// latency share x / (1 + x) with x = (g - 1) / (r - g); 90 % of the plateau is x <= 1/9.
//
// Worked example (tests/unit/model/shape_test.cc repeats it), rows of c61 of the field curves:
// 65536 B 139.9 us, 1 MiB 921.4 us, 2 MiB 129.2 us -> hump up to 1 MiB, 7.13 times the time of 2
// MiB.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/quantity.h"

namespace comm_probe::model {

struct ShapePoint {
  core::Bytes bytes = {};
  core::Duration time = {};
  std::optional<core::Duration> again = {};  // a second timing of the same size (in place)
  core::Duration better() const { return again && *again < time ? *again : time; }
};

struct Step {
  enum class Kind { kJump, kDrop };
  Kind kind = Kind::kJump;
  core::Bytes before_bytes = {};
  core::Bytes after_bytes = {};
  core::Duration before = {};
  core::Duration after = {};
  // jump: time over what growing with the size would give; drop: time after / time before
  double factor = 1;
};
const char* step_kind_name(Step::Kind kind);  // "jump" | "drop"

struct Hump {
  core::Bytes first = {};
  core::Bytes last = {};
  int sizes = 0;
  core::Bytes worst = {};
  core::Duration worst_time = {};
  core::Bytes faster = {};  // the larger size that takes less time
  core::Duration faster_time = {};
  double factor = 1;  // worst_time / faster_time
};

struct Collapse {
  core::Bytes peak_bytes = {};
  core::Bandwidth peak = {};
  core::Bytes first_slow = {};
  core::Bandwidth after = {};  // median of all larger sizes
  int sizes = 0;               // larger sizes
};

struct Jitter {
  int compared = 0;
  int disagreeing = 0;  // sizes whose two timings differ by more than 30 % beyond the usual ratio
  core::Duration fastest = {};
  core::Duration slowest = {};  // among the disagreeing timings
};

struct Plateau {
  core::Bandwidth peak = {};
  core::Bytes peak_bytes = {};
  core::Bandwidth sustained = {};  // median of the last three sizes from `reached` on
  core::Bytes reached = {};        // first size with 90 % of the peak
  // Share of the asymptote at the largest size, from the last two sizes; nothing for one size.
  std::optional<double> saturation = {};
  bool is_saturated() const { return saturation && *saturation >= 0.9; }
};

struct LeftEnd {
  core::Duration latency = {};  // median of the first three sizes, both timings, cold rows left out
  core::Duration fastest = {};
  core::Duration slowest = {};
  core::Bytes first = {};
  core::Bytes last = {};
};

struct Shape {
  int cold_rows = 0;
  std::optional<LeftEnd> left_end = {};  // nothing where the smallest sizes are mostly transfer
  std::optional<Plateau> plateau = {};
  std::vector<Step> steps = {};
  std::vector<Hump> humps = {};
  std::optional<Collapse> collapse = {};
  std::optional<Jitter> jitter = {};
  // Median of again / time over the sizes that have both; from the 90 % point on where there are
  // any.
  std::optional<double> again_ratio = {};
};

// Points without size or time are left out; the order does not matter.
Shape describe_shape(std::span<const ShapePoint> points, double wire_share);

}  // namespace comm_probe::model
