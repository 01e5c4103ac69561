#include <gtest/gtest.h>

#include "golden_values.h"
#include "hopper_job.h"
#include "model/model.h"
#include "nccl/nccl.h"

namespace comm_probe::test {
namespace {

using namespace core::literals;  // NOLINT
using model::Fabric;
using model::Ledger;
using model::Op;
using nccl::Algorithm;
using nccl::Function;
using nccl::Protocol;

Ledger price(int ranks, core::Bytes bytes, model::Algorithm algorithm, const Fabric& fabric) {
  const auto ledger = model::price({Op::kAllReduce, ranks, bytes}, {algorithm}, fabric);
  EXPECT_TRUE(ledger.ok());
  return ledger.ok() ? *ledger : Ledger{};
}

// 32 nodes of 8; only the steps count.
const Fabric kThirtyTwoNodes = {
    .link = {10_us, 200_GBps}, .inter = model::Link{10_us, 25_GBps}, .ranks_per_node = 8};
double steps(int ranks, model::Algorithm algorithm) {
  return price(ranks, 1_GB, algorithm, kThirtyTwoNodes).steps;
}

// G4-12: 256 ranks, graph bus bandwidth 390 GB/s over 16 channels, Intel hosts.
double ring_over_tree() {
  const nccl::Tuning tuning =
      nccl::tune(hopper_job(32, graph(nccl::Pattern::kRing, 16, 390.0F / 16),
                            graph(nccl::Pattern::kBalancedTree, 16, 390.0F / 16)));
  return best_us(tuning, Algorithm::kRing, 25000000) / best_us(tuning, Algorithm::kTree, 25000000);
}

// G4-17: 8 ranks of one node, bus bandwidth 360 GB/s, Ring LL.
double table_cell_us() {
  const nccl::Tuning tuning = nccl::tune(hopper_job(1, graph(nccl::Pattern::kRing, 12, 30),
                                                    graph(nccl::Pattern::kBalancedTree, 12, 30)));
  const auto candidate = nccl::candidate_of(tuning, {Function::kAllReduce, 131072 / 4},
                                            Algorithm::kRing, Protocol::kLl);
  EXPECT_TRUE(candidate.has_value());
  return candidate ? candidate->time.us : 0;
}

double tree_loss() {
  const nccl::TuningConstants k = nccl::tuning_constants({});
  return 1 - k.tree_share * k.tree_pattern_share * k.tree_ll128_share;
}

double simple_slot_KiB() {
  const nccl::TuningSettings settings = nccl::read_tuning_settings({}).value();
  return static_cast<double>(settings.buffer[nccl::index_of(Protocol::kSimple)]) / 8 / 1024;
}

const Fabric kInfiniBand = {.link = {10_us, 25_GBps}};  // the inputs of G1-03
const Fabric kNode = {.link = {3_us, 400_GBps}};        // GB-01a: 8 x H100
const Fabric kCluster = {.link = {10_us, 45_GBps}};     // GB-01b: 64 cards
double plateau_share(int ranks, const Fabric& fabric) {
  return price(ranks, 25_MB, model::Algorithm::kRing, fabric).plateau_share() * 100;
}

}  // namespace

std::vector<GoldenRow> tuning_rows() {
  using M = model::Algorithm;
  using P = model::Protocol;
  return {
      {"G4-01", [] { return steps(256, M::kRing); }},
      {"G4-02", [] { return steps(256, M::kNcclTree); }},
      {"G4-03", [] { return steps(256, M::kRing) / steps(256, M::kNcclTree); }},
      {"G4-04", [] { return model::payload_share(P::kLl) * 100; }},
      {"G4-05", [] { return model::payload_share(P::kLl128) * 100; }},
      {"G4-06", [] { return simple_slot_KiB(); }},
      {"G4-09", [] { return price(8, 1_GB, M::kRing, kNode).bytes_per_rank / 1_GB; }},
      {"G4-10", [] { return price(8, 1_GB, M::kRing, kNode).steps; }},
      {"G4-12", [] { return ring_over_tree(); }},
      {"G4-14", [] { return tree_loss() * 100; }},
      {"G4-17", [] { return table_cell_us(); }},
      {"GQ-12", [] { return price(8, 65536_B, M::kRing, kInfiniBand).time().in_us(); }},
      {"GA-06a", [] { return model::payload_share(P::kLl) * 100; }},
      {"GA-06b", [] { return 1 / model::payload_share(P::kLl); }},
      {"GA-06c", [] { return model::payload_share(P::kLl128) * 100; }},
      {"GB-01a", [] { return plateau_share(8, kNode); }},
      {"GB-01b", [] { return plateau_share(64, kCluster); }},
  };
}

}  // namespace comm_probe::test
