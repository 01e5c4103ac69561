#include "diagnose/plan_price.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/finding_table.h"
#include "core/units.h"
#include "nccl/call.h"
#include "nccl/price.h"

namespace comm_probe::diagnose {
namespace {

using core::format_bandwidth;

// name, value, applies when, source
constexpr double kHealthyShare = 0.84;     // of the price; see plan_price.h
constexpr int kMostNodes = 16;             // larger fabrics are shared and tapered (c50, c52)
constexpr double kMostLatencyShare = 0.1;  // beyond it the price says little about links
constexpr double kSameRate = 0.1;          // of another algorithm's rate

// The switch adds some types only; an operation that adds nothing takes any.
bool is_covered(const curve::Curve& curve) {
  const auto function = curve.op ? nccl::function_of(*curve.op) : std::nullopt;
  if (curve.is_rccl || curve.rows.empty() || !function) return false;
  const curve::Row& row = curve.rows.front();
  const std::string_view type(row.type), redop(row.redop);
  if (!is_reduction(*function) || type.empty()) return true;
  const auto known = nccl::data_type_from_name(type);
  return known && nccl::is_nvls_reducible(*known, nccl::Reduction::kSum) &&
         (redop.empty() || redop == "sum");
}

// The algorithm among those not taken whose busbw the curve has.
const model::Rejected* algorithm_at(const PlanPrice& price) {
  const model::Rejected* nearest = nullptr;
  double least = kSameRate;
  for (const model::Rejected& other : price.plateau.rejected) {
    if (other.time <= core::Duration()) continue;
    const core::Bandwidth rate =
        price.plateau.collective.bytes / other.time *
        model::busbw_factor(price.plateau.collective.op, price.plateau.collective.ranks);
    const double off = std::abs(price.measured / rate - 1);
    if (off >= least) continue;
    least = off;
    nearest = &other;
  }
  return nearest;
}

std::string method_text(model::Algorithm algorithm, model::Protocol protocol) {
  const auto ours = nccl::algorithm_of(algorithm);
  return fmt::format("{} {}", ours ? table_name(*ours) : algorithm_name(algorithm),
                     table_name(nccl::protocol_of(protocol)));
}

std::vector<std::string> next_steps(const PlanPrice& price) {
  std::vector<std::string> next = {
      "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING: which algorithm the large sizes really take"};
  const auto taken = nccl::algorithm_of(price.plateau.algorithm);
  if (taken && is_nvls(*taken))
    next.emplace_back(
        "NVLS: `NVLS multicast support is available` in the log, NCCL_NVLS_ENABLE, "
        "systemctl status nvidia-fabricmanager");
  next.emplace_back("comm-probe nccl choose --topo FILE with the topology of this machine");
  return next;
}

}  // namespace

std::optional<PlanPrice> price_curve(const curve::Curve& curve, const curve::Analysis& analysis,
                                     const PlannedJob& job, const JobPricer& pricer) {
  const auto& plateau = analysis.shape.plateau;
  if (!plateau || !is_covered(curve)) return std::nullopt;
  const model::CostModel* model = pricer.model_of(job);
  if (model == nullptr) return std::nullopt;
  PlanPrice price;
  price.model = model;
  price.plateau = model->price({*curve.op, job.ranks, plateau->peak_bytes});
  price.measured = plateau->sustained;
  if (price.plateau.busbw() <= core::Bandwidth()) return std::nullopt;
  if (const auto& left = analysis.shape.left_end) {
    price.smallest = model->price({*curve.op, job.ranks, left->first});
    price.smallest_time = left->latency;
  }
  return price;
}

Judgement judge_plan(const CurveFacts& facts, const PlanPrice& price, int nodes) {
  Judgement out;
  const auto& plateau = facts.analysis.shape.plateau;
  const bool shows = plateau && plateau->is_saturated() && !facts.analysis.shape.collapse &&
                     price.plateau.latency_share() < kMostLatencyShare;
  if (!shows || nodes > kMostNodes || price.share() >= kHealthyShare) return out;
  const model::Rejected* instead = algorithm_at(price);
  core::Finding finding = core::make_finding(
      "curve.below-nccl-model",
      fmt::format("{}: the plateau is {}, {} of the {} that NCCL's model gives with {}{}",
                  name_of(facts.curve), format_bandwidth(price.measured),
                  core::format_percent(price.share(), 2), format_bandwidth(price.plateau.busbw()),
                  method_text(price.plateau.algorithm, price.plateau.protocol),
                  instead == nullptr
                      ? ""
                      : fmt::format("; it is the rate of {}",
                                    method_text(instead->algorithm, instead->protocol))));
  finding.confidence = core::Confidence::kPossible;
  finding.expected =
      core::figure(price.plateau.busbw(), core::Basis::kComputed, price.plateau.source);
  finding.observed = core::figure(price.measured, core::Basis::kComputed,
                                  "median of the rows of the plateau in " + facts.curve.file);
  if (const auto* row = row_at(facts.curve, plateau->peak_bytes))
    finding.evidence.push_back(evidence_of(facts.curve, *row));
  finding.next = next_steps(price);
  out.findings.push_back(std::move(finding));
  return out;
}

}  // namespace comm_probe::diagnose
