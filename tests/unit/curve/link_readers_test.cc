// Tests of links as people paste them: every figure against the text of the field files itself, and
// the formats of which there is no field file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>

#include "curve/curve.h"

namespace comm_probe::curve {
namespace {

const std::string kFolder = COMM_PROBE_SHARED "/data/field/perftest/";
const std::string kSamples = COMM_PROBE_SHARED "/data/infer/";

Reading read_text(const std::string& text) {
  auto input = core::Input::from_memory("paste.txt", text);
  auto reading = read(input);
  EXPECT_TRUE(reading.ok()) << (reading.ok() ? "" : reading.error().one_line());
  return reading.ok() ? *reading : Reading{};
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class LinkFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << "no " << kFolder;
  }
};

// "  65536      20000            98.01              98.01            0.186932"
std::vector<std::vector<double>> bandwidth_rows_of(const std::string& text) {
  static const std::regex kRow(R"(^\s*(\d+)\s+(\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s*$)");
  std::vector<std::vector<double>> rows;
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, match, kRow))
      rows.push_back({std::stod(match[1]), std::stod(match[2]), std::stod(match[3]),
                      std::stod(match[4]), std::stod(match[5])});
  return rows;
}

void expect_rows(const std::string& path, double unit, bool both_ends = false) {
  SCOPED_TRACE(path);
  const std::string text = text_of(path);
  auto expected = bandwidth_rows_of(text);
  if (both_ends)  // what server and client both print is one row
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  std::vector<LinkRow> rows;
  for (const LinkTest& test : read_text(text).links)
    rows.insert(rows.end(), test.rows.begin(), test.rows.end());
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].bytes.count(), expected[i][0]);
    EXPECT_EQ(*rows[i].iterations, expected[i][1]);
    EXPECT_NEAR(rows[i].peak->in_bytes_per_second(), expected[i][2] * unit, 1);
    EXPECT_NEAR(rows[i].average->in_bytes_per_second(), expected[i][3] * unit, 1);
    EXPECT_NEAR(*rows[i].message_rate, expected[i][4] * 1e6, 1e-3);
  }
}

TEST_F(LinkFiles, PerftestRowsAreThoseOfTheText) {
  constexpr double kMib = 1048576, kGb = 1e9 / 8;
  expect_rows(kFolder + "p04_ib_loopback_all_sizes.txt", kMib, true);
  expect_rows(kFolder + "p05_ib_loopback_8M.txt", kMib);
  expect_rows(kFolder + "p07_oci_ib_write_bw_4qp.txt", kGb);
  expect_rows(kFolder + "p08_roce100_ib_write_bw.txt", kGb);
  expect_rows(kFolder + "p12_roce_ib_write_bw_postlist_8B.txt", kGb);
  expect_rows(kFolder + "p21_efa_srd_two_nics_same_gpu.txt", kGb);
  expect_rows(kSamples + "sample_ib_write_bw_gbits.txt", kGb);
  expect_rows(kSamples + "sample_ib_write_bw_mib_cuda.txt", kMib);
}

// Every figure with a decimal point in a line that begins with the number of a device.
std::vector<double> matrix_figures_of(const std::string& text) {
  std::vector<double> figures;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word.find_first_not_of("0123456789") != std::string::npos) continue;
    while (words >> word)
      if (word.find('.') != std::string::npos) figures.push_back(std::stod(word));
  }
  return figures;
}

void expect_matrices(const std::string& path, std::size_t matrices, bool cut = false) {
  SCOPED_TRACE(path);
  const std::string text = text_of(path);
  const Reading reading = read_text(text);
  ASSERT_EQ(reading.links.size(), 1U);
  EXPECT_EQ(reading.links[0].matrices.size(), matrices);
  EXPECT_EQ(reading.links[0].is_cut, cut);
  std::vector<double> figures;
  for (const LinkMatrix& matrix : reading.links[0].matrices) {
    if (matrix.kind == MatrixKind::kConnectivity) continue;
    for (const OptionalFigure& cell : matrix.cells)
      if (cell) figures.push_back(*cell);
  }
  EXPECT_EQ(figures, matrix_figures_of(text));
}

TEST_F(LinkFiles, MatricesHoldEveryFigureOfTheText) {
  expect_matrices(kFolder + "p01_epyc_rtx6000ada_p2pBandwidthLatencyTest.txt", 9);
  expect_matrices(kFolder + "p03_threadripper_2gpu_p2pBandwidthLatencyTest.txt", 9);
  expect_matrices(kFolder + "p06_nvbandwidth_8gpu.txt", 15);
  expect_matrices(kFolder + "p10_nvbandwidth_v0_2_part2.txt", 1);
  expect_matrices(kFolder + "p14_h100_hgx_p2pBandwidthLatencyTest_partial.txt", 3, true);
  expect_matrices(kFolder + "p15_a6000_6gpu_nvbandwidth_d2d.txt", 1);
  expect_matrices(kFolder + "p16_h100_nvbandwidth_sm_h2d_vs_d2h.txt", 2);
  expect_matrices(kFolder + "p18_rtx5090_2gpu_no_p2p.txt", 9);
  expect_matrices(kFolder + "p19_rtx4090_6gpu_p2p_enabled_halved.txt", 3);
  expect_matrices(kFolder + "p20_h20_nvbandwidth_local_copy.txt", 1);
  expect_matrices(kFolder + "p25_a100_hgx_p2p_enabled_matrix.txt", 1);
  expect_matrices(kFolder + "p26_h100_p2p_enabled_matrix.txt", 1);
  expect_matrices(kFolder + "p27_gb200_tray_p2p_enabled_matrix.txt", 1);
  expect_matrices(kSamples + "sample_nvbandwidth.txt", 3);
}

