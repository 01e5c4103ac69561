// Our all_reduce beside Open MPI's: f32, private buffers on both sides, sizes 8 B to 64 MiB by
// powers of two, alternating runs, medians, ratio ours / Open MPI. Exit 1 where the bar is missed:
// 2 ranks: ratio at most 1.0 at 80 % of the sizes and above 1.15 at no more than two.
// More ranks than cores: the same, Open MPI with mpi_yield_when_idle 1.
//   local_vs_mpi [RANKS=2] [LARGEST=64M] [RUNS=7] [gloo]
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>

#include "core/units.h"
#include "measure/measure.h"

namespace {

using namespace comm_probe;

constexpr int kBlocks = 3;
constexpr double kSlower = 1.15;
constexpr double kShareNotSlower = 0.8;
constexpr int kMostSlower = 2;

using Microseconds = std::map<std::size_t, std::vector<double>>;  // by size, one per run

struct Comparison {
  int ranks = 2;
  core::Bytes largest = {};
  int runs = 7;
  bool with_gloo = false;
  std::string folder = {};  // of the peer programs
};

bool run_ours(const Comparison& what, Microseconds& times,
              std::map<std::size_t, std::string>& algorithms) {
  measure::Plan plan;
  plan.ranks = what.ranks;
  plan.end = what.largest;
  plan.blocks = kBlocks;
  plan.check = false;
  plan.with_in_place = false;
  const auto run = measure::run_local(plan);
  if (!run || run->died) return false;
  for (const measure::Row& row : run->rows) {
    times[row.bytes.whole()].push_back(row.out_of_place.time.in_us());
    algorithms[row.bytes.whole()] = algorithm_name(row.algorithm);
  }
  return true;
}

// Lines "BYTES MICROSECONDS"; another line is returned as a remark.
std::string run_peer(const std::string& command, Microseconds& times) {
  std::FILE* out = ::popen(command.c_str(), "r");
  if (out == nullptr) return "";
  std::string remark;
  char line[256];
  while (std::fgets(line, sizeof line, out) != nullptr) {
    std::size_t bytes = 0;
    double us = 0;
    if (std::sscanf(line, "%zu %lf", &bytes, &us) == 2)
      times[bytes].push_back(us);
    else
      remark = std::string(line, std::strcspn(line, "\n"));
  }
  ::pclose(out);
  return remark;
}

std::string mpi_command(const Comparison& what) {
  const bool crowded = what.ranks > static_cast<int>(std::thread::hardware_concurrency());
  return fmt::format(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe {} -n {} "
      "{}/peer_mpi {} {} 2>/dev/null",
      crowded ? "--mca mpi_yield_when_idle 1 --bind-to none" : "--bind-to core", what.ranks,
      what.folder, what.largest.whole(), kBlocks);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Measured {
  Microseconds ours = {}, mpi = {}, gloo = {};
  std::map<std::size_t, std::string> algorithms = {};
  std::string remark = {};
};

// Prints the rows; true where the bar is met.
bool report(const Comparison& what, const Measured& measured) {
  std::printf("all_reduce float sum, %d ranks, %d alternating runs, Open MPI: %s\n", what.ranks,
              what.runs, measured.remark.c_str());
  std::printf("%12s %12s %12s %8s  %-10s %12s\n", "size (B)", "ours (us)", "mpi (us)", "ratio",
              "algorithm", what.with_gloo ? "gloo (us)" : "");
  int sizes = 0, not_slower = 0;
  std::string slower;
  for (const auto& [bytes, times] : measured.ours) {
    const auto peer = measured.mpi.find(bytes);
    if (peer == measured.mpi.end()) continue;
    const double ratio = median(times) / median(peer->second);
    const auto gloo = measured.gloo.find(bytes);
    std::printf(
        "%12zu %12.3f %12.3f %8.3f  %-10s %12s\n", bytes, median(times), median(peer->second),
        ratio, measured.algorithms.at(bytes).c_str(),
        gloo == measured.gloo.end() ? "" : fmt::format("{:.2f}", median(gloo->second)).c_str());
    ++sizes;
    if (ratio <= 1.0) ++not_slower;
    if (ratio > kSlower) slower += fmt::format(" {}", bytes);
  }
  const auto count = std::count(slower.begin(), slower.end(), ' ');
  const bool met = sizes > 0 && not_slower >= kShareNotSlower * sizes && count <= kMostSlower;
  std::printf("not slower at %d of %d sizes; above %.2f at %ld:%s; bar %s\n", not_slower, sizes,
              kSlower, static_cast<long>(count), slower.empty() ? " none" : slower.c_str(),
              met ? "met" : "missed");
  return met;
}

}  // namespace

int main(int argc, char** argv) {
  Comparison what;
  what.folder = std::filesystem::path(argv[0]).parent_path().string();
  if (what.folder.empty()) what.folder = ".";
  what.ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  const auto largest = core::parse_bytes(argc > 2 ? argv[2] : "64M");
  if (!largest) return 2;
  what.largest = *largest;
  what.runs = argc > 3 ? std::atoi(argv[3]) : 7;
  what.with_gloo = argc > 4;
  if (!std::filesystem::exists(what.folder + "/peer_mpi")) {
    std::printf("Open MPI was not found when this was built: apt install libopenmpi-dev\n");
    return 3;
  }
  Measured measured;
  for (int run = 0; run < what.runs; ++run) {
    if (!run_ours(what, measured.ours, measured.algorithms)) return 4;
    measured.remark = run_peer(mpi_command(what), measured.mpi);
  }
  if (what.with_gloo)
    run_peer(fmt::format("{}/peer_gloo {} {} {} 2>/dev/null", what.folder, what.largest.whole(),
                         kBlocks, what.ranks),
             measured.gloo);
  return report(what, measured) ? 0 : 1;
}
