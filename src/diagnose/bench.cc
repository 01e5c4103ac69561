#include "diagnose/bench.h"

#include <fmt/format.h>

#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using measure::Row;
using measure::Run;

std::uint64_t wrong_in(const Row& row) {
  return row.out_of_place.wrong.value_or(0) + row.in_place.wrong.value_or(0);
}

void judge_results(const Run& run, std::vector<core::Finding>& findings) {
  int sizes = 0;
  const Row* first = nullptr;
  for (const Row& row : run.rows) {
    if (wrong_in(row) == 0) continue;
    ++sizes;
    if (first == nullptr) first = &row;
  }
  if (first == nullptr) return;
  core::Finding finding = core::make_finding(
      "bench.wrong-results",
      fmt::format("{} of {} sizes gave wrong results, from {} ({}) on", sizes, run.rows.size(),
                  core::format_bytes(first->bytes), algorithm_name(first->algorithm)));
  finding.observed = core::Figure{static_cast<double>(wrong_in(*first)), "wrong elements",
                                  core::Basis::kMeasured, "compared bit for bit"};
  finding.confidence = core::Confidence::kCertain;
  findings.push_back(finding);
}

}  // namespace

std::vector<core::Finding> judge_bench(const Run& run) {
  std::vector<core::Finding> findings;
  if (run.died) {
    core::Finding finding = core::make_finding(
        "bench.rank-died", fmt::format("{} after {} finished sizes; the others were ended",
                                       run.died->sentence, run.rows.size()));
    finding.ranks = {run.died->rank};
    finding.confidence = core::Confidence::kCertain;
    findings.push_back(finding);
  }
  judge_results(run, findings);
  return findings;
}

}  // namespace comm_probe::diagnose