TEST_F(LinkFiles, TheHeaderOfPerftestIsKept) {
  const LinkTest test = read_text(text_of(kFolder + "p07_oci_ib_write_bw_4qp.txt")).links.at(0);
  EXPECT_EQ(test.program, "ib_write_bw");
  EXPECT_EQ(test.device, "mlx5_5");
  EXPECT_EQ(test.link_type, "Ethernet");
  EXPECT_EQ(test.gid_index, 3);
  EXPECT_EQ(test.mtu->count(), 4096);
  EXPECT_EQ(test.qps, 4);
  EXPECT_EQ(test.connection, "RC");
  EXPECT_EQ(test.rdma_cm, true);
  EXPECT_EQ(test.remote.gid, "00:00:00:00:00:00:00:00:00:00:255:255:192:00:02:57");
  EXPECT_FALSE(test.is_loopback());
  EXPECT_FALSE(test.gpu.is_used);
  EXPECT_EQ(test.rows.at(0).line, 33U);
}

TEST_F(LinkFiles, BothEndsInOneTextAreOneTest) {
  const Reading reading = read_text(text_of(kFolder + "p04_ib_loopback_all_sizes.txt"));
  ASSERT_EQ(reading.links.size(), 1U);
  EXPECT_TRUE(reading.links[0].both_ends);
  EXPECT_TRUE(reading.links[0].is_loopback());
  EXPECT_EQ(reading.links[0].rows.size(), 23U);
}

TEST_F(LinkFiles, GpuMemoryIsKnownFromThePreamble) {
  const Reading reading =
      read_text(text_of(kFolder + "p23_a30_ib_write_bw_use_cuda_header_only.txt"));
  ASSERT_EQ(reading.links.size(), 1U);
  EXPECT_TRUE(reading.links[0].gpu.is_used);
  EXPECT_EQ(reading.links[0].gpu.name, "NVIDIA A30");
  EXPECT_EQ(reading.links[0].devices.size(), 4U);
  EXPECT_TRUE(reading.links[0].is_cut);
  ASSERT_EQ(reading.caveats.size(), 1U);
  EXPECT_EQ(reading.caveats[0].id, "input.truncated");
}

TEST_F(LinkFiles, ARowThatIsCutIsNoRow) {
  const Reading reading =
      read_text(text_of(kFolder + "p11_roce_ib_write_bw_duration_truncated.txt"));
  ASSERT_EQ(reading.links.size(), 1U);
  EXPECT_TRUE(reading.links[0].rows.empty());
  EXPECT_TRUE(reading.links[0].is_cut);
}

TEST_F(LinkFiles, BandwidthTestHasOneTestPerSection) {
  const Reading reading = read_text(text_of(kFolder + "p02_epyc_rtx6000ada_bandwidthTest.txt"));
  ASSERT_EQ(reading.links.size(), 3U);
  EXPECT_EQ(reading.kind, "bandwidthTest");
  EXPECT_EQ(reading.links[0].title, "Host to Device Bandwidth, PINNED");
  EXPECT_NEAR(reading.links[0].rows.at(0).average->in_GBps(), 26.8, 1e-9);
  EXPECT_NEAR(reading.links[2].rows.at(0).average->in_GBps(), 4366.8, 1e-9);
  EXPECT_EQ(reading.links[0].host, "node00");
}

TEST_F(LinkFiles, FiPingpongSizesAreBinary) {
  const Reading reading = read_text(text_of(kFolder + "p22_fi_pingpong_efa.txt"));
  ASSERT_EQ(reading.links.size(), 1U);
  const auto& rows = reading.links[0].rows;
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[5].bytes.count(), 1048576);
  EXPECT_NEAR(rows[5].t_avg->in_us(), 479.75, 1e-9);
  // The tool's own figures agree: bytes / time is the printed rate.
  EXPECT_NEAR((rows[5].bytes / *rows[5].t_avg).in_GBps(), rows[5].average->in_GBps(), 1e-4);
}

TEST_F(LinkFiles, WhoCannotReachWhomIsKept) {
  const Reading reading = read_text(text_of(kFolder + "p18_rtx5090_2gpu_no_p2p.txt"));
  ASSERT_EQ(reading.links.size(), 1U);
  ASSERT_EQ(reading.links[0].denied_peers.size(), 2U);
  EXPECT_EQ(reading.links[0].denied_peers[1].from, 1);
  EXPECT_EQ(reading.links[0].denied_peers[1].line, 5U);
}

