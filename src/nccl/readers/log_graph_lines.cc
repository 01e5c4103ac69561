// What the search found, rings, trees, edges.
#include <algorithm>

#include "nccl/readers/log_builder.h"

namespace comm_probe::nccl {
namespace {

constexpr std::size_t kMostGraphs = 64;      // of one communicator
constexpr std::size_t kMostOrders = 64;      // channels of one graph
constexpr std::size_t kMostEdgeKinds = 128;  // of one communicator
constexpr std::size_t kMostRingNumbers = 1 << 24;
constexpr std::size_t kMostTreeLinks = 1 << 22;
constexpr int kMostChannelNumber = 1024;

// "4/-1/-1": as many as there are.
std::array<int, 3> children(LogScan& scan) {
  std::array<int, 3> down = {-1, -1, -1};
  for (int& child : down) {
    child = scan.small().value_or(-1);
    if (!scan.skip("/")) break;
  }
  return down;
}

}  // namespace

// Behind "Pattern ": "4, crossNic 0, nChannels 8, bw 48.0/48.0, type NVL/PIX, sameChannels 1";
// "speed" instead of "bw" until 2.12.
bool LogBuilder::read_pattern(LogScan scan) {
  LogGraph graph;
  const auto pattern = scan.small();
  const auto cross = scan.small_after("crossNic ");
  const auto channels = scan.small_after("nChannels ");
  if (!pattern || !cross || !channels) return false;
  if (!scan.skip(", bw ") && !scan.skip(", speed ")) return false;
  const auto intra = scan.real();
  if (!intra || !scan.skip("/")) return false;
  const auto inter = scan.real();
  if (!inter || !scan.skip(", type ")) return false;
  graph = {*pattern, *cross, *channels, *intra, *inter};
  graph.type_intra = std::string(scan.until('/').substr(0, 8));
  graph.type_inter = std::string(scan.until(',').substr(0, 8));
  graph.same_channels = scan.small_after("sameChannels ").value_or(0) == 1;
  graph.count = 1;
  LogComm& of = comm_being_set_up();
  const auto known = std::find_if(of.graphs.begin(), of.graphs.end(),
                                  [&](const LogGraph& g) { return same_traits(g, graph); });
  if (known != of.graphs.end()) {
    ++known->count;
    thread_->graph = -1;
    return true;
  }
  if (of.graphs.size() >= kMostGraphs) return true;
  graph.first = here();
  thread_->graph = static_cast<int>(of.graphs.size());
  of.graphs.push_back(std::move(graph));
  return true;
}

bool LogBuilder::read_numbered_line(LogScan) { return read_numbered(LogScan(line_.message)); }

// " 0 : NET/0 GPU/0 NET/0" of a graph; "16 coll channels, 16 collnet channels, 0 nvls channels,
// 16 p2p channels, 2 p2p channels per peer".
bool LogBuilder::read_numbered(LogScan scan) {
  const LogScan whole = scan;
  const auto number = scan.small();
  if (!number) return false;
  if (scan.skip(" : ")) {
    if (thread_->graph < 0) return true;
    LogComm& of = comm();
    if (index(thread_->graph) >= of.graphs.size()) return true;
    auto& orders = of.graphs[index(thread_->graph)].orders;
    if (orders.size() < kMostOrders) orders.emplace_back(scan.rest().substr(0, 1024));
    return true;
  }
  if (scan.skip(" coll channels")) {
    LogChannelCounts counts = {*number, 0, 0, 0};
    if (LogScan nvls = scan; nvls.skip(", ")) {
      auto value = nvls.small();
      if (value && nvls.skip(" collnet channels, ")) value = nvls.small();
      if (value && nvls.skip(" nvls channels, ")) {
        counts.nvls = *value;
        value = nvls.small();
      }
      if (value && nvls.skip(" p2p channels, ")) {
        counts.p2p = *value;
        counts.p2p_per_peer = nvls.small().value_or(0);
      }
    }
    LogComm& of = comm();
    if (!of.channels) of.channels = counts;
    reach(LogPhase::kTuned);
    return true;
  }
  return scan.skip(" Bytes -> Algo ") && read_old_choice(whole);
}

// Behind "Channel ": a ring "00/16 : 0 7 6" or an edge "00/0 : 0[0] -> 7[7] via P2P/CUMEM".
bool LogBuilder::read_channel(LogScan scan) {
  const auto channel = scan.small();
  if (!channel || *channel < 0 || *channel > kMostChannelNumber) return false;
  std::optional<int> count;
  if (scan.skip("/")) count = scan.small();
  if (!scan.skip(" : ")) return false;
  LogScan ranks = scan;
  ranks.skip_blanks();
  if (const auto first = ranks.small(); !first || ranks.next_is("[")) return read_edge(scan);
  LogComm& of = comm_being_set_up();
  of.ring_count = count;
  reach(LogPhase::kChannels);
  auto& ring = of.rings[*channel];
  if (!ring.empty()) return true;
  while (ring_numbers_ < kMostRingNumbers) {
    scan.skip_blanks();
    const auto rank = scan.small();
    if (!rank) break;
    ring.push_back(*rank);
    ++ring_numbers_;
  }
  // a last line without its end may have lost ranks
  of.is_single = ring.size() == 1 && raw_->ended && (of.rings.size() == 1 || of.is_single);
  return true;
}

// Behind "Ring ": until 2.6 an edge; else "00 : 7 -> 0 -> 1".
bool LogBuilder::read_ring(LogScan scan) {
  const auto channel = scan.small();
  if (!channel || !scan.skip(" : ")) return false;
  if (scan.rest().find('[') != std::string_view::npos) return read_edge(scan);
  reach(LogPhase::kChannels);
  return true;
}

// "0[0] -> 1[0] [send] via NET/IB/0(3)/GDRDMA", "2[3d000] -> 3[3e000] via direct shared memory"
bool LogBuilder::read_edge(LogScan scan) {
  if (!scan.behind(" via ")) return false;
  std::string_view via = scan.rest();
  if (via.starts_with("NET/")) {
    const std::size_t end = via.find('/', 4);
    if (end == std::string_view::npos) return true;
    LogScan tail(via.substr(end + 1));
    const auto device = tail.number();
    if (!device) return true;
    const bool is_through_other = tail.skip("(");
    if (is_through_other) tail.behind(")");
    const bool gdr = tail.next_is("/GDRDMA");
    // else the line was cut, or another process wrote into it
    if (!gdr && !tail.at_end() && !tail.next_is("/Shared") && !tail.next_is(" comm ")) return true;
    add_edge(via.substr(0, end), true, gdr, *device);
    ++(gdr ? process().gdr_edges : process().plain_edges);
    if (!is_through_other && *device >= 0 && *device < 64)
      process().own_devices |= std::uint64_t{1} << *device;
    return true;
  }
  if (via.starts_with("direct shared memory")) via = "SHM";
  via = via.substr(0, via.find(" comm "));
  // "P2P/indirect/3[3]": by which GPU is another matter
  if (via.starts_with("P2P/indirect")) via = "P2P/indirect";
  add_edge(via.substr(0, 40), false, false);
  return true;
}

bool LogBuilder::read_collnet(LogScan scan) {
  if (!scan.behind(" via COLLNET/")) return false;
  const std::string_view net = scan.rest();
  add_edge("COLLNET/" + std::string(net.substr(0, net.find('/'))), true,
           net.find("/GDRDMA") != std::string_view::npos);
  return true;
}

void LogBuilder::add_edge(std::string_view via, bool is_net, bool gdr, std::int64_t device) {
  const std::uint64_t bit = device >= 0 && device < 64 ? std::uint64_t{1} << device : 0;
  LogComm& of = comm();
  for (LogEdges& edges : of.edges)
    if (edges.via == via && edges.gdr == gdr) {
      ++edges.count;
      edges.devices |= bit;
      return;
    }
  if (of.edges.size() < kMostEdgeKinds)
    of.edges.push_back({std::string(via), is_net, gdr, 1, here(), bit});
}

void LogBuilder::add_tree(int channel, int rank, const LogTreeLinks& links) {
  if (channel < 0 || channel > kMostChannelNumber || tree_numbers_ >= kMostTreeLinks) return;
  if (comm_being_set_up().trees.try_emplace({channel, rank}, links).second) ++tree_numbers_;
}

// Behind "Tree ": "0 : -1 -> 0 -> 4/-1/-1".
bool LogBuilder::read_tree(LogScan scan) {
  const auto channel = scan.small();
  if (!channel || !scan.skip(" : ")) return false;
  const auto up = scan.small();
  if (!up || !scan.skip(" -> ")) return false;
  const auto rank = scan.small();
  if (!rank || !scan.skip(" -> ")) return false;
  reach(LogPhase::kChannels);
  add_tree(*channel, *rank, {*up, children(scan)});
  return true;
}

// Behind "Trees ": "[0] 4/-1/-1->0->-1 [1] ..."; until 2.8 "4/-1/-1->0->-1|-1->0->4/-1/-1".
bool LogBuilder::read_trees(LogScan scan) {
  comm_being_set_up();
  reach(LogPhase::kChannels);
  while (scan.behind("[")) {
    const auto channel = scan.small();
    if (!channel || !scan.skip("] ")) break;
    LogTreeLinks links;
    links.down = children(scan);
    if (!scan.skip("->")) break;
    const auto rank = scan.small();
    if (!rank || !scan.skip("->")) break;
    const auto up = scan.small();
    // at the end of a cut line a number may have lost digits
    if (!up || (scan.at_end() && line_.message.size() >= 1000)) break;
    links.up = *up;
    add_tree(*channel, *rank, links);
  }
  return true;
}

bool LogBuilder::read_connected(LogScan scan) {
  reach(LogPhase::kConnected);
  return scan.rest().empty() || scan.next_is(" ") || scan.next_is(",");
}

}  // namespace comm_probe::nccl
