// `lab hang`, and what `hang` makes of what it left on an H200 (2026-11-30, NCCL 2.28.9, PyTorch
// 2.11.0): tests/inputs/lab holds the dumps and logs of every kind, with the planted truth.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "measure/lab/setting_lab.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kLab = COMM_PROBE_SOURCE_DIR "/tests/inputs/lab";

std::vector<std::string> variants() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kLab))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

class LeftByRealNccl : public ::testing::TestWithParam<std::string> {};

TEST_P(LeftByRealNccl, IsDiagnosedAsPlanted) {
  const std::string folder = kLab + "/" + GetParam();
  const json truth = json::parse(std::ifstream(folder + "/truth.json"));
  const BinaryRun run = run_binary({"hang", folder, "--json"});
  EXPECT_EQ(run.status, 1) << run;
  const json verdict = json::parse(run.out)["result"]["verdict"];
  EXPECT_EQ(verdict["class"], truth["class"]);
  EXPECT_EQ(verdict["culprit_ranks"], truth["culprit_ranks"]);
}
INSTANTIATE_TEST_SUITE_P(All, LeftByRealNccl, ::testing::ValuesIn(variants()),
                         [](const auto& info) { return info.param; });

TEST(LabHang, ListsEveryClassThatHangKnows) {
  const BinaryRun run = run_binary({"lab", "hang", "--class", "list", "--json"});
  ASSERT_EQ(run.status, 0) << run;
  const json document = json::parse(run.out);
  std::set<std::string> classes;
  for (const json& entry : document["result"]["cases"]) classes.insert(entry["class"]);
  EXPECT_EQ(classes, (std::set<std::string>{"param_mismatch", "count_mismatch", "p2p_unpaired",
                                            "comm_order_inversion", "rank_dead_or_stuck",
                                            "network_or_hardware"}));
}

TEST(LabHang, RefusesWhatItDoesNotKnow) {
  const BinaryRun no_class = run_binary({"lab", "hang", "--class", "mystery"});
  EXPECT_EQ(no_class.status, 2);
  EXPECT_THAT(no_class.err, HasSubstr("param_mismatch"));
  const BinaryRun no_variant =
      run_binary({"lab", "hang", "--class", "param_mismatch", "--variant", "dead"});
  EXPECT_EQ(no_variant.status, 2);
  EXPECT_THAT(no_variant.err, HasSubstr("size"));
}

TEST(LabHang, WithoutPytorchItIsOneLine) {
  const BinaryRun run =
      run_binary({"lab", "hang", "--class", "count_mismatch", "--python", "/nonexistent/python3"});
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_EQ(lines_of(run.err).size(), 1u);
  EXPECT_THAT(run.err, HasSubstr("--python"));
}

// `lab` with a python3 that stands in for one with PyTorch: what a rank does there is `script`, its
// words are $1 (ours), $2 (what is planted), $3 (its rank) and so on. It leaves FOLDER/left.
BinaryRun lab_with(const std::string& script, const std::string& folder,
                   std::vector<std::string> arguments) {
  std::filesystem::create_directories(folder);
  const std::string python = folder + "/python3";
  std::ofstream(python) << "#!/bin/sh\n[ \"$1\" = -c ] && echo torch && exit 0\n" << script << "\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  arguments.insert(arguments.begin(), "lab");
  arguments.insert(arguments.end(), {"--python", python, "--folder", folder + "/left"});
  return run_binary(arguments, {.environment = {{"LD_LIBRARY_PATH", COMM_PROBE_FAKE_NCCL_FOLDER}}});
}

