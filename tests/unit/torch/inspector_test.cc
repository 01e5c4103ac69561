#include "torch/readers/inspector.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "torch/across.h"

namespace comm_probe::test {
namespace {

using core::Input;

std::string record(int rank, int number, int time, const std::string& kind = "AllReduce",
                   int bytes = 26214400) {
  return R"({"header":{"id":"0xe62","comm_name":"DP","rank":)" + std::to_string(rank) +
         R"(,"n_ranks":4,"nnodes":1},"metadata":{"hostname":"n","pid":)" +
         std::to_string(1000 + rank) + R"(},"coll_perf":{"coll":")" + kind + R"(","coll_sn":)" +
         std::to_string(number) + R"(,"coll_msg_size_bytes":)" + std::to_string(bytes) +
         R"(,"coll_exec_time_us":)" + std::to_string(time) +
         R"(,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":"nan"}})" + "\n";
}

torch::InspectorLog read(const std::string& text) {
  Input input = Input::from_memory("node-a-pid1000.log", text);
  auto log = torch::read_inspector(input);
  EXPECT_TRUE(log.ok());
  return log.ok() ? *log : torch::InspectorLog{};
}

TEST(Inspector, RecordsOfOneProcess) {
  const auto log = read(record(2, 1, 260) + record(2, 2, 240, "ReduceScatter", 8388608));
  ASSERT_EQ(log.records.size(), 2u);
  EXPECT_EQ(log.host, "n");
  EXPECT_EQ(log.process, 1002);
  EXPECT_EQ(log.records[0].rank, 2);
  EXPECT_EQ(log.records[0].ranks, 4);
  EXPECT_EQ(log.records[0].time, 260'000);
  EXPECT_EQ(log.records[1].kind, torch::CollectiveClass::kReduceScatter);
  EXPECT_TRUE(log.caveats.empty());
}

TEST(Inspector, ACutLastLineIsTold) {
  const std::string cut = record(0, 2, 300).substr(0, 80);
  const auto log = read(record(0, 1, 260) + cut);
  EXPECT_EQ(log.records.size(), 1u);
  ASSERT_EQ(log.caveats.size(), 1u);
  EXPECT_NE(log.caveats[0].missing.find(":2: 1 record is cut"), std::string::npos)
      << log.caveats[0].missing;
}

TEST(Inspector, ACutRecordInTheMiddleHidesNothing) {
  const std::string cut = record(0, 2, 300).substr(0, 80) + "\n";
  const auto log = read(record(0, 1, 260) + cut + record(0, 3, 270));
  EXPECT_EQ(log.records.size(), 2u);
  EXPECT_EQ(log.caveats.size(), 1u);
}

TEST(Inspector, PrettyPrintedAsInItsReadme) {
  std::string text = record(1, 1, 260);
  for (std::size_t at = 0; (at = text.find(",\"", at)) != std::string::npos; at += 4)
    text.replace(at, 1, ",\n  ");
  EXPECT_EQ(read(text + text).records.size(), 2u);
}

TEST(Inspector, WhatIsNoRecordIsAnError) {
  for (const char* text : {"", "hello\n", "{}\n", "{\"header\": 3, \"coll_perf\": []}\n",
                           "{\"header\":{},\"coll_perf\":{\"coll_exec_time_us\":-1e300}}\n"}) {
    Input input = Input::from_memory("x.log", text);
    EXPECT_FALSE(torch::read_inspector(input).ok()) << text;
  }
}

TEST(Inspector, RecordsOfOthersAreRecognised) {
  EXPECT_TRUE(torch::looks_like_inspector(record(0, 1, 1)));
  EXPECT_FALSE(torch::looks_like_inspector("{\"traceEvents\": []}"));
}

TEST(Inspector, SizesOfGatheringOperationsCountAllRanks) {
  const auto job = torch::comm_job_of(
      {read(record(0, 1, 240, "AllGather", 1000)), read(record(1, 1, 250, "AllGather", 1000))});
  EXPECT_EQ(job.job.ranks[0].calls[0].bytes, 4000u);
  EXPECT_TRUE(job.caveats.empty());
}

TEST(Inspector, EachKindIsCountedApart) {
  const auto of_rank = [](int rank, int time) {
    return read(record(rank, 1, time) + record(rank, 1, time + 5, "AllGather"));
  };
  const auto across =
      torch::across_ranks(torch::comm_job_of({of_rank(0, 300), of_rank(1, 200)}).job);
  EXPECT_EQ(across.matching.accepted, 2u);
  for (const auto& times : across.waits.meetings) EXPECT_EQ(times.shortest, 1);
}

// The logs of the data set: public/INDEX.md names rank 2 as the last arriver of all five.
TEST(Inspector, TheLastArriverOfTheRecordedLogs) {
  const std::filesystem::path folder = COMM_PROBE_SHARED "/data/trace/public/inspector";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  std::vector<torch::InspectorLog> logs;
  std::size_t caveats = 0;
  for (int pid = 1000; pid < 1004; ++pid) {
    auto input = Input::open(folder / ("node-a-pid" + std::to_string(pid) + ".log"));
    ASSERT_TRUE(input.ok());
    auto log = torch::read_inspector(*input);
    ASSERT_TRUE(log.ok());
    caveats += log->caveats.size();
    logs.push_back(std::move(*log));
  }
  EXPECT_EQ(caveats, 1u);  // the last line of pid 1003 is cut
  const auto across = torch::across_ranks(torch::comm_job_of(logs).job);
  EXPECT_EQ(across.matching.accepted, 5u);
  for (const auto& times : across.waits.meetings) {
    EXPECT_EQ(across.rank_number(times.shortest), 2);
    EXPECT_FALSE(times.together);
  }
  // 26214400 B in 260 us on 4 ranks, as the log of rank 2 says: 151.24 GB/s
  EXPECT_NEAR(across.rates.front().busbw()->in_GBps(), 150, 2);
}

}  // namespace
}  // namespace comm_probe::test
