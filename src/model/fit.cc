#include "model/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "model/algorithms.h"

namespace comm_probe::model {
namespace {

// name, value, applies when, source
constexpr double kTukey = 4.685;         // biweight constant; 95 % efficiency on a normal spread
constexpr double kMadToSigma = 1.4826;   // normal distribution
constexpr double kLeastSpread = 0.02;    // nccl-tests prints 4 digits, repeats differ by 1-2 %
                                         // (c80 against c83 of the field curves)
constexpr double kMostSpread = 0.10;     // 47 % off the line never counts (jitter of c13: 6 times)
constexpr double kColdRatio = 2.0;       // c06: 983 us against 167 us, c13: 2193 us against 132 us
constexpr double kComparable = 64;       // sizes further apart differ by more than a cold start
constexpr double kCountingWeight = 0.1;  // below it a point is called off the line
constexpr int kRounds = 40;              // the weights settle within 10-20 rounds
constexpr double kUnknownShare = 0.1;    // a term below 10 % at its best size is not shown

// T = c + b * S in seconds and bytes; the fit works on plain numbers.
struct Line {
  double c = 0;
  double b = 0;
  double at(double size) const { return c + b * size; }
};
struct Sample {
  std::size_t index = 0;
  double size = 0;
  double time = 0;
};
using Samples = std::vector<Sample>;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

bool is_usable(const FitPoint& point) {
  return point.bytes.count() > 0 && point.time.in_seconds() > 0;
}

Samples usable_by_size(std::span<const FitPoint> points) {
  Samples samples;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (is_usable(points[i]))
      samples.push_back({i, points[i].bytes.count(), points[i].time.in_seconds()});
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Sample& a, const Sample& b) { return a.size < b.size; });
  return samples;
}

// How many of the first rows are slower than the rows after them although they carry less; rows of
// quite another size say nothing about them.
std::size_t cold_rows(const Samples& samples) {
  constexpr std::size_t kMostCold = 2;
  constexpr std::size_t kAfter = 3;
  for (std::size_t cold = std::min(kMostCold, samples.size() / 3); cold > 0; --cold) {
    std::vector<double> after;
    for (std::size_t i = cold; i < std::min(samples.size(), cold + kAfter); ++i)
      if (samples[i].size <= kComparable * samples[cold - 1].size) after.push_back(samples[i].time);
    if (!after.empty() && samples[cold - 1].time > kColdRatio * median(after)) return cold;
  }
  return 0;
}

double log_residual(const Line& line, const Sample& sample) {
  return std::log(sample.time / std::max(line.at(sample.size), 1e-12));
}

double spread_of(const Line& line, const Samples& samples) {
  std::vector<double> sizes;
  for (const Sample& sample : samples) sizes.push_back(std::abs(log_residual(line, sample)));
  return kMadToSigma * median(std::move(sizes));
}

// The ends carry the two terms: the smallest sizes the latency, the largest the bandwidth. In
// between NCCL runs other protocols with lines of their own (c29: most sizes lie on the line of LL,
// which has a fifth of the bandwidth); so the spread that decides who counts is that of the ends.
Samples ends_of(const Samples& samples) {
  const std::size_t few = std::max<std::size_t>(2, samples.size() / 5);
  if (samples.size() <= 2 * few) return samples;
  Samples ends(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(few));
  ends.insert(ends.end(), samples.end() - static_cast<std::ptrdiff_t>(few), samples.end());
  return ends;
}

double weight_of(const Line& line, const Sample& sample, double spread) {
  const double u = log_residual(line, sample) / (kTukey * spread);
  return std::abs(u) >= 1 ? 0 : (1 - u * u) * (1 - u * u);
}

// Weighted least squares of the relative error to the last line, with c >= 0 and b >= 0.
std::optional<Line> solve(const Samples& samples, const Line& last, double spread) {
  double w0 = 0, ws = 0, wss = 0, wt = 0, wst = 0;
  for (const Sample& sample : samples) {
    const double predicted = std::max(last.at(sample.size), 1e-12);
    const double w = weight_of(last, sample, spread) / (predicted * predicted);
    w0 += w;
    ws += w * sample.size;
    wss += w * sample.size * sample.size;
    wt += w * sample.time;
    wst += w * sample.size * sample.time;
  }
  const double determinant = w0 * wss - ws * ws;
  if (!(w0 > 0) || !(determinant > 1e-12 * w0 * wss)) return std::nullopt;
  const Line free = {(wss * wt - ws * wst) / determinant, (w0 * wst - ws * wt) / determinant};
  if (free.c < 0) return Line{0, wst / wss};
  if (free.b < 0) return Line{wt / w0, 0};
  return free;
}