TEST(LabSlow, RefusesWhatItDoesNotKnow) {
  const BinaryRun run = run_binary({"lab", "slow", "--class", "mystery"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("tiny_collectives"));
}

TEST(LabSlow, NamesTheTracesThatAreLeft) {
  const std::string folder = ::testing::TempDir() + "lab-slow";
  const BinaryRun run = lab_with("echo '{}' > $5/rank$3.json; echo DONE $2 $3", folder,
                                 {"slow", "--class", "straggler", "--json"});
  ASSERT_EQ(run.status, 0) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(document["result"]["traces"], json({0, 1, 2, 3}));
  EXPECT_EQ(document["result"]["expected_finding"], "trace.straggler");
}

TEST(LabSlow, ListsWhatEveryClassNeedsAndWhatShouldBeFound) {
  const BinaryRun run = run_binary({"lab", "slow", "--class", "list", "--json"});
  ASSERT_EQ(run.status, 0) << run;
  std::set<std::string> findings;
  const json document = json::parse(run.out);
  for (const json& entry : document["result"]["cases"]) {
    EXPECT_FALSE(entry["needs"].get<std::string>().empty()) << entry;
    if (entry["expected_finding"].is_null()) continue;
    const std::string id = entry["expected_finding"];
    if (id.empty()) continue;
    findings.insert(id);
    EXPECT_EQ(run_binary({"explain", id}).status, 0) << id;
  }
  EXPECT_GE(findings.size(), 9u);
}

// The same command twice, once with the setting; a class that needs a network shares a GPU.
TEST(LabSlow, PlantsASettingInTheSecondRunOnly) {
  using measure::lab::command_of;
  const auto& forced = *measure::lab::find_setting_case("forced_algorithm");
  const auto healthy = command_of(forced, false, "/bin/comm-probe", "/tmp/h", 8, {});
  const auto planted = command_of(forced, true, "/bin/comm-probe", "/tmp/h", 8, {});
  EXPECT_THAT(planted, Contains("NCCL_ALGO=Ring"));
  EXPECT_THAT(healthy, Not(Contains(HasSubstr("NCCL_"))));
  EXPECT_THAT(planted, Not(Contains("--one-gpu-ranks")));
  EXPECT_THAT(command_of(forced, true, "p", "f", 1, {}), Contains("--one-gpu-ranks"));
  const auto& one_nic = *measure::lab::find_setting_case("one_nic");
  const auto nic = command_of(one_nic, true, "p", "f", 8, {"mlx5_0", "mlx5_1"});
  EXPECT_THAT(nic, Contains("NCCL_IB_HCA==mlx5_0"));
  EXPECT_THAT(nic, Contains("--one-gpu-ranks"));
}

TEST(LabSlow, WhatAHostLacksIsOneLine) {
  using measure::lab::missing_for;
  const auto& one_nic = *measure::lab::find_setting_case("one_nic");
  EXPECT_THAT(missing_for(one_nic, 8, {"mlx5_0"})->one_line(), HasSubstr("1 RDMA device here"));
  EXPECT_THAT(missing_for(one_nic, 8, {})->one_line(), HasSubstr("no RDMA devices here"));
  EXPECT_FALSE(missing_for(one_nic, 1, {"mlx5_0", "mlx5_1"}).has_value());
  const auto& p2p = *measure::lab::find_setting_case("p2p_off");
  EXPECT_THAT(missing_for(p2p, 1, {})->one_line(), HasSubstr("1 GPU here"));
  EXPECT_FALSE(missing_for(p2p, 2, {}).has_value());
}

TEST(LabSlow, LeavesAHealthyAndAPlantedRun) {
  const std::string folder = ::testing::TempDir() + "lab-setting";
  const BinaryRun run = run_binary(
      {"lab", "slow", "--class", "forced_algorithm", "--folder", folder, "--json"},
      {.environment = {{"LD_LIBRARY_PATH", COMM_PROBE_FAKE_NCCL_FOLDER},
                       {"COMM_PROBE_NCCL", COMM_PROBE_FAKE_NCCL_FOLDER "/libnccl-22809.so"}}});
  ASSERT_EQ(run.status, 0) << run;
  EXPECT_EQ(json::parse(run.out)["result"]["next"], "comm-probe doctor " + folder + "/planted");
  for (const char* part : {"healthy", "planted"}) {
    const std::string table = folder + "/" + part + "/table.txt";
    ASSERT_TRUE(std::filesystem::exists(table));
    EXPECT_EQ(run_binary({"curve", table, "--json"}).status % 5, 0) << table;
  }
}

TEST(LabHang, RanksThatEndTooEarlyAreSaidWithTheirLastLine) {
  const std::string folder = ::testing::TempDir() + "lab-early";
  const BinaryRun run = lab_with("echo no GPU here", folder, {"hang", "--class", "count_mismatch"});
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_THAT(run.err, HasSubstr("rank 0 ended before the fault was planted: no GPU here"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/left/hang_rank.py"));
}

// The run ends by itself, stopped ranks and all.
TEST(LabHang, EndsWhenTheDumpsAreThere) {
  const std::string folder = ::testing::TempDir() + "lab-left";
  const BinaryRun run =
      lab_with("echo READY $2 $3\n[ $3 != 3 ] && echo dump > $5/nccl_trace_rank_$3\nexec sleep 600",
               folder, {"hang", "--class", "rank_dead_or_stuck", "--variant", "frozen", "--json"});
  ASSERT_EQ(run.status, 0) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(document["result"]["dumps"], json({0, 1, 2}));
  EXPECT_EQ(document["result"]["next"], "comm-probe hang " + folder + "/left");
}

}  // namespace
}  // namespace comm_probe::test
