// What several ranks show together, against truth from outside of this program: cases/*/truth.json
// (computed from the simulated intervals), public/INDEX.md (durations read by another program), and
// what was done to the recorded jobs (data/h200/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kShared = COMM_PROBE_SHARED;
const fs::path kData = kShared / "data/trace";

json trace_of(const fs::path& path, std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"trace", "--json", path};
  words.insert(words.end(), more.begin(), more.end());
  const BinaryRun run = run_binary(words);
  EXPECT_TRUE(run.status == 0 || run.status == 1 || run.status == 5) << run;
  json document = json::parse(run.out, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << run;
  return document;
}

json truth_of(const std::string& name) {
  std::ifstream file(kData / "cases" / name / "truth.json");
  return json::parse(file, nullptr, false);
}

bool has(const json& document, const std::string& part, const std::string& id) {
  const json& all = document.at(part);
  return std::any_of(all.begin(), all.end(), [&](const json& one) { return one.at("id") == id; });
}
const json* finding(const json& document, const std::string& id) {
  for (const json& one : document.at("findings"))
    if (one.at("id") == id) return &one;
  return nullptr;
}

// Kernels of one collective end up to 2.5 us apart in the generated traces (--end-jitter-ns 2500),
// which the truth does not count.
constexpr double kJitter = 2500;

void expect_waiting(const json& truth, const json& result, const std::string& name) {
  const auto count = truth.at("count").get<double>();
  for (const json& rank : result.at("waiting")) {
    const std::string number = std::to_string(rank.at("rank").get<int>());
    const std::string where = name + " rank " + number;
    const auto wait = truth.at("total_wait_ns").at(number).get<double>();
    EXPECT_NEAR(rank.at("wait_ns").get<double>(), wait, count * kJitter) << where;
    EXPECT_NEAR(rank.at("caused_wait_ns").get<double>(),
                truth.at("wait_caused_ns").value(number, 0.0), 3 * count * kJitter)
        << where;
    EXPECT_NEAR(rank.at("transfer_ns").get<double>(), truth.at("transfer_ns").get<double>(),
                count * kJitter)
        << where;
  }
}

TEST(TraceAcross, WaitingAndTransferOfEveryCase) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData;
  int cases = 0;
  for (const auto& folder : fs::directory_iterator(kData / "cases")) {
    if (!folder.is_directory()) continue;
    const std::string name = folder.path().filename();
    const json truth = truth_of(name).at("collectives");
    const json result = trace_of(folder.path()).at("result");
    EXPECT_EQ(result.at("matching").at("accepted"), truth.at("count")) << name;
    EXPECT_EQ(result.at("matching").at("rejected"), 0) << name;
    EXPECT_EQ(result.at("collectives").size(), truth.at("count")) << name;
    expect_waiting(truth, result, name);
    ++cases;
  }
  EXPECT_EQ(cases, 13);
}

struct Late {
  const char* name;
  int rank;
  const char* kind;
};
constexpr Late kLate[] = {{"08_straggler", 2, "slow compute"},
                          {"09_clock_skew", 1, "slow compute"},
                          {"12_host_straggler", 1, "host"}};

TEST(TraceAcross, TheStragglerOfEveryCaseAndStep) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData;
  for (const Late& late : kLate) {
    const json truth = truth_of(late.name).at("collectives");
    const json document = trace_of(kData / "cases" / late.name);
    const std::string rank = std::to_string(late.rank);
    ASSERT_EQ(document.at("result").at("stragglers").size(), 4u) << late.name;
    for (const json& one : document.at("result").at("stragglers")) {
      EXPECT_EQ(one.at("rank"), late.rank) << late.name;
      EXPECT_EQ(one.at("kind"), late.kind) << late.name;
      const json& step = one.at("step");
      const json& part =
          step.is_null() ? truth : truth.at("by_step").at(std::to_string(step.get<int>()));
      const auto caused = part.at("wait_caused_ns").at(rank).get<double>() / 1e3;
      EXPECT_NEAR(one.at("caused_wait_us").get<double>(), caused, 1e-3 * caused) << late.name;
      EXPECT_EQ(one.at("last_in"), part.at("arrived_last").at(rank)) << late.name;
    }
    const json* said = finding(document, "trace.straggler");
    ASSERT_NE(said, nullptr) << late.name;
    EXPECT_EQ(said->at("ranks"), json({late.rank})) << late.name;
  }
}

