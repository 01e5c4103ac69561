// What NCCL's own model gives for a measured curve on the machine that was named, beside what was
// measured: at the plateau, and for the smallest size.
//
// The model is exact about what NCCL would choose and rough about time: at the plateau the public
// tables of healthy machines reach 86 to 103 % of it (c01, c10, c14, c15, c19, c23, c76 of the
// field curves), a healthy pair of H200 over NVLink 84.8 % (docs/measured/h200-nccl.md); small
// messages take 1 to 2.5 times as long. So only the plateau is judged, and a loss is an info that
// names the algorithm whose rate the curve has instead.
//
// Worked example (tests/golden/curve): c01, two DGX H100, all_reduce of 16 GiB: 461 GB/s with
// NVLSTree, measured 471 GB/s, 102 % of it.
#pragma once

#include <optional>

#include "diagnose/curve_facts.h"
#include "diagnose/diagnose.h"
#include "model/ledger.h"
#include "nccl/tuning.h"

namespace comm_probe::diagnose {

struct PlannedJob {
  int ranks = 0;
  int nodes = 1;                       // hosts
  nccl::Environment environment = {};  // the settings of the run; empty: NCCL's own choice
};

// Who prices jobs on the machine of a reference; several threads ask at once.
class JobPricer {
 public:
  virtual ~JobPricer() = default;
  // Null where this job cannot be priced.
  virtual const model::CostModel* model_of(const PlannedJob& job) const = 0;
  // What NCCL reckons each of its methods to cost there; null as above.
  virtual const nccl::Tuning* tuning_of(const PlannedJob& job) const = 0;
};

struct PlanPrice {
  const model::CostModel* model = nullptr;  // of this job, the pricer's; for other sizes
  model::Ledger plateau = {};               // at the size of the peak
  core::Bandwidth measured = {};            // busbw of the plateau
  model::Ledger smallest = {};              // at the first size of the left end
  core::Duration smallest_time = {};        // measured; zero where there is no left end
  double share() const { return measured / plateau.busbw(); }
};

// Nothing where the curve has no plateau, or NCCL's model does not cover the operation or type.
std::optional<PlanPrice> price_curve(const curve::Curve& curve, const curve::Analysis& analysis,
                                     const PlannedJob& job, const JobPricer& pricer);

// curve.below-nccl-model, where the plateau shows and stays clearly below the price.
Judgement judge_plan(const CurveFacts& facts, const PlanPrice& price, int nodes);

}  // namespace comm_probe::diagnose
