#include "nccl/algo_lists.h"

#include <gtest/gtest.h>

namespace comm_probe::nccl {
namespace {

using enum Allowed;
using AlgorithmRow = std::array<Allowed, kAlgorithms>;
using ProtocolRow = std::array<Allowed, kProtocols>;

MethodLists parsed(const std::string& algorithms, const std::string& protocols) {
  auto lists = parse_method_lists(algorithms, protocols);
  EXPECT_TRUE(lists.ok()) << lists.error().one_line();
  return *lists;
}

AlgorithmRow row(const MethodLists& lists, Function function) {
  return lists.algorithms[index_of(function)];
}
ProtocolRow protocols(const MethodLists& lists, Function function) {
  return lists.protocols[index_of(function)];
}

TEST(AlgoLists, NothingSetAllowsEverything) {
  const MethodLists lists = parsed("", "");
  for (const Function function : kAllFunctions) {
    EXPECT_EQ(lists.of(function, Algorithm::kNvlsTree), kYes);
    EXPECT_EQ(protocols(lists, function), (ProtocolRow{kYes, kAutomatic, kYes}));
  }
}

// The matrix that a real job printed for NCCL_ALGO=Tree (data/h200/logs/tuning/n8-tree.log).
TEST(AlgoLists, OneNameHoldsForEveryFunction) {
  const MethodLists lists = parsed("Tree", "");
  for (const Function function : kAllFunctions) {
    EXPECT_EQ(row(lists, function), (AlgorithmRow{kYes, kNo, kNo, kNo, kNo, kNo, kNo}));
    EXPECT_EQ(protocols(lists, function), (ProtocolRow{kYes, kAutomatic, kYes}));
  }
}

TEST(AlgoLists, LaterEntriesOverwriteTheirFunction) {
  const MethodLists lists = parsed("ring;allreduce:tree,nvlstree", "^LL128;allreduce:LL128,Simple");
  EXPECT_EQ(row(lists, Function::kReduce), (AlgorithmRow{kNo, kYes, kNo, kNo, kNo, kNo, kNo}));
  EXPECT_EQ(row(lists, Function::kAllReduce), (AlgorithmRow{kYes, kNo, kNo, kNo, kNo, kYes, kNo}));
  EXPECT_EQ(protocols(lists, Function::kAllGather), (ProtocolRow{kYes, kNo, kYes}));
  EXPECT_EQ(protocols(lists, Function::kAllReduce), (ProtocolRow{kNo, kYes, kYes}));
}

// Excluding another protocol forces LL128 on: no automatic is left (spec nccl-5-tuning.md 5.7).
TEST(AlgoLists, ExcludingLeavesNoAutomatic) {
  EXPECT_EQ(protocols(parsed("", "^LL"), Function::kAllReduce), (ProtocolRow{kNo, kYes, kYes}));
}

TEST(AlgoLists, FunctionsThatNoEntryNamesKeepTheirDefaults) {
  const MethodLists lists = parsed("", "AllReduce:simple");
  EXPECT_EQ(protocols(lists, Function::kAllReduce), (ProtocolRow{kNo, kNo, kYes}));
  EXPECT_EQ(protocols(lists, Function::kBroadcast), (ProtocolRow{kYes, kAutomatic, kYes}));
}

TEST(AlgoLists, EmptyPiecesAreSkipped) {
  EXPECT_EQ(row(parsed(";;ring,,tree;", ""), Function::kAllReduce),
            (AlgorithmRow{kYes, kYes, kNo, kNo, kNo, kNo, kNo}));
  EXPECT_EQ(row(parsed(";", ""), Function::kAllReduce), row(parsed("", ""), Function::kAllReduce));
}

TEST(AlgoLists, RefusesWhatNcclRefuses) {
  const auto error = [](const char* algorithms, const char* protocols) {
    const auto lists = parse_method_lists(algorithms, protocols);
    return lists ? std::string("none") : lists.error().one_line();
  };
  EXPECT_EQ(error("Rign", ""),
            "NCCL_ALGO: unknown name 'Rign'; NCCL would not start ('Unrecognized element token'); "
            "did you mean 'Ring'?");
  EXPECT_EQ(error("tree, ring", ""),
            "NCCL_ALGO: unknown name ' ring'; NCCL would not start ('Unrecognized element token'); "
            "did you mean 'Ring'?");
  EXPECT_EQ(error("", "Simplest"),
            "NCCL_PROTO: unknown name 'Simplest'; NCCL would not start ('Unrecognized element "
            "token'); did you mean 'Simple'?");
  EXPECT_EQ(error("alreduce:ring", ""),
            "NCCL_ALGO: unknown function 'alreduce'; NCCL would not start ('Unrecognized prefix "
            "token'); did you mean 'allreduce'?");
  EXPECT_EQ(error("ring;tree", ""),
            "NCCL_ALGO: entry 'tree' has no function; NCCL would not start ('All entries "
            "except the first must have a prefix'); write 'allreduce:tree', or put it first");
}

// One flat list before 2.24; words that are no names are ignored.
TEST(AlgoLists, FlatListsBefore224) {
  const auto lists = parse_method_lists("^tree,nonsense", "LL", {2, 23, 4});
  ASSERT_TRUE(lists.ok());
  EXPECT_EQ(row(*lists, Function::kAllReduce),
            (AlgorithmRow{kNo, kYes, kYes, kYes, kYes, kYes, kYes}));
  EXPECT_EQ(protocols(*lists, Function::kReduce), (ProtocolRow{kYes, kNo, kNo}));
}

}  // namespace
}  // namespace comm_probe::nccl
