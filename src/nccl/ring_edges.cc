#include "nccl/ring_edges.h"

#include <algorithm>

#include "nccl/peer_rules.h"

namespace comm_probe::nccl {
namespace {

int gpu_of_rank(const Reach& reach, int rank) {
  int gpu = 0;
  while (reach.rank(gpu) != rank) ++gpu;
  return gpu;
}

std::string inside_text(const Reach& reach, const PeerRules& rules, int from, int to) {
  const PeerVerdict verdict = rules.verdict(from, to);
  switch (rules.transport(from, to, verdict)) {
    case Transport::kP2p:
      if (verdict.relay)
        return "P2P/indirect/" + std::to_string(reach.rank(*verdict.relay)) + "[" +
               std::to_string(reach.gpu(*verdict.relay).dev.value_or(-1)) + "]";
      return std::string(reach.host_of_gpu(from) == reach.host_of_gpu(to) ? "P2P/CUMEM"
                                                                          : "P2P/MNNVL") +
             (rules.receiver_reads(from, to) ? "/read" : "");
    case Transport::kShm:
      return "SHM/direct/direct";
    case Transport::kNet:
      return "NET";
    case Transport::kSelf:
    case Transport::kNone:
      break;
  }
  return "none";
}

std::string net_text(const Reach& reach, const RingEnd& end) {
  if (end.net < 0) return "none";
  std::string text = "NET/" + std::to_string(reach.net(end.net).dev.value_or(-1));
  if (end.driver != end.rank) text += "(" + std::to_string(end.driver) + ")";
  if (end.gdr_mode == 1) text += "/GDRDMA";
  if (end.gdr_mode == 2) text += "/GDRDMA(PCI)";
  return text;
}

// The rank before and the rank after another on a ring.
struct Neighbours {
  int before = 0;
  int after = 0;
};
Neighbours neighbours(const std::vector<int>& ring, int rank) {
  const auto at =
      static_cast<std::size_t>(std::find(ring.begin(), ring.end(), rank) - ring.begin());
  return {.before = ring[(at + ring.size() - 1) % ring.size()],
          .after = ring[(at + 1) % ring.size()]};
}

void add_inside(std::vector<RingEdge>& edges, const JobPlan& plan, const PeerRules& rules,
                int channel) {
  const Reach& reach = plan.job.reach;
  const std::vector<int>& ranks = plan.own().ring.channels[static_cast<std::size_t>(channel)].ranks;
  if (ranks.size() < 2) return;
  const std::size_t count = plan.connection.nodes() > 1 ? ranks.size() - 1 : ranks.size();
  for (std::size_t i = 0; i < count; ++i) {
    const int to = ranks[(i + 1) % ranks.size()];
    edges.push_back(
        {.channel = channel,
         .from = ranks[i],
         .to = to,
         .via = inside_text(reach, rules, gpu_of_rank(reach, ranks[i]), gpu_of_rank(reach, to))});
  }
}

}  // namespace

std::vector<RingEdge> ring_edges(const JobPlan& plan) {
  const Reach& reach = plan.job.reach;
  const PeerRules rules(reach);
  const bool leaves_node = plan.connection.nodes() > 1;
  std::vector<RingEdge> edges;
  int channel = 0;
  for (const RingEnds& ends : ring_ends(plan)) {
    const std::vector<int> ring = leaves_node ? plan.connection.ring(channel) : std::vector<int>();
    if (leaves_node)
      edges.push_back({.channel = channel,
                       .from = neighbours(ring, ends.receive.rank).before,
                       .to = ends.receive.rank,
                       .via = net_text(reach, ends.receive)});
    add_inside(edges, plan, rules, channel);
    if (leaves_node)
      edges.push_back({.channel = channel,
                       .from = ends.send.rank,
                       .to = neighbours(ring, ends.send.rank).after,
                       .via = net_text(reach, ends.send)});
    ++channel;
  }
  return edges;
}

}  // namespace comm_probe::nccl
