// `log` from the outside: one screen however many ranks, causes before what follows, hostile
// inputs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;

std::string line(int rank, const std::string& message) {
  return fmt::format("node{}:{}:{} [{}] NCCL INFO {}\n", rank / 8, 100 + rank, 9000 + rank,
                     rank % 8, message);
}
std::string warning(int rank, const std::string& message) {
  return fmt::format("\nnode{}:{}:{} [{}] x.cc:1 NCCL WARN {}\n", rank / 8, 100 + rank, 9000 + rank,
                     rank % 8, message);
}

std::string job(int ranks) {
  std::string text;
  for (const char* state : {"START", "COMPLETE"})
    for (int rank = 0; rank < ranks; ++rank) {
      if (*state == 'C')
        text += line(rank, fmt::format("comm 0x{:x} rank {} nRanks {} nNodes {} localRanks 8 "
                                       "localRank {} MNNVL 0",
                                       rank, rank, ranks, ranks / 8, rank % 8)) +
                line(rank, fmt::format("Channel 00/0 : {}[{}] -> {}[0] via P2P/CUMEM", rank,
                                       rank % 8, rank + 1));
      text += line(rank, fmt::format("ncclCommInitRank comm 0x{:x} rank {} nranks {} cudaDev {} "
                                     "nvmlDev {} busId {}000 commId 0xabc - Init {}",
                                     rank, rank, ranks, rank % 8, rank % 8, 1 + rank % 8, state));
    }
  return text;
}

json judged(const std::string& text) {
  const BinaryRun run = run_binary({"log", "-", "--json"}, {.stdin_text = text});
  EXPECT_EQ(run.err, "") << run;
  return json::parse(run.out);
}

std::string first_id(const std::string& text) {
  const json findings = judged(text).at("findings");
  return findings.empty() ? "" : findings.at(0).at("id");
}

TEST(Log, TenThousandRanksAreOneScreen) {
  const BinaryRun run = run_binary({"log", "-"}, {.stdin_text = job(10000)});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_LE(std::count(run.out.begin(), run.out.end(), '\n'), 40) << run;
  EXPECT_NE(run.out.find("10000"), std::string::npos) << run;
  std::size_t widest = 0, width = 0;
  for (const char c : run.out) {
    width = c == '\n' ? 0 : width + 1;
    widest = std::max(widest, width);
  }
  EXPECT_LE(widest, 100U) << run;
}

TEST(Log, TheFirstFailureIsNamedBeforeItsConsequences) {
  std::string text = job(64);
  for (int rank = 0; rank < 64; ++rank)
    if (rank != 9)
      text += warning(rank, "socketProgress: Connection closed by remote peer node1<41109>") +
              line(rank, "misc/socket.cc:749 -> 6");
  text += warning(9, "Failed to CUDA calloc 4194304 bytes");
  const json document = judged(text);
  const json& first = document.at("findings").at(0);
  EXPECT_EQ(first.at("id"), "log.gpu-memory");
  EXPECT_EQ(first.at("ranks"), json({9}));
  const std::string summary = first.at("summary");
  EXPECT_NE(summary.find("63 lines of follow-ups"), std::string::npos) << summary;
}

TEST(Log, OnlyConsequencesBlameNobody) {
  const std::string text =
      job(16) + warning(3, "socketProgress: Connection closed by remote peer node1<41109>");
  EXPECT_EQ(first_id(text), "log.only-follow-ups");
  EXPECT_EQ(first_id(job(16) + warning(3,
                                       "NET/IB : Got completion from peer 10.0.0.1<4> with "
                                       "status=5 opcode=0 len=0 vendor err 249 (Recv)")),
            "log.only-follow-ups");
}

TEST(Log, OneHcaInAllLinesIsNamed) {
  std::string text = job(64);
  for (int rank = 0; rank < 12; ++rank)
    text += warning(rank, fmt::format("NET/IB: Got completion from peer 10.0.0.{}<4> with "
                                      "status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) "
                                      "reqSize=0 vendor_err=129 req_type=Send hca mlx5_3",
                                      rank));
  const std::string summary = judged(text).at("findings").at(0).at("summary");
  EXPECT_NE(summary.find("hca mlx5_3 in all 12 lines"), std::string::npos) << summary;
  EXPECT_NE(summary.find("12 peers"), std::string::npos) << summary;
}

TEST(Log, NoHcaIsNamedWhereEachIsAsOften) {
  std::string text = job(64);
  for (int rank = 0; rank < 4; ++rank)
    text += warning(rank, fmt::format("NET/IB: Got completion from peer 10.0.0.1<4> with "
                                      "status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) "
                                      "reqSize=0 vendor_err=129 req_type=Send hca mlx5_{}",
                                      rank));
  const std::string summary = judged(text).at("findings").at(0).at("summary");
  EXPECT_NE(summary.find("4 HCAs, each in 1 line"), std::string::npos) << summary;
  EXPECT_EQ(summary.find("most often"), std::string::npos) << summary;
}

