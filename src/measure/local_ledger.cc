#include "measure/local_ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host.h"
#include "measure/engines/local/algorithms.h"
#include "measure/engines/local/choose.h"
#include "measure/local_prediction.h"

namespace comm_probe::measure {
namespace {

// A prediction is good to 25 % (docs/bench.md); one closer to another than that decides nothing.
constexpr double kClearlyFaster = 0.75;
// link measures no larger message: from here on every machine waits for its memory, and the time
// grows with the size. (4 buffers of it in each of two processes.)
const core::Bytes kLargestMeasured = core::Bytes::of(64.0 * 1048576);

std::optional<LocalLedger> ledger_for(const Plan& plan, const Progress& progress) {
  const topology::HostTopology host = topology::read_host(core::Host::real());
  if (plan.ranks < 2 || plan.ranks > local_cores()) return std::nullopt;
  auto ledger = LocalLedger::measure(host, plan, progress);
  if (!ledger) return std::nullopt;
  return std::move(*ledger);
}

}  // namespace

core::Result<LocalLedger> LocalLedger::measure(const topology::HostTopology& host, const Plan& plan,
                                               const Progress& progress) {
  LinkPlan wanted = {.is_quick = true, .with_memory = false, .with_tcp = false};
  const core::Bytes largest = std::min(plan.end, kLargestMeasured);
  const core::Bytes smallest = std::min(plan.begin, largest) / (2 * std::max(plan.ranks, 1));
  wanted.smallest_message = std::max(core::Bytes::of(8), smallest);
  wanted.largest_message = std::max(largest, core::Bytes::of(16));
  auto links = measure_host_links(host, wanted, progress);
  if (!links) return links.error();
  return LocalLedger(std::move(*links), chosen_pair(host));
}

std::optional<model::Ledger> LocalLedger::price(const Plan& plan, core::Bytes bytes,
                                                model::Algorithm algorithm) const {
  LocalCase asked;
  asked.collective = {plan.op, plan.ranks, bytes};
  asked.algorithm = algorithm;
  asked.cores = local_cores();
  const auto ledger = predict_local(links_, asked);
  if (!ledger) return std::nullopt;
  return *ledger;
}

model::Algorithm LocalLedger::fastest(const Plan& plan, core::Bytes bytes) const {
  model::Algorithm best = local::usual_algorithm({plan.op, plan.ranks, bytes});
  if (plan.ranks <= 2) return best;  // all move the same bytes, and it has the fewest steps
  const auto usual = price(plan, bytes, best);
  if (!usual) return best;
  core::Duration shortest = usual->time() * kClearlyFaster;
  for (const model::Algorithm algorithm : local::algorithms_for(plan.op)) {
    const auto ledger = price(plan, bytes, algorithm);
    if (!ledger || ledger->time() >= shortest) continue;
    best = algorithm;
    shortest = ledger->time();
  }
  return best;
}

double LocalLedger::drift() const {
  const auto now = measure_flag(cpus_);
  const core::Duration before = links_.flag;
  if (!now || now->in_seconds() <= 0 || before.in_seconds() <= 0) return 1;
  return std::max(*now / before, before / *now);
}

core::Result<Run> run_by_ledger(const Plan& asked, const Progress& progress) {
  const std::optional<LocalLedger> ledger = ledger_for(asked, progress);
  Plan plan = asked;
  if (ledger) plan.choose = [&](core::Bytes bytes) { return ledger->fastest(asked, bytes); };
  progress(fmt::format("measuring {} on {} ranks", op_name(plan.op), plan.ranks));
  auto run = run_local_shown(plan, progress);
  if (!run || !ledger) return run;
  for (Row& row : run->rows)
    if (row.bytes.count() > 0) row.predicted = ledger->price(plan, row.bytes, row.algorithm);
  run->context.drift = ledger->drift();
  run->context.link_preemptions = ledger->preemptions();
  return run;
}

}  // namespace comm_probe::measure
