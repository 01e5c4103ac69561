// Prints of MoE kernels and of KV benchmarks in a pile: the lines of DeepEP's issues and what their
// threads found, the sample of nixlbench.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

constexpr const char* kTimeouts =
    "Warning: DeepEP timeout for dispatch receive, rank 2, local_expert_idx 1, src_rank 9\n"
    "Warning: DeepEP timeout for dispatch receive, rank 3, local_expert_idx 0, src_rank 9\n"
    "Warning: DeepEP timeout for combine receive, rank 2, local_expert_idx 1, src_rank 9\n"
    "RuntimeError: DeepEP error: timeout (dispatch CPU)\n";
// issue 148
constexpr const char* kStalls =
    "[rank 2] Dispatch + combine bandwidth: 0.26 GB/s, avg_t=83610.61 us, min_t=924.03 us, "
    "max_t=377962.68 us\n";
// issue 493: four nodes that collapse, and two that are well
constexpr const char* kCollapse =
    "[tuning] Best combine: SMs 24, NVL chunk 2, RDMA chunk 8: 12.53 GB/s (RDMA), 25.05 GB/s "
    "(NVL)\n";
constexpr const char* kHealthy =
    "[tuning] Best combine: SMs 24, NVL chunk 2, RDMA chunk 20: 44.37 GB/s (RDMA), 145.16 GB/s "
    "(NVL)\n";

class Experts : public Pile {
 protected:
  // So much of a log that it is not read for its smallness.
  static std::string long_log() {
    std::string text;
    for (int i = 0; i < 2000; ++i)
      text += "INFO 11-30 12:00:00 engine.py:" + std::to_string(i) + "] step done\n";
    return text;
  }
  static const json* finding(const json& document, const std::string& id) {
    for (const json& one : document["findings"])
      if (one["id"] == id) return &one;
    return nullptr;
  }
};

TEST_F(Experts, TheRankThatAllWaitForIsTheVerdict) {
  for (const std::string& around : {std::string(), long_log()}) {
    const json document = told({put("run.log", around + kTimeouts)});
    ASSERT_FALSE(document["findings"].empty());
    EXPECT_EQ(document["findings"][0]["id"], "moe.peer-missing") << document["findings"].dump(1);
    EXPECT_EQ(document["findings"][0]["ranks"], json{9});
    EXPECT_TRUE(document["result"]["unrecognised"].empty()) << document["result"]["unrecognised"];
    EXPECT_THAT(document["verdict"].get<std::string>(), HasSubstr("rank 9"));
    EXPECT_THAT(document["verdict"].get<std::string>(), HasSubstr("failed"));
  }
}

TEST_F(Experts, StallsAndCollapseAreFoundInLongLogs) {
  EXPECT_NE(finding(told({put("a.log", long_log() + kStalls + long_log())}), "moe.stalls"),
            nullptr);
  const json document = told({put("b.log", long_log() + kCollapse), put("c.log", long_log())});
  ASSERT_NE(finding(document, "moe.wire-low"), nullptr);
  bool named = false;
  for (const json& input : document["inputs"])
    named |= input["kind"].get<std::string>().find("deepep") != std::string::npos;
  EXPECT_TRUE(named) << document["inputs"];
}

TEST_F(Experts, AHealthyTuningIsQuiet) {
  const json document = told({put("run.log", long_log() + kHealthy)});
  for (const json& one : document["findings"]) EXPECT_EQ(one["severity"], "info") << one;
}

// What only names a limit, or tells of the library, is no time-out.
TEST_F(Experts, ALogThatOnlyNamesTheLibraryIsQuiet) {
  const std::string log = long_log() +
                          "INFO using DeepEPLLAll2AllManager, timeout 100 s\n"
                          "INFO DeepEP timeout set to 300 s\n"
                          "INFO DeepEP buffer ready, barrier timeout=1800\n";
  const BinaryRun run =
      run_binary({"doctor", "--json", put("run.log", log), put("t.txt", table(8, 1, 470))});
  EXPECT_EQ(run.out.find("moe.peer-missing"), std::string::npos) << run;
}

TEST_F(Experts, NixlbenchInALongLog) {
  const std::string sample = std::string(COMM_PROBE_SHARED) + "/data/infer/sample_nixlbench.txt";
  std::ifstream file(sample);
  if (!file) GTEST_SKIP() << "no " << sample;
  const std::string table((std::istreambuf_iterator<char>(file)), {});
  const json document = told({put("run.log", long_log() + table)});
  bool named = false;
  for (const json& input : document["inputs"])
    named |= input["kind"].get<std::string>().find("nixlbench") != std::string::npos;
  EXPECT_TRUE(named) << document["inputs"];
}

}  // namespace
}  // namespace comm_probe::test
