// Generated machines: what a search finds fits on the machine, whoever reckons it; names and
// numbers of devices decide nothing; every ring and tree reaches every rank.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "nccl/nccl.h"
#include "topology/readers/nccl_xml.h"

namespace comm_probe::nccl {
namespace {

using topology::Machine;
using topology::PathType;

enum class Nvlink { kNone, kPairs, kAll, kSwitch };

struct Box {
  int sockets = 2;
  int switches = 2;  // of a socket
  int gpus = 2;      // of a switch
  int nics = 1;      // of a switch
  int sm = 80;
  bool is_amd = false;
  Nvlink nvlink = Nvlink::kNone;
  int nic_mbps = 200000;
  int bus_step = 1;
  int dropped_nic = -1;

  int all_gpus() const { return sockets * switches * gpus; }
};

Box random_box(unsigned seed) {
  std::mt19937 random(seed);
  const auto one_of = [&](std::vector<int> values) { return values[random() % values.size()]; };
  Box box{.sockets = one_of({1, 2}),
          .switches = one_of({1, 2}),
          .gpus = one_of({1, 2}),
          .nics = one_of({0, 1, 1, 2}),
          .sm = one_of({70, 80, 90, 100}),
          .is_amd = random() % 2 == 0,
          .nvlink = static_cast<Nvlink>(random() % 4),
          .nic_mbps = one_of({25000, 100000, 200000, 400000})};
  return box;
}

std::string bus_id(int number) {
  return fmt::format("{:04x}:{:02x}:00.0", number / 200, number % 200);
}

std::string nvlinks_xml(const Box& box, int gpu, const std::vector<std::string>& gpu_ids) {
  std::string text;
  for (int peer = 0; peer < box.all_gpus(); ++peer)
    if (peer != gpu &&
        (box.nvlink == Nvlink::kAll || (box.nvlink == Nvlink::kPairs && peer / 2 == gpu / 2)))
      text += fmt::format("<nvlink target=\"{}\" count=\"4\" tclass=\"0x030200\"/>",
                          gpu_ids[static_cast<std::size_t>(peer)]);
  if (box.nvlink == Nvlink::kSwitch)
    text = "<nvlink target=\"fffffff:ffff:ff\" count=\"12\" tclass=\"0x068000\"/>";
  return text;
}

std::string slot_xml(const std::string& id, const char* kind, const std::string& inside) {
  return fmt::format(
      "<pci busid=\"{}\" class=\"{}\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">{}</pci>", id,
      kind, inside);
}

std::string xml_of(const Box& box) {
  std::vector<std::string> gpu_ids;
  for (int gpu = 0; gpu < box.all_gpus(); ++gpu)
    gpu_ids.push_back(bus_id(100 + gpu * box.bus_step));
  std::string text = "<system version=\"1\">";
  int gpu = 0, nic = 0, bridge = 0;
  for (int socket = 0; socket < box.sockets; ++socket) {
    text += fmt::format(
        "<cpu numaid=\"{}\" arch=\"x86_64\" vendor=\"{}\" familyid=\"6\" modelid=\"143\">", socket,
        box.is_amd ? "AuthenticAMD" : "GenuineIntel");
    for (int i = 0; i < box.switches; ++i) {
      std::string below;
      for (int g = 0; g < box.gpus; ++g, ++gpu)
        below +=
            slot_xml(gpu_ids[static_cast<std::size_t>(gpu)], "0x030200",
                     fmt::format("<gpu dev=\"{0}\" sm=\"{1}\" rank=\"{0}\" gdr=\"1\">{2}</gpu>",
                                 gpu, box.sm, nvlinks_xml(box, gpu, gpu_ids)));
      for (int n = 0; n < box.nics; ++n, ++nic)
        if (nic != box.dropped_nic)
          below += slot_xml(bus_id(1000 + nic * box.bus_step), "0x020700",
                            fmt::format("<nic><net name=\"n{0}\" dev=\"{0}\" speed=\"{1}\" "
                                        "guid=\"0x{2:x}\" port=\"1\" gdr=\"1\"/></nic>",
                                        nic, box.nic_mbps, nic + 1));
      text += slot_xml(bus_id(2000 + bridge++ * box.bus_step), "0x060400", below);
    }
    text += "</cpu>";
  }
  return text + "</system>";
}

std::optional<JobPlan> plan_of(const Machine& machine, int nodes) {
  Job job = implied_job(machine);
  job.nodes = nodes;
  auto reach = reach_of_job(machine, read_settings({}), job);
  if (!reach) return std::nullopt;  // NCCL would refuse the machine
  auto plan = plan_job(std::move(*reach), {});
  if (!plan) return std::nullopt;
  return std::move(*plan);
}

Machine machine_of(const Box& box) {
  const auto reading = topology::read_nccl_xml("generated", xml_of(box));
  EXPECT_TRUE(reading.ok()) << (reading ? "" : reading.error().one_line());
  return reading ? reading->machine : Machine{};
}

// What the channels of a graph put on each link, by the paths themselves.
class Burden {
 public:
  explicit Burden(const Reach& reach) : reach_(reach) {}

