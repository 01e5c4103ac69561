#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

TEST(Link, MeasuresTheHost) {
  const BinaryRun run = run_binary({"link", "--only", "host", "--quick", "--json"});
  ASSERT_TRUE(run.status == 0 || run.status == 1) << run;  // 1: a quota, one CPU
  const auto document = nlohmann::json::parse(run.out);
  EXPECT_EQ(document["command"], "link");
  EXPECT_FALSE(document["result"]["host"]["cpus"].empty());
  std::set<std::string> kinds;
  for (const auto& link : document["result"]["links"]) {
    kinds.insert(link["kind"]);
    EXPECT_TRUE(link["alpha_us"].is_number() || link["beta_GBps"].is_number()) << link;
    EXPECT_GT(link["samples"].get<int>(), 2) << link;
    EXPECT_EQ(link["basis"], "measured");
  }
  for (const char* kind : {"flag", "wake", "copy", "exchange", "reduce", "memory"})
    EXPECT_TRUE(kinds.contains(kind)) << kind;
}

TEST(Link, SaysWhatBelongsToALaterRelease) {
  const BinaryRun peer = run_binary({"link", "--peer", "node07"});
  EXPECT_EQ(peer.status, 3) << peer;
  EXPECT_NE(peer.err.find("node07"), std::string::npos) << peer;
}

TEST(Link, RefusesUnknownKinds) {
  const BinaryRun run = run_binary({"link", "--only", "hots"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_NE(run.err.find("did you mean 'host'?"), std::string::npos) << run;
}

// A driver that answers on host memory (tests/unit/cuda/fake_cuda): what is measured is nonsense,
// that it is measured, named and reported is not.
BinaryRun run_with_gpus(const std::vector<std::string>& arguments,
                        std::vector<std::pair<std::string, std::string>> environment = {}) {
  environment.emplace_back("LD_LIBRARY_PATH", COMM_PROBE_FAKE_CUDA);
  return run_binary(arguments,
                    {.environment = std::move(environment), .limit = std::chrono::seconds(60)});
}

std::set<std::string> caveats_of(const nlohmann::json& document) {
  std::set<std::string> ids;
  for (const auto& caveat : document["caveats"]) ids.insert(caveat["id"]);
  return ids;
}

TEST(LinkOfGpus, MeasuresEveryKind) {
  const BinaryRun run = run_with_gpus({"link", "--only", "pcie,p2p", "--quick", "--json"});
  ASSERT_TRUE(run.status == 0 || run.status == 1) << run;
  const auto document = nlohmann::json::parse(run.out);
  std::set<std::string> kinds;
  for (const auto& link : document["result"]["links"]) {
    kinds.insert(link["kind"]);
    EXPECT_TRUE(link["alpha_us"].is_number() || link["rate_GBps"].is_number()) << link;
    EXPECT_EQ(link["basis"], "measured");
    const bool is_by_size = link["kind"] == "host to GPU" || link["kind"] == "GPU to host";
    EXPECT_EQ(!link["points"].empty(), is_by_size) << link;
  }
  const std::set<std::string> all = {"host to GPU",  "GPU to host", "both ways",
                                     "local copy",   "write",       "read",
                                     "16-byte copy", "load",        "store"};
  EXPECT_EQ(kinds, all);
  const auto& gpus = document["result"]["gpus"];
  EXPECT_EQ(gpus["devices"].size(), 2u);
  EXPECT_EQ(gpus["devices"][1]["bus_id"], "0000:1b:00.0");
  EXPECT_EQ(gpus["peers"].size(), 2u);
  EXPECT_EQ(gpus["peers"][0]["direct"], true);
  std::set<std::string> costs;
  for (const auto& cost : gpus["costs"]) costs.insert(cost["name"]);
  for (const char* cost :
       {"launch", "launch + synchronize", "graph launch", "event record", "stream wait event",
        "stream to stream", "register host memory", "open IPC handle"})
    EXPECT_TRUE(costs.contains(cost)) << cost;
}

TEST(LinkOfGpus, MeasuresOnlyWhatIsAskedFor) {
  const BinaryRun run =
      run_with_gpus({"link", "--only", "p2p", "--quick", "--json"}, {{"FAKE_CUDA_DEVICES", "1"}});
  const auto document = nlohmann::json::parse(run.out);
  std::set<std::string> kinds;
  for (const auto& link : document["result"]["links"]) kinds.insert(link["kind"]);
  EXPECT_EQ(kinds, (std::set<std::string>{"local copy", "16-byte copy", "load", "store"}));
  const BinaryRun text =
      run_with_gpus({"link", "--only", "p2p", "--quick"}, {{"FAKE_CUDA_DEVICES", "1"}});
  EXPECT_NE(text.out.find("only the entry of the GPU with itself"), std::string::npos) << text;
}

TEST(LinkOfGpus, PartThatFailsIsACaveatAndTheRestIsMeasured) {
  const BinaryRun run = run_with_gpus({"link", "--only", "pcie,p2p", "--quick", "--json"},
                                      {{"FAKE_CUDA_FAIL", "cuIpcOpenMemHandle"}});
  EXPECT_TRUE(run.status == 5 || run.status == 1) << run;
  const auto document = nlohmann::json::parse(run.out);
  EXPECT_TRUE(caveats_of(document).contains("link.gpu-part-unmeasured"));
  EXPECT_NE(run.out.find("CUDA_ERROR_UNKNOWN (999) from cuIpcOpenMemHandle: unknown error"),
            std::string::npos);
  EXPECT_GT(document["result"]["links"].size(), 20u);
}

TEST(LinkOfGpus, GpusThatDoNotReachEachOtherAreReported) {
  const BinaryRun run =
      run_with_gpus({"link", "--only", "p2p", "--quick", "--json"}, {{"FAKE_CUDA_NO_PEERS", "1"}});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_NE(run.out.find("curve.p2p-unavailable"), std::string::npos) << run;
}

TEST(LinkOfGpus, NoGpuIsOneLine) {
  for (const char* kind : {"pcie", "p2p"}) {
    const BinaryRun run = run_with_gpus({"link", "--only", kind}, {{"FAKE_CUDA_DEVICES", "0"}});
    EXPECT_EQ(run.status, 3) << run;
    EXPECT_TRUE(run.out.empty()) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run;
    EXPECT_NE(run.err.find("CUDA_ERROR_NO_DEVICE (100) from cuInit"), std::string::npos) << run;
  }
}

TEST(LinkOfGpus, ManyGpusAreALinePerKind) {
  const BinaryRun run =
      run_with_gpus({"link", "--only", "p2p", "--quick"}, {{"FAKE_CUDA_DEVICES", "4"}});
  EXPECT_NE(run.out.find("device_to_device_memcpy_write_ce"), std::string::npos) << run;
  EXPECT_EQ(run.out.find("GPU 2 -> GPU 3"), std::string::npos) << run;
}

}  // namespace
}  // namespace comm_probe::test