TEST(TraceAcross, NobodyIsBlamedInTheOtherCases) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData;
  for (const auto& folder : fs::directory_iterator(kData / "cases")) {
    const std::string name = folder.path().filename();
    if (!folder.is_directory() || std::any_of(std::begin(kLate), std::end(kLate),
                                              [&](const Late& one) { return name == one.name; }))
      continue;
    const json document = trace_of(folder.path());
    EXPECT_TRUE(document.at("result").at("stragglers").empty()) << name;
    for (const char* id : {"trace.straggler", "trace.slow-link", "trace.late-outside",
                           "trace.mismatch", "trace.clock-skew", "trace.entry-skew"})
      EXPECT_FALSE(has(document, "findings", id)) << name << " " << id;
  }
}

TEST(TraceAcross, ClocksOfTheSecondNode) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData;
  const json truth = truth_of("09_clock_skew").at("clock").at("offset_ns");
  const json document = trace_of(kData / "cases/09_clock_skew");
  for (const json& clock : document.at("result").at("clock")) {
    const auto rank = clock.at("rank").get<std::size_t>();
    EXPECT_NEAR(clock.at("offset_us").get<double>(), truth.at(rank).get<double>() / 1e3, 5);
  }
  EXPECT_TRUE(has(document, "findings", "trace.clock-skew"));
}

// alpha 3 us and beta 180 GB/s are those of the generator; it varies each call by up to 3 %.
TEST(TraceAcross, BandwidthBesideTheModelThatMadeTheCase) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData;
  const json result =
      trace_of(kData / "cases/01_healthy", {"--alpha", "3us", "--beta", "180GB/s"}).at("result");
  ASSERT_EQ(result.at("rates").size(), 1u);
  const json& rate = result.at("rates").at(0);
  EXPECT_EQ(rate.at("bytes"), 41'600'000);
  EXPECT_NEAR(rate.at("predicted_us").get<double>(), 6 * 3 + 1.5 * 41.6e6 / 180e3, 1e-6);
  EXPECT_NEAR(rate.at("efficiency").get<double>(), 1, 0.03);
  EXPECT_EQ(rate.at("ledger_side"), "bandwidth");
}

// Case 07: 64 all_reduces of 26000 B a step, 4 ranks, alpha 4 us: 24 us of steps each (its
// INDEX.md).
TEST(TraceAcross, WhatMergingTinyCollectivesSaves) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData;
  const json result =
      trace_of(kData / "cases/07_tiny_collectives", {"--alpha", "4us", "--beta", "180GB/s"})
          .at("result");
  const json& merged = result.at("rates").at(0).at("merged");
  EXPECT_EQ(merged.at("calls_per_step"), 64);
  EXPECT_EQ(merged.at("calls_left"), 1);
  EXPECT_DOUBLE_EQ(merged.at("latency_us").get<double>(), 24);
  EXPECT_DOUBLE_EQ(merged.at("saved_us").get<double>(), 63 * 24);
}

TEST(TraceAcross, AMachineIsPricedByNcclsModel) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData;
  const json result = trace_of(kData / "cases/01_healthy", {"--machine", "dgx-h100"}).at("result");
  const json& ledger = result.at("rates").at(0).at("ledger");
  EXPECT_EQ(ledger.at("ranks"), 4);
  EXPECT_EQ(ledger.at("bytes"), 41'600'000);
  EXPECT_GT(ledger.at("busbw_GBps").get<double>(), 200);
}

