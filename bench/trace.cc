// `trace` on the large set of data/trace/timing.md: 8 ranks, 133 MB of JSON each, plain and packed:
// CPU time, wall time and peak memory of the whole command, and whether its figures are the truth.
// Beside them the recorded rows of the public tools (timing.md, another machine state) and, as
// calibration of this run, python's json.loads of one file and gzip -dc of all.
//   bench_trace COMM_PROBE GEN_TRACE.py [FOLDER]
// The set is made by the generator (a minute, 1.1 GB); with FOLDER it stays there for the next run.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/child_cost.h"

namespace {

namespace fs = std::filesystem;
using comm_probe::Cost;
using comm_probe::cost_of;
using nlohmann::json;

struct Peer {
  const char* name;
  double cpu_s;  // timing.md
  double mib;
};
constexpr Peer kPeers[] = {{"HTA 0.6.1, .json", 126, 3.68 * 953.7},
                           {"HTA 0.6.1, .json.gz", 124, 3.69 * 953.7},
                           {"TraceLens 171dd74, .json", 25.6, 0.81 * 953.7}};

bool make_set(const std::string& generator, const fs::path& folder) {
  if (fs::exists(folder / "truth.json")) return true;
  const std::string options =
      "--ranks 8 --steps 8 --layers 48 --kernels-per-layer 64 --layer-us 1400 --layer-elems "
      "12000000 "
      "--py-frames 2 --op-depth 3 --record-shapes --both --style 2024 --straggler 5:compute:1.08 "
      "--gz-level 6 --seed 42";
  const Cost made =
      cost_of({"sh", "-c", "exec python3 \"$0\" --out \"$1\" " + options + " 2>/dev/null",
               generator, folder.string()});
  fmt::print("the set was made in {:.0f} s\n", made.wall_s);
  return fs::exists(folder / "rank7.json.gz");
}

std::vector<std::string> files_of(const fs::path& folder, const char* ending) {
  std::vector<std::string> files;
  for (int rank = 0; rank < 8; ++rank)
    files.push_back((folder / fmt::format("rank{}{}", rank, ending)).string());
  return files;
}

// The largest difference of any figure in ns from truth.json; -1: the output is none.
double largest_error(const std::string& output, const fs::path& folder) {
  const json truth = json::parse(std::ifstream(folder / "truth.json"), nullptr, false);
  const json ours = json::parse(output, nullptr, false);
  if (!truth.is_object() || !ours.is_object()) return -1;
  double worst = 0;
  const json& ranks = ours.at("result").at("ranks");
  if (ranks.size() != truth.at("per_rank").size()) return -1;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    for (const auto& [key, value] : truth.at("per_rank")[i].at("total").items())
      if (key.ends_with("_ns"))
        worst = std::max(
            worst, std::abs(value.get<double>() - ranks[i].at("total").at(key).get<double>()));
  return worst;
}

Cost measure(const std::string& binary, const fs::path& folder, const char* ending, double bar) {
  std::vector<std::string> command = {binary, "trace", "--json"};
  for (std::string& file : files_of(folder, ending)) command.push_back(std::move(file));
  const Cost ours = cost_of(command);
  fmt::print(
      "ours {:<9} 8 x 133 MB | {:>5.2f} s CPU (bar {}) {:>5.2f} s wall {:>5.0f} MiB (bar 381) | "
      "largest error {:.0f} ns\n",
      ending, ours.cpu_s, bar, ours.wall_s, ours.mib, largest_error(ours.out, folder));
  return ours;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string binary = argc > 1 ? argv[1] : "build/comm-probe";
  const std::string generator = argc > 2 ? argv[2] : "../shared/tools/gen_trace.py";
  const bool keep = argc > 3;
  const fs::path folder =
      keep ? fs::path(argv[3])
           : fs::temp_directory_path() / fmt::format("comm-probe-trace-{}", getpid());
  if (!fs::exists(generator) || !make_set(generator, folder)) {
    fmt::print("trace: the set cannot be made ({}): skipped\n", generator);
    return 0;
  }
  const Cost plain = measure(binary, folder, ".json", 2.5);
  const Cost packed = measure(binary, folder, ".json.gz", 5);
  for (const Peer& peer : kPeers)
    fmt::print("{:<24} recorded | {:>5.1f} s CPU {:>5.0f} MiB | {:.0f}x the CPU of ours\n",
               peer.name, peer.cpu_s, peer.mib,
               peer.cpu_s / (std::string(peer.name).ends_with(".gz") ? packed : plain).cpu_s);
  const Cost python =
      cost_of({"python3", "-c", "import json,sys\njson.loads(open(sys.argv[1]).read())",
               (folder / "rank0.json").string()});
  std::vector<std::string> inflate = {"sh", "-c", "exec gzip -dc \"$@\" >/dev/null", "gzip"};
  for (std::string& file : files_of(folder, ".json.gz")) inflate.push_back(std::move(file));
  fmt::print(
      "this run: json.loads of one file {:.2f} s CPU, {:.0f} MiB; gzip -dc of eight {:.2f} s\n",
      python.cpu_s, python.mib, cost_of(inflate).cpu_s);
  std::error_code ignored;
  if (!keep) fs::remove_all(folder, ignored);
  return 0;
}
