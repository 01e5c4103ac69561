// How fast are NCCL's debug logs read? 1 GB of log (a 256 MB file of 512 ranks that write into one
// another's output line by line, read four times) on one core, against what people use, in the same
// run:
//   grep    counts the lines of one kind: a search, it understands nothing
//   awk     counts the connections by what carries them
//   python  the same with the regular expression that scripts have
// Time is CPU time of the process (the bar is per core), so that a busy machine does not change it.
//   bar: ours >= 200 MB/s
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bench/cpu_time.h"
#include "bench/temp_file.h"
#include "diagnose/log.h"
#include "nccl/readers/debug_log_reader.h"

namespace comm_probe {
namespace {

constexpr double kBarMBps = 200;
constexpr std::size_t kFileBytes = 256'000'000;
constexpr int kPasses = 4;
constexpr int kRanks = 512;
constexpr int kChannels = 16;

std::string prefix(int rank) {
  return fmt::format("node{:02}:{}:{} [{}] ", rank / 8, 20000 + rank, 30000 + rank, rank % 8);
}

// One line of one rank at one step of its start; empty where it says nothing.
std::string line_of_start(int rank, int step, int job) {
  const std::string comm = fmt::format(
      "comm 0x55{:08x} rank {} nranks {} cudaDev {} nvmlDev {} busId {:x}000 commId "
      "0x{:016x}",
      rank * 4096, rank, kRanks, rank % 8, rank % 8, 1 + rank % 8, 77 + job);
  switch (step) {
    case 0:
      return "NCCL version 2.27.7+cuda13.0";
    case 1:
      return "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB [RO]; OOB "
             "eth0:10.0.0.1<0>";
    case 2:
      return "Using network IB";
    case 3:
      return "ncclCommInitRank " + comm + " - Init START";
    case 4:
      return "NCCL_IB_TIMEOUT set by environment to 22.";
    case 5:
      return fmt::format(
          "GPU Direct RDMA Enabled for GPU {} / HCA {} (distance 4 <= 5), read 0 "
          "mode Default",
          rank % 8, rank % 4);
    case 6:
      return fmt::format(
          "comm 0x55{:08x} rank {} nRanks {} nNodes {} localRanks 8 localRank {} "
          "MNNVL 0",
          rank * 4096, rank, kRanks, kRanks / 8, rank % 8);
    case 7: {
      std::string trees = "Trees";
      for (int channel = 0; channel < kChannels; ++channel)
        trees += fmt::format(" [{}] {}/-1/-1->{}->{}", channel, rank + 1, rank, rank - 1);
      return trees;
    }
    case 8:
      return "16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels, 2 p2p "
             "channels per peer";
    default:
      return "ncclCommInitRank " + comm + " - Init COMPLETE";
  }
}
constexpr int kStartSteps = 10;

std::string line_of_run(int rank, int step) {
  const int channel = step % kChannels;
  switch (step / kChannels % 4) {
    case 0:
      return fmt::format("Channel {:02}/0 : {}[{}] -> {}[{}] via P2P/CUMEM/read", channel, rank,
                         rank % 8, rank + 1, (rank + 1) % 8);
    case 1:
      return fmt::format("Channel {:02}/0 : {}[{}] -> {}[{}] [send] via NET/IB/{}({})/GDRDMA",
                         channel, rank, rank % 8, (rank + 8) % kRanks, rank % 8, rank % 4, rank);
    case 2:
      return fmt::format("Channel {:02}/0 : {}[{}] -> {}[{}] [receive] via NET/IB/{}/GDRDMA",
                         channel, (rank + 504) % kRanks, rank % 8, rank, rank % 8, rank % 4);
    default:
      return fmt::format(
          "AllReduce: opCount {:x} sendbuff 0x7f0eb8800000 recvbuff 0x7f0eb8800000 "
          "count 65536 datatype 7 op 0 root 0 comm 0x55{:08x} [nranks={}] stream "
          "0x5581",
          step, rank * 4096, kRanks);
  }
}

bool write(TempFile& file) {
  constexpr int kStepsOfJob = kStartSteps + 40 * kChannels;
  for (int step = 0; file.written() < kFileBytes; ++step) {
    const int job = step / kStepsOfJob;
    const int at = step % kStepsOfJob;
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::string text =
          at < kStartSteps ? line_of_start(rank, at, job) : line_of_run(rank, at - kStartSteps);
      if (!file.write(prefix(rank) + "NCCL INFO " + text + "\n")) return false;
    }
  }
  return file.finish();
}

struct Measured {
  double seconds = 0;
  std::uint64_t lines = 0;
  std::size_t findings = 0;
};

Measured read_once(const std::string& path) {
  const double before = cpu_seconds(RUSAGE_SELF);
  auto input = core::Input::open(path);
  if (!input) return {};
  const auto log = nccl::read_debug_log(*input);
  if (!log) return {};
  const auto judgement = diagnose::judge_log(*log);
  return {cpu_seconds(RUSAGE_SELF) - before, log->nccl_lines, judgement.findings.size()};
}

double peer_seconds(const std::string& command) {
  const double before = cpu_seconds(RUSAGE_CHILDREN);
  if (std::system(command.c_str()) != 0) return 0;
  return cpu_seconds(RUSAGE_CHILDREN) - before;
}

void print_row(const char* peer, double ours_MBps, double peer_seconds) {
  if (peer_seconds <= 0) {
    fmt::print("{:<14}{:>10.0f} MB/s{:>15}\n", peer, ours_MBps, "not here");
    return;
  }
  const double peer_MBps = static_cast<double>(kFileBytes) / 1e6 / peer_seconds;
  fmt::print("{:<14}{:>10.0f} MB/s{:>10.0f} MB/s{:>9.2f}\n", peer, ours_MBps, peer_MBps,
             ours_MBps / peer_MBps);
}

const char* const kPython =
    "python3 -c \"import re,sys,collections\n"
    "c=collections.Counter()\n"
    "r=re.compile(r'Channel (\\d+)/(\\d+) : (\\d+)\\[(\\d+)\\] -> (\\d+)\\[(\\d+)\\] .*via "
    "(\\S+)')\n"
    "for l in open(sys.argv[1]):\n"
    "  m=r.search(l)\n"
    "  if m: c[m.group(7)]+=1\n"
    "sys.exit(len(c)==0)\" ";

bool measure(const TempFile& file) {
  Measured total;
  for (int pass = 0; pass < kPasses; ++pass) {
    const Measured once = read_once(file.path());
    total.seconds += once.seconds;
    total.lines += once.lines;
    total.findings += once.findings;
  }
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const double ours = static_cast<double>(kFileBytes) / 1e6 * kPasses / total.seconds;
  fmt::print("{:<14}{:>15}{:>15}{:>9}\n", "peer", "ours", "peer", "ratio");
  print_row("grep -c", ours,
            peer_seconds("test $(grep -c 'via NET/IB' " + file.quoted() + ") -gt 0"));
  print_row(
      "awk", ours,
      peer_seconds("awk '/ via /{n[$NF]++}END{for(k in n)s+=n[k];exit s==0}' " + file.quoted()));
  print_row("python re", ours, peer_seconds(kPython + file.quoted()));
  fmt::print("lines read: {}; findings: {}; peak memory {} MB for {} ranks; bar {} MB/s: {}\n",
             total.lines, total.findings, usage.ru_maxrss * 1024 / 1000000, kRanks, kBarMBps,
             ours >= kBarMBps ? "met" : "MISSED");
  return total.lines > 0 && total.findings == 0 && ours >= kBarMBps;
}

}  // namespace
}  // namespace comm_probe

int main() {
  comm_probe::TempFile file("log");
  if (!comm_probe::write(file)) {
    fmt::print(stderr, "log_reader: cannot write its log {}\n", file.path());
    return 3;
  }
  return comm_probe::measure(file) ? 0 : 1;
}
