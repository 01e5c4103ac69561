// Files as people give them: two of one rank, of two jobs, cut, mixed with others, without a rank.
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

// A trace with one compute and one communication kernel, as Kineto lays it out.
std::string trace_text(const std::string& distributed) {
  return "{\n  \"schemaVersion\": 1,\n" + distributed + R"json(  "traceEvents": [
  {
    "ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7,
    "ts": 1000.000, "dur": 30.000,
    "args": {
      "device": 0, "stream": 7, "correlation": 1
    }
  },
  {
    "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0,
    "tid": 20, "ts": 1020.000, "dur": 20.000,
    "args": {
      "device": 0, "stream": 20, "correlation": 2
    }
  },
  {
    "name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 1050.000
  }
  ],
  "traceName": "a.json"
})json";
}
std::string of_rank(int rank, int world) {
  return "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": " + std::to_string(rank) +
         ", \"world_size\": " + std::to_string(world) + "},\n";
}

class TraceInputs : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/trace" + std::to_string(::getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    return folder_ + "/" + name;
  }
  BinaryRun run() const { return run_binary({"trace", "--json", folder_}); }

  std::string folder_ = {};
};

std::vector<std::string> caveats_of(const BinaryRun& run) {
  std::vector<std::string> ids;
  const json document = json::parse(run.out, nullptr, false);
  if (document.is_object())
    for (const json& caveat : document.at("caveats")) ids.push_back(caveat.at("id"));
  return ids;
}
std::vector<int> ranks_of(const BinaryRun& run) {
  std::vector<int> ranks;
  const json document = json::parse(run.out, nullptr, false);
  if (document.is_object())
    for (const json& rank : document.at("result").at("ranks")) ranks.push_back(rank.at("rank"));
  return ranks;
}

TEST_F(TraceInputs, TwoFilesOfOneRankAreAnError) {
  const std::string first = write("a.json", trace_text(of_rank(3, 8)));
  const std::string second = write("b.json", trace_text(of_rank(3, 8)));
  const BinaryRun result = run();
  EXPECT_EQ(result.status, 2) << result;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(lines_of(result.err).size(), 1U);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr(first), HasSubstr(second)));
}

TEST_F(TraceInputs, TwoJobsAreAnError) {
  write("a.json", trace_text(of_rank(0, 8)));
  write("b.json", trace_text(of_rank(1, 16)));
  const BinaryRun result = run();
  EXPECT_EQ(result.status, 2) << result;
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr("a.json"), HasSubstr("b.json")));
}

TEST_F(TraceInputs, ARankComesFromTheNameElseFromTheOrder) {
  write("host_4711.1712195495.rank2.pt.trace.json", trace_text(""));
  write("host_4711.1712195496.pt.trace.json", trace_text(""));
  const BinaryRun result = run();
  EXPECT_EQ(ranks_of(result), (std::vector<int>{0, 2})) << result;
  EXPECT_THAT(caveats_of(result), testing::Contains("trace.rank-assumed"));
}

TEST_F(TraceInputs, OneDamagedFileDoesNotHideTheOthers) {
  write("rank0.json", trace_text(of_rank(0, 2)));
  const std::string whole = trace_text(of_rank(1, 2));
  write("rank1.json", whole.substr(0, whole.find("Record Window End")));
  write("README.txt", "traces of Tuesday\n");
  const BinaryRun result = run();
  EXPECT_EQ(ranks_of(result), (std::vector<int>{0, 1})) << result;
  EXPECT_THAT(caveats_of(result), testing::IsSupersetOf({"trace.cut", "trace.passed-over"}));
  EXPECT_EQ(result.status, 5) << result;
}

TEST_F(TraceInputs, WhatIsNoTraceIsNamed) {
  const std::string file = write("a.json", "{\"entries\": []}");
  const BinaryRun result = run_binary({"trace", file});
  EXPECT_EQ(result.status, 2) << result;
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr(file), HasSubstr("trace")));
}

TEST_F(TraceInputs, StandardInputAndCsv) {
  const std::string csv = folder_ + "/out.csv";
  const BinaryRun result =
      run_binary({"trace", "-", "--json", "--csv", csv}, {.stdin_text = trace_text(of_rank(0, 1))});
  EXPECT_EQ(ranks_of(result), (std::vector<int>{0})) << result;
  std::ifstream lines(csv);
  std::string header, total;
  std::getline(lines, header);
  std::getline(lines, total);
  EXPECT_EQ(header,
            "rank,step,span_ns,comp_ns,comm_ns,mem_ns,overlap_ns,exposed_comm_ns,exposed_mem_ns,"
            "idle_ns,overlap_pct,gpu_ops,comm_kernels");
  EXPECT_EQ(total, "0,total,40000,30000,20000,0,10000,10000,0,0,50.0000,2,1");
}

TEST_F(TraceInputs, ABadPatternIsUsage) {
  const BinaryRun result = run_binary({"trace", "--step-regex", "(", folder_});
  EXPECT_EQ(result.status, 2) << result;
  EXPECT_THAT(result.err, HasSubstr("--step-regex"));
}

TEST_F(TraceInputs, FurtherKernelsAreToldByTheUser) {
  write("rank0.json", trace_text(of_rank(0, 1)));
  const BinaryRun result = run_binary({"trace", "--json", "--comm-kernel", "GEMM", folder_});
  const json document = json::parse(result.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << result;
  EXPECT_EQ(document["result"]["ranks"][0]["total"]["comm_ns"], 40000);
}

}  // namespace
}  // namespace comm_probe::test