// The table of public/INDEX.md: eight V100, eight collectives, durations per rank in us.
TEST(TraceAcross, EightRanksOfARealJob) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData;
  const int durations[8][8] = {
      {2146, 7635, 518, 6132, 4882, 4679, 514, 10}, {1032, 1025, 517, 1021, 1108, 1060, 520, 8},
      {176, 169, 173, 174, 170, 175, 175, 7},       {131, 132, 131, 133, 132, 132, 131, 7},
      {246, 307, 198, 291, 95, 96, 213, 86},        {514, 545, 468, 542, 61, 10, 483, 357},
      {601, 601, 572, 602, 70, 20, 602, 468},       {952, 922, 915, 879, 69, 79, 920, 803}};
  const int last[8] = {7, 7, 7, 7, 7, 5, 5, 4};
  const int spread[8] = {2, 2, 1, 2, 5, 3, 5, 7};
  const json document = trace_of(kData / "public/dlrm_8rank_v100");
  const json& collectives = document.at("result").at("collectives");
  ASSERT_EQ(collectives.size(), 8u);
  for (std::size_t k = 0; k < 8; ++k) {
    EXPECT_EQ(collectives[k].at("state"), "accepted");
    EXPECT_EQ(collectives[k].at("last"), last[k]) << k;
    // raw clocks in the table, aligned ones here: each rank moves by up to 2 us
    EXPECT_NEAR(collectives[k].at("end_spread_ns").get<double>(), spread[k] * 1e3, 3e3) << k;
    for (std::size_t rank = 0; rank < 8; ++rank)
      EXPECT_EQ(collectives[k].at("duration_ns").at(std::to_string(rank)),
                durations[k][rank] * 1000)
          << k;
  }
  EXPECT_TRUE(document.at("result").at("stragglers").empty());
  const json* entry = finding(document, "trace.entry-skew");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->at("ranks"), json({7}));
  EXPECT_NEAR(entry->at("observed").at("value").get<double>(), 7635 - 10, 1e-6);
}

// Sampling left out events: six of ten pairs cannot be one collective, so nobody is accused.
TEST(TraceAcross, PairsThatDoNotEndTogetherAreRejected) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData;
  const json document = trace_of(kData / "public/dlrm_2of128");
  EXPECT_EQ(document.at("result").at("matching").at("accepted"), 4);
  EXPECT_EQ(document.at("result").at("matching").at("rejected"), 6);
  EXPECT_TRUE(document.at("result").at("stragglers").empty());
  EXPECT_TRUE(has(document, "caveats", "trace.unmatched"));
  EXPECT_TRUE(has(document, "caveats", "trace.ranks-missing"));
}

// 73 calls of 24.7 to 28.1 us and one of 223 us among them, and one all_gather by NCCL.
TEST(TraceAcross, TheBackendOfDecoding) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData;
  const json document = trace_of(kData / "public/vllm_tp8_b200_symm_mem_rank0.json.gz",
                                 {"--machine", "dgx-b200", "--message", "64KiB"});
  const json& backends = document.at("result").at("backends");
  ASSERT_EQ(backends.size(), 2u);
  EXPECT_EQ(backends[0].at("backend"), "symmetric memory");
  EXPECT_EQ(backends[0].at("count"), 73);
  EXPECT_NEAR(backends[0].at("least_us").get<double>(), 24.7, 0.05);
  EXPECT_LT(backends[0].at("p95_us").get<double>(), 28.1);
  EXPECT_NEAR(backends[0].at("most_us").get<double>(), 223, 0.5);
  EXPECT_EQ(backends[1].at("backend"), "nccl");
  EXPECT_EQ(backends[1].at("protocol"), "LL");
  const json& rate = document.at("result").at("rates").at(0);
  EXPECT_EQ(rate.at("op"), "all_reduce");
  EXPECT_TRUE(rate.at("includes_waiting"));
  EXPECT_EQ(rate.at("ledger_side"), "latency");
  EXPECT_TRUE(has(document, "caveats", "trace.single-rank"));
}

TEST(TraceAcross, LogsOfNcclInspector) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData;
  const json document = trace_of(kData / "public/inspector");
  const json& collectives = document.at("result").at("collectives");
  ASSERT_EQ(collectives.size(), 5u);
  for (const json& one : collectives) EXPECT_EQ(one.at("last"), 2);
  ASSERT_NE(finding(document, "trace.straggler"), nullptr);
  EXPECT_EQ(finding(document, "trace.straggler")->at("ranks"), json({2}));
  EXPECT_TRUE(has(document, "caveats", "trace.inspector-cut"));
  for (const json& input : document.at("inputs")) EXPECT_EQ(input.at("kind"), "nccl-inspector");
}

