// What does a what-if cost beside simulators? CPU time of this thread, one core.
//   bars: closed form < 1 us a point; ring on unlike links: 4,096 ranks < 0.3 s, 16,384 < 4 s, and
//         < 100 MB; a late rank among 1,024 < 2 s; all_to_all of 1,024 ranks on a fat tree, 1,024
//         flows at once, < 5 s
// GOAL text of a ring of 512 ranks is read and played too.
// Peers: SimGrid in the same run (bench_sim PATH_OF_simgrid_peer); LogGOPSim and ASTRA-sim as
// recorded in spec/simulation-timing.md, with SimGrid's 8.4 s for 1,024 ranks there as calibration.
#include "sim/sim.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>

#include "bench/child_cost.h"
#include "bench/cpu_time.h"
#include "core/units.h"
#include "sim/program_what_if.h"
#include "tests/golden/sim/simgrid/ways.h"

namespace comm_probe {
namespace {

const model::Fabric kFabric{.link = {core::Duration::from_ns(500), core::Bandwidth::from_GBps(50)}};
constexpr double kGibibyte = 1073741824;

double ring_seconds(int ranks, const std::vector<model::SlowLink>& slow,
                    const std::vector<core::Duration>& late) {
  const model::Network network(ranks, kFabric, model::Crossing::kAllRails, slow);
  return median_ms(3,
                   [&] {
                     model::Recurrence clocks(network, late);
                     const model::Collective what{model::Op::kAllReduce, ranks,
                                                  core::Bytes::of(kGibibyte)};
                     if (!model::play(what, {}, network, clocks)) std::exit(1);
                   }) /
         1e3;
}

bool row(const std::string& what, double ours, double bar) {
  fmt::print("{:52} {:10.3g} s   bar {:6g} s   {}\n", what, ours, bar,
             ours < bar ? "ok" : "MISSED");
  return ours < bar;
}

void beside(const std::string& what, double ours, double peer) {
  fmt::print("{:52} {:10.3g} s  peer {:6.3g} s   ratio {:.2g}\n", what, ours, peer, ours / peer);
}

double closed_form_seconds() {
  constexpr int kPoints = 100000;
  double sum = 0;
  const double ms = median_ms(3, [&] {
    for (int i = 0; i < kPoints; ++i) {
      const auto ledger = model::price(
          {model::Op::kAllReduce, 8 + i % 1024, core::Bytes::of(kGibibyte)}, {}, kFabric);
      sum += ledger->time().in_seconds();
    }
  });
  return sum > 0 ? ms / 1e3 / kPoints : 1;
}

// Every node has one GPU; a hash chooses among 32 uplinks of each leaf.
sim::FabricWhatIf on_fat_tree(model::Op op, model::Algorithm algorithm, int ranks) {
  sim::FabricWhatIf what{
      .what = {.collective = {op, ranks, core::Bytes::of(kGibibyte)}, .algorithm = algorithm}};
  what.what.fabric = kFabric;
  what.what.fabric.inter = kFabric.link;
  what.what.fabric.ranks_per_node = 1;
  what.shape = *sim::fabric_line("fat-tree:nodes_per_leaf=32");
  return what;
}

double fat_tree_seconds(const sim::FabricWhatIf& what) {
  return median_ms(3,
                   [&] {
                     if (!sim::play_on_fabric(what)) std::exit(1);
                   }) /
         1e3;
}

void beside_simgrid_on_fat_tree(const std::string& simgrid) {
  constexpr int kRanks = 256;
  const auto what = on_fat_tree(model::Op::kAllToAll, model::Algorithm::kDirect, kRanks);
  const auto graph = sim::FabricGraph::create(
      {.shape = what.shape, .links = what.what.fabric, .ranks = kRanks, .seed = what.seed});
  const auto path = std::filesystem::temp_directory_path() / "comm_probe_bench_ways.txt";
  test::write_ways(**graph, kRanks, path);
  const Cost cost = cost_of({simgrid, "direct", "256", "1073741824", "5e-7", path.string()});
  std::filesystem::remove(path);
  beside("fat tree, all_to_all, 256 ranks; peer: SimGrid here", fat_tree_seconds(what), cost.cpu_s);
}

// A ring all_reduce spelled out, as Schedgen writes one for LogGOPSim: a send waits for the recv of
// the round before.
std::string ring_goal(int ranks) {
  std::string text = fmt::format("num_ranks {}\n", ranks);
  const long bytes = static_cast<long>(kGibibyte) / ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    text += fmt::format("rank {} {{\n", rank);
    for (int round = 0; round < 2 * (ranks - 1); ++round) {
      text += fmt::format("s{0}: send {1}b to {2} tag {0}\nr{0}: recv {1}b from {3} tag {0}\n",
                          round, bytes, (rank + 1) % ranks, (rank + ranks - 1) % ranks);
      if (round > 0) text += fmt::format("s{} requires r{}\n", round, round - 1);
    }
    text += "}\n";
  }
  return text;
}

struct GoalCost {
  double read_s = 0, play_s = 0;
  core::Duration time = {};
};
GoalCost goal_cost(int ranks) {
  const std::string text = ring_goal(ranks);
  GoalCost cost;
  std::optional<sim::ProgramFile> file;
  cost.read_s = median_ms(1,
                          [&] {
                            core::Input input = core::Input::from_memory("ring.goal", text);
                            auto read = sim::read_goal(input);
                            if (!read) std::exit(1);
                            file = std::move(read).value();
                          }) /
                1e3;
  cost.play_s = median_ms(1,
                          [&] {
                            const auto played = sim::play_program(*file, {.links = kFabric});
                            if (!played) std::exit(1);
                            cost.time = played->time;
                          }) /
                1e3;
  return cost;
}

double peak_megabytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e3;
}

}  // namespace

