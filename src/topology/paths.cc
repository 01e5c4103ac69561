#include "topology/paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/nccl_link_rates.h"

namespace comm_probe::topology {
namespace {

// The kind of step that one link makes, where `from_type` is the type of the path so far.
PathType step_type(const Node& node, const Node& remote, const Link& link, const Path& so_far) {
  const NodeType from = node.type();
  const NodeType to = remote.type();
  switch (link.type) {
    case LinkType::kPci:
      if (from == NodeType::kPci && to == NodeType::kPci) return PathType::kPxb;
      if (from == NodeType::kCpu || to == NodeType::kCpu) return PathType::kPhb;
      return PathType::kPix;
    case LinkType::kNvl:
      if (from == NodeType::kGpu && so_far.type == PathType::kNvl && so_far.hops > 0)
        return PathType::kNvb;
      return PathType::kNvl;
    case LinkType::kLoc:
      if (from == NodeType::kPci && to == NodeType::kPci) return PathType::kPxb;
      return PathType::kLoc;
    case LinkType::kC2c:
      return PathType::kC2c;
    case LinkType::kSys:
      return PathType::kSys;
    case LinkType::kNet:
      return PathType::kLoc;
  }
  return PathType::kDis;
}

// A GPU on the way passes on only NVLink to a next GPU, and only as the first stop.
bool passes_on(const Node& node, const Node& remote, const Link& link, int hops, PathRules rules) {
  if (node.type() != NodeType::kGpu) return true;
  return rules.nvlink_relay && link.type == LinkType::kNvl && remote.type() == NodeType::kGpu &&
         hops <= 1;
}

int reverse_link(const Node& remote, int node, LinkType type) {
  for (std::size_t i = 0; i < remote.links.size(); ++i)
    if (remote.links[i].remote == node && remote.links[i].type == type) return static_cast<int>(i);
  return -1;
}

// Not reached yet, or reached by an equally short, narrower way.
bool improves(const Path& there, const Path& so_far, NcclRate narrowest) {
  const bool is_open = there.bandwidth.GBps == 0 || there.hops > so_far.hops;
  return is_open && there.bandwidth < narrowest;
}

core::Error no_reverse(const Machine& machine, int from, int to) {
  return core::input_error(fmt::format("the link from {} to {} has no reverse",
                                       machine.device_name(from), machine.device_name(to)),
                           "a pcilink must stand in both switches, an nvlink in both GPUs");
}

bool is_base(NodeType type) {
  return type == NodeType::kCpu || type == NodeType::kGpu || type == NodeType::kNet ||
         type == NodeType::kNvs;
}

}  // namespace

PathType merge_types(PathType one, PathType other) {
  const auto [near, far] = std::minmax(one, other);
  if (near == PathType::kC2c && far == PathType::kPhb) return PathType::kP2c;
  return far;
}

core::Result<Paths> Paths::between(const Machine& machine, PathRules rules) {
  Paths paths;
  paths.base_of_.assign(machine.nodes.size(), -1);
  int bases = 0;
  for (std::size_t i = 0; i < machine.nodes.size(); ++i)
    if (is_base(machine.nodes[i].type())) paths.base_of_[i] = bases++;
  paths.entries_.resize(static_cast<std::size_t>(bases) * machine.nodes.size());
  for (const NodeType type : {NodeType::kCpu, NodeType::kGpu, NodeType::kNet, NodeType::kNvs})
    for (const int base : machine.of(type))
      if (const auto searched = paths.search_from(machine, base, rules); !searched)
        return searched.error();
  return paths;
}

core::Result<bool> Paths::search_from(const Machine& machine, int base, PathRules rules) {
  Entry* const reached = &entries_[place(0, base)];
  reached[base].path = {.bandwidth = kLocalRate, .type = PathType::kLoc, .hops = 0};
  std::vector<int> frontier = {base};
  std::vector<int> next;
  while (!frontier.empty()) {
    next.clear();
    for (const int at : frontier) {
      const Node& node = machine.node(at);
      const Path so_far = reached[at].path;
      for (const Link& link : node.links) {
        Entry& there = reached[link.remote];
        const NcclRate narrowest = std::min(so_far.bandwidth, link.nccl);
        const Node& remote = machine.node(link.remote);
        if (!improves(there.path, so_far, narrowest)) continue;
        if (at != base && !passes_on(node, remote, link, so_far.hops, rules)) continue;
        const int back = reverse_link(remote, at, link.type);
        if (back < 0 && there.link < 0) return no_reverse(machine, at, link.remote);
        // A node that was reached before stands in `next` already: it is as far as this way.
        if (there.path.hops == 0) next.push_back(link.remote);
        if (back >= 0) there.link = static_cast<std::int16_t>(back);
        there.path = {.bandwidth = narrowest,
                      .type = std::max(so_far.type, step_type(node, remote, link, so_far)),
                      .hops = static_cast<std::int16_t>(so_far.hops + 1)};
      }
    }
    frontier.swap(next);
  }
  return true;
}

std::vector<Hop> Paths::hops(const Machine& machine, int from, int to) const {
  const Entry& whole = entry(from, to);
  if (whole.via >= 0) {
    std::vector<Hop> all = hops(machine, from, whole.via);
    const std::vector<Hop> rest = hops(machine, whole.via, to);
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }
  std::vector<Hop> all;
  for (int at = from; at != to;) {
    const int link = entry(at, to).link;
    if (link < 0) return {};
    all.push_back({at, link});
    at = machine.node(at).links[static_cast<std::size_t>(link)].remote;
  }
  return all;
}

int Paths::first_stop(const Machine& machine, int from, int to) const {
  const Entry* way = &entry(from, to);
  while (way->via >= 0) way = &entry(from, to = way->via);
  if (way->link < 0) return -1;
  return machine.node(from).links[static_cast<std::size_t>(way->link)].remote;
}

void Paths::send_by_way_of(int from, int to, int via, PathType type) {
  const Path first = path(from, via);
  const Path second = path(via, to);
  Entry& whole = entry(from, to);
  whole.via = static_cast<std::int16_t>(via);
  whole.path = {.bandwidth = std::min(first.bandwidth, second.bandwidth),
                .type = type,
                .hops = static_cast<std::int16_t>(first.hops + second.hops)};
}

}  // namespace comm_probe::topology
