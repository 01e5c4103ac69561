// Does the ledger say which scheme is faster? A routed all_to_all of 8 local ranks on 2 emulated
// nodes, top-2, zipf 1.2, with three rates between the nodes: predicted and measured order of flat
// and dedup, and what came back. With top-2 on 2 nodes dedup saves a quarter and more on the NIC,
// and moves 1.7 times the bytes of flat in all: slow NICs and fast ones have different winners.
//   bar: the same order at every rate, every pick back once with the right sum
#include <fmt/format.h>

#include "core/units.h"
#include "measure/engines/local/routed.h"
#include "model/moe/skew.h"

namespace {

using namespace comm_probe;  // NOLINT

constexpr int kRanks = 8, kRanksPerNode = 4, kTokens = 128, kTopk = 2, kExperts = 256;

measure::RoutedPlan plan_at(core::Bandwidth nic) {
  const auto draw = [](double skew) {
    return model::draw_routing(
        {kTokens * kRanks, kTopk, kExperts, kRanks / kRanksPerNode, 0, skew, 1});
  };
  measure::RoutedPlan plan{.routing = draw(1.2), .even = draw(0)};
  const auto bytes = [](model::MoeFormat format) {
    return static_cast<std::size_t>(model::copy_bytes(7168, format).whole());
  };
  plan.shape = {kRanks, kRanksPerNode, bytes(model::MoeFormat::kFp8),
                bytes(model::MoeFormat::kBf16)};
  plan.nic = nic;
  return plan;
}

std::string faster(core::Duration flat, core::Duration dedup) {
  return flat < dedup ? "flat" : "dedup";
}

}  // namespace

int main() {
  bool good = true;
  fmt::print("{:<10} {:>12} {:>12} {:>7} {:>12} {:>12} {:>7}  {:<8} {:<8}\n", "rate", "flat",
             "predicted", "ratio", "dedup", "predicted", "ratio", "faster", "predicted");
  for (const double GBps : {0.005, 0.02, 4.0}) {
    const core::Bandwidth nic = core::Bandwidth::from_GBps(GBps);
    const auto run = measure::run_local_routed(plan_at(nic), [](const std::string&) {});
    if (!run || run->rows.size() < 2) {
      fmt::print("{}\n", run ? "the run was ended" : run.error().one_line());
      return 1;
    }
    const measure::RoutedRow &flat = run->rows[0], &dedup = run->rows[1];
    const std::string measured = faster(flat.time(), dedup.time());
    const std::string predicted = faster(flat.predicted(), dedup.predicted());
    fmt::print("{:<10} {:>12} {:>12} {:>7.2f} {:>12} {:>12} {:>7.2f}  {:<8} {:<8}\n",
               core::format_bandwidth(nic), core::format_duration(flat.time()),
               core::format_duration(flat.predicted()), flat.time() / flat.predicted(),
               core::format_duration(dedup.time()), core::format_duration(dedup.predicted()),
               dedup.time() / dedup.predicted(), measured, predicted);
    good &= measured == predicted && flat.check.is_good() && dedup.check.is_good();
  }
  fmt::print("bar: the predicted order at every rate, every pick back once: {}\n",
             good ? "met" : "missed");
  return good ? 0 : 1;
}