TEST_F(LinkFiles, DeepEpIsNamedAndNotMisread) {
  for (const char* name :
       {"e01_deepep_h100_2n_4ib_slow.txt", "e02_deepep_h200_2n_ok_4n_slow.txt",
        "e03_deepep_low_latency_h20.txt", "e04_deepep_low_latency_h20_broken.txt"}) {
    auto input = core::Input::from_memory(name, text_of(kFolder + name));
    const auto reading = read(input);
    ASSERT_FALSE(reading.ok()) << name;
    EXPECT_NE(reading.error().message.find("DeepEP"), std::string::npos) << name;
  }
}

// The worked example of link_test.h.
TEST(LinkReaders, ALatencyTestHasItsTimes) {
  const Reading reading = read_text(
      "                    RDMA_Read Latency Test\n"
      " Link type       : IB\n"
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
      "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
      " 2       1000          1.05           3.40         1.09  \t       1.10     \t0.04\t\t1.24 "
      "\t\t2.31\n");
  ASSERT_EQ(reading.links.size(), 1U);
  const LinkTest& test = reading.links[0];
  EXPECT_EQ(test.program, "ib_read_lat");
  EXPECT_TRUE(test.is_latency && test.round_trip);
  const LinkRow& row = test.rows.at(0);
  EXPECT_NEAR(row.t_min->in_us(), 1.05, 1e-9);
  EXPECT_NEAR(row.t_max->in_us(), 3.40, 1e-9);
  EXPECT_NEAR(row.latency()->in_us(), 1.09, 1e-9);
  EXPECT_NEAR(row.t_p99->in_us(), 1.24, 1e-9);
  EXPECT_NEAR(row.t_p999->in_us(), 2.31, 1e-9);
}

TEST(LinkReaders, ADurationRunOfALatencyTestHasItsAverage) {
  const Reading reading = read_text(
      " RDMA_Write Latency Test\n"
      " #bytes        #iterations       t_avg[usec]    tps average\n"
      " 2             999            1.77             564971.75\n");
  ASSERT_EQ(reading.links.size(), 1U);
  EXPECT_NEAR(reading.links[0].rows.at(0).latency()->in_us(), 1.77, 1e-9);
}

TEST(LinkReaders, AQosColumnStandsBetweenSizeAndIterations) {
  const Reading reading = read_text(
      " RDMA_Write BW Test\n"
      " #bytes    #sl      #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"
      " 65536       3           5000             11020.00           11000.00     0.176000\n");
  ASSERT_EQ(reading.links.size(), 1U);
  EXPECT_EQ(*reading.links[0].rows.at(0).iterations, 5000);
  EXPECT_NEAR(reading.links[0].rows[0].average->in_GBps(), 11.534336, 1e-6);
}

