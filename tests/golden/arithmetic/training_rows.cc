#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diagnose/hang_class.h"
#include "golden_values.h"
#include "model/buckets.h"
#include "model/merge.h"
#include "model/model.h"

namespace comm_probe::test {
namespace {

using namespace core::literals;  // NOLINT
using model::Algorithm;
using model::Fabric;
using model::Ledger;
using model::Op;

Ledger ring(int ranks, core::Bytes bytes, const Fabric& fabric) {
  const auto ledger = model::price({Op::kAllReduce, ranks, bytes}, {Algorithm::kRing}, fabric);
  EXPECT_TRUE(ledger.ok());
  return ledger.ok() ? *ledger : Ledger{};
}
const Fabric kNvlink = {.link = {3_us, 450_GBps}};
const Fabric kNdr = {.link = {10_us, 50_GBps}};

model::Merge thousand_small_calls() {
  const auto merged = model::merge({Op::kAllReduce, 8, 25_KB}, 1000, {Algorithm::kRing}, kNvlink);
  EXPECT_TRUE(merged.ok());
  return *merged;
}
// 1000 calls of `each` latency: one step of a send
double thousand_latencies_ms(core::Duration each) {
  const auto merged = model::merge({Op::kSendRecv, 2, 25_KB}, 1000, {Algorithm::kDirect},
                                   {.link = {each, 450_GBps}});
  EXPECT_TRUE(merged.ok());
  return merged->separate_latency().in_ms();
}

const Fabric kNode = {.link = {3_us, 400_GBps}};     // G6-01: 8 x H100
const Fabric kCluster = {.link = {10_us, 45_GBps}};  // G6-03: 64 cards

std::string hang_classes() {
  std::size_t disagree = 0;
  for (const diagnose::HangClass& one : diagnose::kHangClasses) disagree += one.ranks_disagree;
  const std::size_t all = diagnose::kHangClasses.size();
  return fmt::format("{} ({}+{})", all, disagree, all - disagree);
}

}  // namespace

std::vector<GoldenRow> training_rows() {
  return {
      {"G5-01", [] { return ring(8, 25_MB, kNvlink).bytes_per_rank.count() / 1e6; }},
      {"G5-02", [] { return ring(8, 25_MB, kNvlink).bandwidth().in_us(); }},
      {"G5-03", [] { return ring(8, 25_MB, kNdr).bandwidth().in_us(); }},
      {"G5-06",
       [] {
         return fmt::format("{:.0f}–{:.0f}", thousand_latencies_ms(10_us),
                            thousand_latencies_ms(30_us));
       }},
      {"G5-07", [] { return thousand_small_calls().merged.bandwidth().in_us(); }},
      {"G5-08",
       [] {
         const model::Merge merge = thousand_small_calls();
         return merge.separate_latency() / merge.merged.latency();
       }},
      {"G5-09", [] { return thousand_small_calls().merged.collective.bytes.count() / 1e6; }},
      {"G5-15", [] { return model::BucketRule{}.cap.count() / 1e6; }},
      {"G6-01", [] { return ring(8, 1_GB, kNode).knee.count() / 1e6; }},
      {"G6-02", [] { return ring(8, 1_GB, kNode).plateau90.count() / 1e6; }},
      {"G6-03", [] { return ring(64, 1_GB, kCluster).knee.count() / 1e6; }},
      {"G6-04", [] { return ring(64, 1_GB, kCluster).knee.count() / 1e6; }},
      {"G6-05", [] { return ring(64, 1_GB, kCluster).plateau90.count() / 1e6; }},
      {"G6-06",
       [] {
         const Ledger ledger = ring(64, 1_GB, kCluster);
         EXPECT_NEAR(ring(64, ledger.plateau90, kCluster).plateau_share(), 0.9, 1e-9);
         return ledger.plateau90 / ledger.knee;
       }},
      {"G6-14", [] { return hang_classes(); }},
      {"G6-16",
       [] { return model::ranks_of_run(2, 3, 4) == 2 * 3 * 4 ? "product" : "something else"; }},
  };
}

}  // namespace comm_probe::test
