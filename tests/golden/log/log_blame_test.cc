// Who is blamed, and who is not: the texts follow shared spec nccl-7-log, 7.3 and 7.6.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;

// Two ranks per host.
std::string line(int rank, const std::string& message) {
  return fmt::format("node{}:{}:{} [{}] NCCL INFO {}\n", rank / 2, 1000 + rank, 2000 + rank,
                     rank % 2, message);
}
std::string warning(int rank, const std::string& message) {
  return fmt::format("\nnode{}:{}:{} [{}] x.cc:1 NCCL WARN {}\n", rank / 2, 1000 + rank,
                     2000 + rank, rank % 2, message);
}
std::string init(int rank, const char* state, int gpu) {
  return line(rank, fmt::format("ncclCommInitRank comm 0xa{} rank {} nranks 4 cudaDev {} nvmlDev "
                                "{} busId {}b000 commId 0x77 - Init {}",
                                rank, rank, gpu, gpu, 1 + gpu, state));
}
std::string all(const char* state) {
  std::string text;
  for (int rank = 0; rank < 4; ++rank) text += init(rank, state, rank % 2);
  return text;
}
std::string healthy() { return all("START") + all("COMPLETE"); }

json judged(const std::string& text) {
  const BinaryRun run = run_binary({"log", "-", "--json"}, {.stdin_text = text});
  EXPECT_EQ(run.err, "") << run;
  return json::parse(run.out);
}
json first(const std::string& text) {
  const json findings = judged(text).at("findings");
  return findings.empty() ? json{{"id", ""}, {"summary", ""}} : findings.at(0);
}
bool says(const json& finding, const std::string& words) {
  return std::string(finding.at("summary")).find(words) != std::string::npos;
}

TEST(LogBlame, WhoWaitsWithEverybodyIsNotBlamed) {
  const json finding = first(all("START"));
  EXPECT_EQ(finding.at("id"), "log.init-incomplete");
  EXPECT_EQ(finding.at("ranks"), json({0, 1, 2, 3}));
  EXPECT_TRUE(says(finding, "each has started")) << finding;
}

TEST(LogBlame, TheRefusedAddressIsNamedWhereAllWait) {
  const json finding =
      first(all("START") + line(1,
                                "socketPollConnect: connect to 10.0.0.9<5555> returned "
                                "Connection refused, retrying (3/34) after sleep for 300 msec"));
  EXPECT_TRUE(says(finding, "10.0.0.9")) << finding;
}

TEST(LogBlame, TheOneThatDidNotEndItsInitialisationIsNamed) {
  const json finding = first(all("START") + init(0, "COMPLETE", 0) + init(1, "COMPLETE", 1) +
                             init(2, "COMPLETE", 0));
  EXPECT_EQ(finding.at("id"), "log.init-incomplete");
  EXPECT_EQ(finding.at("ranks"), json({3}));
}

TEST(LogBlame, TwoRanksWithOneBusIdOfAHostShareAGpu) {
  const json finding =
      first(init(0, "START", 0) + init(1, "START", 0) + init(2, "START", 0) + init(3, "START", 1));
  EXPECT_EQ(finding.at("id"), "log.duplicate-gpu");
  EXPECT_EQ(finding.at("ranks"), json({0, 1}));
  EXPECT_TRUE(says(finding, "bus id 1b000")) << finding;
}

TEST(LogBlame, EachSharedGpuHasItsOwnBusId) {
  std::string text = all("START");
  for (const auto& [a, b, bus] : {std::tuple(0, 2, "31000"), std::tuple(2, 0, "31000"),
                                  std::tuple(1, 3, "4b000"), std::tuple(3, 1, "4b000")})
    text += warning(a, fmt::format("Duplicate GPU detected : rank {} and rank {} both on CUDA "
                                   "device {}",
                                   a, b, bus));
  const json finding = first(text);
  EXPECT_EQ(finding.at("ranks"), json({0, 1, 2, 3}));
  EXPECT_TRUE(says(finding, "ranks 0 and 2 on bus id 31000; ranks 1 and 3 on bus id 4b000"))
      << finding;
}

