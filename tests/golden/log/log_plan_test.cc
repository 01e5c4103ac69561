// Log against plan: what real jobs of one-GPU nodes printed (../shared/data/h200/logs/tuning:
// default, NCCL_ALGO=Tree, NCCL_PROTO=LL, Ring with LL128) and what NCCL 2.28.9 decided on two H200
// (tests/inputs/h200x2), beside the plan for their topology and the settings of the log.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Job {
  const char* log;
  int cells;    // of the tuning table that the log prints
  int choices;  // that were made
};
void PrintTo(const Job& job, std::ostream* out) { *out << job.log; }

json compare(const std::string& log, const std::string& topo, std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"log", log, "--topo", topo, "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const BinaryRun run = run_binary(words);
  EXPECT_EQ(run.err, "") << run;
  return json::parse(run.out);
}

const json& row(const json& document, const std::string& what) {
  static const json kNone = json::object();
  for (const json& row : document.at("result").at("plan").at("rows"))
    if (row.at("what") == what) return row;
  return kNone;
}

class TuningLog : public testing::TestWithParam<Job> {};

TEST_P(TuningLog, EqualsThePlanInEverything) {
  const fs::path h200 = fs::path(COMM_PROBE_SHARED) / "data/h200";
  if (!fs::exists(h200)) GTEST_SKIP() << "no " << h200;
  const json document =
      compare(h200 / "logs/tuning" / GetParam().log, h200 / "system/nccl-topo.xml");
  const json& plan = document.at("result").at("plan");
  EXPECT_EQ(plan.at("equal"), true) << plan.dump(1);
  EXPECT_TRUE(document.at("findings").empty()) << document.at("findings").dump(1);
  for (const char* what : {"search ring", "search tree", "channels", "rings", "trees",
                           "tuning table", "thread thresholds", "choices"})
    EXPECT_GT(row(document, what).value("compared", 0), 0) << what;
  EXPECT_EQ(row(document, "tuning table").at("equal"), GetParam().cells);
  EXPECT_EQ(row(document, "choices").at("equal"), GetParam().choices);
}
// 5 functions x 7 algorithms x 3 protocols; four calls of all_reduce each.
INSTANTIATE_TEST_SUITE_P(All, TuningLog,
                         testing::Values(Job{"n2.log", 105, 4}, Job{"n8.log", 105, 4},
                                         Job{"n8-tree.log", 105, 4}, Job{"n8-ll.log", 105, 4},
                                         Job{"n4-ring-ll128.log", 105, 4}));

std::string input(const std::string& name) {
  return std::string(COMM_PROBE_SOURCE_DIR) + "/tests/inputs/h200x2/" + name;
}

// These logs have no ENV lines: the settings are given.
struct TwoGpuJob {
  const char* log;
  std::vector<std::string> settings;
};
void PrintTo(const TwoGpuJob& job, std::ostream* out) { *out << job.log; }

class TwoGpuLog : public testing::TestWithParam<TwoGpuJob> {};
TEST_P(TwoGpuLog, EqualsThePlan) {
  std::vector<std::string> words;
  for (const std::string& setting : GetParam().settings) {
    words.push_back("--env");
    words.push_back(setting);
  }
  const json document = compare(input(GetParam().log), input("nccl-topo.xml"), words);
  EXPECT_EQ(document.at("result").at("plan").at("equal"), true)
      << document.at("result").at("plan").dump(1);
}
INSTANTIATE_TEST_SUITE_P(
    All, TwoGpuLog,
    testing::Values(TwoGpuJob{"default.log", {"NCCL_NVLS_ENABLE=0"}},
                    TwoGpuJob{"p2p-disable.log", {"NCCL_NVLS_ENABLE=0", "NCCL_P2P_DISABLE=1"}},
                    TwoGpuJob{"tree-simple.log",
                              {"NCCL_NVLS_ENABLE=0", "NCCL_ALGO=Tree", "NCCL_PROTO=Simple"}}));

// A plan for other settings, another number of nodes or another machine is told from the log's.
TEST(LogPlan, SaysWhatDiffersAndWhy) {
  const json forced =
      compare(input("default.log"), input("nccl-topo.xml"), {"--env", "NCCL_P2P_DISABLE=1"});
  EXPECT_EQ(forced.at("result").at("plan").at("equal"), false);
  EXPECT_EQ(forced.at("findings").at(0).at("id"), "log.plan-differs");
  const std::string summary = forced.at("findings").at(0).at("summary");
  EXPECT_NE(summary.find("search"), std::string::npos) << summary;
  const json nodes = compare(input("default.log"), input("nccl-topo.xml"), {"--nodes", "4"});
  const std::string reason = nodes.at("result").at("plan").at("reason");
  EXPECT_NE(reason.find("2 ranks, the plan 8"), std::string::npos) << reason;
}

TEST(LogPlan, AMachineOfTheCatalog) {
  const BinaryRun run =
      run_binary({"log", input("default.log"), "--machine", "dgx-h200", "--json"});
  ASSERT_EQ(run.err, "") << run;
  EXPECT_EQ(json::parse(run.out).at("result").at("plan").at("equal"), false);
}

TEST(LogPlan, NothingToCompareIsACaveat) {
  const BinaryRun run = run_binary({"log", "-", "--machine", "dgx-h100", "--json"},
                                   {.stdin_text = "a:1:2 [0] NCCL INFO Using network IB\n"});
  EXPECT_EQ(run.status, 5) << run;
  EXPECT_NE(run.out.find("log.not-planned"), std::string::npos) << run;
}

}  // namespace
}  // namespace comm_probe::test
