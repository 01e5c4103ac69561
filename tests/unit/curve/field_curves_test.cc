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

}  // namespace
}  // namespace comm_probe::curve
