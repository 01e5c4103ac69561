// The tuning table and the choice of every call against what NCCL's own code decides for 40
// machines, 1 to 128 nodes and their environment variants (../shared/data/oracle, version 2.28.9).
// Graphs and channel counts come from the oracle file itself, so that this part stands alone.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "nccl/nccl.h"
#include "topology/readers/nccl_xml.h"

namespace comm_probe {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

nccl::GraphTraits traits_of(const Json& graph) {
  nccl::GraphTraits traits;
  if (graph.contains("pattern")) traits.pattern = static_cast<nccl::Pattern>(graph["pattern"]);
  traits.n_channels = graph["n_channels"];
  traits.same_channels = graph["same_channels"] == 1;
  traits.cross_nic = graph["cross_nic"];
  traits.bw_intra = {graph["bw_intra"]};
  traits.bw_inter = {graph["bw_inter"]};
  traits.type_intra = topology::parse_path_type(graph["type_intra"].get<std::string>()).value();
  traits.type_inter = topology::parse_path_type(graph["type_inter"].get<std::string>()).value();
  return traits;
}

// The worst of all domains, as ranks agree on it.
nccl::GraphTraits agreed(const Json& oracle, const char* name) {
  if (!oracle["graphs"].contains(name)) return {};
  nccl::GraphTraits all = traits_of(oracle["graphs"][name]);
  for (int domain = 1; oracle.contains("graphs_domain" + std::to_string(domain)); ++domain) {
    const Json& graphs = oracle["graphs_domain" + std::to_string(domain)];
    if (!graphs.contains(name)) continue;
    const nccl::GraphTraits other = traits_of(graphs[name]);
    all.n_channels = std::min(all.n_channels, other.n_channels);
    all.same_channels = all.same_channels && other.same_channels;
    all.bw_intra = std::min(all.bw_intra, other.bw_intra);
    all.bw_inter = std::min(all.bw_inter, other.bw_inter);
    all.type_intra = std::max(all.type_intra, other.type_intra);
    all.type_inter = std::max(all.type_inter, other.type_inter);
  }
  return all;
}

core::Duration latency_of(const Json& oracle, const char* name) {
  if (!oracle["graphs"].contains(name)) return {};
  return core::Duration::from_us(oracle["graphs"][name]["latency_inter"]);
}

int heads_of(const Json& oracle, const char* name) {
  std::set<int> heads;
  if (oracle["graphs"].contains(name))
    for (const Json& channel : oracle["graphs"][name]["channels"])
      heads.insert(channel["gpus"][0].get<int>());
  return static_cast<int>(heads.size());
}

nccl::Agreement agreement_of(const Json& oracle, const nccl::Reach& reach) {
  const Json& inputs = oracle["inputs"];
  nccl::Agreement all;
  all.ring = agreed(oracle, "ring");
  all.tree = agreed(oracle, "tree");
  all.nvls = agreed(oracle, "nvls");
  all.collnet_chain = agreed(oracle, "collnet_chain");
  all.collnet_direct = agreed(oracle, "collnet_direct");
  all.ring.n_channels = all.tree.n_channels = oracle["channels"]["search"];
  all.latency_ring = latency_of(oracle, "ring");
  all.latency_tree = latency_of(oracle, "tree");
  all.latency_nvls = latency_of(oracle, "nvls");
  all.latency_collnet_chain = latency_of(oracle, "collnet_chain");
  all.latency_collnet_direct = latency_of(oracle, "collnet_direct");
  all.ranks = inputs["ranks"];
  all.nodes = oracle["nccl_nodes"];
  for (const Json& domain : oracle["domains"])
    all.most_local_ranks = std::max(all.most_local_ranks, static_cast<int>(domain.size()));
  all.least_sm = inputs["min_cc"];
  all.most_sm = inputs["max_cc"];
  const auto& cpu = reach.machine.node(reach.cpu_node(0)).as<topology::Cpu>();
  all.cpu_arch = cpu.arch;
  all.cpu_vendor = cpu.vendor;
  all.nvswitches = reach.machine.count(topology::NodeType::kNvs);
  all.is_nvls_usable = oracle["channels"]["nvls"] > 0;
  all.is_collnet_usable =
      inputs["collnet"] == 1 && all.nodes >= 2 && all.collnet_chain.n_channels > 0;
  all.collnet_heads = heads_of(oracle, "collnet_direct");
  return all;
}

nccl::ChannelCounts channels_of(const Json& channels) {
  return {.search = channels["search"],
          .coll = channels["coll"],
          .nvls = channels["nvls"],
          .p2p = channels["p2p"],
          .p2p_per_peer = channels["p2p_per_peer"],
          .nvls_heads = channels["nvls_heads"]};
}

bool is_near(double a, double b) {
  return std::abs(a - b) <= 1e-5 * std::max(std::abs(a), std::abs(b));
}

using Misses = std::vector<std::string>;

template <class Value>
void compare_methods(const Json& expected, const nccl::PerMethod<Value>& found, const char* what,
                     Misses& misses) {
  for (const nccl::Algorithm a : nccl::kAllAlgorithms)
    for (const nccl::Protocol p : nccl::kAllProtocols) {
      const auto value = found[nccl::index_of(a)][nccl::index_of(p)];
      const Json& cell = expected[nccl::call_name(a)][nccl::index_of(p)];
      if (cell != value)
        misses.push_back(std::string(what) + " " + nccl::call_name(a) + " " + nccl::table_name(p) +
                         ": expected " + cell.dump() + ", found " + std::to_string(value));
    }
}

void compare_table(const Json& table, const nccl::Tuning& tuning, Misses& misses) {
  for (const nccl::Function f : nccl::kAllFunctions)
    for (const nccl::Algorithm a : nccl::kAllAlgorithms)
      for (const nccl::Protocol p : nccl::kAllProtocols) {
        const nccl::MethodCost& cost = tuning.cost(f, a, p);
        double latency = 0;
        double bandwidth = 0;
        if (table[nccl::function_name(f)].contains(nccl::call_name(a))) {
          const Json& row = table[nccl::function_name(f)][nccl::call_name(a)];
          latency = row["lat"][nccl::index_of(p)];
          bandwidth = row["bw"][nccl::index_of(p)];
        }
        if (is_near(latency, cost.latency.us) && is_near(bandwidth, cost.bandwidth.GBps)) continue;
        misses.push_back(std::string(nccl::function_name(f)) + " " + nccl::call_name(a) + " " +
                         nccl::table_name(p) + ": expected " + std::to_string(latency) + "/" +
                         std::to_string(bandwidth) + ", found " + std::to_string(cost.latency.us) +
                         "/" + std::to_string(cost.bandwidth.GBps));
      }
}

Json row_of(std::uint64_t bytes, const core::Result<nccl::Choice>& choice) {
  if (!choice) return Json::array({bytes, "ERROR"});
  const nccl::Choice& c = *choice;
  return Json::array({bytes, nccl::call_name(c.taken.algorithm), nccl::call_name(c.taken.protocol),
                      c.taken.time.us, c.launch.channel_limit, c.launch.threads, c.launch.channels,
                      c.launch.chunk});
}

bool same_row(const Json& expected, const Json& found) {
  if (expected.size() != found.size()) return false;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (i == 3) {
      if (!is_near(expected[i], found[i])) return false;
    } else if (expected[i] != found[i]) {
      return false;
    }
  }
  return true;
}

