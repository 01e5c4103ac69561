#include <gtest/gtest.h>

#include "golden_values.h"
#include "model/merge.h"
#include "model/model.h"

namespace comm_probe::test {
namespace {

using namespace core::literals;  // NOLINT
using model::Algorithm;
using model::Fabric;
using model::Ledger;
using model::Op;

const Fabric kInfiniBand = {.link = {10_us, 25_GBps}};  // the inputs of G1-01

Ledger price(Op op, int ranks, core::Bytes bytes, Algorithm algorithm, const Fabric& fabric) {
  const auto ledger = model::price({op, ranks, bytes}, {algorithm}, fabric);
  EXPECT_TRUE(ledger.ok());
  return ledger.ok() ? *ledger : Ledger{};
}
Ledger ring(int ranks, core::Bytes bytes, const Fabric& fabric = kInfiniBand) {
  return price(Op::kAllReduce, ranks, bytes, Algorithm::kRing, fabric);
}

// G1-14: 4 nodes of 8, 1 GB, alpha 10 us everywhere, 200 GB/s inside, 25 GB/s between the nodes.
const Fabric kFourNodes = {
    .link = {10_us, 200_GBps}, .inter = model::Link{10_us, 25_GBps}, .ranks_per_node = 8};

double bytes_per_nic() {
  const Ledger ledger = price(Op::kAllReduce, 32, 1_GB, Algorithm::kHierarchical, kFourNodes);
  double bytes = 0;  // S/p enters the ring between nodes, which passes on 2(N-1)/N of it
  for (const model::Term& term : ledger.terms)
    if (term.link.beta == (25_GBps)) bytes += term.bytes.count();
  return bytes / model::busbw_factor(Op::kAllReduce, 4) / 1e6;
}

// Enough ranks for (n-1)/n to be 1 within the tolerance of the test.
double ring_limit_ms() { return ring(model::kMostRanks, 1_GB).bandwidth().in_ms(); }
double tree_limit_ms() {
  return price(Op::kAllReduce, model::kMostRanks, 1_GB, Algorithm::kTree, kInfiniBand)
      .bandwidth()
      .in_ms();
}

std::vector<GoldenRow> chapter1() {
  return {
      {"G1-01", [] { return ring(8, 1_GB).time().in_ms(); }},
      {"G1-02", [] { return ring(8, 1_GB).latency_share() * 100; }},
      {"G1-03", [] { return ring(8, 65536_B).time().in_us(); }},
      {"G1-04", [] { return (1 - ring(8, 65536_B).latency_share()) * 100; }},
      {"G1-05", [] { return model::busbw_factor(Op::kAllReduce, 8); }},
      {"G1-06", [] { return model::busbw_factor(Op::kAllToAll, 8); }},
      {"G1-07", [] { return model::busbw_factor(Op::kBroadcast, 8); }},
      {"G1-08", [] { return ring(8, 1_GB).knee.count() / 1e6; }},
      {"G1-09",
       [] {
         return price(Op::kSendRecv, 2, 1_GB, Algorithm::kDirect, kInfiniBand).knee.count() / 1e3;
       }},
      {"G1-10", [] { return price(Op::kAllReduce, 8, 1_GB, Algorithm::kTree, kInfiniBand).steps; }},
      {"G1-11", [] { return ring(1024, 65536_B).time().in_ms(); }},
      {"G1-12",
       [] {
         return price(Op::kAllReduce, 1024, 65536_B, Algorithm::kDoubleTree, kInfiniBand)
             .time()
             .in_us();
       }},
      {"G1-13", [] { return ring_limit_ms() / tree_limit_ms(); }},
      {"G1-14",
       [] {
         return price(Op::kAllReduce, 32, 1_GB, Algorithm::kRing, kFourNodes).time() /
                price(Op::kAllReduce, 32, 1_GB, Algorithm::kHierarchical, kFourNodes).time();
       }},
      {"G1-15", [] { return bytes_per_nic(); }},
      {"G1-18", [] { return ring_limit_ms(); }},
      {"G1-19", [] { return ring(8, 1_GB).busbw().in_GBps(); }},
      {"GQ-01", [] { return ring(8, 1_GB).time().in_ms(); }},
  };
}

Ledger a1() { return ring(16, 256_MB, {.link = {10_us, 50_GBps}}); }
Ledger a2(core::Bytes bytes) { return ring(16, bytes, {.link = {10_us, 22_GBps}}); }
Ledger a3() { return price(Op::kAllGather, 8, 2_GB, Algorithm::kRing, kInfiniBand); }
double a8(Algorithm algorithm) {
  return price(Op::kAllReduce, 32, 1_GB, algorithm, kFourNodes).steps;
}

std::vector<GoldenRow> appendix() {
  return {
      {"GA-01a", [] { return a1().bandwidth().in_ms(); }},
      {"GA-01b", [] { return a1().latency().in_ms(); }},
      {"GA-01c", [] { return a1().time().in_ms(); }},
      {"GA-01d", [] { return a1().latency_share() * 100; }},
      {"GA-01e", [] { return a1().busbw().in_GBps(); }},
      {"GA-02a", [] { return a2(25_MB).knee.count() / 1e6; }},
      {"GA-02b", [] { return a2(25_MB).plateau90.count() / 1e6; }},
      {"GA-02c", [] { return a2(25_MB).plateau_share() * 100; }},
      {"GA-03a", [] { return a3().bytes_per_rank.count() / 1e9; }},
      {"GA-03b", [] { return a3().time().in_ms(); }},
      {"GA-03c", [] { return a3().latency().in_us(); }},
      // the text takes 70 ms, the bandwidth term alone: the limit that large messages approach
      {"GA-03d", [] { return a3().collective.bytes / a3().bandwidth() / 1_GBps; }},
      {"GA-03e", [] { return a3().plateau_busbw.in_GBps(); }},
      {"GA-08a", [] { return a8(Algorithm::kRing); }},
      {"GA-08b", [] { return a8(Algorithm::kNcclTree); }},
      {"GA-08c", [] { return a8(Algorithm::kRing) / a8(Algorithm::kNcclTree); }},
  };
}

}  // namespace

std::vector<GoldenRow> collective_rows() {
  std::vector<GoldenRow> rows = chapter1();
  for (GoldenRow& row : appendix()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace comm_probe::test
