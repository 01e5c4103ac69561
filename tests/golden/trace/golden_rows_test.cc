// Chapter 5 of the golden table as `trace` shows it: a DDP bucket of 25 MB on 8 ranks over NVLink
// and over NDR (G5-01..03), a thousand all_reduces of 25 KB against one (G5-06..09), the bucket's
// real size (G5-15).
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kRanks = 8;

json event(const char* category, const std::string& name, double start_us, double time_us) {
  return {{"ph", "X"}, {"cat", category}, {"name", name},  {"pid", 1},
          {"tid", 1},  {"ts", start_us},  {"dur", time_us}};
}

// `calls` all_reduces of `floats` elements, back to back, 20 us each.
json trace_of(int rank, int calls, int floats) {
  json events = json::array();
  events.push_back(event("user_annotation", "ProfilerStep#1", 100, 30.0 * calls + 1000));
  for (int k = 0; k < calls; ++k) {
    const double start = 200 + 25.0 * k;
    json launch = event("cuda_runtime", "cudaLaunchKernelExC", start - 5, 2);
    launch["args"] = {{"correlation", k + 1}};
    events.push_back(std::move(launch));
    json kernel = event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", start, 20);
    kernel["args"] = {{"stream", 20},
                      {"device", 0},
                      {"correlation", k + 1},
                      {"Collective name", "allreduce"},
                      {"In msg nelems", floats},
                      {"Out msg nelems", floats},
                      {"dtype", "Float"},
                      {"Group size", kRanks},
                      {"Process Group Name", "0"},
                      {"Process Group Ranks", "[0, 1, 2, 3, 4, 5, 6, 7]"}};
    events.push_back(std::move(kernel));
  }
  return {{"distributedInfo", {{"backend", "nccl"}, {"rank", rank}, {"world_size", kRanks}}},
          {"traceEvents", events},
          {"traceName", "made"}};
}

class GoldenRows : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("golden_rows_" + std::to_string(static_cast<long>(::getpid())));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The rate of the one kind of call that the job makes.
  json rate_of(int calls, int floats, const std::string& alpha, const std::string& beta) {
    for (int rank = 0; rank < kRanks; ++rank)
      std::ofstream(folder_ / ("rank" + std::to_string(rank) + ".json"))
          << trace_of(rank, calls, floats);
    const BinaryRun run =
        run_binary({"trace", "--json", folder_, "--alpha", alpha, "--beta", beta});
    const json document = json::parse(run.out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << run;
    const json& rates = document.at("result").at("rates");
    EXPECT_EQ(rates.size(), 1u);
    return rates.at(0);
  }

  fs::path folder_;
};

TEST_F(GoldenRows, ABucketOf25MB) {
  const json nvlink = rate_of(3, 6'250'000, "3us", "450GB/s").at("ledger");
  EXPECT_EQ(nvlink.at("bytes_per_rank"), 43'750'000);                             // G5-01
  EXPECT_NEAR(nvlink.at("bandwidth_us").get<double>(), 97.2222222222, 97.22e-6);  // G5-02
  const json ndr = rate_of(3, 6'250'000, "10us", "50GB/s").at("ledger");
  EXPECT_NEAR(ndr.at("bandwidth_us").get<double>(), 875, 875e-6);  // G5-03
}

TEST_F(GoldenRows, AThousandSmallOnesAgainstOne) {
  const json small = rate_of(1000, 6'250, "0.7142857142857us", "450GB/s");
  EXPECT_EQ(small.at("bytes"), 25'000);
  const json& merged = small.at("merged");
  EXPECT_EQ(merged.at("calls_per_step"), 1000);  // G5-08: their latency against one
  EXPECT_EQ(merged.at("calls_left"), 1);         // G5-09: 25 MB, below the 26.2 MB of G5-15
  EXPECT_NEAR(merged.at("latency_us").get<double>(), 10, 1e-6);
  EXPECT_NEAR(merged.at("saved_us").get<double>(), 9990, 1e-3);  // G5-06: 10 ms, one of them stays
  // G5-07: what one call of all the bytes takes is the bucket of G5-02
}

// The settings of the chapter, as `explain` prints them.
TEST(GoldenSettings, OfTheWatchdog) {
  const auto explained = [](const std::string& word) {
    std::string text = run_binary({"explain", word}).out;
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::string squeezed;
    for (const char c : text)
      if (c != ' ' || !squeezed.ends_with(' ')) squeezed += c;
    return squeezed;
  };
  const std::string watchdog = explained("watchdog");
  EXPECT_NE(watchdog.find("every 100 ms"), std::string::npos) << watchdog;           // G5-10
  EXPECT_NE(watchdog.find("10 minutes"), std::string::npos) << watchdog;             // G5-11
  EXPECT_NE(explained("heartbeat").find("480 s"), std::string::npos);                // G5-12
  EXPECT_NE(watchdog.find("TORCH_NCCL_ASYNC_ERROR_HANDLING=3"), std::string::npos);  // G5-13
  EXPECT_NE(explained("flight recorder").find("2000 entries"), std::string::npos);   // G5-14
}

}  // namespace
}  // namespace comm_probe::test