TEST(LinkReaders, TheCommandLineSaysWhatTheHeaderDoesNot) {
  const Reading reading = read_text(
      "user@node07:~$ ib_write_bw -d mlx5_2 -i 2 -x 3 -b --use_cuda=1 --use_cuda_dmabuf -D 10\n"
      " RDMA_Write Bidirectional BW Test\n"
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      1000             0.00             380.00             0.724792\n");
  ASSERT_EQ(reading.links.size(), 1U);
  const LinkTest& test = reading.links[0];
  EXPECT_TRUE(test.bidirectional && test.gpu.is_used && test.gpu.dmabuf);
  EXPECT_EQ(test.device, "mlx5_2");
  EXPECT_EQ(test.port, 2);
  EXPECT_EQ(test.duration_s, 10);
  EXPECT_EQ(test.gpu.device, 1);
}

TEST(LinkReaders, ErrorsAreKeptWithTheirLines) {
  const Reading reading = read_text(
      "$ ib_write_bw -d mlx5_0 --use_cuda=0\n"
      "initializing CUDA\n"
      "Couldn't allocate MR\n"
      "failed to create mr\n"
      "\n"
      " RDMA_Write BW Test\n"
      " Device : mlx5_1\n"
      " Completion with error at client\n"
      " Failed status 12: wr_id 0 syndrom 0x81\n"
      "scnt=128, ccnt=0\n");
  ASSERT_EQ(reading.links.size(), 2U);
  ASSERT_EQ(reading.links[0].errors.size(), 2U);
  EXPECT_EQ(reading.links[0].errors[0].line, 3U);
  EXPECT_TRUE(reading.links[0].gpu.is_used);
  ASSERT_EQ(reading.links[1].errors.size(), 2U);
  EXPECT_EQ(reading.links[1].errors[1].text, "Failed status 12: wr_id 0 syndrom 0x81");
  EXPECT_TRUE(reading.caveats.empty());  // an error says why there is no result
}

// Where the input ends inside a number, the part that is there is no number: every cut of the last
// line gives the whole figures before it or none, never another figure.
void expect_no_other_figure(const std::string& text) {
  const auto figures_of = [](const Reading& reading) {
    std::vector<double> figures;
    for (const LinkTest& test : reading.links) {
      for (const LinkRow& row : test.rows) {
        if (row.average) figures.push_back(row.average->in_GBps());
        if (row.peak) figures.push_back(row.peak->in_GBps());
        if (row.message_rate) figures.push_back(*row.message_rate);
        for (const auto& time : {row.t_min, row.t_max, row.t_typical, row.t_avg, row.t_p99})
          if (time) figures.push_back(time->in_us());
      }
      for (const LinkMatrix& matrix : test.matrices)
        for (const OptionalFigure& cell : matrix.cells)
          if (cell) figures.push_back(*cell);
    }
    return figures;
  };
  const auto whole = figures_of(read_text(text));
  ASSERT_FALSE(whole.empty());
  for (std::size_t end = text.rfind('\n', text.size() - 2) + 1; end < text.size(); ++end) {
    auto input = core::Input::from_memory("paste.txt", text.substr(0, end));
    const auto reading = read(input);
    if (!reading.ok()) continue;
    for (const double figure : figures_of(*reading))
      EXPECT_NE(std::find(whole.begin(), whole.end(), figure), whole.end())
          << figure << " in " << text.substr(0, end);
  }
}

TEST(LinkReaders, APartOfANumberIsNoNumber) {
  const std::string bandwidth =
      "                    RDMA_Write BW Test\n"
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      5000             395.81             392.62             0.748827\n";
  expect_no_other_figure(bandwidth);
  expect_no_other_figure(
      "                    RDMA_Write Latency Test\n"
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
      "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]\n"
      " 2       1000          1.01           13.25         1.12               1.13           0.14  "
      "          1.45                    13.26\n");
  expect_no_other_figure(
      "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n1048576   24200.17\n"
      "4194304   24500.18\n");
  expect_no_other_figure(
      "nvbandwidth Version: v0.4\nRunning device_to_device_memcpy_write_ce.\n"
      "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n"
      "           0         1\n 0       N/A    376.41\n 1    375.72       N/A\n");
  expect_no_other_figure(
      "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n"
      "     0 801.28  22.23 \n     1  22.32 813.87 \n");
  expect_no_other_figure(
      "[CUDA Bandwidth Test] - Starting...\n Host to Device Bandwidth, 1 Device(s)\n"
      "   Transfer Size (Bytes)\tBandwidth(GB/s)\n   32000000\t\t\t26.3\n");
  expect_no_other_figure(
      "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
      "1m      10      =10      20m         0.01s   2185.67     479.75       0.01\n");
}

// Pastes lose their last line end: a number with all its digits counts.
TEST(LinkReaders, AWholeLastLineWithoutALineEndCounts) {
  const Reading reading = read_text(
      "                    RDMA_Write BW Test\n"
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      5000             395.80             392.60             0.748825");
  ASSERT_EQ(reading.links.size(), 1U);
  ASSERT_EQ(reading.links[0].rows.size(), 1U);
  EXPECT_FALSE(reading.links[0].is_cut);
  EXPECT_TRUE(reading.caveats.empty());
}

TEST(LinkReaders, WhatTheHeaderOfATestSaysOfItsEnds) {
  const Reading dual = read_text(
      "                    RDMA_Write BW Test\n Dual-port       : ON\t\tDevice         : mlx5_0\n"
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      5000             195.80             195.10             0.372124\n");
  ASSERT_EQ(dual.links.size(), 1U);
  EXPECT_TRUE(dual.links[0].dual_port);
  const char* const kOsu =
      "# OSU MPI Multiple Bandwidth / Message Rate Test v7.3\n"
      "# [ pairs: 8 ] [ window size: 64 ]\n# Size    MB/s    Messages/s\n"
      "65536   24400.20   372317.50\n";
  const Reading pairs = read_text(std::string("$ mpirun -np 16 osu_mbw_mr\n") + kOsu);
  ASSERT_EQ(pairs.links.size(), 1U);
  EXPECT_EQ(pairs.links[0].pairs, 8);
  EXPECT_EQ(pairs.links[0].ends, Ends::kNotSaid);
  const Reading placed =
      read_text(std::string("$ mpirun -np 2 --map-by ppr:1:node osu_mbw_mr\n") + kOsu);
  EXPECT_EQ(placed.links.at(0).ends, Ends::kTwoNodes);
  const Reading inside =
      read_text(std::string("$ mpirun -np 2 --map-by ppr:2:node osu_mbw_mr\n") + kOsu);
  EXPECT_EQ(inside.links.at(0).ends, Ends::kOneNode);
}

TEST(LinkReaders, WrongDataOfOsuIsNoError) {
  const Reading reading = read_text(
      "# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_INT.\n"
      "# Size       Avg Latency(us)        Validation\n"
      "4                       3.52              Pass\n8                       3.51              "
      "Fail\n");
  ASSERT_EQ(reading.links.size(), 1U);
  EXPECT_EQ(reading.links[0].rows.size(), 2U);
  EXPECT_TRUE(reading.links[0].errors.empty());
  ASSERT_EQ(reading.links[0].wrong_results.size(), 1U);
  EXPECT_EQ(reading.links[0].wrong_results[0].line, 5U);
}

std::vector<double> averages_of(const Reading& reading) {
  std::vector<double> rates;
  for (const LinkTest& test : reading.links)
    for (const LinkRow& row : test.rows)
      rates.push_back(row.average ? row.average->in_Gbps() : row.latency()->in_us());
  return rates;
}

std::vector<double> cells_of(const LinkMatrix& matrix) {
  std::vector<double> cells;
  for (const OptionalFigure& cell : matrix.cells) cells.push_back(cell.value_or(-1));
  return cells;
}

std::string with_prefix(const std::string& text, const std::function<std::string(int)>& prefix) {
  std::istringstream lines(text);
  std::string changed;
  int number = 1;
  for (std::string line; std::getline(lines, line); ++number)
    changed += prefix(number) + line + "\n";
  return changed;
}

// What CI systems, journals, parallel shells, listings and mail put before a line changes no
// figure.
TEST_F(LinkFiles, PrefixesOfLinesChangeNoFigure) {
  const std::vector<std::pair<const char*, std::function<std::string(int)>>> prefixes = {
      {"CI", [](int) { return "2024-05-14T09:12:00.1234567Z "; }},
      {"CI in brackets", [](int) { return "[2024-05-14 09:12:09] "; }},
      {"clock", [](int) { return "09:12:09 "; }},
      {"journal", [](int) { return "May 14 09:12:09 node07 bench[1234]: "; }},
      {"pdsh", [](int) { return "node07: "; }},
      {"kubectl", [](int) { return "launcher-abc12 | "; }},
      {"cat -n", [](int number) { return "    " + std::to_string(number) + "\t"; }},
      {"nl", [](int number) { return std::to_string(number) + " | "; }},
      {"grep -n", [](int number) { return std::to_string(number) + ": "; }},
      {"mail", [](int) { return ">> "; }},
      {"CI and pdsh", [](int) { return "2024-05-14T09:12:00.1Z node07: "; }}};
  for (const char* file :
       {"sample_ib_write_bw_gbits.txt", "sample_ib_write_lat.txt", "sample_nvbandwidth.txt"}) {
    const std::string text = text_of(kSamples + file);
    const Reading plain = read_text(text);
    ASSERT_FALSE(plain.links.empty()) << file;
    for (const auto& [name, prefix] : prefixes) {
      const Reading reading = read_text(with_prefix(text, prefix));
      ASSERT_EQ(reading.links.size(), plain.links.size()) << file << " " << name;
      EXPECT_EQ(averages_of(reading), averages_of(plain)) << file << " " << name;
      EXPECT_TRUE(reading.caveats.empty()) << file << " " << name;
      for (std::size_t i = 0; i < plain.links.size(); ++i) {
        ASSERT_EQ(reading.links[i].matrices.size(), plain.links[i].matrices.size()) << name;
        for (std::size_t m = 0; m < plain.links[i].matrices.size(); ++m)
          EXPECT_EQ(cells_of(reading.links[i].matrices[m]), cells_of(plain.links[i].matrices[m]))
              << name;
      }
    }
  }
}

// pdsh mixes the lines of its hosts.
TEST_F(LinkFiles, LinesOfTwoHostsAreTwoTests) {
  const std::string text = text_of(kSamples + "sample_ib_write_bw_gbits.txt");
  std::istringstream lines(text);
  std::string mixed;
  for (std::string line; std::getline(lines, line);)
    mixed += "node07: " + line + "\nnode08: " + line + "\n";
  const Reading reading = read_text(mixed);
  ASSERT_EQ(reading.links.size(), 2 * read_text(text).links.size());
  for (const LinkTest& test : reading.links) EXPECT_FALSE(test.is_cut);
  EXPECT_NE(reading.links[0].host, reading.links[1].host);
}

TEST(LinkReaders, DecimalCommasAreRead) {
  const Reading reading = read_text(
      "                    RDMA_Write BW Test\n"
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      5000             395,80             392,60             0,748825\n");
  ASSERT_EQ(reading.links.size(), 1U);
  ASSERT_EQ(reading.links[0].rows.size(), 1U);
  EXPECT_NEAR(reading.links[0].rows[0].average->in_Gbps(), 392.6, 1e-9);
  EXPECT_TRUE(reading.caveats.empty());
}

// rocm-bandwidth-test and others print "Device:", too.
TEST(LinkReaders, AWordOfManyProgramsBeginsNoTest) {
  for (const char* line : {"Device: 2,  AMD Instinct MI300X", "Connection: keep-alive", "TOS: 0"}) {
    auto input = core::Input::from_memory("paste.txt", std::string(line) + "\n");
    EXPECT_FALSE(read(input).ok()) << line;
  }
  auto rocm = core::Input::from_memory(
      "rocm.txt", "RocmBandwidthTest Version: 2.6.0\n Device: 2,  AMD Instinct MI300X\n");
  const auto reading = read(rocm);
  ASSERT_FALSE(reading.ok());
  EXPECT_NE(reading.error().message.find("rocm-bandwidth-test"), std::string::npos);
}

// The errors of the CUDA tools, as their sources print them.
TEST(LinkReaders, ErrorsOfCudaToolsAreKept) {
  for (const char* text :
       {"nvbandwidth Version: v0.4\n[CUDA_ERROR_NOT_INITIALIZED] initialization error in "
        "expression "
        "cuInit(0) in main() : nvbandwidth.cpp:202\n",
        "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\nCuda failure "
        "p2pBandwidthLatencyTest.cu:163: 'out of memory'\n",
        "[CUDA Bandwidth Test] - Starting...\n Host to Device Bandwidth, 1 Device(s)\nCUDA error "
        "at bandwidthTest.cu:686 code=2(cudaErrorMemoryAllocation) \"cudaMalloc\"\n"}) {
    const Reading reading = read_text(text);
    ASSERT_EQ(reading.links.size(), 1U) << text;
    EXPECT_EQ(reading.links[0].errors.size(), 1U) << text;
  }
}

TEST(LinkReaders, TheLatencyMatrixOfNvbandwidthIsKept) {
  const Reading reading = read_text(
      "nvbandwidth Version: v0.8\n\nRunning device_to_device_latency_sm.\n"
      "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)\n           0         1\n"
      " 0       N/A    772.35\n 1    771.35       N/A\n");
  ASSERT_EQ(reading.links.size(), 1U);
  ASSERT_EQ(reading.links[0].matrices.size(), 1U);
  const LinkMatrix& matrix = reading.links[0].matrices[0];
  EXPECT_EQ(matrix.kind, MatrixKind::kPeerLatency);
  EXPECT_EQ(matrix.unit, CellUnit::kNs);
  EXPECT_EQ(matrix.cell(0, 1).value_or(0), 772.35);
}

TEST(LinkReaders, OsuBandwidthIsInMegabytes) {
  const Reading reading = read_text(
      "# OSU MPI-CUDA Bandwidth Test v7.5\n"
      "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
      "# Size      Bandwidth (MB/s)        Validation\n"
      "1                       0.90              Pass\n"
      "4194304             24567.89              Pass\n");
  ASSERT_EQ(reading.links.size(), 1U);
  const LinkTest& test = reading.links[0];
  EXPECT_EQ(test.program, "osu_bw");
  EXPECT_EQ(test.version, "7.5");
  EXPECT_EQ(test.transport, "MPI-CUDA");
  EXPECT_TRUE(test.gpu.is_used);
  ASSERT_EQ(test.rows.size(), 2U);
  EXPECT_NEAR(test.rows[1].average->in_GBps(), 24.56789, 1e-9);
}

TEST(LinkReaders, OsuCollectivesHaveMinAndMax) {
  const Reading reading = read_text(
      "# OSU MPI-CUDA Allreduce Latency Test v7.0\n"
      "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
      "16777216             8630.58           8619.50           8642.46         10\n");
  ASSERT_EQ(reading.links.size(), 1U);
  EXPECT_EQ(reading.links[0].program, "osu_allreduce");
  EXPECT_TRUE(reading.links[0].collective && reading.links[0].is_latency);
  const LinkRow& row = reading.links[0].rows.at(0);
  EXPECT_NEAR(row.t_avg->in_us(), 8630.58, 1e-6);
  EXPECT_NEAR(row.t_min->in_us(), 8619.50, 1e-6);
  EXPECT_NEAR(row.t_max->in_us(), 8642.46, 1e-6);
  EXPECT_EQ(*row.iterations, 10);
}

TEST(LinkReaders, OsuMessageRate) {
  const Reading reading = read_text(
      "# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2\n"
      "# [ pairs: 36 ] [ window size: 64 ]\n"
      "# Size                  MB/s        Messages/s\n"
      "64                    379.45        5928906.25\n");
  ASSERT_EQ(reading.links.size(), 1U);
  EXPECT_EQ(reading.links[0].program, "osu_mbw_mr");
  EXPECT_EQ(*reading.links[0].rows.at(0).message_rate, 5928906.25);
}

// nccl-tests and tests of links in one text: both are read, neither takes the other's rows.
TEST(LinkReaders, ATableOfNcclTestsBesideALinkTestIsKept) {
  const Reading reading = read_text(
      " RDMA_Write BW Test\n"
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      5000             98.01              98.01              0.186932\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "     1048576        262144     float     sum      -1    119.1    8.81   16.51      0\n"
      "# OSU MPI Latency Test v7.2\n"
      "# Size          Latency (us)\n"
      "0                       1.02\n"
      "8                       1.05\n");
  EXPECT_EQ(reading.kind, "nccl-tests");
  ASSERT_EQ(reading.curves.size(), 1U);
  EXPECT_EQ(reading.curves[0].rows.size(), 1U);
  ASSERT_EQ(reading.links.size(), 2U);
  EXPECT_EQ(reading.links[0].rows.size(), 1U);
  EXPECT_EQ(reading.links[1].rows.size(), 2U);
}

TEST(LinkReaders, NumbersElsewhereAreNobodysRows) {
  auto input =
      core::Input::from_memory("notes.txt", "0 1 2 3\n65536 5000 98.01 98.01 0.18\n64 10 =10\n");
  EXPECT_FALSE(read(input).ok());
}

// The unit follows from size x MsgRate: 65536 B x 0.035668 Mpps = 2229.27 MiB/s.
TEST(LinkReaders, JsonOfPerftest) {
  const std::string head =
      R"({"test_info": {"test": "RDMA_Write_BW_Test", "Device": "mlx5_11", "Number_of_qps": 1,
          "Connection_type": "RC", "Mtu": 1024, "Link_type": "Ethernet", "GID_index": 1},)";
  const Reading mib =
      read_text(head + R"("results": {"MsgSize": 65536, "n_iterations": 5000, "BW_peak": 5293.52,
                "BW_average": 2229.27, "MsgRate": 0.035668}})");
  ASSERT_EQ(mib.links.size(), 1U);
  EXPECT_EQ(mib.kind, "perftest");
  const LinkTest& test = mib.links[0];
  EXPECT_EQ(test.program, "ib_write_bw");
  EXPECT_EQ(test.device, "mlx5_11");
  EXPECT_EQ(test.gid_index, 1);
  EXPECT_EQ(test.mtu->count(), 1024);
  EXPECT_NEAR(test.rows.at(0).average->in_bytes_per_second(), 2229.27 * 1048576, 1);
  const Reading bits = read_text(
      head + R"("results": {"MsgSize": 65536, "BW_average": 98.01, "MsgRate": 0.186932}})");
  ASSERT_EQ(bits.links.size(), 1U);
  EXPECT_NEAR(bits.links[0].rows.at(0).average->in_Gbps(), 98.01, 1e-6);
  const Reading neither =
      read_text(head + R"("results": {"MsgSize": 65536, "BW_average": 98.01, "MsgRate": 7}})");
  ASSERT_EQ(neither.links.size(), 1U);
  EXPECT_TRUE(neither.links[0].rows.empty());
  EXPECT_EQ(neither.caveats.at(0).id, "input.unit-unknown");
}

