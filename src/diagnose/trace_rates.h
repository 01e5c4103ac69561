// How far is each kind of collective from what its links should give?
//
// The reference is, best first: NCCL's own price on the machine that was named; alpha and beta that
// were given (closed form, ring); a line through the fastest of each size in the traces themselves
// (two sizes that differ by 4 at least), which shows the ledger side and outliers but not whether
// all of it is slow.
//
//   efficiency = predicted / transfer       ledger: latency below knee/3, bandwidth above 3 knee
//
// Worked example (tests/unit/diagnose/trace_rates_test.cc): all_reduce of 25 MB on 8 ranks at 450
// GB/s: 43.75 MB per rank, 97.2 us of bytes (golden G5-01, G5-02).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/diagnose.h"
#include "diagnose/plan_price.h"
#include "model/closed_form.h"
#include "model/fit.h"
#include "torch/across.h"

namespace comm_probe::diagnose {

// What the command line names; nothing: the traces alone.
struct RateReference {
  const JobPricer* pricer = nullptr;
  std::optional<model::ClosedForm> given = {};
  int nodes = 1;  // hosts of the whole job, ranks laid out node by node
};

enum class RateBasis { kNone, kPlan, kGiven, kFit };
const char* rate_basis_name(RateBasis basis);  // "none" | "NCCL's model" | ...

struct PricedRate {
  torch::Rate rate = {};
  RateBasis basis = RateBasis::kNone;
  std::optional<model::Ledger> ledger = {};  // kPlan, kGiven
  std::optional<model::Fit> fit = {};        // kFit
  std::optional<core::Duration> predicted = {};
  core::Bytes knee = {};

  // predicted / median transfer; nothing without prediction.
  std::optional<double> efficiency() const;
  // "latency", "bandwidth", "both" between them; "-" where no knee is known.
  const char* ledger_side() const;
};

std::vector<PricedRate> price_rates(const torch::AcrossRanks& across,
                                    const RateReference& reference);

// How many of the job's nodes a group covers, ranks laid out node by node; nothing where it does
// not cover each of them alike.
std::optional<int> nodes_of(const torch::CommGroup& group, int world, int nodes);

// No link of a job is so slow; ranks that take turns on one GPU are. The smallest such call, or
// null.
const torch::Rate* rate_of_shared_gpu(const torch::AcrossRanks& across);

// trace.slow-link: transfers far above the reference with nobody late, or in one group only.
Judgement judge_rates(const torch::AcrossRanks& across, const std::vector<PricedRate>& rates);

}  // namespace comm_probe::diagnose