std::string call(int rank, int number, int count, const char* comm = "0xa") {
  return line(rank, fmt::format("AllReduce: opCount {:x} sendbuff 0x1 recvbuff 0x2 count {} "
                                "datatype 7 op 0 root 0 comm {}{} [nranks=4] stream 0x3",
                                number, count, comm, rank));
}

TEST(LogBlame, OnlyAMinorityIsBlamed) {
  json finding = first(healthy() + call(0, 0, 8) + call(1, 0, 8) + call(2, 0, 4) + call(3, 0, 4));
  EXPECT_EQ(finding.at("id"), "log.ranks-disagree");
  EXPECT_EQ(finding.at("ranks"), json::array());
  EXPECT_TRUE(says(finding, "4 on ranks 2, 3, 8 on ranks 0, 1")) << finding;
  // the odd one comes first in the log
  finding = first(healthy() + call(0, 0, 8) + call(1, 0, 4) + call(2, 0, 4) + call(3, 0, 4));
  EXPECT_EQ(finding.at("ranks"), json::array({0}));
}

TEST(LogBlame, NoticesOfTheSubnetManagerAreNoFailure) {
  for (const char* event :
       {"client reregistration(17)", "LID change(11)", "GID table change(18)", "SM change(13)"})
    EXPECT_EQ(first(healthy() + warning(1, fmt::format("NET/IB : mlx5_1:1 Got non-fatal async "
                                                       "event: {}",
                                                       event)))
                  .at("id"),
              "")
        << event;
  const json flap =
      first(healthy() + warning(1, "NET/IB : mlx5_1:1 Got non-fatal async event: port error(10)"));
  EXPECT_TRUE(says(flap, "port error(10), port mlx5_1:1")) << flap;
}

TEST(LogBlame, Cuda802IsTheFabricManager) {
  const json finding =
      first(all("START") + warning(1, "Cuda failure 802 'system not yet initialized'"));
  EXPECT_EQ(finding.at("id"), "log.fabric-manager");
  EXPECT_EQ(finding.at("layer"), "hardware");
  EXPECT_NE(std::string(finding.at("next").at(0)).find("nvidia-fabricmanager"), std::string::npos);
}

TEST(LogBlame, TheFieldsOfAFailedQueuePairAreNamed) {
  const char* kLine =
      "Call to ibv_modify_qp failed with {}, on dev mlx5_2:1, curr state INIT, next state RTR, "
      "local GID index {}, local GID {}, remote GID ::ffff:10.2.0.1";
  EXPECT_TRUE(
      says(first(healthy() + warning(1, fmt::format(fmt::runtime(kLine), "110 Connection timed out",
                                                    3, "::ffff:10.1.0.1"))),
           "mlx5_2:1 GID index 3, ::ffff:10.1.0.1 -> ::ffff:10.2.0.1 (different subnets)"));
  EXPECT_TRUE(says(first(healthy() + warning(1, fmt::format(fmt::runtime(kLine),
                                                            "22 Invalid argument", 7, "::"))),
                   "mlx5_2:1 GID index 7 is not valid"));
}

TEST(LogBlame, TheRankThatEndsWithoutAnErrorIsTheFirstToLookAt) {
  std::string text = healthy();
  for (int rank = 0; rank < 3; ++rank)
    text += warning(rank, "socketProgress: Connection closed by remote peer node1.cluster<40000>");
  const json finding = first(text);
  EXPECT_EQ(finding.at("id"), "log.only-follow-ups");
  EXPECT_EQ(finding.at("ranks"), json({3}));
  EXPECT_EQ(finding.at("confidence"), "likely");
  // cut in the last line
  EXPECT_EQ(
      first(text + "\nnode0:1000:2000 [0] x.cc:1 NCCL WARN socketProgress: Connection closed by "
                   "remo")
          .at("id"),
      "log.only-follow-ups");
}

