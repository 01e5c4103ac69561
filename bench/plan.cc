// How long do paths and searches of a machine take beside NCCL's own? NCCL's times stand in
// ../shared/data/oracle/timing.md (NCCL 2.28.9, one core, median of 11); ours are medians of the
// CPU time of this thread for the same work: all paths with policy, then ring, tree and NVLS
// search.
//   bar: less than NCCL on every machine, a third of it on the geometric mean; paths of an 8-GPU
//   node < 0.5 ms; 18 hosts of one NVLink domain < 1.5 s; 4,096 nodes of 8 GPUs < 1 s and < 1 GB
//   (with rings and trees of every channel)
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <regex>

#include "cpu_time.h"
#include "nccl/domain_search.h"
#include "tests/oracle/oracle_files.h"

namespace comm_probe {
namespace {

namespace fs = std::filesystem;

struct PeerRow {
  std::string machine = {};
  bool is_inter = false;
  double paths = 0;
  double search = 0;
};

std::vector<PeerRow> read_timing(const fs::path& file) {
  // | machine | nodes | paths | ring (min..max) | tree | nvls | search total |
  const std::regex row(R"(\| ([a-z0-9-]+) \| (1|>1) \| ([0-9.]+) \|.*\| ([0-9.]+) \|)");
  std::istringstream text(oracle::read_file(file));
  std::vector<PeerRow> rows;
  for (std::string line; std::getline(text, line);)
    if (std::smatch cells; std::regex_match(line, cells, row))
      rows.push_back({.machine = cells[1],
                      .is_inter = cells[2] == ">1",
                      .paths = std::stod(cells[3]),
                      .search = std::stod(cells[4])});
  return rows;
}

struct OurTime {
  double paths = 0;
  double search = 0;
};

OurTime measure(const topology::Machine& machine, nccl::Job job) {
  const nccl::Settings settings = nccl::read_settings({});
  const nccl::ChannelSettings channels = nccl::read_channel_settings({});
  const auto reached = nccl::reach_of_job(machine, settings, job);
  if (!reached) return {};
  const int runs = reached->reach.gpus() > 16 ? 3 : 11;
  return {
      .paths = median_ms(runs,
                         [&] {
                           const auto again = nccl::reach_of_job(machine, settings, job);
                           (void)nccl::system_facts(again->reach);
                         }),
      .search = median_ms(runs, [&] { (void)nccl::search_domain(reached->reach, channels); }),
  };
}

class Report {
 public:
  void add(const PeerRow& peer, int gpus, const OurTime& ours) {
    const double ratio = (peer.paths + peer.search) / (ours.paths + ours.search);
    log_sum_ += std::log(ratio);
    ++rows_;
    const bool is_slow = ratio <= 1 || (gpus == 8 && ours.paths >= 0.5) ||
                         (peer.is_inter && gpus == 72 && ours.search >= 1500);
    failed_ = failed_ || is_slow;
    fmt::print("{:22} {:>2} {:9.3f} {:9.3f} {:6.1f}  {:9.3f} {:9.3f} {:6.1f}  {:6.1f} {}\n",
               peer.machine, peer.is_inter ? ">1" : "1", ours.paths, peer.paths,
               peer.paths / ours.paths, ours.search, peer.search, peer.search / ours.search, ratio,
               is_slow ? "MISSED" : "");
  }
  bool finish() {
    const double mean = std::exp(log_sum_ / rows_);
    fmt::print("geometric mean of {} rows: {:.1f} (bar 3) {}\n", rows_, mean,
               mean < 3 ? "MISSED" : "ok");
    return !failed_ && mean >= 3;
  }

 private:
  double log_sum_ = 0;
  int rows_ = 0;
  bool failed_ = false;
};

double peak_gb() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e9;
}

// All of a job of 32,768 ranks, with every ring and tree.
bool measure_large_job(const topology::Machine& machine) {
  nccl::Job job = nccl::implied_job(machine);
  job.nodes = 4096;
  std::size_t entries = 0;
  const double ms = median_ms(3, [&] {
    auto reached = nccl::reach_of_job(machine, nccl::read_settings({}), job);
    const auto plan = nccl::plan_job(std::move(*reached), nccl::read_channel_settings({}));
    for (const nccl::ChannelSource& source : plan->channels)
      entries += plan->connection.ring(source.search).size() + plan->connection.tree(source).size();
  });
  const bool is_ok = ms < 1000 && peak_gb() < 1;
  fmt::print("4096 nodes x 8 GPUs, {} ring and tree places: {:.1f} ms (bar 1000), {:.2f} GB {}\n",
             entries / 3, ms, peak_gb(), is_ok ? "ok" : "MISSED");
  return is_ok;
}

}  // namespace
}  // namespace comm_probe

int main(int argc, char** argv) {
  using namespace comm_probe;
  const fs::path root = fs::path(argc > 1 ? argv[1] : "../shared") / "data/oracle";
  if (!fs::exists(root)) {
    fmt::print("no oracle data at {}; usage: bench_plan [SHARED_FOLDER] [MACHINE]\n",
               root.string());
    return 0;
  }
  const std::string only = argc > 2 ? argv[2] : "";
  fmt::print("{:22} {:>2} {:>9} {:>9} {:>6}  {:>9} {:>9} {:>6}  {:>6}\n", "machine, ms", "n",
             "paths", "NCCL", "ratio", "search", "NCCL", "ratio", "both");
  Report report;
  for (const PeerRow& peer : read_timing(root / "timing.md")) {
    if (!only.empty() && peer.machine != only) continue;
    const auto machine = oracle::machine_of(root / peer.machine);
    if (!machine) continue;
    nccl::Job job = nccl::implied_job(*machine);
    job.nodes = peer.is_inter ? 2 : 1;
    report.add(peer, machine->count(topology::NodeType::kGpu), measure(*machine, job));
  }
  bool is_ok = report.finish();
  if (only.empty()) is_ok = measure_large_job(*oracle::machine_of(root / "dgxh100")) && is_ok;
  return is_ok ? 0 : 1;
}
