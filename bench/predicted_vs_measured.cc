// predicted_vs_measured: is the time that `link` predicts what `bench` measures? Every size is
// measured with link before and after it (measure/beside.h); a row during which the machine changed
// its state says so.
//
//   predicted_vs_measured [OP] [ALGORITHM|auto] [LARGEST]     defaults: all_reduce auto 64M
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/units.h"
#include "measure/beside.h"
#include "topology/topology.h"

using namespace comm_probe;

namespace {

[[noreturn]] void stop(const core::Error& error) {
  std::fprintf(stderr, "predicted_vs_measured: %s\n", error.one_line().c_str());
  std::exit(static_cast<int>(error.code));
}

template <class T>
T take(core::Result<T> result) {
  if (!result) stop(result.error());
  return std::move(result).value();
}

bool print_row(const measure::Beside& b) {
  const double ratio = b.predicted / b.row.out_of_place.time;
  const bool is_within = ratio >= 0.75 && ratio <= 1.25;
  std::printf("%10.0f  %-18s %12.3f %12.3f %7.2f %9.1f %s%s\n", b.row.bytes.count(),
              model::algorithm_name(b.row.algorithm), b.predicted.in_us(),
              b.row.out_of_place.time.in_us(), ratio, b.flag_before.in_ns(),
              is_within ? "" : "outside 25 %",
              b.is_steady() ? "" : "  the machine changed its state");
  return is_within;
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
  int rows = 0;
  int within = 0;
  for (double size = 8; size <= largest.count(); size *= 2) {
    plan.begin = plan.end = core::Bytes::of(size);
    const measure::Beside beside = take(measure::measure_beside(host, plan));
    if (!beside.ledger) stop(core::missing_error(beside.not_priced));
    ++rows;
    within += print_row(beside) ? 1 : 0;
  }
  std::printf("within 25 %%: %d of %d sizes (%.0f %%)\n", within, rows, 100.0 * within / rows);
  return 0;
}
