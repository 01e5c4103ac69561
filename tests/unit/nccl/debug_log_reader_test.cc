#include "nccl/readers/debug_log_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace comm_probe::nccl {
namespace {

DebugLog read(std::string text) {
  auto input = core::Input::from_memory("log", std::move(text));
  auto log = read_debug_log(input);
  EXPECT_TRUE(log.ok());
  return log.ok() ? std::move(*log) : DebugLog{};
}

std::string line(int rank, const std::string& message) {
  return fmt::format("node{}:{}:{} [{}] NCCL INFO {}\n", rank / 8, 100 + rank, 200 + rank, rank % 8,
                     message);
}

// The header's example.
TEST(DebugLogReader, CountsWhatRanksSayAlike) {
  std::string text;
  for (int rank = 0; rank < 16; ++rank) text += line(rank, "Using network IB");
  const DebugLog log = read(text);
  ASSERT_EQ(log.networks.size(), 1U);
  EXPECT_EQ(log.networks[0].text, "IB");
  EXPECT_EQ(log.networks[0].count, 16U);
  EXPECT_EQ(log.networks[0].first.line, 1U);
  EXPECT_EQ(log.processes.size(), 16U);
  EXPECT_EQ(log.hosts.size(), 2U);
}

std::string init(int rank, int size, const char* state, int comm = 0) {
  return line(
      rank, fmt::format("ncclCommInitRank comm 0x{:x} rank {} nranks {} cudaDev {} nvmlDev "
                        "{} busId {}000 commId 0x{} - Init {}",
                        0x5000 + comm, rank, size, rank % 8, rank % 8, rank % 8, 77 + comm, state));
}

TEST(DebugLogReader, RanksOfOneIdAreOneCommunicator) {
  const DebugLog log = read(init(0, 2, "START") + init(1, 2, "START") + init(0, 2, "START", 1) +
                            init(0, 2, "COMPLETE") + init(1, 2, "COMPLETE"));
  ASSERT_EQ(log.comms.size(), 2U);
  EXPECT_EQ(log.comms[0].size, 2);
  EXPECT_EQ(log.comms[0].ranks_seen, 2);
  EXPECT_EQ(log.comms[1].ranks_seen, 1);
  ASSERT_EQ(log.ranks.size(), 3U);
  EXPECT_EQ(log.ranks[0].phase, LogPhase::kComplete);
  EXPECT_EQ(log.ranks[2].phase, LogPhase::kStart);
}

// Before 2.18 a communicator is named when it is complete only: what stood before belongs to it.
TEST(DebugLogReader, LinesBeforeTheNameBelongToIt) {
  std::string text;
  for (int rank = 0; rank < 2; ++rank)
    text += line(rank, fmt::format("Trees [0] -1/-1/-1->{}->{}", rank, rank - 1));
  text +=
      line(0, "Channel 00/01 :    0   1") + line(0, "Channel 00 : 0[1000] -> 1[2000] via P2P/IPC");
  text += line(1, "Channel 00 : 1[2000] -> 0[1000] via direct shared memory");
  for (int rank = 0; rank < 2; ++rank)
    text +=
        line(rank, fmt::format("comm 0x7f rank {} nranks 2 cudaDev {} busId 1000 - Init COMPLETE",
                               rank, rank));
  const DebugLog log = read(text);
  ASSERT_EQ(log.comms.size(), 1U);
  const LogComm& comm = log.comms[0];
  EXPECT_EQ(comm.size, 2);
  EXPECT_EQ(comm.ranks_seen, 2);
  EXPECT_EQ(comm.rings.at(0), (std::vector<int>{0, 1}));
  EXPECT_EQ(comm.trees.size(), 2U);
  ASSERT_EQ(comm.edges.size(), 2U);
  EXPECT_EQ(comm.edges[0].via, "P2P/IPC");
  EXPECT_EQ(comm.edges[1].via, "SHM");
}

// A real run with NCCL_MAX_NCHANNELS=1 (tests/inputs/lab_slow): "Tree 1" is printed before the
// channels are cut, and was never built.
TEST(DebugLogReader, TreesOfChannelsThatWereCutAreNone) {
  const auto text = [](const char* count) {
    return init(0, 4, "START") + line(0, "Tree 0 : -1 -> 0 -> 2/-1/-1") +
           line(0, "Tree 1 : 1 -> 0 -> -1/-1/-1") + line(0, "Trees [0] 2/-1/-1->0->-1") +
           line(0, std::string(count) + " coll channels, 1 collnet channels, 0 nvls channels, " +
                       count + " p2p channels, 1 p2p channels per peer");
  };
  const DebugLog cut = read(text("1"));
  ASSERT_EQ(cut.comms.size(), 1U);
  EXPECT_EQ(cut.comms[0].trees.size(), 1U);
  EXPECT_EQ(read(text("2")).comms.at(0).trees.size(), 2U);
}

TEST(DebugLogReader, EdgesByWhatCarriesThem) {
  const DebugLog log =
      read(init(0, 16, "START") +
           line(0, "Channel 00/0 : 9[1] -> 0[0] [receive] via NET/IBext_v10/0/GDRDMA") +
           line(0, "Channel 01/0 : 0[0] -> 5[1] [send] via NET/IBext_v10/1(1)/GDRDMA(PCI)/Shared") +
           line(0, "Channel 02/0 : 0[0] -> 5[1] [send] via NET/AWS Libfabric/3") +
           line(0, "Channel 04/0 : 0[0] -> 4[8] [send] via NET/Socket/4 comm 0x3c nRanks 16") +
           line(0, "Channel 00/0 : 0[0] -> 7[7] via P2P/CUMEM/read") +
           line(0, "Channel 14/0 : 8[0] -> 0[0] [receive] via NET/IBext_v10/4/GDSetting up"));
  ASSERT_EQ(log.comms.size(), 1U);
  std::vector<std::string> kinds;
  for (const LogEdges& edges : log.comms[0].edges)
    kinds.push_back(fmt::format("{} {} {}", edges.via, edges.gdr ? "gdr" : "-", edges.count));
  EXPECT_EQ(kinds, (std::vector<std::string>{"NET/IBext_v10 gdr 2", "NET/AWS Libfabric - 1",
                                             "NET/Socket - 1", "P2P/CUMEM/read - 1"}));
  EXPECT_EQ(log.comms[0].edges[0].devices, 0b11U);  // NICs 0 and 1
}

std::string call(int rank, int number, int count) {
  return line(rank,
              fmt::format("AllReduce: opCount {:x} sendbuff 0x1 recvbuff 0x2 count {} datatype "
                          "7 op 0 root 0 comm 0x5000 [nranks=2] stream (nil)",
                          number, count));
}

TEST(DebugLogReader, FindsTheCallThatRanksDisagreeAbout) {
  std::string text = init(0, 2, "START") + init(1, 2, "START");
  for (int number = 0; number < 20; ++number) text += call(0, number, 64);
  for (int number = 0; number < 20; ++number) text += call(1, number, number == 13 ? 65 : 64);
  const DebugLog log = read(text);
  ASSERT_EQ(log.comms.size(), 1U);
  ASSERT_EQ(log.comms[0].disagreements.size(), 1U);
  const LogDisagreement& first = log.comms[0].disagreements[0];
  EXPECT_EQ(first.call, 13U);
  EXPECT_EQ(first.what, "count");
  EXPECT_EQ(first.said, "65");
  EXPECT_EQ(first.others, "64");
  EXPECT_EQ(first.rank, 1);
}

// Several collectives of one group have one number.
TEST(DebugLogReader, GroupedCallsAreComparedInTheirOrder) {
  std::string text = init(0, 2, "START") + init(1, 2, "START");
  for (int rank = 0; rank < 2; ++rank) text += call(rank, 5, 64) + call(rank, 5, 128);
  EXPECT_TRUE(read(text).comms.at(0).disagreements.empty());
}

TEST(DebugLogReader, SettingsWithoutTheFullStopOfNumbers) {
  const DebugLog log = read(line(0, "NCCL_IB_TIMEOUT set by environment to 18.") +
                            line(0, "NCCL_IB_HCA set by environment to =mlx5_0:1") +
                            line(0, "NET/OFI Adding NCCL_PROTO=simple to environment") +
                            line(0, "NET/OFI Setting NCCL_NTHREADS to \"256\""));
  ASSERT_EQ(log.settings.size(), 4U);
  EXPECT_EQ(log.settings[0].value, "18");
  EXPECT_EQ(log.settings[1].value, "=mlx5_0:1");
  EXPECT_TRUE(log.settings[2].by_plugin);
  EXPECT_EQ(log.settings[2].value, "simple");
  EXPECT_EQ(log.settings[3].value, "256");
}

// Five generations of the completion line (shared spec nccl-7-log, 7.7).
TEST(DebugLogReader, CompletionsOfAllGenerations) {
  for (const char* text :
       {"NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",
        "NET/IB : Got completion from peer 10.0.0.1<44> with error 12, opcode 0, len 0, vendor err "
        "129 (Recv)",
        "NET/IB : Got completion from peer 10.0.0.1<44> with status=12 opcode=129 len=65536 vendor "
        "err 129 (Recv) localGid ::ffff:10.0.0.2 remoteGids::ffff:10.0.0.1",
        "NET/IB: Got completion from peer 10.0.0.1<44> with status=IBV_WC_RETRY_EXC_ERR(12) "
        "opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=129 req_type=Send localGid ::ffff:10.0.0.2 "
        "remoteGids::ffff:10.0.0.1 hca mlx5_3"}) {
    SCOPED_TRACE(text);
    const DebugLog log = read(fmt::format("a:1:2 [0] net_ib.cc:1 NCCL WARN {}\n", text));
    ASSERT_EQ(log.problems.size(), 1U);
    EXPECT_EQ(log.problems[0].family, LogFamily::kIbCompletion);
    EXPECT_EQ(log.problems[0].key, "12/129");
  }
}

// The earliest by time is the first, whichever file was read first.
TEST(DebugLogReader, TheEarliestLineOfAProblemIsKept) {
  const DebugLog log = read(
      "[2026-03-12 14:17:56] a:1:2 [0] x.cc:1 NCCL WARN Cuda failure 'out of memory'\n"
      "[2026-03-12 14:17:50] b:1:2 [0] x.cc:1 NCCL WARN Cuda failure 'out of memory'\n");
  ASSERT_EQ(log.problems.size(), 1U);
  EXPECT_EQ(log.problems[0].first.line, 2U);
  EXPECT_EQ(log.problems[0].count, 2U);
}

// Memory follows what differs, not the number of lines.
TEST(DebugLogReader, ManyEqualLinesAreOneFact) {
  std::string text = init(0, 2, "START");
  for (int i = 0; i < 20000; ++i)
    text += line(0, fmt::format("Channel {:02}/1 : 0[0] -> 1[1] via P2P/CUMEM", i % 64));
  const DebugLog log = read(text);
  ASSERT_EQ(log.comms.size(), 1U);
  ASSERT_EQ(log.comms[0].edges.size(), 1U);
  EXPECT_EQ(log.comms[0].edges[0].count, 20000U);
}

TEST(DebugLogReader, BrokenTextCostsItsOwnLineOnly) {
  const std::string good = line(0, "Using network IB");
  for (const std::string& broken :
       {std::string("a:1:2 [0] NCCL INFO Channel 9999999999999999999/0 : 1[0] -> 2[0] via NET/\n"),
        std::string("a:1:2 [0] NCCL INFO Pattern 4, crossNic x\n"),
        std::string("a:1:2 [0] NCCL INFO Trees [0] 1/2\n"),
        std::string("a:1:2 [0] NCCL INFO comm 0xzz rank -5 nranks 0 - Init START\n"),
        std::string("a:1:2 [0] NCCL INFO comm 0x1 rank 9 nranks 2 - Init START\n"),
        std::string("a:1:2 [0] NCCL INFO AllReduce: opCount\n"),
        std::string("a:1:2 [0] NCCL INFO NET/IB : Using [0] [1 ]\n"),
        std::string("\0\0NCCL INFO \0\n", 13), std::string("\xff\xfe NCCL WARN \xc3\n"),
        std::string(300000, 'x') + " NCCL INFO \n", std::string("NCCL INFO"),
        std::string(1, '\0')}) {
    SCOPED_TRACE(broken.substr(0, 60));
    const DebugLog log = read(broken + "\n" + good);
    ASSERT_EQ(log.networks.size(), 1U);
    EXPECT_TRUE(log.ranks.empty());
  }
}

// Registered symmetric memory: a kernel is taken before algorithm and protocol are asked for.
TEST(DebugLogReader, SymmetricKernelIsAChoice) {
  const std::string said =
      "AllReduce [Symmetric]: 65536 Bytes -> Kernel AllReduce_RSxLD_AGxST nchannels 16 nthreads "
      "512 "
      "nWorks 1";
  const DebugLog log = read(init(0, 2, "START") + line(0, said) + line(0, said) +
                            line(0,
                                 "AllReduce: 65536 Bytes -> Algo RING proto LL "
                                 "channel{Lo..Hi}={0..1}"));
  ASSERT_EQ(log.comms.size(), 1U);
  const auto& choices = log.comms[0].choices;
  ASSERT_EQ(choices.size(), 2U);
  EXPECT_EQ(choices[0].function, "AllReduce");
  EXPECT_EQ(choices[0].bytes, 65536U);
  EXPECT_EQ(choices[0].kernel, "AllReduce_RSxLD_AGxST");
  EXPECT_EQ(choices[0].channels, 16);
  EXPECT_EQ(choices[0].count, 2U);
  EXPECT_FALSE(choices[0].algorithm);
  EXPECT_EQ(choices[1].algorithm, Algorithm::kRing);
}

}  // namespace
}  // namespace comm_probe::nccl
