// Which nodes a file name speaks of, and tables of nodes against nodes.
#include "curve/node_names.h"

#include <gtest/gtest.h>

#include "curve/node_matrix.h"

namespace comm_probe::curve {
namespace {

using Names = std::vector<std::string>;

// The worked example of node_names.h.
TEST(NodeNames, OfFileNames) {
  EXPECT_EQ(nodes_of_file_name("dir/all_reduce_node12-node37.txt"), (Names{"node12", "node37"}));
  EXPECT_EQ(nodes_of_file_name("gpu-node-12_gpu-node-37_a2a.log"),
            (Names{"gpu-node-12", "gpu-node-37"}));
  EXPECT_EQ(nodes_of_file_name("n01-n17.txt.gz"), (Names{"n01", "n17"}));
  EXPECT_EQ(nodes_of_file_name("all_reduce_node07.txt"), Names{"node07"});
  EXPECT_EQ(nodes_of_file_name("c55_2n_alltoall.txt"), Names{});
  EXPECT_EQ(nodes_of_file_name("f06_h100pcie_2gpu_nvlink_pair.txt"), Names{});
  EXPECT_EQ(nodes_of_file_name("run3_gpu8_cfg2.txt"), Names{});
  EXPECT_EQ(nodes_of_file_name("a_node1_node2_node3.txt"), Names{});  // no pair
  EXPECT_EQ(nodes_of_file_name(""), Names{});
}

Reading read_matrix(const std::string& text, const std::string& name = "matrix.csv") {
  auto input = core::Input::from_memory(name, text);
  auto reading = read(input);
  EXPECT_TRUE(reading.ok()) << (reading.ok() ? "" : reading.error().one_line());
  return reading.ok() ? *reading : Reading{};
}

TEST(NodeMatrix, CommasAndAUnit) {
  const Reading reading = read_matrix(
      "# ib_write_bw, Gb/s\n"
      ",node1,node2,node3\n"
      "node1,,391.2,390.8\n"
      "node2,388.7,,N/A\n"
      "node3,391.0,195.1,\n",
      "all_reduce_matrix.csv");
  EXPECT_EQ(reading.kind, "node-matrix");
  ASSERT_EQ(reading.pairs.size(), 6U);
  EXPECT_EQ(reading.pairs[0].node_a, "node1");
  EXPECT_EQ(reading.pairs[0].node_b, "node2");
  EXPECT_TRUE(reading.pairs[0].is_directed);
  EXPECT_NEAR(reading.pairs[0].avg_busbw->in_GBps(), 48.9, 1e-9);
  EXPECT_FALSE(reading.pairs[3].avg_busbw);  // N/A: a run that failed
  EXPECT_EQ(reading.pairs[5].line, 5U);
  EXPECT_TRUE(reading.caveats.empty());
}

TEST(NodeMatrix, BlanksACornerAndNoUnit) {
  const Reading reading = read_matrix(
      "from\\to  gpu-a  gpu-b  gpu-c\n"
      "gpu-a     -      24.1   24.0\n"
      "gpu-b     24.2   -      12.3\n"
      "gpu-c     24.1   12.2   -\n");
  ASSERT_EQ(reading.pairs.size(), 6U);
  EXPECT_EQ(reading.pairs[3].node_a, "gpu-b");
  EXPECT_EQ(reading.pairs[3].node_b, "gpu-c");
  EXPECT_NEAR(reading.pairs[3].avg_busbw->in_GBps(), 12.3, 1e-9);
  ASSERT_EQ(reading.caveats.size(), 1U);
  EXPECT_EQ(reading.caveats[0].id, "input.unit-unknown");
}

TEST(NodeMatrix, ATriangleHasNoFailedRuns) {
  const Reading reading = read_matrix(
      "GB/s,n1,n2,n3,n4\n"
      "n1,,40,41,40\n"
      "n2,,,40,39\n"
      "n3,,,,20\n"
      "n4,,,,\n");
  ASSERT_EQ(reading.pairs.size(), 6U);
  for (const Pair& pair : reading.pairs) EXPECT_TRUE(pair.avg_busbw);
}

TEST(NodeMatrix, OtherTablesAreNone) {
  EXPECT_FALSE(is_node_matrix("        GPU0    GPU1    GPU2\nGPU0     X      NV12    SYS\n"));
  EXPECT_FALSE(is_node_matrix("test,nodes,gpus_per_node\nalltoall_perf,2,1\n"));
  EXPECT_FALSE(is_node_matrix("#  size count type redop\n   8  2  float sum\n"));
  EXPECT_FALSE(is_node_matrix("   D\\D     0      1\n     0 801.28  22.23\n"));
  EXPECT_FALSE(is_node_matrix(""));
}

}  // namespace
}  // namespace comm_probe::curve