TEST(LinkReaders, JsonOfNvbandwidth) {
  const Reading reading = read_text(R"({"nvbandwidth": {"version": "v0.5", "testcases": [
      {"name": "host_to_device_memcpy_ce", "status": "Passed",
       "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s) ",
       "bandwidth_matrix": [["12.3964", "12.4"]], "sum": 24.8},
      {"name": "device_to_device_memcpy_read_ce", "status": "Waived"},
      {"name": "device_to_device_memcpy_write_ce", "status": "Passed",
       "bandwidth_description": "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s) ",
       "bandwidth_matrix": [["N/A", "172.1"], ["172.2", "N/A"]]}]}})");
  ASSERT_EQ(reading.links.size(), 1U);
  EXPECT_EQ(reading.links[0].version, "v0.5");
  ASSERT_EQ(reading.links[0].matrices.size(), 2U);
  EXPECT_EQ(reading.links[0].matrices[0].kind, MatrixKind::kHostToDevice);
  EXPECT_EQ(*reading.links[0].matrices[1].cell(1, 0), 172.2);
  EXPECT_FALSE(reading.links[0].matrices[1].cell(0, 0));
}

std::string with_every_line(const std::string& text, const std::string& prefix,
                            const std::string& end) {
  std::string changed;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) changed += prefix + line + end;
  return changed;
}

