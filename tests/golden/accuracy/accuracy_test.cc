// The predictions of `curve` beside the public curves of healthy machines: medians are computed
// again here, the bars held, and docs/accuracy.md compared: the classes that miss one too. Which
// curves and which machines: bench/accuracy.tsv; what is compared: scripts/accuracy.py,
// independently.
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
  std::vector<double> all, inside, between;

  void add(double predicted, double measured, bool is_inside) {
    all.push_back(std::abs(predicted / measured - 1));
    (is_inside ? inside : between).push_back(all.back());
  }
};

struct Kinds {
  Errors plateau, band, small;  // band: its middle is no prediction out of sample
};

void add_plateau(const json& curve, bool is_inside, Kinds& kinds) {
  const json& plateau = curve.at("plateau");
  if (plateau.is_null() || plateau.at("peak_bytes") < kPlateauBytes) return;
  const double measured = plateau.at("busbw_GBps");
  if (!curve.at("nccl_model").is_null()) {
    kinds.plateau.add(curve.at("nccl_model").at("plateau").at("busbw_GBps"), measured, is_inside);
  } else if (const json& band = curve.at("reference"); !band.is_null()) {
    const double sum = band.at("low_GBps").get<double>() + band.at("high_GBps").get<double>();
    kinds.band.add(sum / 2, measured, is_inside);
  }
}

// NCCL has no model of it: the launches alone, where they are longer than the ledger.
double launches_of(const json& curve, const Row& row) {
  const json& left = curve.at("left_end");
  if (curve.at("op").is_null() || curve.at("ranks").is_null()) return 0;
  const auto run = run_binary({"calc", curve.at("op"), "-n", curve.at("ranks").dump(), "-s",
                               left.at("first_bytes").dump(), "--machine", row.machine, "--nodes",
                               row.nodes, "--json"});
  const double ledger = json::parse(run.out).at("result").at("time_us");
  const double launches = left.at("launches_us");
  return launches > ledger ? launches : 0;
}

void add_small(const json& curve, const Row& row, Kinds& kinds) {
  const bool is_inside = row.nodes == "1";
  const json& left = curve.at("left_end");
  if (left.is_null()) return;
  const double first = left.at("first_bytes");
  static const std::set<std::string> kTotal = {"all_gather", "reduce_scatter", "all_to_all"};
  const bool is_total = kTotal.contains(curve.at("op")) && !curve.at("ranks").is_null();
  const double share = is_total ? curve.at("ranks").get<double>() : 1;
  if (first / share > kSmallBytes) return;
  if (!curve.at("nccl_model").is_null())
    kinds.small.add(curve.at("nccl_model").at("smallest").at("expected_us"), left.at("latency_us"),
                    is_inside);
  else if (const double launches = launches_of(curve, row); launches > 0)
    kinds.small.add(launches, left.at("latency_us"), is_inside);
}

Kinds errors_of_all() {
  Kinds kinds;
  for (const Row& row : rows()) {
    if (row.use != "judged") continue;
    const auto run = run_binary(
        {"curve", kCurves / row.file, "--machine", row.machine, "--nodes", row.nodes, "--json"});
    const json document = json::parse(run.out);
    for (const json& curve : document.at("result").at("curves")) {
      add_plateau(curve, row.nodes == "1", kinds);
      add_small(curve, row, kinds);
    }
  }
  return kinds;
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

// A row of the summary up to its verdict; `bar` 0: the row is not judged.
std::string summary_start(const std::string& title, const std::vector<double>& errors, double bar) {
  char text[200];
  const char* verdict = bar == 0 ? "not judged" : median(errors) <= bar ? "holds" : "**misses";
  std::snprintf(text, sizeof text, "| %s | %zu | **%.1f %%** | %s", title.c_str(), errors.size(),
                100 * median(errors), verdict);
  return text;
}

void expect_on_page(const std::string& title, const std::vector<double>& errors, double bar) {
  const std::string start = summary_start(title, errors, bar);
  EXPECT_NE(line_of(page(), start), "") << "docs/accuracy.md is old (make accuracy): " << start;
}

void expect_classes_on_page(const std::string& title, const Errors& errors, double bar) {
  expect_on_page(title, errors.all, bar);
  expect_on_page(title + ", inside a node", errors.inside, bar);
  expect_on_page(title + ", between nodes", errors.between, bar);
}

TEST(Accuracy, TheBarsHold) {
  if (!fs::exists(kCurves))
    GTEST_SKIP() << "no " << kCurves << ": the public curves stand in ../shared";
  const Kinds kinds = errors_of_all();
  EXPECT_GE(kinds.plateau.all.size(), 45U);
  EXPECT_GE(kinds.small.all.size(), 27U);
  EXPECT_LE(median(kinds.plateau.all), kPlateauBar);
  EXPECT_LE(median(kinds.small.all), kSmallBar);
  expect_classes_on_page("plateau (busbw), NCCL's model", kinds.plateau, kPlateauBar);
  expect_classes_on_page("small end (latency), NCCL's model or launches", kinds.small, kSmallBar);
  expect_on_page("plateau, middle of the band: not out of sample", kinds.band.all, 0);
  std::vector<double> every = kinds.plateau.all;
  every.insert(every.end(), kinds.band.all.begin(), kinds.band.all.end());
  expect_on_page("plateau, every row", every, kPlateauBar);
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
