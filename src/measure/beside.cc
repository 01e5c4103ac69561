#include "measure/beside.h"

#include <algorithm>

namespace comm_probe::measure {
namespace {

core::Result<HostLinks> links_around(const topology::HostTopology& host, core::Bytes bytes) {
  LinkPlan plan{.is_quick = true, .with_memory = false, .with_tcp = false};
  // the steps of an algorithm move between an eighth of the message and all of it
  plan.smallest_message = bytes / 8;
  plan.largest_message = bytes;
  return measure_host_links(host, plan, [](const std::string&) {});
}

struct Surroundings {
  const HostLinks& before;
  const HostLinks& after;
};

void price(Beside& beside, const Surroundings& links) {
  const LocalCase asked{{beside.plan.op, beside.plan.ranks, beside.row.bytes},
                        beside.row.algorithm,
                        beside.context.cores};
  const auto before = predict_local(links.before, asked);
  const auto after = predict_local(links.after, asked);
  if (!before || !after) {
    beside.not_priced = (before ? after : before).error().message;
    return;
  }
  beside.ledger = *before;
  beside.predicted = (before->time() + after->time()) / 2;
}

core::Result<Beside> measure_once(const topology::HostTopology& host, const Plan& plan) {
  const auto before = links_around(host, plan.begin);
  if (!before) return before.error();
  const auto run = run_local(plan);
  if (!run) return run.error();
  const auto after = links_around(host, plan.begin);
  if (!after) return after.error();
  Beside beside;
  beside.plan = plan;
  beside.context = run->context;
  beside.died = run->died;
  beside.interrupted_by = run->interrupted_by;
  beside.flag_before = before->flag;
  beside.flag_after = after->context.alpha_after;
  beside.preemptions = before->context.preemptions + after->context.preemptions;
  beside.load = before->context.load;
  if (run->rows.empty()) return beside;
  beside.row = run->rows.front();
  price(beside, {*before, *after});
  return beside;
}

}  // namespace

bool Beside::is_steady() const {
  if (flag_before.in_seconds() <= 0 || flag_after.in_seconds() <= 0) return false;
  const double ratio = flag_before / flag_after;
  return std::max(ratio, 1 / ratio) < kSameState;
}

core::Result<Beside> measure_beside(const topology::HostTopology& host, const Plan& plan,
                                    Deadline deadline) {
  const auto start = std::chrono::steady_clock::now();
  auto beside = measure_once(host, plan);
  for (int tries = 1; tries < kMostTries; ++tries) {
    if (!beside || beside->died || beside->interrupted_by != 0 || beside->is_steady()) break;
    const auto now = std::chrono::steady_clock::now();
    if (deadline - now < (now - start) / tries) break;
    beside = measure_once(host, plan);
  }
  return beside;
}

}  // namespace comm_probe::measure
