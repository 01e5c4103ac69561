// Rings and trees that NCCL 2.28.9 plans (../shared/data/oracle), played by the NICs of their
// ranks, beside what every port has to carry, counted here from the orders alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/fabric_run.h"
#include "sim/readers/nccl_plan.h"

namespace comm_probe::sim {
namespace {

namespace fs = std::filesystem;
using core::Bandwidth;
using core::Bytes;
using core::Duration;

const fs::path kOracle = fs::path(COMM_PROBE_SHARED) / "data/oracle";
constexpr double kBytes = 8e9, kInside = 450e9, kNic = 50e9;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Every rank has a NIC of its own; nothing is shared above.
FabricWhatIf job_of(const PlannedChannels& plan, int nodes, model::Algorithm algorithm) {
  FabricWhatIf what{.what = {.collective = {model::Op::kAllReduce, plan.ranks, Bytes::of(kBytes)},
                             .algorithm = algorithm}};
  what.what.fabric.link = {Duration::from_us(3), Bandwidth::from_GBps(kInside / 1e9)};
  if (nodes > 1) {
    what.what.fabric.inter = model::Link{Duration::from_us(14), Bandwidth::from_GBps(kNic / 1e9)};
    what.what.fabric.ranks_per_node = plan.ranks / nodes;
    what.shape = {.kind = FabricShape::Kind::kFatTree, .nodes_per_leaf = nodes};
  }
  what.channels = plan;
  return what;
}

// Seconds that the busiest port needs: bytes out of and into every rank, inside and between nodes.
class Ports {
 public:
  explicit Ports(int per_node) : per_node_(per_node) {}
  void send(int from, int to, double bytes) {
    const bool is_inside = from / per_node_ == to / per_node_;
    for (const int port : {2 * from, 2 * to + 1})
      seconds_[{is_inside, port}] += bytes / (is_inside ? kInside : kNic);
  }
  double busiest() const {
    double most = 0;
    for (const auto& [port, seconds] : seconds_) most = std::max(most, seconds);
    return most;
  }

 private:
  int per_node_;
  std::map<std::pair<bool, int>, double> seconds_;
};

double ring_bound(const nlohmann::json& plan, int ranks, int nodes) {
  Ports ports(ranks / nodes);
  const auto& rings = plan.at("rings");
  const double each = kBytes / static_cast<double>(rings.at("channel_to_unique").size());
  for (const int which : rings.at("channel_to_unique")) {
    const std::vector<int> order = rings.at("unique").at(static_cast<std::size_t>(which));
    for (std::size_t i = 0; i < order.size(); ++i)
      ports.send(order[i], order[(i + 1) % order.size()], each * 2 * (ranks - 1) / ranks);
  }
  return ports.busiest();
}

double tree_bound(const nlohmann::json& plan, int ranks, int nodes) {
  Ports ports(ranks / nodes);
  const auto& trees = plan.at("trees");
  const double each = kBytes / static_cast<double>(trees.at("channel_to_unique").size());
  for (const int which : trees.at("channel_to_unique")) {
    std::stringstream words(
        trees.at("unique").at(static_cast<std::size_t>(which)).get<std::string>());
    std::string word;
    for (int rank = 0; words >> word; ++rank) {
      const int up = std::stoi(word);
      if (up < 0) continue;
      ports.send(rank, up, each);
      ports.send(up, rank, each);
    }
  }
  return ports.busiest();
}

struct Machine {
  std::string name = {};
  int nodes = 1;
  PlannedChannels plan = {};
  nlohmann::json json = {};
};

std::vector<Machine> machines() {
  std::vector<Machine> all;
  if (!fs::exists(kOracle)) return all;
  for (const auto& entry : fs::directory_iterator(kOracle))
    for (const int nodes : {1, 2, 4}) {
      const fs::path file = entry.path() / ("n" + std::to_string(nodes) + ".json");
      if (!fs::exists(file)) continue;
      auto json = nlohmann::json::parse(text_of(file));
      if (json.at("rings").at("full") != 1 || json.at("trees").at("full") != 1) continue;
      auto plan = nccl_plan_file(file);
      EXPECT_TRUE(plan) << file << ": " << plan.error().one_line();
      if (plan && plan->ranks > 1 && plan->ranks % nodes == 0)
        all.push_back({entry.path().filename(), nodes, *std::move(plan), std::move(json)});
    }
  return all;
}

void expect_port_time(const Machine& machine, model::Algorithm algorithm, double bound) {
  const std::string name =
      machine.name + ", " + std::to_string(machine.nodes) + " nodes, " + algorithm_name(algorithm);
  const auto played = play_on_fabric(job_of(machine.plan, machine.nodes, algorithm));
  ASSERT_TRUE(played) << name << ": " << played.error().one_line();
  const double time = played->outcome.time.in_seconds();
  EXPECT_GE(time, bound * (1 - 1e-9)) << name;
  EXPECT_LE(time, bound * 1.2 + 2e-3) << name;
}

TEST(PlannedByNccl, TakesWhatTheBusiestPortNeeds) {
  const auto all = machines();
  if (all.empty()) GTEST_SKIP() << "no plans in " << kOracle;
  for (const Machine& machine : all) {
    expect_port_time(machine, model::Algorithm::kRing,
                     ring_bound(machine.json, machine.plan.ranks, machine.nodes));
    expect_port_time(machine, model::Algorithm::kNcclTree,
                     tree_bound(machine.json, machine.plan.ranks, machine.nodes));
  }
  EXPECT_GE(all.size(), 50u);
}

// Two DGX H100: eight rings leave a node by eight NICs, as calc says of a ring with all rails.
TEST(PlannedByNccl, OfDgxH100HasAllRails) {
  const fs::path file = kOracle / "dgxh100/n2.json";
  if (!fs::exists(file)) GTEST_SKIP() << "no " << file;
  const auto plan = nccl_plan_file(file);
  ASSERT_TRUE(plan) << plan.error().one_line();
  EXPECT_EQ(plan->rings.size(), 8u);
  EXPECT_EQ(plan->trees.size(), 16u);
  FabricWhatIf what = job_of(*plan, 2, model::Algorithm::kRing);
  what.what.fabric.rails = 8;
  what.what.fabric.rail = Bandwidth::from_GBps(50);
  const auto played = play_on_fabric(what);
  ASSERT_TRUE(played) << played.error().one_line();
  EXPECT_NEAR(played->outcome.time / played->outcome.closed_form.time(), 1, 0.03);
}

}  // namespace
}  // namespace comm_probe::sim