// What terminals, launchers and chats do to a text changes no figure.
TEST_F(LinkFiles, SurroundingsChangeNoFigure) {
  for (const char* name : {"p03_threadripper_2gpu_p2pBandwidthLatencyTest.txt",
                           "p07_oci_ib_write_bw_4qp.txt", "p10_nvbandwidth_v0_2_part2.txt",
                           "p22_fi_pingpong_efa.txt", "p02_epyc_rtx6000ada_bandwidthTest.txt"}) {
    const std::string text = text_of(kFolder + name);
    const Reading plain = read_text(text);
    for (const auto& [prefix, end] : {std::pair{"[1,0]<stdout>: ", "\n"}, std::pair{"> ", "\n"},
                                      std::pair{"", "\r\n"}, std::pair{"\x1b[0m", "\x1b[K\n"}}) {
      SCOPED_TRACE(std::string(name) + " " + prefix);
      const Reading changed = read_text(with_every_line(text, prefix, end));
      ASSERT_EQ(changed.links.size(), plain.links.size());
      for (std::size_t i = 0; i < plain.links.size(); ++i) {
        ASSERT_EQ(changed.links[i].rows.size(), plain.links[i].rows.size());
        ASSERT_EQ(changed.links[i].matrices.size(), plain.links[i].matrices.size());
        for (std::size_t j = 0; j < plain.links[i].matrices.size(); ++j)
          EXPECT_EQ(changed.links[i].matrices[j].rows, plain.links[i].matrices[j].rows);
      }
    }
  }
}

