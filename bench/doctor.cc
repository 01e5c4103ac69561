// `doctor` on a pile of 2,000 files and 5 GB: wall time, CPU time and peak memory of the whole
// command. Beside it, in the same run, what only looks at the bytes: `grep -c NCCL` over the same
// files on one core, and `cat` of them.
//   bench_doctor COMM_PROBE SHARED [FOLDER]          the pile below
//   bench_doctor COMM_PROBE SHARED FOLDER small      20,000 logs of 256 KiB, 5 GB: the cost of a
//                                                    file, which no long line of bytes hides
//   bars: 60 s on 2 cores, 2 GB of memory
// The pile (with FOLDER it stays there for the next run): logs of 1,000 ranks (public logs repeated
// under other hosts and ranks), 512 dumps of one job and 64 profiler traces of another made by
// SHARED/tools, 100 tables, and files that are no artifact.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "bench/child_cost.h"

namespace {

namespace fs = std::filesystem;
using comm_probe::Cost;
using comm_probe::cost_of;

constexpr int kLogs = 1000;
constexpr std::size_t kLogBytes = 3'400'000;
constexpr int kTables = 100;
constexpr int kOthers = 324;
constexpr std::size_t kOtherBytes = 3'000'000;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A log of one rank: its lines again and again, as a job prints that makes communicators all day.
std::string log_of(std::string text, int rank, std::size_t bytes = kLogBytes) {
  const std::string host = fmt::format("node{:04}", rank / 8);
  for (std::size_t at = text.find("node"); at != text.npos;
       at = text.find("node", at + host.size()))
    text.replace(at, std::min<std::size_t>(6, text.size() - at), host);
  std::string log;
  while (log.size() < bytes) log += text;
  return log;
}

bool make_pile(const fs::path& shared, const fs::path& folder) {
  if (fs::exists(folder / "complete")) return true;
  const fs::path field = shared / "data/field";
  if (!fs::exists(field / "logs")) return false;
  for (const char* part : {"logs", "dumps", "traces", "tables", "others"})
    fs::create_directories(folder / part);
  const std::string log = text_of(field / "logs/l04_v2.18.5_dell_2n_h100_ib_gdr_healthy.log");
  for (int rank = 0; rank < kLogs; ++rank)
    write(folder / fmt::format("logs/rank{}.log", rank), log_of(log, rank));
  int table = 0;
  while (table < kTables)
    for (const auto& file : fs::directory_iterator(field / "curves"))
      if (table < kTables && file.path().extension() == ".txt")
        write(folder / fmt::format("tables/run{}.txt", table++), text_of(file.path()));
  std::mt19937 random(7);
  for (int i = 0; i < kOthers; ++i) {
    std::string bytes(kOtherBytes, '\0');
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      const std::uint32_t word = random();
      bytes.replace(at, 4, reinterpret_cast<const char*>(&word), 4);
    }
    write(folder / fmt::format("others/core.{}", i), bytes);
  }
  const std::string tools = (shared / "tools").string();
  const Cost dumps =
      cost_of({"python3", tools + "/gen_dumps.py", "--out", (folder / "dumps").string(), "--ranks",
               "512", "--tp", "8", "--entries", "1200", "--frames", "20", "--fault", "rank_stuck",
               "--format", "pickle"});
  const Cost traces = cost_of({"python3", tools + "/gen_trace.py", "--out",
                               (folder / "traces").string(), "--ranks", "64", "--steps", "3",
                               "--layers", "16", "--kernels-per-layer", "48", "--py-frames", "2"});
  fmt::print("the pile was made: dumps {:.0f} s, traces {:.0f} s\n", dumps.wall_s, traces.wall_s);
  write(folder / "complete", "");
  return true;
}

// Of four files three are logs of NCCL, one has a program's own lines.
bool make_small_pile(const fs::path& shared, const fs::path& folder) {
  if (fs::exists(folder / "complete")) return true;
  const fs::path log = shared / "data/field/logs/l04_v2.18.5_dell_2n_h100_ib_gdr_healthy.log";
  if (!fs::exists(log)) return false;
  constexpr int kFiles = 20000;
  constexpr std::size_t kBytes = std::size_t{256} << 10;
  std::string plain;
  for (int step = 0; plain.size() < kBytes; ++step)
    plain += fmt::format("step {:6}  loss 10.{:04}  lr 3.0e-04  step_time 0.411 s\n", step, step);
  plain.resize(kBytes);
  fs::create_directories(folder);
  const std::string text = text_of(log);
  for (int rank = 0; rank < kFiles; ++rank)
    write(folder / fmt::format("rank{}.log", rank),
          rank % 4 == 3 ? plain : log_of(text, rank, kBytes).substr(0, kBytes));
  write(folder / "complete", "");
  return true;
}

struct Size {
  std::size_t files = 0;
  double gigabytes = 0;
};
Size size_of(const fs::path& folder) {
  Size size;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (!file.is_regular_file()) continue;
    ++size.files;
    size.gigabytes += static_cast<double>(file.file_size()) / 1e9;
  }
  return size;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string binary = argc > 1 ? argv[1] : "build/comm-probe";
  const fs::path shared = argc > 2 ? argv[2] : "../shared";
  const bool keep = argc > 3;
  const fs::path folder =
      keep ? fs::path(argv[3])
           : fs::temp_directory_path() / fmt::format("comm-probe-pile-{}", getpid());
  const bool is_small = argc > 4;
  if (!(is_small ? make_small_pile(shared, folder) : make_pile(shared, folder))) {
    fmt::print("doctor: the pile cannot be made without {}: skipped\n", shared.string());
    return 0;
  }
  const Size size = size_of(folder);
  const Cost bytes =
      cost_of({"sh", "-c", "exec cat $(find \"$0\" -type f) >/dev/null", folder.string()});
  const Cost grep = cost_of({"sh", "-c", "grep -rac NCCL \"$0\" | tail -1; :", folder.string()});
  const Cost ours = cost_of({binary, "doctor", folder.string(), "--json"});
  const auto report = nlohmann::json::parse(ours.out, nullptr, false);
  fmt::print("pile: {} files, {:.2f} GB\n", size.files, size.gigabytes);
  fmt::print("ours        {:>6.1f} s wall (bar 60) {:>6.1f} s CPU {:>6.0f} MiB (bar 1907)\n",
             ours.wall_s, ours.cpu_s, ours.mib);
  fmt::print("grep -c     {:>6.1f} s wall, ratio {:.2f}\n", grep.wall_s, ours.wall_s / grep.wall_s);
  fmt::print("cat         {:>6.1f} s wall, ratio {:.2f}\n", bytes.wall_s,
             ours.wall_s / bytes.wall_s);
  if (report.is_object())
    fmt::print("read {} inputs, {} unrecognised, {} findings\n", report["inputs"].size(),
               report["result"]["unrecognised"].size(), report["findings"].size());
  std::error_code ignored;
  if (!keep) fs::remove_all(folder, ignored);
  return 0;
}