int run(const char* simgrid) {
  bool ok = true;
  const std::vector<model::SlowLink> slow = {{17, model::kAnyRank, 0.5}};
  const double at_4096 = ring_seconds(4096, slow, {});
  ok &= row("ring, 4,096 ranks, one slow NIC", at_4096, 0.3);
  ok &= row("ring, 16,384 ranks, one slow NIC", ring_seconds(16384, slow, {}), 4);
  std::vector<core::Duration> late(1024);
  late[5] = core::Duration::from_ms(2);
  ok &= row("ring, 1,024 ranks, one 2 ms late", ring_seconds(1024, {}, late), 2);
  using model::Algorithm;
  using model::Op;
  ok &= row("fat tree, all_to_all, 1,024 ranks, every message",
            fat_tree_seconds(on_fat_tree(Op::kAllToAll, Algorithm::kDirect, 1024)), 5);
  ok &= row("fat tree, ring, 1,024 ranks, every message",
            fat_tree_seconds(on_fat_tree(Op::kAllReduce, Algorithm::kRing, 1024)), 5);
  const double memory = peak_megabytes();
  fmt::print("{:52} {:10.3g} MB  bar {:6g} MB  {}\n", "peak memory of all of these", memory, 100.0,
             memory < 100 ? "ok" : "MISSED");
  ok &= memory < 100;
  ok &= row("closed form with its reasons, one point", closed_form_seconds(), 1e-6);
  if (simgrid != nullptr) {
    const Cost cost = cost_of({simgrid, "ring", "512", "1073741824", "5e-7", "5e10"});
    beside("ring, 512 ranks; peer: SimGrid here", ring_seconds(512, slow, {}), cost.cpu_s);
    beside_simgrid_on_fat_tree(simgrid);
  }
  const GoalCost goal = goal_cost(512);
  fmt::print("GOAL, ring, 512 ranks: {} (spec: 43.37677 ms of LogGOPSim)\n",
             core::format_duration(goal.time));
  beside("GOAL, ring, 512 ranks, read; peer: txt2bin, recorded", goal.read_s, 1.55);
  beside("GOAL, ring, 512 ranks, played; peer: LogGOPSim", goal.play_s, 0.30);
  beside("ring, 4,096 ranks; peer: LogGOPSim, recorded", at_4096, 44);
  beside("ring, 4,096 ranks; peer: ASTRA-sim, recorded", at_4096, 81);
  return ok ? 0 : 1;
}

}  // namespace comm_probe

int main(int argc, char** argv) { return comm_probe::run(argc > 1 ? argv[1] : nullptr); }