// nixlbench: the sample's own figures; with more than two processes two columns more.
TEST(Nixlbench, RowsAreBlocks) {
  const std::string path = kSamples + "sample_nixlbench.txt";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const Reading reading = read_text(text_of(path));
  EXPECT_EQ(reading.kind, "nixlbench");
  ASSERT_EQ(reading.links.size(), 1u);
  const LinkTest& test = reading.links[0];
  EXPECT_FALSE(test.is_cut);
  ASSERT_EQ(test.rows.size(), 4u);
  EXPECT_EQ(test.rows[0].bytes, core::Bytes::of(4096));
  EXPECT_NEAR(test.rows[2].average->in_GBps(), 38.98052, 1e-9);
  EXPECT_NEAR(test.rows[2].t_avg->in_us(), 26.9, 1e-9);
  EXPECT_NEAR(test.rows[3].average->in_GBps(), 48.601437, 1e-9);
}

// What stands above the table, as nixlbench prints it (its configuration in nixl issue 922).
TEST(Nixlbench, ConfigurationSaysTheWay) {
  const auto test_of = [](const std::string& memory, const std::string& op) {
    const Reading reading = read_text(
        "NIXLBench Configuration\n"
        "Backend (--backend=[UCX,GDS,GDS_MT,POSIX,Mooncake,HF3FS,OBJ,AZURE_BLOB]): UCX\n"
        "Initiator seg type (--initiator_seg_type=[DRAM,VRAM])       : " +
        memory +
        "\nTarget seg type (--target_seg_type=[DRAM,VRAM])             : DRAM\n"
        "Op type (--op_type=[READ,WRITE])                            : " +
        op +
        "\nBlock Size (B)  Batch Size  B/W (GB/Sec)  Avg Lat. (us)  Avg Prep (us)  P99 Prep (us)  "
        "Avg Post (us)  P99 Post (us)  Avg Tx (us)  P99 Tx (us)\n"
        "1048576  1  38.980520  26.9  20.0  25.0  1.3  2.1  25.6  26.9\n");
    EXPECT_EQ(reading.links.size(), 1u);
    return reading.links.at(0);
  };
  const LinkTest host = test_of("DRAM", "WRITE"), gpu = test_of("VRAM", "READ");
  EXPECT_FALSE(host.gpu.is_used || host.reads);
  EXPECT_TRUE(gpu.gpu.is_used && gpu.reads);
  EXPECT_EQ(gpu.transport, "UCX");
}

