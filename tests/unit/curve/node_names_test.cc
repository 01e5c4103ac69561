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

// A table that ends early says so; a triangle, whose one row is empty, may lack that row.
TEST(NodeMatrix, ACutTableSaysSo) {
  const auto caveats = [](const std::string& rows) {
    const Reading reading = read_matrix("GB/s,node1,node2,node3,node4\n" + rows);
    return reading.caveats.empty() ? std::string() : reading.caveats[0].missing;
  };
  const std::string first = "node1,-,48,47,48\n", second = "node2,48,-,48,48\n";
  EXPECT_NE(caveats(first + second).find("the rows of 2 (none of node3 node4)"), std::string::npos);
  EXPECT_NE(caveats(first).find("(none of node2 node3)"), std::string::npos);
  EXPECT_NE(caveats(first + second + "node3,48,48,-,48\nnode4,48,48\n").find("line 5"),
            std::string::npos);
  EXPECT_EQ(caveats(first + second + "node3,48,48,-,48\nnode4,48,48,47,-\n"), "");
  EXPECT_EQ(caveats("node1,,40,41,40\nnode2,,,40,39\nnode3,,,,20\n"), "");  // above
  EXPECT_EQ(caveats("node2,40\nnode3,40,41\nnode4,40,41,39\n"), "");        // below
}

// A pair of nobody is no pair.
TEST(Pairwise, AnEmptyNameIsNoNode) {
  auto input = core::Input::from_memory(
      "m.csv",
      "test,nodes,gpus_per_node,node_a,node_b,min_bytes,max_bytes,avg_busbw_GBs,peak_busbw_GBs\n"
      "x,2,1,,b,1,2,40,41\nx,2,1,a,b,1,2,40,41\nx,2,1,a,,1,2,40,41\n");
  const auto reading = read(input);
  ASSERT_TRUE(reading.ok());
  ASSERT_EQ(reading->pairs.size(), 1U);
  EXPECT_EQ(reading->pairs[0].node_a, "a");
  ASSERT_EQ(reading->caveats.size(), 1U);
  EXPECT_EQ(reading->caveats[0].id, "input.truncated");
}

bool is_matrix(const std::string& text) { return is_node_matrix(text); }

// rocm-smi --showtopo prints weights of links between GPUs (15 is nearer than 45): no nodes, no
// GB/s.
TEST(NodeMatrix, DevicesOfOneMachineAreNoNodes) {
  for (const char* device : {"GPU", "gpu", "mlx5_", "NIC", "cpu"}) {
    const std::string d = device;
    std::string text = "======= Weight between two GPUs =======\n ";
    for (int i = 0; i < 4; ++i) text += "  " + d + std::to_string(i);
    for (int i = 0; i < 4; ++i) text += "\n" + d + std::to_string(i) + "  15  45  45  45";
    EXPECT_FALSE(is_matrix(text + "\n")) << text;
  }
}

// Of times, hops and losses the small figure is the good one.
TEST(NodeMatrix, OtherQuantitiesAreRefusedByName) {
  const char* const kRows =
      "       n1  n2  n3  n4\nn1  -  12.1  12.3  12.0\nn2  12.1  -  12.1  3.1\n"
      "n3  12.3  12.1  -  12.2\nn4  12.0  3.1  12.2  -\n";
  for (const char* title : {"RTT latency matrix (us)", "ping, ms", "hops", "packet loss in %"}) {
    auto input = core::Input::from_memory("m.txt", std::string(title) + "\n" + kRows);
    const auto reading = read(input);
    ASSERT_FALSE(reading.ok()) << title;
    EXPECT_NE(reading.error().message.find("not of bandwidths"), std::string::npos) << title;
  }
  auto named = core::Input::from_memory("m.txt", std::string("busbw GB/s\n") + kRows);
  EXPECT_TRUE(read(named).ok());
}

TEST(NodeMatrix, DecimalCommasBesideSemicolons) {
  auto input = core::Input::from_memory(
      "m.csv", "GB/s\n;n1;n2;n3\nn1;;48,29;48,08\nn2;48,10;;48,26\nn3;47,90;20,13;\n");
  const auto reading = read(input);
  ASSERT_TRUE(reading.ok());
  ASSERT_EQ(reading->pairs.size(), 6U);
  EXPECT_DOUBLE_EQ(reading->pairs[0].avg_busbw->in_GBps(), 48.29);
  EXPECT_DOUBLE_EQ(reading->pairs[5].avg_busbw->in_GBps(), 20.13);
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