// Rank 2 slept 150 ms in each of two steps.
TEST(TraceAcross, TheRankThatSlept) {
  const fs::path folder = kShared / "data/h200/traces/straggler";
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder;
  const json document = trace_of(folder);
  const json& stragglers = document.at("result").at("stragglers");
  ASSERT_FALSE(stragglers.empty());
  for (const json& one : stragglers) {
    EXPECT_EQ(one.at("rank"), 2);
    EXPECT_EQ(one.at("kind"), "host");
  }
  const json* said = finding(document, "trace.straggler");
  ASSERT_NE(said, nullptr);
  EXPECT_NE(said->at("summary").get<std::string>().find("150.8 ms without a CUDA call"),
            std::string::npos)
      << said->at("summary");
  EXPECT_TRUE(has(document, "caveats", "trace.shared-gpu"));
}

TEST(TraceAcross, NobodyIsLateInTheOtherRecordings) {
  if (!fs::exists(kShared / "data/h200/traces")) GTEST_SKIP() << "no data/h200/traces";
  for (const char* name : {"ok", "item", "tiny"}) {
    const json document = trace_of(kShared / "data/h200/traces" / name);
    EXPECT_TRUE(document.at("result").at("stragglers").empty()) << name;
    EXPECT_FALSE(has(document, "findings", "trace.straggler")) << name;
    EXPECT_TRUE(has(document, "caveats", "trace.shared-gpu")) << name;
  }
}

// Ranks that take turns on one GPU say nothing about a link.
TEST(TraceAcross, NoLinkIsJudgedOnASharedGpu) {
  const fs::path folder = kShared / "data/h200/traces";
  if (!fs::exists(folder)) GTEST_SKIP() << "no ../shared/data beside the checkout";
  for (const char* name : {"ok", "item", "straggler"}) {
    const json document = trace_of(folder / name, {"--machine", "dgx-h200"});
    EXPECT_TRUE(has(document, "caveats", "trace.shared-gpu")) << name;
    EXPECT_EQ(finding(document, "trace.slow-link"), nullptr) << name;
  }
}

// Waiting for a rank that is not given looks like transfer: no share is printed then.
TEST(TraceAcross, WhatIsNotSeenIsNotCalledTransfer) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no ../shared/data beside the checkout";
  const fs::path folder = kData / "cases/08_straggler";
  const auto rank = [&](int number) {
    return (folder / ("rank" + std::to_string(number) + ".json.gz")).string();
  };
  const BinaryRun whole = run_binary({"trace", folder.string(), "-q"});
  EXPECT_NE(whole.out.find("78 % of the exposed part is waiting"), std::string::npos) << whole;
  const BinaryRun part = run_binary({"trace", rank(0), rank(1), rank(3), "-q"});
  EXPECT_NE(part.out.find("is not known"), std::string::npos) << part;
  EXPECT_EQ(part.out.find("of the exposed part is waiting for a later rank"), std::string::npos);
  const BinaryRun unmatched = run_binary({"trace", (kData / "public/dlrm_2of128").string(), "-q"});
  EXPECT_NE(unmatched.out.find("only 4 of"), std::string::npos) << unmatched;
}

// A synchronise call inside of the first collective is not what the ranks wait for there.
TEST(TraceAcross, ASynchroniseInsideTheEntryIsNotItsCause) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no ../shared/data beside the checkout";
  const json document = trace_of(kData / "public/dlrm_8rank_v100");
  const json* sync = finding(document, "trace.device-sync");
  if (sync != nullptr) {
    EXPECT_EQ(sync->at("severity"), "info") << *sync;
  }
}

// A rank that is late in every step makes the first collective of each step long: that is the
// steady state, and the first of all is nothing special. Where only the first is long it is said.
TEST(TraceAcross, TheFirstCollectiveOfEveryStepIsTheSteadyState) {
  const json document =
      trace_of(fs::path(COMM_PROBE_SOURCE_DIR) / "examples/comm-40-percent/profile");
  EXPECT_EQ(finding(document, "trace.first-collective"), nullptr) << document["findings"];
}

TEST(TraceAcross, LogsOfNcclInspectorHaveNoSteps) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no ../shared/data beside the checkout";
  const BinaryRun run =
      run_binary({"trace", (kData / "public/inspector").string(), "--csv", "/dev/null"});
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_NE(run.err.find("--csv"), std::string::npos) << run;
}

}  // namespace
}  // namespace comm_probe::test