  void add(int from, int to, float rate, PathType farthest) {
    EXPECT_LE(reach_.paths.path(from, to).type, farthest);
    for (const topology::Hop& hop : reach_.paths.hops(reach_.machine, from, to)) {
      auto& [sum, uses] = on_link_[{hop.node, hop.link}];
      sum += static_cast<double>(rate);
      ++uses;
    }
  }
  // NCCL rounds to 0.001 at each use.
  void expect_fits() const {
    for (const auto& [link, burden] : on_link_) {
      const auto& [sum, uses] = burden;
      const double most = static_cast<double>(
          reach_.machine.node(link.first).links[static_cast<std::size_t>(link.second)].nccl.GBps);
      EXPECT_LE(sum, most + 0.001 * uses) << reach_.machine.device_name(link.first);
    }
  }

 private:
  const Reach& reach_;
  std::map<std::pair<int, int>, std::pair<double, int>> on_link_ = {};
};

int node_of_rank(const Reach& reach, int rank) {
  for (int gpu = 0; gpu < reach.gpus(); ++gpu)
    if (reach.rank(gpu) == rank) return reach.gpu_node(gpu);
  ADD_FAILURE() << "no rank " << rank;
  return 0;
}

void add_ends(Burden& burden, const Reach& reach, const Graph& graph, const GraphChannel& channel) {
  const GraphTraits& traits = graph.traits;
  const auto gpu = [&](int rank) { return node_of_rank(reach, rank); };
  const float rate = traits.bw_inter.GBps;
  burden.add(reach.net_node(channel.net_in), gpu(channel.ranks.front()), rate, traits.type_inter);
  const int out = reach.net_node(channel.net_out);
  const bool is_shared = traits.pattern == Pattern::kBalancedTree && channel.ranks.size() > 1;
  const int last = traits.pattern == Pattern::kRing ? channel.ranks.back() : channel.ranks.front();
  burden.add(gpu(last), out, is_shared ? rate / 2 : rate, traits.type_inter);
  if (is_shared) burden.add(gpu(channel.ranks[1]), out, rate / 2, traits.type_inter);
}

void expect_fits(const Reach& reach, const Graph& graph) {
  if (graph.effort.is_fallback) return;
  Burden burden(reach);
  for (const GraphChannel& channel : graph.channels) {
    std::vector<int> sorted = channel.ranks;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
    EXPECT_EQ(static_cast<int>(sorted.size()), reach.gpus());
    std::vector<int> way = channel.ranks;
    const bool is_loop = graph.traits.pattern == Pattern::kRing && !reach.is_inter();
    if (is_loop && way.size() > 1) way.push_back(way.front());
    for (std::size_t i = 1; i < way.size(); ++i)
      burden.add(node_of_rank(reach, way[i - 1]), node_of_rank(reach, way[i]),
                 graph.traits.bw_intra.GBps, graph.traits.type_intra);
    if (reach.is_inter()) add_ends(burden, reach, graph, channel);
  }
  burden.expect_fits();
}

constexpr unsigned kBoxes = 60;

TEST(GeneratedSearches, ChannelsFitOnTheMachine) {
  int channels = 0;
  for (unsigned seed = 0; seed < kBoxes; ++seed) {
    SCOPED_TRACE(seed);
    for (const int nodes : {1, 2}) {
      const auto plan = plan_of(machine_of(random_box(seed)), nodes);
      if (!plan || plan->job.domains.size() > 1) continue;
      expect_fits(plan->job.reach, plan->own().ring);
      expect_fits(plan->job.reach, plan->own().tree);
      channels += plan->counts.coll;
    }
  }
  EXPECT_GT(channels, 500);  // the boxes are no empty ones
}

void expect_same_graph(const Graph& a, const Graph& b, const std::vector<int>& new_rank) {
  ASSERT_EQ(a.channels.size(), b.channels.size());
  EXPECT_EQ(a.traits.bw_intra, b.traits.bw_intra);
  EXPECT_EQ(a.traits.bw_inter, b.traits.bw_inter);
  EXPECT_EQ(a.effort.steps, b.effort.steps);
  for (std::size_t channel = 0; channel < a.channels.size(); ++channel) {
    std::vector<int> expected;
    for (const int rank : a.channels[channel].ranks)
      expected.push_back(new_rank[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(b.channels[channel].ranks, expected);
    EXPECT_EQ(b.channels[channel].net_in, a.channels[channel].net_in);
    EXPECT_EQ(b.channels[channel].net_out, a.channels[channel].net_out);
  }
}

TEST(GeneratedSearches, BusIdsDecideNothing) {
  for (unsigned seed = 0; seed < kBoxes; ++seed) {
    SCOPED_TRACE(seed);
    Box box = random_box(seed);
    std::vector<int> same(static_cast<std::size_t>(box.all_gpus()));
    std::iota(same.begin(), same.end(), 0);
    const auto before = plan_of(machine_of(box), 2);
    box.bus_step = 3;
    const auto after = plan_of(machine_of(box), 2);
    ASSERT_EQ(before.has_value(), after.has_value());
    if (!before) continue;
    expect_same_graph(before->own().ring, after->own().ring, same);
    expect_same_graph(before->own().tree, after->own().tree, same);
  }
}

TEST(GeneratedSearches, RankNumbersDecideNothingButNames) {
  for (unsigned seed = 0; seed < kBoxes; ++seed) {
    SCOPED_TRACE(seed);
    Machine machine = machine_of(random_box(seed));
    const auto before = plan_of(machine, 2);
    const int gpus = machine.count(topology::NodeType::kGpu);
    std::vector<int> new_rank(static_cast<std::size_t>(gpus));
    std::iota(new_rank.begin(), new_rank.end(), 0);
    std::shuffle(new_rank.begin(), new_rank.end(), std::mt19937(seed));
    for (const int node : machine.of(topology::NodeType::kGpu)) {
      auto& gpu = std::get<topology::Gpu>(machine.node(node).kind);
      gpu.rank = new_rank[static_cast<std::size_t>(gpu.rank.value())];
    }
    const auto after = plan_of(machine, 2);
    ASSERT_EQ(before.has_value(), after.has_value());
    if (!before || before->job.domains.size() > 1) continue;
    expect_same_graph(before->own().ring, after->own().ring, new_rank);
    expect_same_graph(before->own().tree, after->own().tree, new_rank);
  }
}

TEST(GeneratedSearches, ATakenNicIsNotUsedAndTheRestFits) {
  int taken = 0;
  for (unsigned seed = 0; seed < kBoxes; ++seed) {
    SCOPED_TRACE(seed);
    Box box = random_box(seed);
    const int nics = box.sockets * box.switches * box.nics;
    if (nics < 2) continue;
    box.dropped_nic = static_cast<int>(seed) % nics;
    const auto plan = plan_of(machine_of(box), 2);
    if (!plan || plan->job.domains.size() > 1) continue;
    ++taken;
    EXPECT_EQ(plan->job.reach.nets(), nics - 1);
    expect_fits(plan->job.reach, plan->own().ring);
    expect_fits(plan->job.reach, plan->own().tree);
  }
  EXPECT_GT(taken, 10);
}

void expect_reaches_all(const std::vector<TreeLinks>& tree) {
  int roots = 0;
  for (std::size_t rank = 0; rank < tree.size(); ++rank) {
    if (tree[rank].up < 0) ++roots;
    for (const int child : tree[rank].down)
      if (child >= 0) {
        EXPECT_EQ(tree[static_cast<std::size_t>(child)].up, static_cast<int>(rank));
      }
    std::size_t steps = 0;
    for (int at = static_cast<int>(rank); at >= 0 && steps <= tree.size(); ++steps)
      at = tree[static_cast<std::size_t>(at)].up;
    EXPECT_LE(steps, tree.size()) << "rank " << rank << " is on a loop";
  }
  EXPECT_EQ(roots, 1);
}

TEST(GeneratedSearches, EveryRingAndTreeReachesEveryRank) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const Machine machine = machine_of(random_box(seed));
    for (int nodes = 1; nodes <= 17; nodes += 1 + static_cast<int>(seed) % 3) {
      SCOPED_TRACE(fmt::format("seed {}, {} nodes", seed, nodes));
      const auto plan = plan_of(machine, nodes);
      if (!plan) continue;
      for (const ChannelSource& source : plan->channels) {
        std::vector<int> ring = plan->connection.ring(source.search);
        EXPECT_EQ(ring.front(), 0);
        std::sort(ring.begin(), ring.end());
        std::vector<int> all(static_cast<std::size_t>(plan->connection.ranks()));
        std::iota(all.begin(), all.end(), 0);
        EXPECT_EQ(ring, all);
        expect_reaches_all(plan->connection.tree(source));
      }
    }
  }
}

// A node that passes data on in one of the two trees is a leaf in the other.
TEST(NodeTrees, WorkIsSharedBetweenTheTwo) {
  for (int nodes = 2; nodes <= 130; ++nodes)
    for (int node = 0; node < nodes; ++node) {
      const auto children = [&](TreeHalf half) {
        const NodeTree tree = node_tree(nodes, node, half);
        return (tree.down[0] >= 0 ? 1 : 0) + (tree.down[1] >= 0 ? 1 : 0);
      };
      const int both = std::min(children(TreeHalf::kFirst), children(TreeHalf::kSecond));
      EXPECT_LE(both, nodes % 2 == 0 ? 0 : 1) << node << " of " << nodes;
    }
}

}  // namespace
}  // namespace comm_probe::nccl
