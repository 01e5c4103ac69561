// Every table of ../shared/data/field/curves against the figures that an independent script
// computed from the files (INDEX.md), and against the text itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "curve/curve.h"

namespace comm_probe::curve {
namespace {

const std::string kFolder = COMM_PROBE_SHARED "/data/field/curves/";

struct IndexLine {
  std::string file;
  std::size_t rows = 0;
  std::string peak;  // "471.22 @ 17179869184" or "-"
  std::string time;  // "4478.8 @ 1073741824"
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, '|');) {
    const auto from = cell.find_first_not_of(' ');
    cells.push_back(
        from == std::string::npos ? "" : cell.substr(from, cell.find_last_not_of(' ') - from + 1));
  }
  return cells;
}

std::vector<IndexLine> read_index() {
  std::vector<IndexLine> index;
  std::ifstream file(kFolder + "INDEX.md");
  for (std::string line; std::getline(file, line);) {
    const auto cells = cells_of(line);
    if (cells.size() < 12 || !cells[1].ends_with(".txt")) continue;
    index.push_back({cells[1], static_cast<std::size_t>(std::stoi(cells[8])), cells[9], cells[10]});
  }
  return index;
}

Reading read_file(const std::string& name) {
  auto input = core::Input::open(kFolder + name);
  EXPECT_TRUE(input.ok());
  auto reading = read(*input);
  EXPECT_TRUE(reading.ok()) << (reading.ok() ? "" : reading.error().one_line());
  return reading.ok() ? *reading : Reading{};
}

std::vector<Row> all_rows(const Reading& reading) {
  std::vector<Row> rows;
  for (const Curve& curve : reading.curves)
    rows.insert(rows.end(), curve.rows.begin(), curve.rows.end());
  return rows;
}

double shown(const std::string& figure) { return std::stod(figure.substr(0, figure.find(' '))); }
double bytes_of(const std::string& figure) {
  return std::stod(figure.substr(figure.find('@') + 1));
}

class FieldCurves : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder + "INDEX.md"))
      GTEST_SKIP() << "no field tables beside the checkout: " << kFolder;
  }
};

TEST_F(FieldCurves, RowsPeakAndLatencyAreThoseOfTheIndex) {
  const auto index = read_index();
  ASSERT_EQ(index.size(), 86U);
  for (const IndexLine& expected : index) {
    SCOPED_TRACE(expected.file);
    const auto rows = all_rows(read_file(expected.file));
    EXPECT_EQ(rows.size(), expected.rows);
    if (expected.peak == "-") continue;
    double peak = 0, time = 0, smallest = std::numeric_limits<double>::infinity();
    for (const Row& row : rows) {
      ASSERT_TRUE(row.out_of_place.has_value());
      peak = std::max(peak, row.out_of_place->busbw.in_GBps());
      if (row.bytes.count() > 0 && row.bytes.count() < smallest) {
        smallest = row.bytes.count();
        time = row.out_of_place->time.in_us();
      }
    }
    EXPECT_NEAR(peak, shown(expected.peak), 0.005001);
    const double at = bytes_of(expected.peak);
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
      return row.bytes.count() == at && row.out_of_place->busbw.in_GBps() == peak;
    }));
    EXPECT_NEAR(time, shown(expected.time), 0.0501);
    EXPECT_EQ(smallest, bytes_of(expected.time));
  }
}