TEST(LogBlame, TheLimitOfLockedMemoryOfAQueue) {
  EXPECT_EQ(first(all("START") +
                  warning(1, "Call to ibv_create_cq failed with error Cannot allocate memory"))
                .at("id"),
            "log.locked-memory");
}

TEST(LogBlame, WhatConcernsTheJobIsOnlySaidOnAHost) {
  const json refused = first(healthy() + line(0, "NCCL_ALGO set by environment to NVLS") +
                             line(1, "NCCL_ALGO set by environment to NVLS") +
                             line(2, "NCCL_ALGO set by environment to NVLS") +
                             line(3, "NCCL_ALGO set by environment to NVLS") +
                             warning(1,
                                     "Error : no algorithm/protocol available for function "
                                     "AllGather with datatype ncclFloat"));
  EXPECT_TRUE(says(refused, "(AllGather; NCCL_ALGO=NVLS), said on node0")) << refused;
}

TEST(LogBlame, DockersBridgeIsNoWayToMeet) {
  EXPECT_EQ(first(all("START") + line(0, "Bootstrap: Using docker0:172.17.0.1<0>") +
                  line(2, "Bootstrap: Using docker0:172.17.0.1<0>"))
                .at("id"),
            "log.virtual-interface");
}

// Whatever is found says what to do next.
TEST(LogBlame, EveryFindingSaysWhatToDoNext) {
  for (const char* told :
       {"NET/IB : mlx5_2:1 Got async event : port error",
        "NET/IB : Attempted to connect incompatible devices: a b",
        "Cuda failure 2 'out of memory'",
        "Call to ibv_create_qp failed with error Invalid argument",
        "Call to ibv_reg_mr failed with error Bad address",
        "XML Parse error : unterminated string",
        "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 1",
        "MNNVL (cliqueSize 72) is available but not working on this system. Check the IMEX",
        "Mismatched NCCL version detected : rank 0 version 22809 rank 1 version 22707",
        "Error : no algorithm/protocol available for function AllGather",
        "Error : ring 0 does not loop back to start (3 != 0)",
        "Cuda failure 'no kernel image is available for execution on the device'",
        "No transport found for rank 0[1000] -> rank 1[2000]",
        "Could not find any local path from gpu 3 to net.",
        "P2P is disabled between NVLINK connected GPUs 1 and 2.",
        "no socket interface found",
        "Bootstrap Root : rank 3 of 8 ranks has already checked in",
        "socketFinalizeAccept from 10.0.0.1<3>: wrong type 3 != 2",
        "Error while attaching to shared memory segment /dev/shm/nccl-abc (size 9637888), error: "
        "No such file or directory (2)",
        "connecting to address with family 0 is neither AF_INET(2) nor AF_INET6(10)",
        "Call to ibv_open_device failed",
        "Trying to send to self without a matching recv",
        "Something that nobody has seen before"}) {
    const json document = judged(healthy() + warning(1, told));
    for (const json& finding : document.at("findings"))
      EXPECT_FALSE(finding.at("next").empty()) << finding;
  }
}

TEST(LogBlame, AcsIsNoGuessWithoutRdma) {
  const json findings = judged(healthy() + line(0, "Using network Socket") +
                               warning(0, "socketProgress: Connection closed by remote peer n<1>"))
                            .at("findings");
  for (const json& finding : findings) EXPECT_NE(finding.at("id"), "log.possible-acs");
}

TEST(LogBlame, BothVersionsStandBesideTheirRanks) {
  const json finding = first(all("START") + warning(1,
                                                    "Mismatched NCCL version detected : rank 0 "
                                                    "version 22809 rank 2 version 22703"));
  EXPECT_EQ(finding.at("ranks"), json({0, 2}));
  EXPECT_TRUE(says(finding, "rank 0 loads NCCL 2.28.9, rank 2 loads 2.27.3")) << finding;
}

}  // namespace
}  // namespace comm_probe::test
