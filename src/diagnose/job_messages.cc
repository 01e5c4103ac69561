#include "diagnose/job_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/curve_facts.h"
#include "nccl/call.h"
#include "nccl/price.h"
#include "torch/rates.h"

namespace comm_probe::diagnose {
namespace {

using core::Bytes;
using core::Duration;
using core::Finding;

constexpr std::size_t kMostMessages = 3;
constexpr double kOnPlateau = 0.9;
// A kernel this much above the benchmark's time waits for others (jitter of a busy job is below 2).
constexpr double kMostlyWaiting = 2;
constexpr double kWorthSaying = 1.05;  // as nccl_choice.h

// A row of the curve as busbw at any size: straight lines between sizes in the logarithm.
std::optional<core::Bandwidth> busbw_at(const JudgedCurve& judged, Bytes bytes) {
  const auto& points = judged.analysis.points;
  const model::ShapePoint *below = nullptr, *above = nullptr;
  for (const model::ShapePoint& point : points) {
    if (point.bytes.count() <= 0 || point.time <= Duration()) continue;
    if (point.bytes <= bytes && (below == nullptr || point.bytes > below->bytes)) below = &point;
    if (point.bytes >= bytes && (above == nullptr || point.bytes < above->bytes)) above = &point;
  }
  if (below == nullptr || above == nullptr) return std::nullopt;
  const core::Bandwidth low = judged.analysis.busbw(below->bytes, below->time);
  const core::Bandwidth high = judged.analysis.busbw(above->bytes, above->time);
  if (below == above) return low;
  const double at = std::log(bytes / below->bytes) / std::log(above->bytes / below->bytes);
  return low * (1 - at) + high * at;
}

std::string method_text(const model::Ledger& ledger) {
  const auto algorithm = nccl::algorithm_of(ledger.algorithm);
  return fmt::format("{} {}", algorithm ? table_name(*algorithm) : algorithm_name(ledger.algorithm),
                     table_name(nccl::protocol_of(ledger.protocol)));
}

std::optional<model::Ledger> priced(const JobPricer* pricer, const PlannedJob& job, model::Op op,
                                    Bytes bytes) {
  if (pricer == nullptr || !nccl::function_of(op)) return std::nullopt;
  const model::CostModel* model = pricer->model_of(job);
  if (model == nullptr) return std::nullopt;
  return model->price({op, job.ranks, bytes});
}

// The knee as it was measured: where half of the plateau is reached, whatever the algorithm. (The
// fitted one is that of the large sizes' algorithm alone.)
std::optional<Bytes> measured_knee(const JudgedCurve& judged) {
  std::vector<model::ShapePoint> points = judged.analysis.points;
  std::sort(points.begin(), points.end(),
            [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  const core::Bandwidth half = judged.analysis.shape.plateau->sustained * 0.5;
  const model::ShapePoint* below = nullptr;
  for (const model::ShapePoint& point : points) {
    if (point.bytes.count() <= 0 || point.time <= Duration()) continue;
    const core::Bandwidth busbw = judged.analysis.busbw(point.bytes, point.time);
    if (busbw >= half) {
      if (below == nullptr) return std::nullopt;  // before the first size
      const core::Bandwidth low = judged.analysis.busbw(below->bytes, below->time);
      if (busbw <= low) return point.bytes;
      const double at = (half.in_GBps() - low.in_GBps()) / (busbw.in_GBps() - low.in_GBps());
      return below->bytes * std::pow(point.bytes / below->bytes, std::clamp(at, 0.0, 1.0));
    }
    below = &point;
  }
  return std::nullopt;
}

std::string place_text(const JudgedCurve& judged, const JobMessage& message, double share) {
  const auto knee = measured_knee(judged);
  const char* place = share >= kOnPlateau               ? "on the plateau"
                      : !knee || message.bytes >= *knee ? "past the knee, below the plateau"
                                                        : "below the knee: still climbing";
  return fmt::format("{:.0f} % of the plateau on {}{}: {}", share * 100, name_of(*judged.curve),
                     knee ? fmt::format(" (half of it at {})",
                                        core::format_bytes(Bytes::of(std::round(knee->count()))))
                          : "",
                     place);
}

std::string choice_text(const JudgedCurve& judged, const JobMessage& message,
                        const JobPricer* pricer) {
  const curve::Curve& curve = *judged.curve;
  if (!curve.ranks || !curve.nodes) return "";
  const auto free = priced(pricer, {*curve.ranks, *curve.nodes, {}}, message.op, message.bytes);
  if (!free || free->time() <= Duration()) return "";
  std::string text = fmt::format("; NCCL takes {} there by itself", method_text(*free));
  const auto ring = priced(pricer, {*curve.ranks, *curve.nodes, {{"NCCL_ALGO", "Ring"}}},
                           message.op, message.bytes);
  if (ring && ring->time() / free->time() >= kWorthSaying)
    text += fmt::format(", Ring would take {:.2f} times as long", ring->time() / free->time());
  return text;
}

// What the curves say about one message.
struct Placed {
  std::vector<core::Evidence> evidence = {};
  double least_share = 1;
  const JudgedCurve* baseline = nullptr;  // as many ranks as the job's group
};

Placed place(const JobMessage& message, const std::vector<JudgedReading>& readings,
             const JobPricer* pricer) {
  Placed placed;
  for (const JudgedReading& reading : readings)
    for (const JudgedCurve& judged : reading.curves) {
      if (judged.curve->op != message.op || !judged.analysis.shape.plateau) continue;
      const auto busbw = busbw_at(judged, message.bytes);
      if (!busbw) continue;
      const double share = std::min(1.0, *busbw / judged.analysis.shape.plateau->sustained);
      placed.evidence.push_back(
          {judged.curve->file, judged.curve->first_line,
           place_text(judged, message, share) + choice_text(judged, message, pricer)});
      placed.least_share = std::min(placed.least_share, share);
      if (judged.curve->ranks == message.ranks) placed.baseline = &judged;
    }
  return placed;
}

std::string name_of_message(const JobMessage& message) {
  return fmt::format("{} of {} on {} ranks", model::op_name(message.op),
                     core::format_bytes(message.bytes), message.ranks);
}

// The benchmark's time for the size; nothing where the curve does not reach it.
std::optional<Duration> time_of(const JudgedCurve& baseline, const JobMessage& message) {
  const auto busbw = busbw_at(baseline, message.bytes);
  if (!busbw || busbw->in_bytes_per_second() <= 0) return std::nullopt;
  return message.bytes * baseline.analysis.wire_share / *busbw;
}

// Nothing where the message is on the plateau and as fast as in the benchmark.
std::optional<Finding> finding_of(const JobMessage& message, Placed placed) {
  const auto alone = placed.baseline != nullptr ? time_of(*placed.baseline, message) : std::nullopt;
  const bool is_waiting = alone && message.median > *alone * kMostlyWaiting;
  if (!is_waiting && placed.least_share >= kOnPlateau) return std::nullopt;
  std::string summary =
      placed.evidence.size() == 1
          ? fmt::format("{}: {}", name_of_message(message), placed.evidence.front().text)
          : fmt::format("{} reaches {:.0f} % of the plateau at worst", name_of_message(message),
                        placed.least_share * 100);
  if (is_waiting)
    summary += fmt::format(
        "; its kernels take {} in the median, the benchmark {}: the rest is waiting for a later "
        "rank, not bandwidth",
        core::format_duration(message.median), core::format_duration(*alone));
  Finding finding = core::make_finding("job.message-on-curve", std::move(summary));
  if (alone) {
    finding.expected = core::figure(*alone, core::Basis::kMeasured,
                                    "the benchmark, " + placed.baseline->curve->file);
    finding.observed = core::figure(message.median, core::Basis::kMeasured,
                                    fmt::format("median of {} kernels", message.kernels));
  }
  finding.evidence = std::move(placed.evidence);
  finding.confidence = core::Confidence::kLikely;
  if (is_waiting)
    finding.next = {"comm-probe trace PROFILES   (which rank comes last, and why)"};
  else
    finding.next = {
        "fewer, larger messages come nearer to the plateau: bucket_cap_mb of DDP (and overlap "
        "becomes coarser)",
        "leave NCCL_ALGO and NCCL_PROTO to NCCL; hide the communication: no .item(), no cudaFree, "
        "no early wait() in the backward pass"};
  return finding;
}

}  // namespace

std::vector<JobMessage> messages_of(const std::vector<torch::Trace>& traces) {
  std::map<std::tuple<model::Op, double, int>, std::vector<std::int64_t>> times;
  for (const torch::Trace& trace : traces)
    for (const torch::GpuOp& op : trace.gpu_ops) {
      const torch::CollectiveCall* call = trace.collective_of(op);
      const auto kind = torch::op_of(trace.class_of(op));
      if (call == nullptr || !kind || !call->dtype) continue;
      const torch::TraceGroup* group = trace.group_of(*call);
      const auto size = torch::dtype_bytes(trace.names.text(*call->dtype));
      if (group == nullptr || group->size < 2 || group->size > (1 << 20) || !size) continue;
      const auto elements = call->size_elements(static_cast<std::size_t>(group->size));
      if (elements <= 0) continue;
      times[{*kind, static_cast<double>(elements) * *size, static_cast<int>(group->size)}]
          .push_back(op.duration());
    }
  std::vector<JobMessage> messages;
  for (auto& [key, all] : times) {
    std::sort(all.begin(), all.end());
    double total = 0;
    for (const std::int64_t time : all) total += static_cast<double>(time);
    messages.push_back({std::get<0>(key), Bytes::of(std::get<1>(key)), std::get<2>(key),
                        Duration::from_ns(static_cast<double>(all[all.size() / 2])),
                        Duration::from_ns(total), all.size()});
  }
  std::stable_sort(messages.begin(), messages.end(),
                   [](const JobMessage& a, const JobMessage& b) { return a.total > b.total; });
  return messages;
}

Judgement judge_messages(const std::vector<JobMessage>& messages,
                         const std::vector<JudgedReading>& readings, const JobPricer* pricer) {
  Judgement judgement;
  for (std::size_t i = 0; i < std::min(messages.size(), kMostMessages); ++i) {
    Placed placed = place(messages[i], readings, pricer);
    if (placed.evidence.empty()) continue;
    if (auto finding = finding_of(messages[i], std::move(placed)))
      judgement.findings.push_back(std::move(*finding));
  }
  return judgement;
}

}  // namespace comm_probe::diagnose
