// Wrong numbers, case by case (tests/inputs/wrong_numbers/README.md): the cause is found in
// `wrong`, blamed on framework or program and never on the network, and `quiet` is quiet.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "run_binary.h"

namespace comm_probe {
namespace {

using nlohmann::json;

struct Case {
  const char* name;
  const char* command;
  const char* id;  // nullptr: only quiet
  std::vector<int> ranks;
  std::vector<const char*> says;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"nan_on_one_rank",
       "log",
       "log.nan-value",
       {2},
       {"loss is nan from step 9 on", "rank 2 first"}},
      {"nan_check", "log", "log.nan-value", {1}, {"rank 1's own data", "before any communication"}},
      {"ranks_diverge", "log", "log.ranks-diverge", {3}, {"grad_norm", "until step 27", "rank 3"}},
      {"loss_scaler", "log", nullptr, {}, {}},
      {"dump_types",
       "hang",
       "hang.types-differ",
       {2},
       {"call 6", "BFloat16", "Half", "train.py:88"}},
      {"log_types", "log", "log.ranks-disagree", {2}, {"call 2", "bfloat16 on rank 2", "half"}},
      {"log_reduction", "log", "log.ranks-disagree", {1}, {"call 3", "sum on rank 1", "max"}},
      {"two_runs", "log", "log.algorithms-differ", {}, {"NVLS", "Ring", "4 MiB"}},
      {"nccl_tests_wrong", "curve", "curve.wrong-results", {}, {"wrong elements"}},
      {"trace_touched", "trace", "trace.tensor-touched", {0}, {"aten::mul_", "allreduce 1"}},
      {"trace_no_addresses", "trace", nullptr, {}, {}},
  };
  return all;
}

const std::set<std::string> kIds = {
    "log.nan-value",         "log.ranks-diverge",   "hang.types-differ",   "log.ranks-disagree",
    "log.algorithms-differ", "curve.wrong-results", "trace.tensor-touched"};

json findings_of(const Case& one, const std::string& side, const std::string& command = "") {
  const std::string folder =
      std::string(COMM_PROBE_SOURCE_DIR "/tests/inputs/wrong_numbers/") + one.name + "/" + side;
  const auto run = test::run_binary({command.empty() ? one.command : command, folder, "--json"});
  EXPECT_TRUE(run.status == 0 || run.status == 1 || run.status == 5) << run;
  const json document = json::parse(run.out, nullptr, false);
  return document.is_discarded() ? json::array() : document["findings"];
}

TEST(WrongNumbers, EachCauseIsFoundAndNeverTheNetwork) {
  for (const Case& one : cases()) {
    if (one.id == nullptr) continue;
    const json findings = findings_of(one, "wrong");
    const auto found = std::find_if(findings.begin(), findings.end(),
                                    [&](const json& finding) { return finding["id"] == one.id; });
    ASSERT_NE(found, findings.end()) << one.name << findings.dump(1);
    for (const char* text : one.says)
      EXPECT_NE((*found)["summary"].get<std::string>().find(text), std::string::npos)
          << one.name << " does not say " << text << ": " << (*found)["summary"];
    EXPECT_EQ((*found)["ranks"], json(one.ranks)) << one.name;
    EXPECT_FALSE((*found)["evidence"].empty()) << one.name;
    for (const json& finding : findings)
      EXPECT_TRUE(finding["layer"] != "rdma" && finding["layer"] != "topology" &&
                  finding["layer"] != "hardware")
          << one.name << finding.dump(1);
  }
}

TEST(WrongNumbers, EachTwinIsQuiet) {
  for (const Case& one : cases())
    for (const char* command : {"", "doctor"})
      for (const json& finding : findings_of(one, "quiet", command))
        EXPECT_EQ(kIds.count(finding["id"]), 0u) << one.name << finding.dump(1);
}

TEST(WrongNumbers, DoctorFindsThemFirstAndNeverBlamesTheNetwork) {
  for (const Case& one : cases()) {
    if (one.id == nullptr) continue;
    const json findings = findings_of(one, "wrong", "doctor");
    ASSERT_FALSE(findings.empty()) << one.name;
    EXPECT_EQ(findings[0]["id"], one.id) << one.name << findings.dump(1);
    for (const json& finding : findings)
      EXPECT_NE(finding["layer"], "rdma") << one.name << finding.dump(1);
  }
}

TEST(WrongNumbers, EveryFolderIsACase) {
  std::set<std::string> folders, names;
  for (const auto& entry :
       std::filesystem::directory_iterator(COMM_PROBE_SOURCE_DIR "/tests/inputs/wrong_numbers"))
    if (entry.is_directory()) folders.insert(entry.path().filename());
  for (const Case& one : cases()) names.insert(one.name);
  EXPECT_EQ(folders, names);
}

}  // namespace
}  // namespace comm_probe
