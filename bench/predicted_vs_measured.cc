// predicted_vs_measured: is the time that `link` predicts what `bench` measures? For every size:
// link measures the machine at sizes around it, the local engine measures the collective, link
// measures again. The prediction uses the mean of the two; a row during which the machine changed
// its state (flag latency by more than 1.5) is measured again, at most three times.
//
//   predicted_vs_measured [OP] [ALGORITHM|auto] [LARGEST]     defaults: all_reduce auto 64M
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/units.h"
#include "measure/link/link.h"
#include "measure/local_prediction.h"
#include "measure/measure.h"
#include "topology/topology.h"

using namespace comm_probe;

namespace {

constexpr double kSameState = 1.5;
constexpr int kMostTries = 3;

struct Outcome {
  core::Bytes bytes = {};
  model::Algorithm algorithm = model::Algorithm::kRing;
  core::Duration predicted = {};
  core::Duration measured = {};
  core::Duration flag = {};
  bool is_steady = false;
};

[[noreturn]] void stop(const core::Error& error) {
  std::fprintf(stderr, "predicted_vs_measured: %s\n", error.one_line().c_str());
  std::exit(static_cast<int>(error.code));
}

template <class T>
T take(core::Result<T> result) {
  if (!result) stop(result.error());
  return std::move(result).value();
}

measure::HostLinks links_around(const topology::HostTopology& host, core::Bytes bytes) {
  measure::LinkPlan plan{.is_quick = true, .with_memory = false, .with_tcp = false};
  plan.largest_message = bytes;
  plan.smallest_message = bytes / 8;
  return take(measure::measure_host_links(host, plan, [](const std::string&) {}));
}

Outcome measure_once(const topology::HostTopology& host, const measure::Plan& plan) {
  const measure::HostLinks before = links_around(host, plan.begin);
  const measure::Run run = take(measure::run_local(plan));
  const measure::HostLinks after = links_around(host, plan.begin);
  const measure::Row& row = run.rows.front();
  const measure::LocalCase asked{
      {plan.op, plan.ranks, row.bytes}, row.algorithm, run.context.cores};
  const auto predicted = [&asked](const measure::HostLinks& links) {
    return take(measure::predict_local(links, asked)).time();
  };
  const double ratio = before.flag / after.context.alpha_after;
  return {row.bytes,
          row.algorithm,
          (predicted(before) + predicted(after)) / 2,
          row.out_of_place.time,
          before.flag,
          std::max(ratio, 1 / ratio) < kSameState};
}

Outcome measure_size(const topology::HostTopology& host, measure::Plan plan, core::Bytes size) {
  plan.begin = plan.end = size;
  Outcome outcome = measure_once(host, plan);
  for (int tries = 1; tries < kMostTries && !outcome.is_steady; ++tries)
    outcome = measure_once(host, plan);
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Plan plan{.check = false};
  plan.op = model::op_from_name(argc > 1 ? argv[1] : "all_reduce").value_or(plan.op);
  if (argc > 2) plan.algorithm = model::algorithm_from_name(argv[2]);
  const core::Bytes largest = take(core::parse_bytes(argc > 3 ? argv[3] : "64M"));
  const topology::HostTopology host = topology::read_host(core::Host::real());
  std::printf("%s, 2 ranks, f32\n%10s  %-18s %12s %12s %7s %9s\n", model::op_name(plan.op), "bytes",
              "algorithm", "predicted us", "measured us", "ratio", "flag ns");
  int rows = 0, within = 0;
  for (double size = 8; size <= largest.count(); size *= 2, ++rows) {
    const Outcome o = measure_size(host, plan, core::Bytes::of(size));
    const double ratio = o.predicted / o.measured;
    const bool is_within = ratio >= 0.75 && ratio <= 1.25;
    within += is_within ? 1 : 0;
    std::printf("%10.0f  %-18s %12.3f %12.3f %7.2f %9.1f %s%s\n", o.bytes.count(),
                model::algorithm_name(o.algorithm), o.predicted.in_us(), o.measured.in_us(), ratio,
                o.flag.in_ns(), is_within ? "" : "outside 25 %",
                o.is_steady ? "" : "  the machine changed its state");
  }
  std::printf("within 25 %%: %d of %d sizes (%.0f %%)\n", within, rows, 100.0 * within / rows);
  return 0;
}
