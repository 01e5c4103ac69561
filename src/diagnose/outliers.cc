#include "diagnose/outliers.h"

#include <algorithm>
#include <cmath>

namespace comm_probe::diagnose {
namespace {

constexpr double kSigmaOfMad = 1.4826;
constexpr double kDeviations = 5;

double median_of(std::vector<double>& figures, Middle which) {
  const std::size_t index = which == Middle::kLower ? (figures.size() - 1) / 2 : figures.size() / 2;
  const auto middle = figures.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(figures.begin(), middle, figures.end());
  return *middle;
}

}  // namespace

Typical typical_of(std::vector<double> figures, Middle middle) {
  if (figures.empty()) return {};
  Typical typical;
  typical.median = median_of(figures, middle);
  for (double& figure : figures) figure = std::abs(figure - typical.median);
  typical.deviation = kSigmaOfMad * median_of(figures, Middle::kLower);
  return typical;
}

bool is_low(double figure, const Typical& typical, double least_share) {
  return figure < typical.median * least_share &&
         figure < typical.median - kDeviations * typical.deviation;
}

}  // namespace comm_probe::diagnose
