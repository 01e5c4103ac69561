// How repeated measurements become one number: the median of blocks, with the 10th and 90th
// percentile beside it. A block is many repetitions timed together, so that reading the clock costs
// less than 1 % of it.
//
//   summarize({1, 2, 3, 4, 100}) -> median 3, p10 1.4, p90 61.6, blocks 5 (linear interpolation)
#pragma once

#include <vector>

namespace comm_probe::measure {

struct Summary {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  int blocks = 0;
  // (p90 - p10) / median; 0 where the median is 0
  double spread() const { return median == 0 ? 0 : (p90 - p10) / median; }
};

// All zero for no values.
Summary summarize(std::vector<double> values);
// Of sorted values, 0 <= share <= 1, linear between neighbours.
double percentile(const std::vector<double>& sorted, double share);

}  // namespace comm_probe::measure