// A row that is none is said, not dropped: a batch of -1, no number, 100 TB/s.
TEST(Nixlbench, DamagedRowsAreSaid) {
  for (const char* row :
       {"65536 -1 1.0 55.0 20.0 25.0 1.2 2.1 6.8 7.1", "65536 1 nan 55.0 20.0 25.0 1.2 2.1 6.8 7.1",
        "1048576 1 99999.0 0.01 20.0 25.0 1.3 2.1 525.6 526.9"}) {
    const Reading reading = read_text(
        "Block Size (B)  Batch Size  B/W (GB/Sec)  Avg Lat. (us)  Avg Prep (us)  P99 Prep (us)  "
        "Avg Post (us)  P99 Post (us)  Avg Tx (us)  P99 Tx (us)\n"
        "1048576  1  38.980520  26.9  20.0  25.0  1.3  2.1  25.6  26.9\n" +
        std::string(row) + "\n");
    ASSERT_EQ(reading.links.size(), 1u) << row;
    EXPECT_EQ(reading.links[0].rows.size(), 1u) << row;
    EXPECT_TRUE(reading.links[0].is_cut) << row;
  }
}

TEST(Nixlbench, AggregateColumnsStandBetween) {
  const Reading reading = read_text(
      "$ nixlbench --op_type READ --initiator_seg_type VRAM\n"
      "Block Size (B)      Batch Size     B/W (GB/Sec)   Aggregate B/W (GB/Sec)   Network Util (%) "
      " "
      "Avg Lat. (us)  Avg Prep (us)  P99 Prep (us)  Avg Post (us)  P99 Post (us)  Avg Tx (us)  "
      "P99 Tx (us)\n"
      "----------\n"
      "65536               1              8.192000       16.384                   16.4             "
      " "
      "8.0            20.0           25.0           1.2            2.1            6.8          "
      "7.1\n"
      "1048576             1              38.9");
  ASSERT_EQ(reading.links.size(), 1u);
  const LinkTest& test = reading.links[0];
  EXPECT_TRUE(test.reads);
  EXPECT_TRUE(test.is_cut) << "the last row";
  ASSERT_EQ(test.rows.size(), 1u);
  EXPECT_NEAR(test.rows[0].t_avg->in_us(), 8.0, 1e-9);
  EXPECT_NEAR(test.rows[0].post_share.value_or(0), 1.2 / 8.0, 1e-9);
  EXPECT_TRUE(test.gpu.is_used);
}

// A row that was cut in the middle of a table is missing too.
TEST(Nixlbench, ACutRowInTheMiddleIsSaid) {
  const Reading reading = read_text(
      "Block Size (B)  Batch Size  B/W (GB/Sec)  Avg Lat. (us)  Avg Prep (us)  P99 Prep (us)  Avg "
      "Post "
      "(us)  P99 Post (us)  Avg Tx (us)  P99 Tx (us)\n----------\n"
      "4096 1 0.630154 6.5 20.0\n"
      "1048576 1 38.980520 26.9 20.0 25.0 1.3 2.1 25.6 26.9\n");
  ASSERT_EQ(reading.links.size(), 1u);
  EXPECT_TRUE(reading.links[0].is_cut);
  EXPECT_EQ(reading.links[0].rows.size(), 1u);
}

}  // namespace
}  // namespace comm_probe::curve
