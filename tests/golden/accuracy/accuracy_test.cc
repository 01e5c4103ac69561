// The predictions of `curve` beside the public curves of healthy machines: medians are computed
// again here, held against the bars, and compared with what docs/accuracy.md says. Which curves and
// which machines: bench/accuracy.tsv; what is compared: scripts/accuracy.py, independently.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr double kPlateauBar = 0.12;
constexpr double kSmallBar = 0.35;
constexpr double kSmallBytes = 16384;
constexpr double kPlateauBytes = 1 << 24;

const fs::path kCurves = COMM_PROBE_SHARED "/data/field/curves";

struct Row {
  std::string file, machine, nodes, site, use, reason;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, '\t');) cells.push_back(cell);
  cells.resize(6);
  return cells;
}

std::vector<Row> rows() {
  std::vector<Row> all;
  std::ifstream file(COMM_PROBE_SOURCE_DIR "/bench/accuracy.tsv");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto cell = cells_of(line);
    all.push_back({cell[0], cell[1], cell[2], cell[3], cell[4], cell[5]});
  }
  return all;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct Errors {
  std::vector<double> plateau, small;
};

void add_plateau(const json& curve, Errors& errors) {
  const json& plateau = curve.at("plateau");
  if (plateau.is_null() || plateau.at("peak_bytes") < kPlateauBytes) return;
  const double measured = plateau.at("busbw_GBps");
  if (!curve.at("nccl_model").is_null()) {
    const double predicted = curve.at("nccl_model").at("plateau").at("busbw_GBps");
    errors.plateau.push_back(std::abs(predicted / measured - 1));
  } else if (const json& band = curve.at("reference"); !band.is_null()) {
    const double middle =
        (band.at("low_GBps").get<double>() + band.at("high_GBps").get<double>()) / 2;
    errors.plateau.push_back(std::abs(middle / measured - 1));
  }
}

void add_small(const json& curve, Errors& errors) {
  const json& left = curve.at("left_end");
  if (left.is_null() || curve.at("nccl_model").is_null()) return;
  const double first = left.at("first_bytes");
  static const std::set<std::string> kTotal = {"all_gather", "reduce_scatter", "all_to_all"};
  const bool is_total = kTotal.contains(curve.at("op")) && !curve.at("ranks").is_null();
  const double share = is_total ? curve.at("ranks").get<double>() : 1;
  if (first >= left.at("last_bytes") || first / share > kSmallBytes) return;
  const json& smallest = curve.at("nccl_model").at("smallest");
  errors.small.push_back(
      std::abs(smallest.at("expected_us").get<double>() / left.at("latency_us").get<double>() - 1));
}

Errors errors_of_all() {
  Errors errors;
  for (const Row& row : rows()) {
    if (row.use != "judged") continue;
    const auto run = run_binary(
        {"curve", kCurves / row.file, "--machine", row.machine, "--nodes", row.nodes, "--json"});
    const json document = json::parse(run.out);
    for (const json& curve : document.at("result").at("curves")) {
      add_plateau(curve, errors);
      add_small(curve, errors);
    }
  }
  return errors;
}

std::string page() {
  std::stringstream text;
  text << std::ifstream(COMM_PROBE_SOURCE_DIR "/docs/accuracy.md").rdbuf();
  return text.str();
}

std::string line_of(const std::string& text, const std::string& start) {
  const std::size_t at = text.find("\n" + start);
  return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

std::string summary_start(const char* title, const std::vector<double>& errors) {
  char text[120];
  std::snprintf(text, sizeof text, "| %s | %zu | **%.1f %%** |", title, errors.size(),
                100 * median(errors));
  return text;
}

TEST(Accuracy, TheBarsHold) {
  if (!fs::exists(kCurves))
    GTEST_SKIP() << "no " << kCurves << ": the public curves stand in ../shared";
  const Errors errors = errors_of_all();
  EXPECT_GE(errors.plateau.size(), 50U);
  EXPECT_GE(errors.small.size(), 25U);
  EXPECT_LE(median(errors.plateau), kPlateauBar);
  EXPECT_LE(median(errors.small), kSmallBar);
  for (const auto& [title, all] : {std::pair("plateau (busbw)", errors.plateau),
                                   std::pair("small end (latency)", errors.small)})
    EXPECT_NE(line_of(page(), summary_start(title, all)), "")
        << "docs/accuracy.md is old (make accuracy); expected " << summary_start(title, all);
}

// Every public curve is judged, or the page says why not; every outlier on it has a reason.
TEST(Accuracy, NoCurveIsPassedOver) {
  std::map<std::string, Row> known;
  for (const Row& row : rows()) {
    known[row.file] = row;
    EXPECT_TRUE(row.use == "judged" || row.use == "left-out") << row.file << " " << row.use;
    EXPECT_EQ(row.machine.empty(), row.use == "left-out") << row.file;
    EXPECT_TRUE(row.use == "judged" || !row.reason.empty()) << row.file;
    const std::string mark = row.use == "judged"
                                 ? "| " + row.file.substr(0, row.file.find('_')) + " "
                                 : "| " + fs::path(row.file).stem().string();
    EXPECT_NE(page().find("\n" + mark), std::string::npos) << row.file;
  }
  if (!fs::exists(kCurves))
    GTEST_SKIP() << "no " << kCurves << ": the public curves stand in ../shared";
  known["INDEX.md"] = {};
  for (const auto& entry : fs::directory_iterator(kCurves))
    EXPECT_TRUE(known.contains(entry.path().filename())) << entry.path();
}

TEST(Accuracy, EveryOutlierHasItsReason) {
  const std::string text = page();
  const std::string outliers = text.substr(text.find("\n## Outliers"));
  int count = 0;
  for (const std::string& line : lines_of(outliers.substr(0, outliers.find("\n## Not judged")))) {
    if (!line.starts_with("| c") || line.starts_with("| curve")) continue;
    ++count;
    EXPECT_EQ(line.find("|  |"), std::string::npos) << line;
  }
  EXPECT_GT(count, 5);
}

}  // namespace
}  // namespace comm_probe::test
