// The matrix of `nvidia-smi topo -m` in the forms in which people paste it.
#include "topology/readers/nvidia_smi_topo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "topology/readers/matrix_words.h"

namespace comm_probe::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

core::Result<DeviceMatrix> read(const std::string& text) {
  core::Input input = core::Input::from_memory("topo.txt", text);
  return read_nvidia_smi_topo(input);
}
std::string cell(const DeviceMatrix& matrix, std::size_t a, std::size_t b) {
  return matrix.cells[a][b] ? matrix.cells[a][b]->printed() : "?";
}

TEST(MatrixWords, GluedWordsComeApart) {
  EXPECT_THAT(split_cells("NODENODE"), ElementsAre("NODE", "NODE"));
  EXPECT_THAT(split_cells("NV12NV12PIX"), ElementsAre("NV12", "NV12", "PIX"));
  EXPECT_THAT(split_cells("0-31,64-95"), ElementsAre());
  EXPECT_THAT(split_cells("NV"), ElementsAre());
  EXPECT_THAT(split_labels("NIC11NIC12"), ElementsAre("NIC11", "NIC12"));
  EXPECT_THAT(split_labels("mlx5_0"), ElementsAre("mlx5_0"));
  EXPECT_EQ(without_colour("\x1b[4mGPU0\x1b[0m"), "GPU0");
  EXPECT_EQ(without_colour("\x1b["), "");
}

TEST(NvidiaSmiTopo, NamesFromTheLegendAndAffinity) {
  const auto matrix = read(
      "$ nvidia-smi topo -m\n\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
      "GPU0\t X \tNV18\tPIX\t0-31,64-95\t0\nGPU1\tNV18\t X \tNODE\t32-63\t1\n"
      "NIC0\tPIX\tNODE\t X \t\t\n\nLegend:\n  X    = Self\nNIC Legend:\n  NIC0: mlx5_7\n");
  ASSERT_TRUE(matrix.ok()) << matrix.error().one_line();
  ASSERT_EQ(matrix->devices.size(), 3U);
  EXPECT_EQ(matrix->devices[2].name, "mlx5_7");
  EXPECT_EQ(matrix->devices[0].cpu_affinity, "0-31,64-95");
  EXPECT_EQ(matrix->devices[1].numa, 1);
  EXPECT_EQ(matrix->devices[0].line, 3U);
  EXPECT_EQ(cell(*matrix, 0, 1), "NV18");
  EXPECT_EQ(matrix->cells[1][2]->path_type(), PathType::kPhb);  // NODE
  EXPECT_TRUE(matrix->caveats.empty());
}

TEST(NvidiaSmiTopo, LogPrefixesAndOneGpu) {
  const auto prefixed = read("node7: \tGPU0\tGPU1\nnode7: GPU0\tX\tSYS\nnode7: GPU1\tSYS\tX\n");
  ASSERT_TRUE(prefixed.ok()) << prefixed.error().one_line();
  EXPECT_EQ(cell(*prefixed, 0, 1), "SYS");
  const auto lone = read("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-25\tN/A\n");
  ASSERT_TRUE(lone.ok()) << lone.error().one_line();
  EXPECT_EQ(lone->devices.size(), 1U);
}

TEST(NvidiaSmiTopo, WhatIsMissingIsSaid) {
  const auto headless = read("GPU0 X NV4 NODE\nGPU1 NV4 X SYS\n");
  ASSERT_TRUE(headless.ok());
  EXPECT_EQ(headless->devices[2].label, "NIC0");
  ASSERT_FALSE(headless->caveats.empty());
  EXPECT_THAT(headless->caveats[0].missing, HasSubstr("header line"));
  const auto cut = read("\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV4\n");
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cell(*cut, 0, 2), "?");
  EXPECT_EQ(cell(*cut, 1, 0), "NV4");
  EXPECT_THAT(cut->caveats[0].missing, HasSubstr("ends of the rows of GPU0"));
  const auto two = read("\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n\tGPU0\tGPU1\nGPU0\tX\tSYS\n");
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(cell(*two, 0, 1), "PIX");
  EXPECT_THAT(two->caveats.back().missing, HasSubstr("from line 4 on"));
}

TEST(NvidiaSmiTopo, OtherTextsAreRefusedByName) {
  EXPECT_THAT(read("hello\n").error().message, HasSubstr("no topology matrix"));
  EXPECT_THAT(read("\tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n").error().message,
              HasSubstr("topo -p2p"));
  EXPECT_THAT(read("GPU 3: Tesla\n\t Link 0: 25.781 GB/s\n").error().message,
              HasSubstr("nvlink -s"));
}

// Every file of the field: each printed word of each row, counted by an independent, plain split.
TEST(NvidiaSmiTopo, FieldFilesSayWhatTheyPrint) {
  const std::filesystem::path folder = std::filesystem::path(COMM_PROBE_SHARED) / "data/field/topo";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no field data at " << folder;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name[0] != 't' || name.starts_with("t04") || name.starts_with("t33")) continue;
    ++files;
    auto input = core::Input::open(entry.path().string());
    ASSERT_TRUE(input.ok());
    const auto matrix = read_nvidia_smi_topo(*input);
    ASSERT_TRUE(matrix.ok()) << matrix.error().one_line();
    std::ifstream stream(entry.path());
    std::string line;
    int rows = 0;
    while (std::getline(stream, line)) {
      std::istringstream words(line);
      std::string label, word;
      words >> label;
      for (std::size_t a = 0; a < matrix->devices.size(); ++a) {
        if (matrix->devices[a].label != label || !(words >> word)) continue;
        if (word.starts_with("GPU") || word.starts_with("CPU")) continue;  // the header
        ++rows;
        std::size_t b = 0;
        do {
          for (const std::string& text : split_cells(word)) {
            ASSERT_LT(b, matrix->devices.size()) << name << ": " << line;
            EXPECT_EQ(cell(*matrix, a, b++), text) << name << ": " << line;
          }
        } while (words >> word && !split_cells(word).empty());
        EXPECT_GT(b, 0U) << name << ": " << line;
        break;
      }
    }
    EXPECT_GT(rows, 0) << name;
  }
  EXPECT_EQ(files, 27);
}

}  // namespace
}  // namespace comm_probe::topology