struct Told {
  const char* message;
  const char* id;
};
// Each family of shared spec nccl-7-log, 7.6, that the field logs do not have.
constexpr Told kFamilies[] = {
    {"NET/IB : mlx5_2:1 Got async event : port error", "log.link-flap"},
    {"NET/IB : mlx5_2:1 Got non-fatal async event: port active(9)", "log.link-flap"},
    {"NET/IB : mlx5_2:1 async fatal event on QP (0x5): local work queue catastrophic error",
     "log.ib-device-fault"},
    {"Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "log.locked-memory"},
    {"Call to ibv_reg_mr failed with error Bad address", "log.gpu-memory-not-registered"},
    {"Call to ibv_create_qp failed with error Invalid argument", "log.rdma-resources"},
    {"NET/IB : Attempted to connect incompatible devices: a b", "log.nics-incompatible"},
    {"Message truncated : received 1024 bytes instead of 256", "log.ranks-disagree"},
    {"NET/Socket : peer 10.0.0.1<4> message truncated : receiving 8 bytes instead of 4",
     "log.ranks-disagree"},
    {"Mismatched NCCL version detected : rank 0 version 22809 x rank 1 version 22707",
     "log.version-mismatch"},
    {"Bootstrap Root : rank 3 of 8 ranks has already checked in", "log.duplicate-rank"},
    {"socketPollConnect: connect to 10.0.0.4<5> returned Connection refused, exceeded error retry "
     "count after 35 attempts",
     "log.connect-failed"},
    {"socketFinalizeAccept from 10.0.0.1<3>: wrong type 3 != 2", "log.stray-connection"},
    {"Error while attaching to shared memory segment /dev/shm/nccl-abc (size 9637888), error: No "
     "such file or directory (2)",
     "log.shm-not-shared"},
    {"Error while creating shared memory segment /dev/shm/nccl-abc (size 9637888), error: No space "
     "left on device (28)",
     "log.shm-full"},
    {"Cuda failure 2 'out of memory'", "log.gpu-memory"},
    {"Cuda failure 'no kernel image is available for execution on the device'",
     "log.gpu-architecture"},
    {"Cuda failure 700 'an illegal memory access was encountered'", "log.cuda-error"},
    {"P2P is disabled between NVLINK connected GPUs 1 and 2.", "log.nvlink-p2p-off"},
    {"Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 1",
     "log.nvls-failed"},
    {"MNNVL (cliqueSize 72) is available but not working on this system. Check the IMEX",
     "log.imex"},
    {"Error : no algorithm/protocol available for function AllGather", "log.no-algorithm"},
    {"Error : ring 0 does not loop back to start (3 != 0)", "log.ring-broken"},
    {"No transport found for rank 0[1000] -> rank 1[2000]", "log.no-transport"},
    {"Could not find any local path from gpu 3 to net.", "log.no-nic-path"},
    {"XML Parse error : unterminated string", "log.topology-file"},
    {"Trying to send to self without a matching recv", "log.self-send"},
    {"Something that nobody has seen before", "log.unknown-warning"},
};

TEST(Log, EveryFamilyHasItsFinding) {
  for (const Told& told : kFamilies)
    EXPECT_EQ(first_id(job(8) + warning(1, told.message)), told.id);
}

TEST(Log, ARankThatNeverCameIsNamed) {
  std::string text;
  for (int rank = 0; rank < 16; ++rank)
    if (rank != 5)
      text += line(rank, fmt::format("ncclCommInitRank comm 0x{:x} rank {} nranks 16 cudaDev 0 "
                                     "nvmlDev 0 busId {}000 commId 0xabc - Init START",
                                     rank, rank, 1 + rank % 8));
  const json first = judged(text).at("findings").at(0);
  EXPECT_EQ(first.at("id"), "log.rank-missing");
  EXPECT_EQ(first.at("ranks"), json({5}));
}

TEST(Log, SettingsThatDifferBetweenRanks) {
  EXPECT_EQ(first_id(job(8) + line(0, "NCCL_ALGO set by environment to Ring") +
                     line(1, "NCCL_ALGO set by environment to Tree")),
            "log.settings-differ");
}

TEST(Log, GdrOnOneSideOnly) {
  EXPECT_EQ(
      first_id(job(16) + line(0, "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA") +
               line(8, "Channel 00/0 : 0[0] -> 8[0] [receive] via NET/IB/0")),
      "log.gdr-one-side");
}

TEST(Log, ProcessesThatEachRanAlone) {
  std::string text;
  for (int rank = 0; rank < 2; ++rank)
    text +=
        line(8 * rank, fmt::format("ncclCommInitRank comm 0x1 rank 0 nranks 1 cudaDev 0 nvmlDev "
                                   "0 busId 1000 commId 0x{} - Init COMPLETE",
                                   rank));
  EXPECT_EQ(first_id(text), "log.many-singles");
}

// One clear line where nothing can be read; never a crash.
TEST(Log, HostileInputsEndInOneLine) {
  const std::string good = line(0, "Using network IB");
  for (const std::string& text :
       {std::string(), std::string("no log at all\n"), std::string(1000, '\0'),
        std::string("\x89PNG\r\n\x1a\n\0\0", 10)}) {
    const BinaryRun run = run_binary({"log", "-"}, {.stdin_text = text});
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run;
  }
  for (const std::string& text :
       {good + "\xc3\n\xe2\x82", good + std::string(5000000, 'x'),
        std::string(5000000, ' ') + good + good, good.substr(0, good.size() - 1)}) {
    const BinaryRun run = run_binary({"log", "-"}, {.stdin_text = text});
    EXPECT_EQ(run.status, 0) << run;
    EXPECT_EQ(run.out.find('\0'), std::string::npos);
  }
}

}  // namespace
}  // namespace comm_probe::test
