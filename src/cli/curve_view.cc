#include "cli/curve_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

#include "cli/fit_view.h"
#include "cli/method_name.h"
#include "core/units.h"
#include "diagnose/curve_verdict.h"
#include "diagnose/small_end.h"

namespace comm_probe::cli {
namespace {

using core::Block;
using core::format_bandwidth;
using core::format_bytes;
using core::format_duration;
using core::format_number;
using diagnose::JudgedCurve;
using Curves = std::vector<const JudgedCurve*>;

constexpr std::size_t kMostInFull = 3;
constexpr std::size_t kMostBySize = 6;
// A directory of a benchmark campaign is shown whole; of the tables of a soak test the first few.
constexpr std::size_t kMostListed = 200;
constexpr std::size_t kListedOfMany = 20;
constexpr double kFarApart = 1.5;  // times, of two plateaus of the same shape

core::Column left(std::string title, int weight = 10) {
  return {std::move(title), core::Column::Align::kLeft, weight};
}
core::Column right(std::string title, int weight = 10) {
  return {std::move(title), core::Column::Align::kRight, weight};
}

std::string title_of(const JudgedCurve& judged) {
  const auto& curve = *judged.curve;
  const bool has_gpu = !curve.devices.empty() && !curve.devices.front().name.empty();
  return diagnose::name_of(curve) + (has_gpu ? ", " + curve.devices.front().name : "");
}

std::string place_of(const JudgedCurve& judged) {
  return fmt::format("{}:{}", judged.curve->file,
                     std::max<std::uint64_t>(1, judged.curve->first_line));
}

std::string latency_text(const model::Shape& shape) {
  if (shape.jitter)
    return fmt::format("cannot be read: timings of the same size differ (averages of {} to {})",
                       format_duration(shape.jitter->fastest),
                       format_duration(shape.jitter->slowest));
  if (!shape.left_end) return "not shown by these sizes";
  const auto& left = *shape.left_end;
  std::string text = fmt::format("{} ({} to {}: {} to {})", format_duration(left.latency),
                                 format_bytes(left.first), format_bytes(left.last),
                                 format_duration(left.fastest), format_duration(left.slowest));
  if (shape.cold_rows > 0)
    text +=
        fmt::format("; {} cold row{} left out", shape.cold_rows, shape.cold_rows == 1 ? "" : "s");
  return text;
}

std::string plateau_text(const model::Plateau& plateau) {
  return fmt::format("{} busbw, peak {} at {}; 90 % of the peak from {} on{}",
                     format_bandwidth(plateau.sustained), format_bandwidth(plateau.peak),
                     format_bytes(plateau.peak_bytes), format_bytes(plateau.reached),
                     plateau.is_saturated() ? "" : " (not saturated)");
}

std::string reference_text(const diagnose::Expectation& expected) {
  std::string text = fmt::format("{}-{} GB/s: {}", format_number(expected.low.in_GBps(), 3),
                                 format_number(expected.high.in_GBps(), 3), expected.source);
  if (expected.ceiling)
    text += fmt::format("; no algorithm can pass {}", format_bandwidth(*expected.ceiling));
  return text;
}

// busbw by size, a bar per row on a logarithmic scale of four decades below the peak.
std::string sparkline(const JudgedCurve& judged) {
  static constexpr std::array kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto& analysis = judged.analysis;
  if (analysis.points.size() < 4 || analysis.points.size() > 64 || !analysis.shape.plateau)
    return "";
  const double peak = analysis.shape.plateau->peak.in_GBps();
  std::string line;
  for (const auto& point : analysis.points) {
    const double rate = analysis.busbw(point.bytes, point.time).in_GBps();
    const double decades = peak > 0 && rate > 0 ? std::log10(rate / peak) : -4;
    const double level = std::clamp(7 + 7 * decades / 4, 0.0, 7.0);
    line += kBars[static_cast<std::size_t>(std::lround(level))];
  }
  return fmt::format("{}  {} to {}, log scale", line, format_bytes(analysis.points.front().bytes),
                     format_bytes(analysis.points.back().bytes));
}

std::string in_place_text(const curve::Analysis& analysis) {
  if (analysis.in_place_only) return "only in-place times";
  const auto& ratio = analysis.shape.again_ratio;
  if (!ratio) return "";
  if (std::abs(*ratio - 1) < 0.02) return "as fast as out of place";
  return fmt::format("{} times the out-of-place time", format_number(*ratio, 3));
}

std::string method_of(const model::Ledger& ledger) {
  return method_name(ledger.algorithm, ledger.protocol);
}

// Where one thread launches on several GPUs, that can take longer than the message.
std::string smallest_text(const diagnose::PlanPrice& plan, const curve::RunSettings& settings) {
  const model::Ledger& model = plan.smallest;
  const double times = plan.smallest_time / smallest_expected(plan, settings);
  const core::Duration launches = diagnose::launches_of(settings);
  const std::string bound =
      launches > model.time()
          ? fmt::format(", {} to launch on the GPUs of a thread in turn", format_duration(launches))
          : "";
  return fmt::format("; {} at {} with {}{}, measured {} times that", format_duration(model.time()),
                     format_bytes(model.collective.bytes), method_of(model), bound,
                     format_number(times, 3));
}

std::string plan_text(const diagnose::PlanPrice& plan, const curve::RunSettings& settings) {
  std::string text =
      fmt::format("{} at {} with {}, measured {} of it", format_bandwidth(plan.plateau.busbw()),
                  format_bytes(plan.plateau.collective.bytes), method_of(plan.plateau),
                  core::format_percent(plan.share(), 3));
  if (plan.smallest.time() > core::Duration() && plan.smallest_time > core::Duration())
    text += smallest_text(plan, settings);
  return fmt::format("{} ({}: {})", text, basis_name(plan.plateau.basis), plan.plateau.source);
}

void add_curve(std::vector<Block>& blocks, const JudgedCurve& judged) {
  blocks.emplace_back(core::Heading{title_of(judged)});
  const auto& analysis = judged.analysis;
  if (judged.curve->rows.empty()) {
    blocks.emplace_back(core::Paragraph{"no rows"});
    return;
  }
  core::KeyValues facts;
  facts.rows.emplace_back("file", place_of(judged));
  if (judged.curve->ranks == 1) {  // times of a copy: no link, no busbw
    blocks.emplace_back(std::move(facts));
    return;
  }
  if (diagnose::shared_gpu(*judged.curve) != nullptr) {
    facts.rows.emplace_back("times", "not judged: ranks took turns on one GPU");
    blocks.emplace_back(std::move(facts));
    return;
  }
  facts.rows.emplace_back("latency", latency_text(analysis.shape));
  if (analysis.shape.plateau)
    facts.rows.emplace_back("plateau", plateau_text(*analysis.shape.plateau));
  if (const auto* fit = shown_fit(judged)) facts.rows.emplace_back("fit", fit_sentence(*fit));
  if (const std::string text = in_place_text(analysis); !text.empty())
    facts.rows.emplace_back("in place", text);
  if (judged.expectation) facts.rows.emplace_back("reference", reference_text(*judged.expectation));
  if (judged.plan)
    facts.rows.emplace_back("NCCL's model", plan_text(*judged.plan, judged.curve->settings));
  if (const std::string line = sparkline(judged); !line.empty())
    facts.rows.emplace_back("busbw", line);
  blocks.emplace_back(std::move(facts));
}

// "and 3980 more: 2 faulty, 3978 without a reference; --json has every curve"
core::Paragraph rest_of(const Curves& curves) {
  std::map<diagnose::Standing, std::size_t> count;
  for (std::size_t i = shown_of(curves.size()); i < curves.size(); ++i)
    ++count[standing_of(*curves[i])];
  std::vector<std::string> parts;
  for (const auto& [standing, number] : count)
    parts.push_back(fmt::format("{} {}", number, standing_name(standing)));
  return {fmt::format("and {} more: {}; --json has every curve",
                      curves.size() - shown_of(curves.size()), fmt::join(parts, ", "))};
}

core::Table overview(const Curves& curves) {
  core::Table table;
  table.columns = {left("curve"),         right("ranks", 6),     right("nodes", 6),
                   right("latency"),      right("90 % from", 4), right("plateau"),
                   right("reference", 7), left("standing")};
  for (std::size_t i = 0; i < shown_of(curves.size()); ++i) {
    const JudgedCurve& judged = *curves[i];
    const auto& curve = *judged.curve;
    const auto& shape = judged.analysis.shape;
    const auto number = [](const std::optional<int>& value) {
      return value ? std::to_string(*value) : "?";
    };
    const std::string op = curve.op ? model::op_name(*curve.op) : curve.program;
    table.rows.push_back(
        {fmt::format("{} {}{}", i + 1, op.empty() ? "?" : op,
                     curve.label.empty() ? "" : " " + curve.label),
         number(curve.ranks), number(curve.nodes),
         shape.left_end ? format_duration(shape.left_end->latency) : "",
         shape.plateau ? format_bytes(shape.plateau->reached) : "",
         shape.plateau ? format_bandwidth(shape.plateau->sustained) : "",
         judged.expectation
             ? fmt::format("{}-{}", format_number(judged.expectation->low.in_GBps(), 3),
                           format_number(judged.expectation->high.in_GBps(), 3))
             : "",
         standing_name(standing_of(judged))});
  }
  return table;
}

core::KeyValues legend(const Curves& curves) {
  core::KeyValues names;
  for (std::size_t i = 0; i < shown_of(curves.size()); ++i)
    names.rows.emplace_back(std::to_string(i + 1),
                            title_of(*curves[i]) + "  " + place_of(*curves[i]));
  return names;
}

// The point whose size is nearest, at most 40 % away.
std::string busbw_near(const JudgedCurve& judged, double size) {
  const model::ShapePoint* nearest = nullptr;
  const auto distance = [&](const model::ShapePoint& point) {
    return std::abs(std::log(point.bytes.count() / size));
  };
  for (const auto& point : judged.analysis.points)
    if (nearest == nullptr || distance(point) < distance(*nearest)) nearest = &point;
  if (nearest == nullptr || distance(*nearest) > std::log(1.4)) return "";
  return format_number(judged.analysis.busbw(nearest->bytes, nearest->time).in_GBps(), 4);
}

// Sizes of all curves, those within 40 % of each other as one; the first curve's own where it has
// one.
std::vector<double> shared_sizes(const Curves& curves) {
  std::vector<double> sizes;
  for (const JudgedCurve* judged : curves)
    for (const auto& point : judged->analysis.points) {
      const double size = point.bytes.count();
      const bool there = std::any_of(sizes.begin(), sizes.end(), [&](double known) {
        return std::abs(std::log(known / size)) <= std::log(1.4);
      });
      if (!there) sizes.push_back(size);
    }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

core::Table by_size(const Curves& curves) {
  core::Table table;
  table.columns = {right("size")};
  for (std::size_t i = 0; i < curves.size(); ++i)
    table.columns.push_back(right(fmt::format("curve {}", i + 1)));
  for (const double size : shared_sizes(curves)) {
    std::vector<std::string> cells = {format_bytes(core::Bytes::of(size))};
    for (const JudgedCurve* judged : curves) cells.push_back(busbw_near(*judged, size));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

bool measure_the_same(const curve::Curve& a, const curve::Curve& b) {
  return a.op && a.op == b.op && a.ranks && a.ranks == b.ranks && a.nodes == b.nodes;
}

// Runs of one shape that lie far apart are what --baseline is for.
std::string far_apart(const Curves& curves) {
  if (curves.size() > kMostListed) return "";
  for (const JudgedCurve* a : curves)
    for (const JudgedCurve* b : curves) {
      const auto& slow = a->analysis.shape.plateau;
      const auto& fast = b->analysis.shape.plateau;
      if (a->curve->file == b->curve->file || !measure_the_same(*a->curve, *b->curve) || !slow ||
          !fast || fast->sustained < slow->sustained * kFarApart)
        continue;
      return fmt::format(
          "{} and {} measure the same, {} times apart; where they differ: comm-probe curve {} "
          "--baseline {}",
          a->curve->file, b->curve->file, format_number(fast->sustained / slow->sustained, 3),
          a->curve->file, b->curve->file);
    }
  return "";
}

}  // namespace

const model::Fit* shown_fit(const JudgedCurve& judged) {
  const bool says_something =
      judged.analysis.fit && judged.curve->ranks != 1 && !judged.analysis.shape.jitter;
  return says_something ? &*judged.analysis.fit : nullptr;
}

std::size_t shown_of(std::size_t curves) { return curves <= kMostListed ? curves : kListedOfMany; }

std::vector<Block> curve_blocks(const Curves& curves) {
  std::vector<Block> blocks;
  if (curves.size() <= kMostInFull) {
    for (const JudgedCurve* judged : curves) add_curve(blocks, *judged);
  } else {
    blocks.emplace_back(core::Heading{fmt::format("{} curves", curves.size())});
    blocks.emplace_back(overview(curves));
    if (shown_of(curves.size()) < curves.size()) blocks.emplace_back(rest_of(curves));
    blocks.emplace_back(core::Heading{"where they stand"});
    blocks.emplace_back(legend(curves));
  }
  if (curves.size() > 1 && curves.size() <= kMostBySize) {
    blocks.emplace_back(core::Heading{"busbw in GB/s by size (nearest size of each curve)"});
    blocks.emplace_back(by_size(curves));
  }
  if (const std::string text = far_apart(curves); !text.empty())
    blocks.emplace_back(core::Paragraph{text});
  return blocks;
}

std::vector<Block> curve_details(const Curves& curves) {
  std::vector<Block> blocks;
  for (const JudgedCurve* judged : std::span(curves).first(shown_of(curves.size()))) {
    if (curves.size() > kMostInFull) add_curve(blocks, *judged);
    const model::Fit* fit = shown_fit(*judged);
    if (fit == nullptr) continue;
    blocks.emplace_back(core::Heading{"points of the fit: " + title_of(*judged)});
    blocks.emplace_back(core::Paragraph{fmt::format(
        "T(S) = latency + S * {} / beta, relative errors, Tukey "
        "weights; spread {} (robust sigma of "
        "the residuals)",
        format_number(judged->analysis.wire_share, 5), core::format_percent(fit->spread))});
    blocks.emplace_back(fit_points_table(*fit));
  }
  return blocks;
}

}  // namespace comm_probe::cli
