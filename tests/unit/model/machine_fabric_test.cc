#include "model/machine_fabric.h"

#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "catalog/machine_figures.h"

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

double beta_of(Op op, Algorithm algorithm, const char* name, int ranks, int nodes) {
  const auto ledger = price({op, ranks, 1_GB}, {algorithm}, fabric(name, ranks, nodes));
  EXPECT_TRUE(ledger.ok()) << name << ": " << ledger.error().one_line();
  return ledger.ok() ? ledger->link.beta.in_GBps() : 0;
}

// Whoever crosses nodes in one place has all rails: 8 x 50 GB/s. Of two nodes each sends S there
// with nccl-tree, and the chains inside pass 2 S over NVLink, which takes longer.
TEST(MachineFabric, RingAndTreeOverNodesHaveAllRails) {
  EXPECT_DOUBLE_EQ(beta_of(Op::kAllReduce, Algorithm::kRing, "dgx-h100", 16, 2), 400);
  EXPECT_DOUBLE_EQ(beta_of(Op::kAllReduce, Algorithm::kNcclTree, "dgx-h100", 16, 2), 450);
  EXPECT_DOUBLE_EQ(beta_of(Op::kAllReduce, Algorithm::kNcclTree, "dgx-h100", 32, 4), 400);
}

// A tree over all ranks shares them: 16 edges leave the busiest node of 16 nodes, two for each of
// its ranks; of two nodes 8. An inner rank has two of them. Of the double tree 4 halves leave one
// of two nodes, two of them from one rank; 6 of 16 nodes, three of them from one rank.
TEST(MachineFabric, TreesOverRanksShareTheRails) {
  EXPECT_DOUBLE_EQ(beta_of(Op::kAllReduce, Algorithm::kTree, "dgx-h100", 16, 2), 400.0 * 2 / 8);
  EXPECT_DOUBLE_EQ(beta_of(Op::kAllReduce, Algorithm::kTree, "dgx-h100", 128, 16), 400.0 * 2 / 16);
  EXPECT_DOUBLE_EQ(beta_of(Op::kAllReduce, Algorithm::kDoubleTree, "dgx-h100", 16, 2),
                   400.0 * 2 / 4);
  EXPECT_DOUBLE_EQ(beta_of(Op::kAllReduce, Algorithm::kDoubleTree, "dgx-h100", 128, 16),
                   400.0 * 3 / 6);
}

// Rounds of recursive doubling between nodes: all 8 ranks cross at once, 50 GB/s each, which are
// all rails; the three rounds before stay on NVLink.
TEST(MachineFabric, DoublingCrossesInItsLastRoundsOnly) {
  const auto ledger =
      price({Op::kAllReduce, 16, 1_GB}, {Algorithm::kRecursiveDoubling}, fabric("dgx-h100", 16, 2));
  ASSERT_EQ(ledger->terms.size(), 2u);
  EXPECT_EQ(ledger->terms[0].steps, 3);
  EXPECT_DOUBLE_EQ(ledger->terms[0].link.beta.in_GBps(), 450);
  EXPECT_EQ(ledger->terms[1].steps, 1);
  EXPECT_DOUBLE_EQ(ledger->terms[1].link.beta.in_GBps(), 50);
}

// Two GPUs of a mesh have the links of their pair (catalog: 4, 6 and 1 links), not all of a GPU;
// bridged cards have their bridge.
TEST(MachineFabric, APairHasItsOwnLinks) {
  const std::pair<const char*, double> pairs[] = {
      {"hgx-a100-4gpu", 100}, {"gh200-quad", 150},          {"dgx-1v", 25},
      {"4xh100-nvl", 300},    {"8xa100-pcie-bridged", 300}, {"dgx-h100", 450}};
  for (const auto& [name, rate] : pairs) {
    EXPECT_DOUBLE_EQ(beta_of(Op::kSendRecv, Algorithm::kDirect, name, 2, 1), rate) << name;
    EXPECT_DOUBLE_EQ(beta_of(Op::kAllReduce, Algorithm::kRing, name, 2, 1), rate) << name;
  }
  const char* mesh = "hgx-a100-4gpu";
  EXPECT_DOUBLE_EQ(beta_of(Op::kAllReduce, Algorithm::kRing, mesh, 4, 1), 300);
  EXPECT_DOUBLE_EQ(beta_of(Op::kAllReduce, Algorithm::kRecursiveDoubling, mesh, 4, 1), 100);
  EXPECT_DOUBLE_EQ(beta_of(Op::kAllReduce, Algorithm::kTree, mesh, 4, 1), 200);
  EXPECT_DOUBLE_EQ(beta_of(Op::kAllReduce, Algorithm::kOneShot, mesh, 4, 1), 300);
  EXPECT_DOUBLE_EQ(beta_of(Op::kSendRecv, Algorithm::kDirect, mesh, 4, 1), 100);
}

