// What only several ranks together show, and logs that were damaged on their way.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;

std::string bare(int rank, const std::string& message) {
  return fmt::format("node{}:{}:{} [{}] NCCL INFO {}", rank / 2, 1000 + rank, 2000 + rank, rank % 2,
                     message);
}
std::string line(int rank, const std::string& message) { return bare(rank, message) + '\n'; }
std::string job(const char* pointer = "0xa", const char* id = "0x77") {
  std::string text;
  for (const char* state : {"START", "COMPLETE"})
    for (int rank = 0; rank < 4; ++rank)
      text += line(rank, fmt::format("ncclCommInitRank comm {}{} rank {} nranks 4 cudaDev {} "
                                     "nvmlDev 0 busId {}b000 commId {} - Init {}",
                                     pointer, rank, rank, rank % 2, rank % 2, id, state));
  return text;
}
std::string call(int rank, int number, const char* pointer = "0xa") {
  return line(rank, fmt::format("AllReduce: opCount {:x} sendbuff 0x1 recvbuff 0x2 count 8 "
                                "datatype 7 op 0 root 0 comm {}{} [nranks=4] stream 0x3",
                                number, pointer, rank));
}

BinaryRun run(const std::string& text) {
  return run_binary({"log", "-", "--json"}, {.stdin_text = text});
}
json judged(const std::string& text) {
  const BinaryRun done = run(text);
  EXPECT_EQ(done.err, "") << done;
  return json::parse(done.out);
}
const json find(const json& document, const std::string& id) {
  for (const json& finding : document.at("findings"))
    if (finding.at("id") == id) return finding;
  return {};
}

TEST(LogAcross, TwoVersionsInOneCommunicator) {
  const json finding = find(judged(line(0, "NCCL version 2.28.9+cuda12.8") +
                                   line(2, "NCCL version 2.27.3+cuda12.8") + job()),
                            "log.version-mismatch");
  ASSERT_FALSE(finding.is_null());
  EXPECT_EQ(finding.at("summary"),
            "NCCL 2.28.9+cuda12.8 on node0, 2.27.3+cuda12.8 on node1, in one communicator");
}

TEST(LogAcross, TwoNetworksInOneCommunicator) {
  std::string text = job();
  for (int rank = 0; rank < 4; ++rank)
    text += line(rank, rank < 2 ? "Using network IB" : "Using network Socket");
  const json finding = find(judged(text), "log.networks-differ");
  ASSERT_FALSE(finding.is_null());
  EXPECT_NE(std::string(finding.at("summary")).find("IB on node0, Socket on node1"),
            std::string::npos)
      << finding;
}

TEST(LogAcross, ARankWhoseCallsStopIsNamed) {
  std::string text = job();
  for (int number = 0; number < 100; ++number)
    for (int rank = 0; rank < 4; ++rank)
      if (rank != 2 || number <= 5) text += call(rank, number);
  const json finding = find(judged(text), "log.rank-behind");
  ASSERT_FALSE(finding.is_null());
  EXPECT_EQ(finding.at("ranks"), json({2}));
  EXPECT_EQ(finding.at("confidence"), "possible");
}

TEST(LogAcross, TwoCommunicatorsInOppositeOrder) {
  std::string text = job("0xa", "0x77") + job("0xb", "0x78");
  for (int rank = 0; rank < 3; ++rank) text += call(rank, 0, "0xa") + call(rank, 0, "0xb");
  EXPECT_EQ(run(text + call(3, 0, "0xa") + call(3, 0, "0xb")).status, 0);
  const json finding =
      find(judged(text + call(3, 0, "0xb") + call(3, 0, "0xa")), "log.order-differs");
  ASSERT_FALSE(finding.is_null());
  EXPECT_NE(std::string(finding.at("summary")).find("rank 3"), std::string::npos) << finding;
}

TEST(LogAcross, ASettingThatSomeRanksLack) {
  std::string text = job();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(run(text).status, rank == 0 ? 0 : 1);
    text += line(rank, "NCCL_BUFFSIZE set by environment to 8388608.");
  }
  EXPECT_EQ(run(text).status, 0);
}