// The words of a line as awk would see them, rank tags in the middle taken out.
std::vector<std::string> words_of(std::string line) {
  for (std::size_t at; (at = line.find("[0]")) != std::string::npos;) line.replace(at, 3, " ");
  if (const auto tag = line.find("[STAT]:"); tag != std::string::npos) line.erase(tag, 7);
  std::vector<std::string> words;
  std::stringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<double> figures_of(const Row& row) {
  std::vector<double> figures = {row.bytes.count(), static_cast<double>(row.count)};
  if (row.root) figures.push_back(*row.root);
  for (const auto* half : {&row.out_of_place, &row.in_place}) {
    if (!*half) continue;
    const Timing& timing = **half;
    for (const double figure :
         {timing.time.in_us(), timing.algbw.in_GBps(), timing.busbw.in_GBps()})
      figures.push_back(figure);
    if (timing.wrong) figures.push_back(*timing.wrong);
    if (timing.largest_error) figures.push_back(*timing.largest_error);
  }
  return figures;
}

// The numbers from the size on, in the order of the line.
std::vector<double> numbers_of(const std::vector<std::string>& words) {
  std::vector<double> numbers;
  for (const std::string& word : words) {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (*end == '\0' && !word.empty()) numbers.push_back(value);
  }
  return numbers;
}

TEST_F(FieldCurves, EveryNumberOfEveryRowIsTheOneInTheText) {
  std::size_t compared = 0, stated = 0;
  for (const IndexLine& entry : read_index()) {
    SCOPED_TRACE(entry.file);
    stated += entry.rows;
    std::vector<std::string> lines;
    std::ifstream file(kFolder + entry.file);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    for (const Row& row : all_rows(read_file(entry.file))) {
      ASSERT_LE(row.line, lines.size());
      SCOPED_TRACE(lines[row.line - 1]);
      const auto words = words_of(lines[row.line - 1]);
      const auto expected = numbers_of(words);
      const auto figures = figures_of(row);
      ASSERT_EQ(figures.size(), expected.size());
      for (std::size_t i = 0; i < figures.size(); ++i)
        EXPECT_NEAR(figures[i], expected[i], 1e-12 * std::abs(expected[i]));
      EXPECT_NE(std::find(words.begin(), words.end(), row.type), words.end());
      ++compared;
    }
  }
  EXPECT_EQ(compared, stated);
}

TEST_F(FieldCurves, PairsOfNodesAreAllRead) {
  for (const auto& [name, pairs, empty] :
       {std::tuple("c72_h100_17n_pairwise_G1.csv", 270U, 5U),
        std::tuple("c73_h100_10n_pairwise_uniform.csv", 360U, 0U)}) {
    const Reading reading = read_file(name);
    EXPECT_EQ(reading.kind, "pairwise-csv");
    EXPECT_EQ(reading.pairs.size(), pairs);
    EXPECT_EQ(std::count_if(reading.pairs.begin(), reading.pairs.end(),
                            [](const Pair& pair) { return !pair.avg_busbw; }),
              empty);
  }
}

TEST_F(FieldCurves, FailedRunsKeepTheirEvidence) {
  for (const auto& [name, ranks] : {std::pair("c56_sophia_dgxa100_2n_truncated_run.txt", 16),
                                    std::pair("c89_a100_gather_cudaerror_abort.txt", 4)}) {
    const Reading reading = read_file(name);
    ASSERT_EQ(reading.curves.size(), 1U);
    EXPECT_TRUE(reading.curves[0].rows.empty());
    EXPECT_EQ(reading.curves[0].ranks, ranks);
    ASSERT_FALSE(reading.curves[0].errors.empty());
    EXPECT_NE(reading.curves[0].errors[0].text.find("Test NCCL failure"), std::string::npos);
  }
}

TEST_F(FieldCurves, RunsWithoutMpiAreToldApart) {
  const Reading mixed = read_file("f08_2n_without_mpi_two_tables_interleaved.txt");
  ASSERT_EQ(mixed.curves.size(), 2U);
  for (const Curve& curve : mixed.curves) {
    EXPECT_EQ(curve.rows.size(), 2U);
    EXPECT_EQ(curve.ranks, 2);
    EXPECT_FALSE(curve.misrun.empty());
  }
  EXPECT_EQ(mixed.curves[0].rows[1].out_of_place->time, core::Duration::from_us(59440));
  EXPECT_EQ(mixed.curves[1].rows[1].out_of_place->time, core::Duration::from_us(55270));
  const Reading header_only = read_file("f10_2n_headers_twice_both_rank0.txt");
  ASSERT_EQ(header_only.curves.size(), 1U);
  EXPECT_FALSE(header_only.curves[0].misrun.empty());
}

// The last line of its list says Rank 143, but 810.41 / 408.40 is 2 * 127 / 128.
TEST_F(FieldCurves, AListOfMoreRanksThanTheFiguresIsSaid) {
  const Reading reading = read_file("c17_cw_gb200_2rack_144gpu_allreduce.txt");
  ASSERT_EQ(reading.curves.size(), 1U);
  EXPECT_EQ(reading.curves[0].ranks, 128);
  ASSERT_EQ(reading.caveats.size(), 1U);
  EXPECT_EQ(reading.caveats[0].id, "input.rank-contradiction");
  EXPECT_FALSE(reading.caveats[0].limits);
}

struct Identity {
  const char* file;
  std::optional<int> ranks;
  KnownFrom from;
  std::optional<int> nodes;
};

// Ranks and nodes from the head of INDEX.md: "H100 SXM x8, 2 nodes".
TEST_F(FieldCurves, RanksComeFromWhateverSaysThem) {
  for (const Identity& expected :
       {Identity{"c01_oci_h100_2n_allreduce.txt", 16, KnownFrom::kDevices, 2},
        Identity{"c02_aws_p4de_2n_allreduce_rankprefix.txt", 16, KnownFrom::kBusbwFactor, 2},
        Identity{"c06_aws_p5en_16n_allreduce_elided.txt", 128, KnownFrom::kBusbwFactor, 16},
        Identity{"c08_gcp_a3high_tcpx_2n_allgather.txt", 16, KnownFrom::kColumns, 2},
        Identity{"c16_cw_gb200_1rack_72gpu_allreduce.txt", 72, KnownFrom::kDevices, 18},
        Identity{"c21_crusoe_b300_2n_fragment.txt", 16, KnownFrom::kBusbwFactor, 2},
        Identity{"c22_azure_doc_inconsistent.txt", {}, KnownFrom::kUnknown, {}},
        Identity{"c53_polaris_540n_allgather_cfg5_oddsize.txt", 2160, KnownFrom::kDevices, 540},
        Identity{"c64_alps_gh200_128n_allreduce_ofi1_13_0.txt", {}, KnownFrom::kUnknown, 128},
        Identity{"c94_aws_p4d_2n_allreduce_interleaved.txt", 16, KnownFrom::kStated, 2},
        Identity{"f09_128gpu_sharp_off_error_column.txt", 128, KnownFrom::kFileName, {}}}) {
    SCOPED_TRACE(expected.file);
    const Reading reading = read_file(expected.file);
    ASSERT_EQ(reading.curves.size(), 1U);
    EXPECT_EQ(reading.curves[0].ranks, expected.ranks);
    EXPECT_EQ(reading.curves[0].ranks_from, expected.from);
    EXPECT_EQ(reading.curves[0].nodes, expected.nodes);
  }
}

}  // namespace
}  // namespace comm_probe::curve
