#include "diagnose/job_loss.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

core::Duration nanoseconds(std::int64_t value) {
  return core::Duration::from_us(static_cast<double>(std::max<std::int64_t>(0, value)) / 1e3);
}

}  // namespace

std::optional<JobLoss> find_loss(const std::vector<torch::RankBreakdown>& ranks) {
  std::optional<JobLoss> loss;
  for (const torch::RankBreakdown& rank : ranks) {
    if (rank.total.ops == 0) continue;
    if (!loss) loss.emplace();
    const core::Duration lost = nanoseconds(rank.total.exposed_communication + rank.total.idle);
    const double steps = static_cast<double>(std::max<std::size_t>(1, rank.steps.size()));
    loss->per_step = std::max(loss->per_step, lost / steps);
    loss->of_all_ranks = loss->of_all_ranks + lost;
  }
  return loss;
}

void explain_loss(const JobLoss& loss, std::vector<core::Finding>& findings) {
  for (core::Finding& finding : findings) {
    const bool is_of_trace =
        finding.id.starts_with("trace.") && finding.observed && finding.observed->unit == "us";
    if (!is_of_trace || finding.severity == core::Severity::kInfo) continue;
    const bool is_of_step = finding.observed->source.starts_with("cost per step");
    if (!is_of_step && finding.id != "trace.straggler") continue;
    const core::Duration lost = is_of_step ? loss.per_step : loss.of_all_ranks;
    const core::Duration cost = core::Duration::from_us(std::max(0.0, finding.observed->value));
    finding.explains = core::figure(
        std::min(cost, lost), core::Basis::kMeasured,
        fmt::format("of {} of exposed communication and idle time {}", core::format_duration(lost),
                    is_of_step ? "per step, on the rank that loses most" : "of all ranks"));
  }
}

}  // namespace comm_probe::diagnose
