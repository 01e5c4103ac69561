// `sim step`: recorded jobs replayed. The truth comes from outside: the generator of the cases
// (../shared/tools/gen_trace.py) makes the same job, same seed, with and without the change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

const fs::path kShared = COMM_PROBE_SHARED;
const fs::path kCases = kShared / "data/trace/cases";

json step_of(const fs::path& path, Words more = {}) {
  Words words = {"sim", "step", "--json", "--trace", path};
  words.insert(words.end(), more.begin(), more.end());
  const BinaryRun run = run_binary(words);
  EXPECT_TRUE(run.status == 0 || run.status == 5) << run;
  json document = json::parse(run.out, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << run;
  return document.at("result");
}
double change_us(const fs::path& path, const Words& more) {
  return step_of(path, more).at("changes").back().at("time_us");
}

std::vector<fs::path> cases() {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(kCases))
    if (entry.is_directory()) all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

// The last number of what nobody changed: the clocks of case 09 drift and are 1.8 ms apart, the
// rest is what the ends of one collective differ by (2.5 us).
TEST(SimStep, ReplaysWhatWasRecorded) {
  if (!fs::exists(kCases)) GTEST_SKIP() << "no " << kCases;
  for (const fs::path& path : cases()) {
    const json result = step_of(path);
    EXPECT_NEAR(result.at("replay_error_share").get<double>(), 0, 1e-3) << path;
    EXPECT_EQ(result.at("calls"), result.at("calls_replayed_together")) << path;
    double sum = 0;
    for (const json& step : result.at("steps")) sum += step.at("replayed_us").get<double>();
    EXPECT_NEAR(sum / result.at("replayed_us").get<double>(), 1, 1e-2) << path;
  }
}

// Whoever works faster makes no step slower; no time is below its floors.
TEST(SimStep, ARemovedStragglerNeverMakesAStepSlower) {
  if (!fs::exists(kCases)) GTEST_SKIP() << "no " << kCases;
  for (const fs::path& path : cases())
    for (const char* rank : {"1", "2"}) {  // the stragglers of the cases, and ranks that are none
      const json result = step_of(path, {"--without-straggler", rank});
      const json& change = result.at("changes").at(0);
      EXPECT_GE(change.at("gain_at_least_us"), 0) << path << rank;
      EXPECT_GE(change.at("gain_us"), change.at("gain_at_least_us")) << path << rank;
      double with = 0, without = 0;  // the end of every step, not its length, is not later
      for (std::size_t i = 0; i < result.at("steps").size(); ++i) {
        with += result.at("steps")[i].at("replayed_us").get<double>();
        without += change.at("steps_us")[i].get<double>();
        EXPECT_LE(without, with + 1e-6) << path << rank;
      }
      for (const auto& [name, floor] : change.at("floors").items())
        EXPECT_LE(floor, change.at("time_us")) << path << rank << name;
    }
}

// Case 01 is the healthy job of case 08, whose rank 2 computes 15 % longer; 09 has one of 6 %.
TEST(SimStep, WithoutItsStragglerAJobIsTheHealthyOne) {
  if (!fs::exists(kCases)) GTEST_SKIP() << "no " << kCases;
  const double healthy = step_of(kCases / "01_healthy").at("recorded_us");
  for (const auto& [name, rank] : {std::pair("08_straggler", "2"), {"09_clock_skew", "1"}}) {
    EXPECT_NEAR(change_us(kCases / name, {"--without-straggler", rank}) / healthy, 1, 5e-3) << name;
    const json chosen = step_of(kCases / name, {"--without-straggler", "auto"});
    EXPECT_EQ(chosen.at("changes").at(0).at("change"), std::string("without straggler ") + rank);
  }
}

class SimStepTruth : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(tool_)) GTEST_SKIP() << "no " << tool_;
    if (run_shell("python3 --version").status != 0) GTEST_SKIP() << "no python3";
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A job of 4 ranks and 3 steps.
  fs::path job(const std::string& name, const std::string& flags) {
    const fs::path path = folder_ / name;
    const BinaryRun made = run_shell(
        "python3 " + tool_.string() + " --gz --out " + path.string() +
        " --ranks 4 --layers 6 --kernels-per-layer 12 --layer-us 700 --layer-elems 5200000 "
        "--steps 3 --style 2026 --seed 31 " +
        flags + " >/dev/null 2>&1");
    EXPECT_EQ(made.status, 0) << made;
    return path;
  }
  static double truth_us(const fs::path& path) {
    std::ifstream file(path / "truth.json");
    const json truth = json::parse(file);
    double most = 0;
    for (const json& rank : truth.at("per_rank"))
      most = std::max(most, rank.at("total").at("span_ns").get<double>() / 1e3);
    return most;
  }

 private:
  const fs::path tool_ = kShared / "tools/gen_trace.py";
  const fs::path folder_ = fs::path(testing::TempDir()) / ("sim_step" + std::to_string(::getpid()));
};

