#include "model/machine_fabric.h"

#include <gtest/gtest.h>

#include "catalog/catalog.h"

namespace comm_probe::model {
namespace {

using namespace core::literals;  // NOLINT

const catalog::Machine& machine(const char* name) {
  return *catalog::Catalog::builtin().find_machine(name);
}
Fabric fabric(const char* name, int ranks, int nodes) {
  const auto found = fabric_of(machine(name), {ranks, nodes}, Protocol::kSimple);
  EXPECT_TRUE(found.ok()) << found.error().one_line();
  return found.ok() ? *found : Fabric{};
}

// the worked example of machine_fabric.h
TEST(MachineFabric, TwoDgxH100) {
  const Fabric two = fabric("dgx-h100", 16, 2);
  EXPECT_DOUBLE_EQ(two.link.beta.in_GBps(), 450);
  EXPECT_DOUBLE_EQ(two.inter->beta.in_GBps(), 50);
  EXPECT_DOUBLE_EQ(two.link.alpha.in_us(), 3.4);
  EXPECT_DOUBLE_EQ(two.inter->alpha.in_us(), 14);
  EXPECT_EQ(two.ranks_per_node, 8);
  EXPECT_EQ(two.basis, core::Basis::kCatalog);
  EXPECT_FALSE(fabric("dgx-h100", 8, 1).inter);
}

// A flat ring has all NICs of a node: golden G6-11..13, 8 x 50 = 400 GB/s for two DGX H100
TEST(MachineFabric, ARingUsesEveryRail) {
  const auto ring =
      price({Op::kAllReduce, 16, 1_GB}, {Algorithm::kRing}, fabric("dgx-h100", 16, 2));
  EXPECT_NEAR(ring->plateau_busbw.in_GBps(), 400, 1e-9);
  const auto a100 =
      price({Op::kAllReduce, 16, 1_GB}, {Algorithm::kRing}, fabric("dgx-a100", 16, 2));
  EXPECT_NEAR(a100->plateau_busbw.in_GBps(), 200, 1e-9);
}

// Peers that read each other's memory have no more than their own share.
TEST(MachineFabric, DirectAccessHasNoRails) {
  const Placement at = place(16, fabric("dgx-h100", 16, 2));
  EXPECT_DOUBLE_EQ(at.slowest.beta.in_GBps(), 50);
  EXPECT_DOUBLE_EQ(at.railed.beta.in_GBps(), 400);
}

TEST(MachineFabric, AlphaLiesInTheKnownRanges) {
  for (const StepAlpha& row : step_alphas()) {
    if (row.protocol != Protocol::kSimple) continue;
    const double low = row.step == StepClass::kNetwork ? 5 : 2;  // golden G1-16, G1-17
    const double high = row.step == StepClass::kNetwork ? 20 : 6;
    EXPECT_GE(row.alpha_us, low);
    EXPECT_LE(row.alpha_us, high);
  }
}

// Every machine of the catalog can be priced on one node (where it has two GPUs) and on two (where
// it has NICs).
TEST(MachineFabric, ServesTheWholeCatalog) {
  for (const catalog::Machine& one : catalog::Catalog::builtin().machines()) {
    const int gpus = one.gpus;
    EXPECT_EQ(fabric_of(one, {gpus, 1}, Protocol::kLl).ok(), gpus > 1) << one.name;
    const bool reaches_out = one.nics > 0 || one.scale_up_gpus >= 2 * gpus;
    EXPECT_EQ(fabric_of(one, {2 * gpus, 2}, Protocol::kLl128).ok(), reaches_out) << one.name;
  }
}

TEST(MachineFabric, RefusesRanksThatDoNotFit) {
  EXPECT_FALSE(fabric_of(machine("dgx-h100"), {9, 1}, Protocol::kSimple).ok());
  EXPECT_FALSE(fabric_of(machine("dgx-h100"), {9, 2}, Protocol::kSimple).ok());
  EXPECT_FALSE(fabric_of(machine("dgx-h100"), {0, 1}, Protocol::kSimple).ok());
  EXPECT_FALSE(fabric_of(machine("dgx-h100"), {8, 0}, Protocol::kSimple).ok());
}

}  // namespace
}  // namespace comm_probe::model