// The spread is that of the start: a spread that may grow lets in points off the line, which move
// the line, which lets in more (c61).
Line settle(Line line, const Samples& samples, double spread) {
  for (int round = 0; round < kRounds; ++round) {
    const auto next = solve(samples, line, spread);
    if (!next) break;
    const bool settled =
        std::abs(next->c - line.c) <= 1e-7 * line.c && std::abs(next->b - line.b) <= 1e-7 * line.b;
    line = *next;
    if (settled) break;
  }
  return line;
}

// The latency from the smallest sizes, the slope from the largest ones; and the line through pairs
// of far sizes (Theil-Sen). The start with the smallest spread in the end wins.
std::vector<Line> starts(const Samples& samples) {
  const std::size_t n = samples.size();
  const std::size_t few = std::max<std::size_t>(1, n / 4);
  std::vector<double> left, slopes, far;
  for (std::size_t i = 0; i < few; ++i) left.push_back(samples[i].time);
  const double latency = median(left);
  for (std::size_t i = n - few; i < n; ++i)
    slopes.push_back(std::max(0.0, samples[i].time - latency) / samples[i].size);
  const std::size_t stride = 1 + n / 512;  // bounds the pairs of a hostile table
  for (std::size_t i = 0; i < n; i += stride)
    for (std::size_t j = i + 1; j < n; j += stride)
      if (samples[j].size > 1.5 * samples[i].size)
        far.push_back((samples[j].time - samples[i].time) / (samples[j].size - samples[i].size));
  const double slope = std::max(0.0, median(far));
  std::vector<double> intercepts;
  for (const Sample& sample : samples) intercepts.push_back(sample.time - slope * sample.size);
  return {{latency, median(slopes)},
          {latency, samples.back().time / samples.back().size},
          {0, samples.back().time / samples.back().size},
          {std::max(0.0, median(intercepts)), slope}};
}

struct Settled {
  Line line = {};
  double spread = 0;  // that decided who counts
};

Settled best_line(const Samples& samples) {
  const Samples ends = ends_of(samples);
  std::optional<Settled> best;
  for (const Line& start : starts(samples)) {
    const double spread = std::clamp(spread_of(start, ends), kLeastSpread, kMostSpread);
    const Settled settled = {settle(start, samples, spread), spread};
    if (!best || spread_of(settled.line, ends) < spread_of(best->line, ends) * (1 - 1e-9))
      best = settled;
  }
  return *best;
}

void mark_points(Fit& fit, const Settled& settled, const Samples& samples, const Samples& warm) {
  const Line& line = settled.line;
  for (const Sample& sample : samples) {
    FittedPoint& point = fit.points[sample.index];
    point.predicted = core::Duration::from_seconds(line.at(sample.size));
    point.residual = sample.time / std::max(line.at(sample.size), 1e-12) - 1;
    point.use = PointUse::kColdStart;
  }
  for (const Sample& sample : warm) {
    FittedPoint& point = fit.points[sample.index];
    point.weight = weight_of(line, sample, settled.spread);
    point.use = point.weight >= kCountingWeight ? PointUse::kCounts : PointUse::kOffLine;
    fit.used += point.use == PointUse::kCounts ? 1 : 0;
  }
}

// Share of the scatter of log(time) that the line explains, over the points that count.
double explained_share(const Fit& fit) {
  double sum = 0, squares = 0, rest = 0;
  for (const FittedPoint& point : fit.points) {
    if (point.use != PointUse::kCounts) continue;
    const double value = std::log(point.point.time.in_seconds());
    sum += value;
    squares += value * value;
    rest += std::pow(std::log1p(point.residual), 2);
  }
  const double total = squares - sum * sum / std::max(fit.used, 1);
  return total > 1e-9 ? std::clamp(1 - rest / total, 0.0, 1.0) : 0;
}