// Where every transfer is exposed twice the bandwidth counts in full; where the next step hides it,
// only the last bucket does.
TEST_F(SimStepTruth, AFasterNicIsTheJobWithAFasterNic) {
  for (const std::string kind : {"", "--kill earlywait "}) {
    const fs::path slow = job("slow", kind + "--bucket-mb 20 --beta-gbs 60 --alpha-us 3");
    const fs::path fast = job("fast", kind + "--bucket-mb 20 --beta-gbs 120 --alpha-us 3");
    const double before = truth_us(slow), after = truth_us(fast);
    const double ours = change_us(slow, {"--nic-rate", "x2", "--alpha", "3us"});
    EXPECT_LT(after, before * 0.99) << kind;
    EXPECT_NEAR(ours / after, 1, 5e-3) << kind;
  }
}

TEST_F(SimStepTruth, AStragglerTakenAwayIsTheJobWithoutIt) {
  for (const std::string kind : {"", "--pattern fsdp "}) {
    const fs::path with = job("with", kind + "--straggler 1:compute:1.2");
    const fs::path without = job("without", kind);
    EXPECT_NEAR(change_us(with, {"--without-straggler", "1"}) / truth_us(without), 1, 5e-3) << kind;
  }
}

// A slow host is only seen in the gaps of its GPU.
TEST_F(SimStepTruth, ASlowHostTakenAwayIsNearTheJobWithoutIt) {
  const std::string small = "--layer-us 150 --layer-elems 1100000 --bucket-mb 4 --host-factor 1.7 ";
  const fs::path with = job("with", small + "--straggler 1:host:2.2");
  const fs::path without = job("without", small);
  EXPECT_LT(truth_us(without), truth_us(with) * 0.9);
  EXPECT_NEAR(change_us(with, {"--without-straggler", "1"}) / truth_us(without), 1, 5e-2);
}

TEST(SimStep, SaysWhatTheStepWouldGain) {
  if (!fs::exists(kCases)) GTEST_SKIP() << "no " << kCases;
  const BinaryRun run = run_binary({"sim", "step", "--trace", kCases / "08_straggler",
                                    "--without-straggler", "auto", "--nic-rate", "x2"});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_THAT(run.out, HasSubstr("3 steps of 4 ranks: ")) << run;
  EXPECT_THAT(run.out, HasSubstr("NICs x2, without straggler 2")) << run;
  EXPECT_THAT(run.out, HasSubstr("replayed without a change")) << run;
  // gain, share, at least, the longest work of one rank
  EXPECT_THAT(run.out, HasSubstr("5.341 ms  12.5 %  5.341 ms")) << run;
}

TEST(SimStep, RefusesWhatDoesNotExist) {
  if (!fs::exists(kCases)) GTEST_SKIP() << "no " << kCases;
  const std::pair<Words, const char*> cases[] = {
      {{"--trace", kCases / "08_straggler", "--nic-rate", "0.5"}, "--nic-rate 0.5 is no factor"},
      {{"--trace", kCases / "08_straggler", "--nic-rate", "fast"}, "--nic-rate fast is no factor"},
      {{"--trace", kCases / "08_straggler", "--without-straggler", "9"},
       "rank 9 is not among the 4 ranks"},
      {{"--trace", kCases / "08_straggler", "--without-straggler", "two"},
       "--without-straggler two is no rank"},
      {{"--trace", kCases / "08_straggler/rank0.json.gz"}, "one rank alone"},
      {{"--trace", "/nowhere"}, "/nowhere"}};
  for (const auto& [more, message] : cases) {
    Words words = {"sim", "step"};
    words.insert(words.end(), more.begin(), more.end());
    const BinaryRun run = run_binary(words);
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
    EXPECT_THAT(run.err, HasSubstr(message));
  }
}

}  // namespace
}  // namespace comm_probe::test
