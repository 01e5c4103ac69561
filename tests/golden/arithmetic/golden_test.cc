// Every calculated and constant row of chapters 1 to 6, of A1 to A6 and A8, and of B1, and every
// row of chapter 8, A10, B4 and C6 of the golden
// table, computed by our public functions.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "golden_values.h"

namespace comm_probe::test {
namespace {

struct Expected {
  std::string value;
  std::string unit;
};

std::map<std::string, Expected> committed() {
  std::ifstream file(COMM_PROBE_SOURCE_DIR "/tests/golden/arithmetic/golden.tsv");
  std::map<std::string, Expected> rows;
  for (std::string id, value, unit;
       std::getline(file, id, '\t') && std::getline(file, value, '\t') && std::getline(file, unit);)
    rows[id] = {value, unit};
  return rows;
}

std::vector<GoldenRow> computed() {
  std::vector<GoldenRow> all;
  for (auto rows : {collective_rows(), hardware_rows(), rdma_rows(), training_rows(), tuning_rows(),
                    moe_rows(), inference_rows()})
    for (GoldenRow& row : rows) all.push_back(std::move(row));
  return all;
}

// One CSV line with quoted fields; the golden table has no newline inside a field.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[++i];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      fields.emplace_back();
    else if (line[i] != '\r')
      fields.back() += line[i];
  }
  return fields;
}

bool is_barred(const std::string& id, const std::string& chapter, const std::string& kind) {
  static const std::set<std::string> chapters = {"1", "2", "3", "4", "5", "6"};
  if (chapter == "8") return true;
  if (chapters.count(chapter) > 0) return kind == "calc" || kind == "const";
  for (const char* prefix :
       {"GA-01", "GA-02", "GA-03", "GA-04", "GA-05", "GA-06", "GA-08", "GB-01a", "GB-01b", "GA-10",
        "GB-03", "GB-04", "GC-06", "G7-", "GA-09", "GC-05"})
    if (id.starts_with(prefix)) return true;
  return false;
}

TEST(Golden, EveryRowIsWhatWeCompute) {
  const auto expected = committed();
  ASSERT_EQ(expected.size(), 183u);
  for (const GoldenRow& row : computed()) {
    const auto found = expected.find(row.id);
    ASSERT_NE(found, expected.end()) << row.id << " is not in golden.tsv";
    const GoldenValue value = row.compute();
    if (const double* number = std::get_if<double>(&value)) {
      const double wanted = std::stod(found->second.value);
      EXPECT_NEAR(*number, wanted, 1e-6 * std::abs(wanted)) << row.id << " " << found->second.unit;
    } else {
      EXPECT_EQ(std::get<std::string>(value), found->second.value) << row.id;
    }
  }
}

TEST(Golden, EveryRowOfTheTableIsTestedOnce) {
  std::map<std::string, int> times;
  for (const GoldenRow& row : computed()) ++times[row.id];
  for (const auto& [id, expected] : committed()) EXPECT_EQ(times[id], 1) << id;
}

TEST(Golden, CommittedTableIsTheSharedOne) {
  std::ifstream file(COMM_PROBE_SHARED "/spec/golden.csv");
  if (!file) GTEST_SKIP() << "no shared/spec/golden.csv beside this checkout";
  std::map<std::string, std::size_t> column;
  std::string line;
  std::getline(file, line);
  const auto names = fields_of(line);
  for (std::size_t i = 0; i < names.size(); ++i) column[names[i]] = i;
  auto ours = committed();
  while (std::getline(file, line)) {
    const auto fields = fields_of(line);
    const std::string id = fields.at(column.at("id"));
    if (!is_barred(id, fields.at(column.at("chapter")), fields.at(column.at("kind")))) continue;
    EXPECT_EQ(ours[id].value, fields.at(column.at("expected"))) << id;
    EXPECT_EQ(ours[id].unit, fields.at(column.at("unit"))) << id;
    ours.erase(id);
  }
  for (const auto& [id, expected] : ours) ADD_FAILURE() << id << " is in golden.tsv only";
}

}  // namespace
}  // namespace comm_probe::test