void fill_terms(Fit& fit, const Line& line, const Samples& samples) {
  fit.latency = core::Duration::from_seconds(line.c);
  fit.alpha = fit.latency / fit.shape.steps;
  const double smallest = line.b * samples.front().size;
  const double largest = line.b * samples.back().size;
  fit.latency_known = line.c > 0 && line.c / (line.c + smallest) >= kUnknownShare;
  fit.beta_known = largest > 0 && largest / (line.c + largest) >= kUnknownShare;
  if (largest <= 1e-7 * line.c) return;  // flat: no bandwidth, no knee
  fit.beta = core::Bandwidth::from_bytes_per_second(fit.shape.wire_share / line.b);
  fit.knee = core::Bytes::of(line.c / line.b);
  fit.plateau90 = 9 * fit.knee;  // s / (1 - s) with s = 0.9 (golden G6-06)
}

}  // namespace

FitShape ring_shape(Op op, int ranks) {
  if (ranks < 2) return {};
  const double hops = ranks - 1;
  switch (op) {
    case Op::kAllReduce:
      return {2 * hops, busbw_factor(op, ranks)};
    case Op::kAllGather:
    case Op::kReduceScatter:
    case Op::kAllToAll:
    case Op::kBroadcast:
    case Op::kReduce:
      return {hops, busbw_factor(op, ranks)};
    case Op::kSendRecv:
      return {};
  }
  return {};
}

FitShape algorithm_shape(Op op, Algorithm algorithm, int ranks) {
  FitShape shape = ring_shape(op, ranks);
  shape.has_steps = false;
  const Recipe* recipe = ranks < 2 ? nullptr : find_recipe(op, algorithm);
  if (recipe == nullptr) return shape;
  const auto parts = recipe->build(place(ranks, {}));
  if (!parts) return shape;
  double steps = 0;
  for (const Part& part : *parts) steps += part.steps;
  if (steps > 0) shape.steps = steps, shape.has_steps = true;
  return shape;
}

const char* point_use_name(PointUse use) {
  switch (use) {
    case PointUse::kCounts:
      return "counts";
    case PointUse::kColdStart:
      return "cold start";
    case PointUse::kOffLine:
      return "off the line";
    case PointUse::kRefused:
      return "refused";
  }
  return "?";
}

core::Duration Fit::predict(core::Bytes bytes) const {
  const bool flat = beta.in_bytes_per_second() <= 0;
  return flat ? latency : latency + bytes * shape.wire_share / beta;
}

core::Bandwidth Fit::busbw(const FittedPoint& point) const {
  return point.point.bytes * shape.wire_share / point.point.time;
}

const FittedPoint* Fit::faster_than_beta() const {
  constexpr double kNoticeable = 1.05;  // repeats of a point differ by 1-2 %
  const FittedPoint* fastest = nullptr;
  for (const FittedPoint& each : points) {
    if (each.use == PointUse::kRefused || each.point.time.in_seconds() <= 0) continue;
    if (busbw(each) > beta * kNoticeable && (fastest == nullptr || busbw(each) > busbw(*fastest)))
      fastest = &each;
  }
  return fastest;
}

namespace {

constexpr int kFewestSizes = 3;

int different_sizes(const Samples& by_size) {
  int sizes = 0;
  for (std::size_t i = 0; i < by_size.size(); ++i)
    sizes += i == 0 || by_size[i].size != by_size[i - 1].size ? 1 : 0;
  return sizes;
}

}  // namespace

std::optional<Fit> fit_line(std::span<const FitPoint> points, FitShape shape) {
  COMM_PROBE_CHECK(shape.steps > 0 && shape.wire_share > 0, "a fit needs steps and a wire share");
  const Samples samples = usable_by_size(points);
  if (different_sizes(samples) < kFewestSizes) return std::nullopt;
  Samples warm(samples.begin() + static_cast<std::ptrdiff_t>(cold_rows(samples)), samples.end());
  if (different_sizes(warm) < kFewestSizes) warm = samples;
  const Settled settled = best_line(warm);
  const Line& line = settled.line;
  Fit fit;
  fit.shape = shape;
  for (const FitPoint& point : points) fit.points.push_back({.point = point});
  fit.spread = spread_of(line, warm);
  mark_points(fit, settled, samples, warm);
  fill_terms(fit, line, warm);
  fit.r2 = explained_share(fit);
  if (fit.used < std::min<int>(3, static_cast<int>(warm.size()))) return std::nullopt;
  return fit;
}

}  // namespace comm_probe::model