// The same ranks on more nodes cross them, whether or not they would fit one node.
TEST(MachineFabric, NodesAreTakenAsGiven) {
  const Fabric four = fabric("dgx-h100", 8, 4);
  ASSERT_TRUE(four.inter);
  EXPECT_EQ(four.ranks_per_node, 2);
  EXPECT_EQ(place(8, four).nodes, 4);
  const Fabric trays = fabric("gb200-nvl72-tray", 8, 4);  // one NVLink domain
  EXPECT_FALSE(trays.inter);
  EXPECT_EQ(place(8, trays).nodes, 1);
}

// 6 of 8 ranks of a node use 6 of its 8 NICs; measured plateaus of two AWS P5 (c03, c07, c93: 443
// to 487 GB/s with NVLSTree) need the full 8 x 50 GB/s.
TEST(MachineFabric, IdleNicsAreNotCredited) {
  const Fabric six = fabric("dgx-h100", 12, 2);
  EXPECT_DOUBLE_EQ(six.inter->beta.in_GBps(), 50);
  EXPECT_EQ(six.rails, 6);
  const Fabric p5 = fabric("aws-p5", 16, 2);
  EXPECT_DOUBLE_EQ(p5.inter->beta.in_GBps(), 50);
  EXPECT_EQ(p5.rails, 8);
  for (const catalog::Machine& one : catalog::Catalog::builtin().machines()) {
    const int ranks = one.gpus;
    if (one.nics == 0 || one.scale_up_gpus > ranks) continue;
    const Fabric both = fabric(one.name.c_str(), 2 * ranks, 2);
    EXPECT_DOUBLE_EQ(both.inter->beta.in_GBps(), catalog::nic_share(one).value.in_GBps())
        << one.name;
    EXPECT_LE(both.inter->beta * ranks, catalog::nic_total(one).value * 1.000001) << one.name;
  }
}

// golden G1-17: 0.6 us (LL), 1.9 (LL128), 3.4 (Simple) on NVLink
TEST(MachineFabric, EachProtocolHasItsAlpha) {
  const Fabric one = fabric("dgx-h100", 8, 1);
  const std::pair<Protocol, double> alphas[] = {
      {Protocol::kLl, 0.6}, {Protocol::kLl128, 1.9}, {Protocol::kSimple, 3.4}};
  for (const auto& [protocol, alpha] : alphas) {
    const auto ledger = price({Op::kAllReduce, 8, 64_KiB}, {Algorithm::kRing, protocol}, one);
    EXPECT_DOUBLE_EQ(ledger->latency().in_us(), 14 * alpha) << protocol_name(protocol);
  }
}

TEST(MachineFabric, SwitchReductionNeedsTheSwitch) {
  for (const char* name : {"dgx-a100", "8xa100-pcie-bridged", "hgx-a100-4gpu"})
    EXPECT_FALSE(price({Op::kAllReduce, machine(name).gpus, 1_GB}, {Algorithm::kNvls},
                       fabric(name, machine(name).gpus, 1))
                     .ok())
        << name;
  const auto ring = price({Op::kAllReduce, 8, 1_GB}, {Algorithm::kRing}, fabric("dgx-h100", 8, 1));
  for (const Rejected& other : alternatives(*ring, fabric("dgx-h100", 8, 1)))
    if (other.algorithm == Algorithm::kNvls) {
      EXPECT_EQ(other.needs, "");
    }
  EXPECT_FALSE(
      price({Op::kAllReduce, kMostRanks, 1_GB}, {Algorithm::kNvls}, {.link = {10_us, 25_GBps}})
          .ok());
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
