// Which of several figures that should be alike is not? Median and MAD, so that the odd ones do not
// set the scale.
//
// A figure is low where it is below a share of the median and more than five robust deviations
// (1.4826 MAD, which is sigma for normal noise) below it: noise that is wide enough to reach a
// figure makes it no outlier.
//
//   {100, 101, 99, 100, 60} at 0.9: median 100, deviation 1.4826 -> 60 is low
#pragma once

#include <vector>

namespace comm_probe::diagnose {

struct Typical {
  double median = 0;
  double deviation = 0;  // 1.4826 MAD
};
// Of an even number of figures: with the lower middle half of them never call the other half slow;
// with the upper one they do, as pairs of nodes need it: one slow node of four has half of the
// pairs.
enum class Middle { kLower, kUpper };
// Zeros for an empty list.
Typical typical_of(std::vector<double> figures, Middle middle = Middle::kLower);

bool is_low(double figure, const Typical& typical, double least_share);

}  // namespace comm_probe::diagnose
