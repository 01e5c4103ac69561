// How fast are nccl-tests tables read? 1 GB of tables (a 256 MB file of synthetic runs, read four
// times) on one core, against two peers measured in the same run:
//   awk   reads every figure of every row and keeps only a sum (the shortest reader that people
//         write; it neither finds tables nor checks anything)
//   wc    counts lines: what reading the file costs at least
// Time is CPU time of the process (the bar is per core), so that a busy machine does not change it.
//   bar: ours >= 300 MB/s
// And the whole command on the same file, `comm-probe curve FILE`, which reads, fits and judges
// every curve on all cores and writes the text; in time on the wall.
//   bar: >= 100 MB/s on two cores and more
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "bench/cpu_time.h"
#include "bench/temp_file.h"
#include "cli/subcommands.h"
#include "curve/curve.h"

namespace comm_probe {
namespace {

constexpr double kBarMBps = 300;
constexpr double kCommandBarMBps = 100;
constexpr std::size_t kFileBytes = 256'000'000;
constexpr int kPasses = 4;

// As nccl-tests prints figures: two decimals, fewer where the number is long.
std::string figure(double value, int width) {
  const int digits = value < 1 ? 1 : static_cast<int>(std::log10(value)) + 1;
  const int decimals = digits < width - 2 ? 2 : digits < width - 1 ? 1 : 0;
  return fmt::format("{:>{}.{}f}", value, width, decimals);
}

std::string row(double bytes, double jitter) {
  std::string text =
      fmt::format("{:12.0f}  {:12.0f}  {:>8}  {:>6}  {:>6}", bytes, bytes / 4, "float", "sum", -1);
  for (const double place : {1.0, 0.99}) {
    const double time = (30 + bytes / 2.4e5) * jitter * place;
    const double algbw = bytes / time / 1e3;
    text += fmt::format("  {}  {}  {}  {:>5}", figure(time, 7), figure(algbw, 6),
                        figure(algbw * 1.875, 6), 0);
  }
  return text + "\n";
}

std::string run_of_nccl_tests(int seed) {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: "
      "20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n";
  for (int rank = 0; rank < 16; ++rank)
    text += fmt::format(
        "#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} [0x{:02x}] NVIDIA H100 80GB HBM3\n",
        rank, 40000 + rank, fmt::format("node{:02}", rank / 8), rank % 8, 17 * (rank % 8));
  text +=
      "#\n#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n#        (B)    (elements)                               (us)  "
      "(GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n";
  for (int power = 3; power <= 33; ++power)
    text += row(std::exp2(power), 1 + 0.01 * ((seed * 7 + power * 3) % 11));
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 123.343 \n#\n\n";
}

bool write(TempFile& file) {
  for (int seed = 0; file.written() < kFileBytes; ++seed)
    if (!file.write(run_of_nccl_tests(seed % 1000))) return false;
  return file.finish();
}

struct Measured {
  double seconds = 0;
  std::size_t rows = 0;
};

Measured read_once(const std::string& path) {
  const double before = cpu_seconds(RUSAGE_SELF);
  auto input = core::Input::open(path);
  if (!input) return {};
  const auto reading = curve::read(*input);
  Measured measured = {cpu_seconds(RUSAGE_SELF) - before, 0};
  if (!reading) return {};
  for (const curve::Curve& curve : reading->curves) measured.rows += curve.rows.size();
  return measured;
}

struct Command {
  double wall = 0;
  double cpu = 0;
  double peak_megabytes = 0;
  bool done = false;
};

// In a process of its own, whose memory is that of the command alone.
Command run_command(const std::string& path) {
  const std::string output = path + ".out";
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    std::array<std::string, 5> words = {"comm-probe", "curve", path, "--output", output};
    std::array<char*, 6> arguments = {};
    for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
    _exit(cli::run_program(static_cast<int>(words.size()), arguments.data()));
  }
  int status = 0;
  rusage usage = {};
  wait4(child, &status, 0, &usage);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::remove(output.c_str());
  return {wall.count(), seconds_of(usage), static_cast<double>(usage.ru_maxrss) * 1024 / 1e6,
          WIFEXITED(status) && WEXITSTATUS(status) == 0};
}

bool measure_command(const std::string& path) {
  const Command command = run_command(path);
  const double megabytes = static_cast<double>(kFileBytes) / 1e6;
  const double rate = megabytes / command.wall;
  const unsigned cores = std::thread::hardware_concurrency();
  const bool met = rate >= kCommandBarMBps || cores < 2;
  fmt::print(
      "whole command: {:.0f} MB/s on {} core{} ({:.0f} MB per second of CPU); peak memory {:.0f} "
      "MB; "
      "bar {} MB/s: {}\n",
      rate, cores, cores == 1 ? "" : "s", megabytes / command.cpu, command.peak_megabytes,
      kCommandBarMBps, met ? "met" : "MISSED");
  return command.done && met;
}

double peer_seconds(const std::string& command) {
  const double before = cpu_seconds(RUSAGE_CHILDREN);
  if (std::system(command.c_str()) != 0) return 0;
  return cpu_seconds(RUSAGE_CHILDREN) - before;
}

void print_row(const char* peer, double ours_MBps, double peer_MBps) {
  fmt::print("{:<14}{:>10.0f} MB/s{:>10.0f} MB/s{:>9.2f}\n", peer, ours_MBps, peer_MBps,
             ours_MBps / peer_MBps);
}

bool measure_reader(const TempFile& file) {
  Measured total;
  for (int pass = 0; pass < kPasses; ++pass) {
    const Measured once = read_once(file.path());
    total.seconds += once.seconds;
    total.rows += once.rows;
  }
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const double megabytes = static_cast<double>(kFileBytes) / 1e6;
  const double ours = megabytes * kPasses / total.seconds;
  const double awk =
      megabytes /
      peer_seconds("awk '/^ *[0-9]/{for(i=6;i<=NF;i++)s+=$i}END{exit s<=0}' " + file.quoted());
  const double lines = megabytes / peer_seconds("wc -l " + file.quoted() + " >/dev/null");
  fmt::print("{:<14}{:>15}{:>15}{:>9}\n", "peer", "ours", "peer", "ratio");
  print_row("awk", ours, awk);
  print_row("wc -l", ours, lines);
  fmt::print("rows read: {}; peak memory {} MB for a file of {:.0f} MB; bar {} MB/s: {}\n",
             total.rows, usage.ru_maxrss * 1024 / 1000000, megabytes, kBarMBps,
             ours >= kBarMBps ? "met" : "MISSED");
  return total.rows > 0 && ours >= kBarMBps;
}

}  // namespace
}  // namespace comm_probe

int main() {
  comm_probe::TempFile file("curve");
  if (!comm_probe::write(file)) {
    fmt::print(stderr, "curve_reader: cannot write its table {}\n", file.path());
    return 3;
  }
  // The command first: a child begins with the memory of its parent.
  const bool command = comm_probe::measure_command(file.path());
  const bool reader = comm_probe::measure_reader(file);
  return command && reader ? 0 : 1;
}
