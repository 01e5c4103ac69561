// The tuning table and the choice of every call against what NCCL's own code decides for 40
// machines, 1 to 128 nodes and their environment variants (../shared/data/oracle, version 2.28.9).
// Once with graphs and channel counts from the oracle file itself, so that this part stands alone,
// once with our own search.
#include <gtest/gtest.h>

#include <set>

#include "cli/plan_tuning_json.h"
#include "oracle_files.h"

namespace comm_probe {
namespace {

using oracle::Json;
namespace fs = std::filesystem;

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

struct Score {
  int files = 0;
  int rows = 0;
  int wrong = 0;
};

// Of the tuning table and of every choice.
std::vector<std::string> misses_of(const Json& file, const nccl::Tuning& tuning, Score& score) {
  Json found = Json::object();
  cli::add_tuning_json(found, tuning);
  std::vector<std::string> misses;
  for (const char* key : {"tuning", "choice"})
    oracle::compare(file[key], found.value(key, Json()), key, misses);
  ++score.files;
  for (const auto& [function, rows] : file["choice"].items())
    score.rows += static_cast<int>(rows.size());
  if (!misses.empty()) ++score.wrong;
  return misses;
}

// `tuning_of` gives our tuning of a file.
template <class TuningOf>
void compare_all(TuningOf tuning_of) {
  const fs::path root = fs::path(COMM_PROBE_SHARED) / "data/oracle";
  if (!fs::exists(root)) GTEST_SKIP() << "no oracle data at " << root;
  Score score;
  for (const fs::path& folder : oracle::machines_of(root)) {
    const auto machine = oracle::machine_of(folder);
    ASSERT_TRUE(machine.ok()) << machine.error().one_line();
    for (const fs::path& path : oracle::files_of(folder, "n")) {
      const Json file = Json::parse(oracle::read_file(path));
      if (!file.contains("tuning")) continue;  // a lone rank
      const auto misses = misses_of(file, tuning_of(*machine, file), score);
      for (std::size_t i = 0; i < misses.size() && i < 4; ++i)
        ADD_FAILURE() << folder.filename().string() << "/" << path.filename().string() << " "
                      << misses[i];
    }
  }
  EXPECT_EQ(score.files, 479);
  EXPECT_EQ(score.rows, 70715);
  EXPECT_EQ(score.wrong, 0);
}

nccl::TuningSettings settings_of(const Json& file) {
  return nccl::read_tuning_settings(oracle::environment_of(file)).value();
}

TEST(Oracle, TuningAndChoiceFromTheOraclesGraphs) {
  compare_all([](const topology::Machine& machine, const Json& file) {
    const auto reach = oracle::reach_of(machine, file);
    return nccl::tune({.agreement = agreement_of(file, reach.value().reach),
                       .channels = channels_of(file["channels"]),
                       .settings = settings_of(file)});
  });
}

TEST(Oracle, TuningAndChoiceFromOurSearch) {
  compare_all([](const topology::Machine& machine, const Json& file) {
    return nccl::tune(oracle::plan_of(machine, file).value(), settings_of(file));
  });
}

// A public log of NCCL 2.29.7 (public-checks.json, first entry): its table has one digit after the
// point; 2.29 gives a channel at least 32 KiB of traffic.
TEST(Oracle, TuningOfAPublicLogOf229) {
  const fs::path root = fs::path(COMM_PROBE_SHARED) / "data/oracle";
  if (!fs::exists(root)) GTEST_SKIP() << "no oracle data at " << root;
  const Json facts = Json::parse(oracle::read_file(root / "public-checks.json"))[0]["facts"];
  const auto machine = oracle::machine_of(root / "pub-rtx5090-2hosts");
  const Json file = Json::parse(oracle::read_file(root / "pub-rtx5090-2hosts/n2.json"));
  const nccl::Tuning tuning = nccl::tune(oracle::plan_of(machine.value(), file).value(),
                                         nccl::read_tuning_settings({}, {2, 29, 7}).value());
  for (const char* name : {"AllReduce", "AllGather", "Broadcast"})
    for (const nccl::Algorithm a : nccl::kAllAlgorithms)
      for (const nccl::Protocol p : nccl::kAllProtocols) {
        if (!facts[name].contains(nccl::call_name(a))) continue;
        const Json& row = facts[name][nccl::call_name(a)];
        const auto& cost = tuning.cost(nccl::function_from_name(name).value(), a, p);
        EXPECT_NEAR(cost.latency.us, row["lat"][nccl::index_of(p)].get<double>(), 0.051) << name;
        EXPECT_NEAR(cost.bandwidth.GBps, row["bw"][nccl::index_of(p)].get<double>(), 0.051) << name;
      }
  int calls = 0;
  for (const auto& [bytes, made] : facts["broadcast_choice"].items()) {
    const auto choice =
        choose(tuning, nccl::call_of(nccl::Function::kBroadcast, std::stoull(bytes), 2)).value();
    EXPECT_EQ(made, Json::array({nccl::call_name(choice.taken.algorithm),
                                 nccl::call_name(choice.taken.protocol), choice.launch.channels}))
        << bytes;
    ++calls;
  }
  EXPECT_EQ(calls, 10);
}

}  // namespace
}  // namespace comm_probe
