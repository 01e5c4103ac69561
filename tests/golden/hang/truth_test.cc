// Every recorded hang with a known truth (../shared/data and our own recordings): class, culprits,
// group and call within what its truth.json accepts, with the dumps alone (pickle, JSON) and with
// everything beside them. No innocent rank is named, and none that could be innocent is named as
// certain.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Case {
  std::string name = {};
  std::string folder = {};
};

std::vector<Case> cases() {
  std::vector<Case> found;
  const fs::path shared = fs::path(COMM_PROBE_SHARED) / "data";
  const fs::path own = fs::path(COMM_PROBE_SOURCE_DIR) / "tests/inputs/h200x2/hang";
  for (const auto& below :
       {shared / "hang", shared / "h200/flight-recorder", shared / "field/flight-recorder", own}) {
    const std::string part = fs::relative(below, below.parent_path().parent_path()).string();
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(below, ignored))
      if (fs::exists(entry.path() / "truth.json"))
        found.push_back(
            {std::string(part) + "/" + entry.path().filename().string(), entry.path().string()});
  }
  std::sort(found.begin(), found.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return found;
}

bool is_log(const fs::path& path) {
  return path.extension() == ".log" || path.filename() == "truth.json";
}

// The ways to give a case: its dumps in each format, and everything.
std::vector<std::vector<std::string>> ways_to_give(const Case& hang) {
  std::vector<std::string> pickles, texts;
  for (const auto& entry : fs::recursive_directory_iterator(hang.folder)) {
    if (!entry.is_regular_file() || is_log(entry.path())) continue;
    (entry.path().extension() == ".json" ? texts : pickles).push_back(entry.path().string());
  }
  std::vector<std::vector<std::string>> ways = {pickles, {hang.folder}};
  if (!texts.empty()) ways.push_back(texts);
  return ways;
}

bool is_moving(const std::string& kind) { return kind == "healthy" || kind == "slow"; }

std::vector<std::vector<int>> accepted_culprits(const json& truth) {
  if (truth.contains("acceptable_culprits"))
    return truth.at("acceptable_culprits").get<std::vector<std::vector<int>>>();
  return {truth.at("culprit_ranks").get<std::vector<int>>()};
}

void expect_culprits(const json& truth, const json& verdict) {
  auto named = verdict.at("culprit_ranks").get<std::vector<int>>();
  std::sort(named.begin(), named.end());
  bool is_accepted = false;
  for (auto ranks : accepted_culprits(truth)) {
    std::sort(ranks.begin(), ranks.end());
    is_accepted |= ranks == named;
  }
  EXPECT_TRUE(is_accepted) << "culprits " << json(named);
  for (const int innocent : truth.value("must_not_blame", std::vector<int>{}))
    EXPECT_EQ(std::count(named.begin(), named.end(), innocent), 0) << innocent;
}

void expect_place(const json& truth, const json& verdict) {
  // where the only members left no dump nobody has seen the group
  if (truth.value("place_not_in_dumps", false)) return;
  if (truth.contains("process_group") && !truth.at("process_group").is_null()) {
    ASSERT_FALSE(verdict.at("process_group").is_null());
    EXPECT_EQ(verdict.at("process_group").at("name"), truth.at("process_group").at("name"));
    EXPECT_EQ(verdict.at("process_group").at("ranks"), truth.at("process_group").at("ranks"));
  }
  for (const char* number : {"collective_seq_id", "p2p_seq_id"})
    if (truth.contains(number) && !truth.at(number).is_null()) {
      EXPECT_EQ(verdict.at(number), truth.at(number)) << number;
    }
}

void expect_truth(const json& truth, const BinaryRun& run) {
  const json verdict = json::parse(run.out).at("result").at("verdict");
  const std::string kind = verdict.at("class");
  const auto accepted = truth.at("acceptable_classes").get<std::vector<std::string>>();
  EXPECT_NE(std::find(accepted.begin(), accepted.end(), kind), accepted.end()) << kind;
  expect_culprits(truth, verdict);
  const bool is_own = truth.contains("hung");
  // our own recordings tell the place of the true class only: others are accepted beside it
  if (!is_moving(kind) && (!is_own || kind == truth.at("class"))) expect_place(truth, verdict);
  EXPECT_EQ(run.status, is_moving(kind) ? 0 : 1);
}

TEST(Truth, EveryRecordedHang) {
  const std::vector<Case> all = cases();
  EXPECT_GE(all.size(), fs::exists(COMM_PROBE_SHARED "/data") ? 43U : 9U);
  for (const Case& hang : all) {
    json truth = json::parse(std::ifstream(hang.folder + "/truth.json"));
    for (std::vector<std::string> paths : ways_to_give(hang)) {
      paths.insert(paths.begin(), "hang");
      paths.push_back("--json");
      const BinaryRun run = run_binary(paths);
      SCOPED_TRACE(hang.name + " given as " + paths[1]);
      ASSERT_TRUE(run.status == 0 || run.status == 1) << run;
      expect_truth(truth, run);
    }
  }
}

// Logs alone: the truth, or nothing certain; never an innocent, never "healthy" for a job that
// hung.
TEST(Truth, LogsAlone) {
  for (const Case& hang : cases()) {
    const json truth = json::parse(std::ifstream(hang.folder + "/truth.json"));
    std::vector<std::string> paths = {"hang", "--json"};
    for (const auto& entry : fs::recursive_directory_iterator(hang.folder))
      if (entry.path().extension() == ".log") paths.push_back(entry.path().string());
    if (paths.size() == 2) continue;
    SCOPED_TRACE(hang.name);
    const BinaryRun run = run_binary(paths);
    if (run.status == 2) continue;  // a note beside the dumps, no log of a rank
    ASSERT_TRUE(run.status == 0 || run.status == 1) << run;
    const json verdict = json::parse(run.out).at("result").at("verdict");
    const auto named = verdict.at("culprit_ranks").get<std::vector<int>>();
    const bool hung = truth.value("hung", true) && truth.at("class") != "healthy";
    EXPECT_EQ(run.status, hung ? 1 : 0) << verdict;
    if (!named.empty()) expect_culprits(truth, verdict);
  }
}

// Not much more than one screen, whatever the case: at most 60 lines.
TEST(Truth, FitsOneScreen) {
  for (const Case& hang : cases()) {
    const BinaryRun run = run_binary({"hang", hang.folder});
    const auto lines = lines_of(run.out);
    EXPECT_LE(lines.size(), 60U) << hang.name << run.out;
  }
}

}  // namespace
}  // namespace comm_probe::test