// NCCL goes over TCP although something faster was there.
TEST(LogAcross, AFallbackToTcpIsNamedWithItsReason) {
  std::string sockets = job();
  for (int rank = 0; rank < 4; ++rank) sockets += line(rank, "Using network Socket");
  EXPECT_EQ(run(sockets).status, 0);
  EXPECT_EQ(run(line(0, "Failed to initialize NET plugin IB") + sockets).status, 0);
  for (const auto& [told, id] :
       {std::pair("Failed to initialize NET plugin AWS Libfabric", "log.tcp-fallback"),
        std::pair("NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>", "log.tcp-fallback"),
        std::pair("NCCL_IB_DISABLE set by environment to 1.", "log.tcp-by-setting")})
    EXPECT_FALSE(find(judged(line(0, told) + sockets), id).is_null()) << told;
}

TEST(LogAcross, APrefixOfNicsTakesMore) {
  const std::string nics = line(0, "NET/IB : Using [0]mlx5_1:1/IB [1]mlx5_10:1/IB [RO]; OOB eth0:");
  const std::string hca = "NCCL_IB_HCA set by environment to ";
  EXPECT_FALSE(find(judged(job() + line(0, hca + "mlx5_1") + nics), "log.hca-prefix").is_null());
  for (const char* value : {"=mlx5_1", "mlx5", "mlx5_1,mlx5_10"})
    EXPECT_TRUE(find(judged(job() + line(0, hca + value) + nics), "log.hca-prefix").is_null())
        << value;
}

// A Flight Recorder dump in the same directory is no damaged log.
TEST(LogDamage, ZerosOfOtherFilesDoNotMatter) {
  const std::filesystem::path folder = testing::TempDir() + "zeros_beside";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "rank0.log") << job();
  std::ofstream(folder / "dump") << std::string("\x80\x02}q\0\0\n\0", 8);
  const BinaryRun done = run_binary({"log", folder.string(), "--json"}, {});
  std::filesystem::remove_all(folder);
  EXPECT_EQ(done.status, 0) << done;
}

TEST(LogDamage, AFileGivenTwiceIsReadOnce) {
  const std::string path = testing::TempDir() + "twice.log";
  std::ofstream(path) << job();
  const BinaryRun done = run_binary({"log", path, path, "--json"}, {});
  std::filesystem::remove(path);
  EXPECT_EQ(json::parse(done.out).at("result").at("nccl_lines"), 8) << done;
}

// The same job, whole and damaged, gives the same counts.
TEST(LogDamage, TwoMessagesInOneLineAreBothRead) {
  const std::string text =
      bare(0, "Bootstrap: Using eth0:10.0.0.1<0>") + bare(1, "Bootstrap: Using eth0:10.0.0.1<0>") +
      '\n' + bare(2, "Bootstrap: Using eth0:10.0.0.2<0>") + line(3, "Using network IB") + job();
  const BinaryRun done = run(text);
  EXPECT_EQ(done.status, 0) << done;
  const json result = json::parse(done.out).at("result");
  EXPECT_EQ(result.at("processes"), 4);
  EXPECT_EQ(result.at("hosts"), 2);
  EXPECT_EQ(result.at("networks").size(), 1U);
}

TEST(LogDamage, ATornPrefixMakesNoHostAndNoCommunicator) {
  const json result = judged(job() + "03:3134364 [0] NCCL INFO Using network IB\n" +
                             "3] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM/read\n")
                          .at("result");
  EXPECT_EQ(result.at("processes"), 4);
  EXPECT_EQ(result.at("hosts"), 2);
  EXPECT_EQ(result.at("communicators").size(), 1U);
  EXPECT_EQ(result.at("torn_lines"), 2);
}

TEST(LogDamage, BrokenLinesAreNoCleanBill) {
  std::string text = job();
  for (int i = 0; i < 4; ++i) text += "3] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM\n";
  EXPECT_EQ(run(text).status, 5);
}

TEST(LogDamage, ZeroBytesAreSkippedAndSaid) {
  for (const std::string& text :
       {std::string(8192, '\0') + job(), std::string(3000000, '\0') + "\n" + job(),
        job() + std::string(3, '\0') + "\n"}) {
    const BinaryRun done = run(text);
    EXPECT_EQ(done.status, 5) << done;
    const json document = json::parse(done.out);
    EXPECT_EQ(document.at("result").at("processes"), 4);
    EXPECT_EQ(document.at("caveats").at(0).at("id"), "log.zero-bytes");
  }
  const BinaryRun failed =
      run(std::string(8192, '\0') + job() +
          "\nnode0:1000:2000 [0] x.cc:1 NCCL WARN Cuda failure 2 'out of memory'\n");
  EXPECT_EQ(failed.status, 1) << failed;
}

}  // namespace
}  // namespace comm_probe::test
