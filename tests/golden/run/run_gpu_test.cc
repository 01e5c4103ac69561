// `run` on a machine with GPUs, by libraries that stand in for the CUDA driver and NCCL: what is
// measured is what the stand-ins say, the walk over the stages is the program's.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

using Environment = std::vector<std::pair<std::string, std::string>>;

// Products of 1 ms on one stream, all_reduces of 0.4 ms (NCCL) or 0.25 ms (ours) on the other.
BinaryRun run_on_gpus(std::vector<std::string> arguments, Environment environment) {
  arguments.insert(arguments.begin(), {"run", "--quick", "--largest", "64K"});
  environment.insert(environment.end(), {{"LD_LIBRARY_PATH", COMM_PROBE_FAKE_CUDA},
                                         {"COMM_PROBE_NCCL", COMM_PROBE_FAKE_NCCL},
                                         {"FAKE_CUDA_TIMED", "1"}});
  return run_binary(arguments,
                    {.environment = std::move(environment), .limit = std::chrono::seconds(90)});
}

const json* step_named(const json& document, const std::string& name) {
  for (const json& step : document["result"]["steps"])
    if (step["name"] == name) return &step;
  return nullptr;
}

json stage_named(const json& document, const std::string& name) {
  for (const json& stage : document["result"]["stages"])
    if (stage["name"] == name) return stage;
  return json();
}

bool has(const json& list, const std::string& id) {
  for (const json& item : list)
    if (item["id"] == id) return true;
  return false;
}

TEST(RunOnGpus, TwoGpusOverlapByNccl) {
  const BinaryRun run = run_on_gpus({"--json"}, {{"FAKE_NCCL_CALL_MS", "0.4"}});
  ASSERT_TRUE(run.status == 0 || run.status == 1 || run.status == 5) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(stage_named(document, "overlap probe")["outcome"], "measured") << run;
  const json& overlap = document["result"]["overlap"];
  EXPECT_EQ(overlap["by"], "NCCL 2.28.9");
  EXPECT_EQ(overlap["gpus"], 2);
  // 4 products of 1 ms; 0.7 of it is 7 calls of 0.4 ms.
  EXPECT_EQ(overlap["products"], 4);
  EXPECT_EQ(overlap["calls"], 7);
  EXPECT_NEAR(overlap["together"]["span_us"].get<double>(), 4000, 2);
  EXPECT_NEAR(overlap["together"]["exposed_us"].get<double>(), 0, 2);
  EXPECT_NEAR(overlap["synchronised"]["span_us"].get<double>(), 6800, 2);
  EXPECT_NEAR(overlap["synchronised"]["exposed_us"].get<double>(), 2800, 2);
  const json* together = step_named(document, "overlap: together");
  ASSERT_NE(together, nullptr);
  EXPECT_EQ((*together)["explained_by"][0], "the ledger: the longer of the two");
  EXPECT_FALSE(has(document["findings"], "link.no-overlap"));
}

// One queue is what CUDA_DEVICE_MAX_CONNECTIONS=1 makes of two streams.
TEST(RunOnGpus, OneGpuWhoseStreamsTakeTurns) {
  const BinaryRun run = run_on_gpus({"--json"}, {{"FAKE_CUDA_DEVICES", "1"},
                                                 {"FAKE_CUDA_ONE_QUEUE", "1"},
                                                 {"FAKE_CUDA_WRONG", "1"},
                                                 {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}});
  EXPECT_EQ(run.status, 1) << run;
  const json document = json::parse(run.out, nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << run;
  const json& overlap = document["result"]["overlap"];
  EXPECT_EQ(overlap["by"], "our two-shot kernel");
  EXPECT_EQ(overlap["ranks"], 2);
  EXPECT_EQ(overlap["calls"], 11);  // 0.7 of 4 ms is 11.2 times 0.25 ms
  EXPECT_TRUE(has(document["findings"], "link.no-overlap")) << run;
  EXPECT_TRUE(has(document["findings"], "bench.wrong-results")) << run;
  const json* together = step_named(document, "overlap: together");
  ASSERT_NE(together, nullptr) << run;
  EXPECT_EQ((*together)["explained_by"][0], "CUDA_DEVICE_MAX_CONNECTIONS=1");
  EXPECT_EQ(stage_named(document, "all-to-all")["outcome"], "not here");
  for (const json& stage : document["result"]["stages"])
    EXPECT_LE(stage["took_s"].get<double>(), stage["limit_s"].get<double>() + 1) << stage;
}

// A launch that blocks on the first GPU waits for the second one's, which is never launched.
TEST(RunOnGpus, BlockedLaunchesLeaveNcclOutAndAreSaid) {
  const BinaryRun run = run_on_gpus({"--json"}, {{"CUDA_LAUNCH_BLOCKING", "1"}});
  const json document = json::parse(run.out, nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << run;
  for (const char* name : {"NCCL's collectives", "overlap probe", "all-to-all"}) {
    const json stage = stage_named(document, name);
    EXPECT_EQ(stage["outcome"], "not here") << stage;
    EXPECT_THAT(stage["why"].get<std::string>(), HasSubstr("CUDA_LAUNCH_BLOCKING=1"));
    EXPECT_LT(stage["took_s"].get<double>(), 1) << stage;
  }
}

TEST(RunWithoutGpu, EveryStageSaysThatItIsNotHere) {
  const BinaryRun run = run_on_gpus({}, {{"FAKE_CUDA_DEVICES", "0"}});
  for (const char* stage :
       {"NCCL's collectives", "all_reduce by our kernels", "overlap probe", "all-to-all"}) {
    const std::size_t at = run.out.find(std::string("\n") + stage);
    ASSERT_NE(at, std::string::npos) << stage << run;
    EXPECT_THAT(run.out.substr(at, 80), HasSubstr("not here")) << run;
  }
}

}  // namespace
}  // namespace comm_probe::test