struct Score {
  int files = 0;
  int rows = 0;
  int wrong_rows = 0;
  int wrong_tables = 0;
};

void compare_choices(const Json& choices, const nccl::Tuning& tuning, Score& score,
                     Misses& misses) {
  for (const auto& [name, rows] : choices.items()) {
    const nccl::Function function = nccl::function_from_name(name).value();
    for (const Json& row : rows) {
      const std::uint64_t bytes = row[0];
      const nccl::Call call = nccl::call_of(function, bytes, tuning.job.agreement.ranks);
      const Json found = row_of(bytes, choose(tuning, call));
      ++score.rows;
      if (same_row(row, found)) continue;
      ++score.wrong_rows;
      misses.push_back(name + ": expected " + row.dump() + ", found " + found.dump());
    }
  }
}

Misses misses_of(const fs::path& file, Score& score) {
  const Json oracle = Json::parse(read_file(file));
  if (!oracle.contains("tuning")) return {};
  ++score.files;
  nccl::Environment environment;
  for (const auto& [key, value] : oracle["env"].items()) environment[key] = value;
  const fs::path xml = file.parent_path() / "system.xml";
  const auto reading = topology::read_nccl_xml(xml.string(), read_file(xml));
  if (!reading) return {reading.error().one_line()};
  const Json& inputs = oracle["inputs"];
  const nccl::Job job = {.nodes = inputs["nodes"],
                         .multicast = inputs["multicast"] == 1,
                         .driver_p2p = inputs["driver_p2p"] == 1,
                         .collnet = inputs["collnet"] == 1,
                         .mnnvl = inputs["mnnvl"] == 1};
  const auto reach = nccl::reach_of_job(reading->machine, nccl::read_settings(environment), job);
  const auto settings = nccl::read_tuning_settings(environment);
  if (!reach) return {reach.error().one_line()};
  if (!settings) return {settings.error().one_line()};
  const nccl::Tuning tuning = nccl::tune({.agreement = agreement_of(oracle, reach->reach),
                                          .channels = channels_of(oracle["channels"]),
                                          .settings = *settings});
  Misses misses;
  compare_methods(oracle["tuning"]["max_threads"], tuning.max_threads, "threads", misses);
  compare_methods(oracle["tuning"]["thread_thresholds"], tuning.thread_thresholds, "threshold",
                  misses);
  compare_table(oracle["tuning"]["table"], tuning, misses);
  if (!misses.empty()) ++score.wrong_tables;
  compare_choices(oracle["choice"], tuning, score, misses);
  return misses;
}

TEST(Oracle, TuningAndChoiceOfEveryMachineAndVariant) {
  const fs::path root = fs::path(COMM_PROBE_SHARED) / "data/oracle";
  if (!fs::exists(root)) GTEST_SKIP() << "no oracle data at " << root;
  Score score;
  int shown = 0;
  for (const auto& machine : fs::directory_iterator(root)) {
    if (!machine.is_directory()) continue;
    for (const auto& entry : fs::directory_iterator(machine)) {
      const std::string name = entry.path().filename().string();
      if (name[0] != 'n' || entry.path().extension() != ".json") continue;
      const Misses misses = misses_of(entry.path(), score);
      for (std::size_t i = 0; i < misses.size() && i < 4 && shown < 60; ++i, ++shown)
        ADD_FAILURE() << machine.path().filename().string() << "/" << name << " " << misses[i];
    }
  }
  EXPECT_EQ(score.files, 479);
  EXPECT_EQ(score.wrong_tables, 0);
  EXPECT_EQ(score.wrong_rows, 0) << "of " << score.rows;
  RecordProperty("rows", score.rows);
  std::printf("tables %d of %d, choices %d of %d equal\n", score.files - score.wrong_tables,
              score.files, score.rows - score.wrong_rows, score.rows);
}

}  // namespace
}  // namespace comm_probe
