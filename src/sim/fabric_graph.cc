#include "sim/fabric_graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace comm_probe::sim {
namespace {

using core::Bandwidth;
using model::LinkId;
using model::Route;
using Kind = FabricShape::Kind;

constexpr double kMostLinks = 1 << 24;

int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Steele and others, SplitMix64: every input bit moves half of the output bits.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

const char* link_kind_name(LinkKind kind) {
  switch (kind) {
    case LinkKind::kNvlink:
      return "NVLink port";
    case LinkKind::kNic:
      return "NIC port";
    case LinkKind::kLeafUp:
      return "leaf uplink";
    case LinkKind::kLeafDown:
      return "leaf downlink";
    case LinkKind::kPodUp:
      return "pod uplink";
    case LinkKind::kPodDown:
      return "pod downlink";
    case LinkKind::kLocal:
      return "local link";
    case LinkKind::kGlobal:
      return "global link";
    case LinkKind::kPair:
      return "slow pair";
  }
  COMM_PROBE_CHECK(false, "an unknown kind of link");
}

core::Result<std::unique_ptr<FabricGraph>> FabricGraph::create(const Build& build) {
  std::unique_ptr<FabricGraph> graph(new FabricGraph());
  if (const auto built = graph->build(build); !built) return built.error();
  return graph;
}

core::Result<bool> FabricGraph::add(Group& group, LinkKind kind, int count, int per,
                                    Bandwidth rate) {
  const double more = static_cast<double>(count) * per;
  if (static_cast<double>(capacities_.size()) + more > kMostLinks)
    return core::input_error(
        fmt::format("the fabric has more than {} links", static_cast<int>(kMostLinks)),
        "wire fewer nodes, or fewer links between them");
  group = {kind, false, static_cast<LinkId>(capacities_.size()), static_cast<std::uint32_t>(count),
           static_cast<std::uint32_t>(per)};
  capacities_.resize(capacities_.size() + static_cast<std::size_t>(more), rate);
  all_.push_back(&group);
  return true;
}

core::Result<bool> FabricGraph::place_nodes(const Build& build) {
  const model::Fabric& links = build.links;
  const model::Placement at = model::place(build.ranks, links);
  shape_ = build.shape;
  seed_ = build.seed;
  per_node_ = links.ranks_per_node > 0 ? links.ranks_per_node : build.ranks;
  nodes_ = std::max(shape_.nodes, ceil_div(build.ranks, per_node_));
  if (shape_.nodes > 0 && build.ranks > shape_.nodes * per_node_)
    return core::input_error(fmt::format("{} ranks do not fit on {} nodes of {} GPUs", build.ranks,
                                         shape_.nodes, per_node_));
  if (shape_.kind == Kind::kNvlink && nodes_ > 1)
    return core::input_error(
        fmt::format("one NVLink domain of {} GPUs does not hold {} ranks", per_node_, build.ranks));
  if (links.one_peer && *links.one_peer < links.link.beta)
    return core::input_error("the GPUs of a node are joined in pairs, and --fabric knows switches",
                             "leave --fabric out: links that are alike are played without it");
  inside_ = links.link;
  nic_ = at.inter;
  // Where NICs are known, they are shared by the GPUs; else every GPU has its own share of the way
  // out as a NIC. `rails` of them are taken at once.
  nics_ = links.rail ? std::min(links.rails, per_node_) : per_node_;
  nic_.beta = links.rail ? *links.rail * (static_cast<double>(links.rails) / nics_) : at.inter.beta;
  takes_all_ = links.rails > 1;
  return true;
}

core::Result<bool> FabricGraph::build(const Build& build) {
  if (auto done = place_nodes(build); !done) return done;
  for (Group* group : {&gpu_out_, &gpu_in_})
    if (auto done = add(*group, LinkKind::kNvlink, gpus(), 1, inside_.beta); !done) return done;
  if (nodes_ > 1) {
    for (Group* group : {&nic_out_, &nic_in_})
      if (auto done = add(*group, LinkKind::kNic, nodes_, nics_, nic_.beta); !done) return done;
    auto wired = shape_.kind == Kind::kDragonfly ? wire_dragonfly() : wire_tree();
    if (!wired) return wired;
  }
  gpu_in_.is_in = nic_in_.is_in = true;
  for (const model::SlowLink& link : build.slow) slow_down(link);
  return true;
}

core::Result<bool> FabricGraph::wire_tree() {
  const bool has_rails = shape_.kind == Kind::kRailOptimised;
  const int units = ceil_div(nodes_, shape_.nodes_per_leaf);
  leaves_ = has_rails ? units * nics_ : units;
  const int down = shape_.nodes_per_leaf * (has_rails ? 1 : nics_);
  uplinks_ = shape_.uplinks.value_or(ceil_div(down, shape_.oversubscription));
  const Bandwidth rate = shape_.link_rate.value_or(nic_.beta);
  const bool spreads = shape_.routing == FabricShape::Routing::kSpread;
  const auto links = [&](Group& group, LinkKind kind, int count, int per) {
    return spreads ? add(group, kind, count, 1, rate * per) : add(group, kind, count, per, rate);
  };
  if (auto done = links(leaf_up_, LinkKind::kLeafUp, leaves_, uplinks_); !done) return done;
  if (auto done = links(leaf_down_, LinkKind::kLeafDown, leaves_, uplinks_); !done) return done;
  if (shape_.leaves_per_pod == 0) return true;
  pods_ = ceil_div(leaves_, shape_.leaves_per_pod);
  cores_ = ceil_div(shape_.leaves_per_pod, shape_.pod_oversubscription);
  if (auto done = links(pod_up_, LinkKind::kPodUp, pods_, uplinks_ * cores_); !done) return done;
  return links(pod_down_, LinkKind::kPodDown, pods_, uplinks_ * cores_);
}

// Balanced for uniform traffic: a switch sends as much on to its group, and a group to the others,
// as its NICs bring (Kim and others, Technology-Driven, Highly-Scalable Dragonfly Topology, 2008).
core::Result<bool> FabricGraph::wire_dragonfly() {
  const int group = shape_.switches_per_group, nics = shape_.nodes_per_leaf * nics_;
  groups_ = ceil_div(ceil_div(nodes_, shape_.nodes_per_leaf), group);
  switches_ = leaves_ = groups_ * group;
  const Bandwidth rate = shape_.link_rate.value_or(nic_.beta);
  const int local = shape_.local_links.value_or(ceil_div(2 * nics, group));
  if (auto done = add(local_, LinkKind::kLocal, switches_, group, rate * local); !done) return done;
  if (groups_ < 2) return true;
  constexpr int kMostGroups = 4096;  // every pair of them has links
  if (groups_ > kMostGroups)
    return core::input_error(
        fmt::format("the dragonfly has {} groups, expected at most {}", groups_, kMostGroups),
        "put more switches in a group");
  global_ = shape_.global_links.value_or(ceil_div(group * nics, groups_ - 1));
  return add(far_, LinkKind::kGlobal, groups_ * groups_, global_, rate);
}

void FabricGraph::slow_down(const model::SlowLink& link) {
  if (link.b == model::kAnyRank) {
    const bool has_nic = nodes_ > 1;
    for (const Group* group : {has_nic ? &nic_out_ : &gpu_out_, has_nic ? &nic_in_ : &gpu_in_}) {
      Bandwidth& rate =
          capacities_[group->first + static_cast<LinkId>(has_nic ? nic_of(link.a) : link.a)];
      rate = std::min(rate, (has_nic ? nic_.beta : inside_.beta) * link.factor);
    }
    return;
  }
  const bool is_inside = link.a / per_node_ == link.b / per_node_;
  const auto count = static_cast<int>(pairs_.size()) + 1;
  if (pairs_.empty()) {
    pair_ = {LinkKind::kPair, false, static_cast<LinkId>(capacities_.size()), 0, 2};
    all_.push_back(&pair_);
  }
  pair_.count = static_cast<std::uint32_t>(count);
  pairs_.push_back(link);
  capacities_.resize(capacities_.size() + 2, (is_inside ? inside_.beta : nic_.beta) * link.factor);
}

int FabricGraph::nic_of(int rank) const {
  return rank / per_node_ * nics_ + rank % per_node_ * nics_ / per_node_;
}

int FabricGraph::leaf_of(int node, int nic) const {
  const int unit = node / shape_.nodes_per_leaf;
  return shape_.kind == Kind::kRailOptimised ? unit * nics_ + nic : unit;
}

std::uint64_t FabricGraph::hash(int from_nic, int to_nic, std::uint64_t flow) const {
  const auto pair = static_cast<std::uint64_t>(from_nic) << 32 | static_cast<std::uint64_t>(to_nic);
  return mix(mix(mix(seed_) ^ pair) ^ flow);
}

// Up to a spine both leaves have, or, in another pod, to a core that both spines have.
void FabricGraph::climb(int from_leaf, int to_leaf, std::uint64_t hash, Route& route) const {
  const bool spreads = shape_.routing == FabricShape::Routing::kSpread;
  const int spine = spreads ? 0 : static_cast<int>(hash % static_cast<std::uint64_t>(uplinks_));
  const int per_pod = shape_.leaves_per_pod > 0 ? shape_.leaves_per_pod : leaves_;
  const int from_pod = from_leaf / per_pod, to_pod = to_leaf / per_pod;
  route.path.add(leaf_up_.at(from_leaf, spine));
  route.alpha += shape_.hop * 2;
  if (from_pod != to_pod) {
    const int core =
        spreads ? 0 : static_cast<int>((hash >> 32) % static_cast<std::uint64_t>(cores_));
    route.path.add(pod_up_.at(from_pod, spreads ? 0 : spine * cores_ + core));
    route.path.add(pod_down_.at(to_pod, spreads ? 0 : spine * cores_ + core));
    route.alpha += shape_.hop * 2;
  }
  route.path.add(leaf_down_.at(to_leaf, spine));
}

void FabricGraph::hop_local(int from_switch, int to_switch, Route& route) const {
  if (from_switch == to_switch) return;
  route.path.add(local_.at(from_switch, to_switch % shape_.switches_per_group));
  route.alpha += shape_.hop;
}

// To the switch that has the global link, over it, and to the switch of the receiver.
void FabricGraph::fly(int from_switch, int to_switch, std::uint64_t hash, Route& route) const {
  const int size = shape_.switches_per_group;
  const int from = from_switch / size, to = to_switch / size;
  if (from == to) return hop_local(from_switch, to_switch, route);
  const int which = static_cast<int>(hash % static_cast<std::uint64_t>(global_));
  const auto gate = [&](int group, int other) {
    return group * size +
           static_cast<int>((static_cast<std::int64_t>(other) * global_ + which) % size);
  };
  hop_local(from_switch, gate(from, to), route);
  route.path.add(far_.at(from * groups_ + to, which));
  route.alpha += shape_.hop;
  hop_local(gate(to, from), to_switch, route);
}

void FabricGraph::cross(int from_nic, int to_nic, std::uint64_t flow, Route& route) const {
  route.alpha += nic_.alpha;
  route.path.add(nic_out_.first + static_cast<LinkId>(from_nic));
  const int from_leaf = leaf_of(from_nic / nics_, from_nic % nics_),
            to_leaf = leaf_of(to_nic / nics_, to_nic % nics_);
  const std::uint64_t chosen = hash(from_nic, to_nic, flow);
  route.alpha += shape_.hop;
  if (shape_.kind == Kind::kDragonfly)
    fly(from_leaf, to_leaf, chosen, route);
  else if (from_leaf != to_leaf)
    climb(from_leaf, to_leaf, chosen, route);
  route.path.add(nic_in_.first + static_cast<LinkId>(to_nic));
}

void FabricGraph::add_pair(const Ask& ask, std::vector<Route>& routes) const {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const model::SlowLink& pair = pairs_[i];
    const bool is_forward = pair.a == ask.from && pair.b == ask.to;
    if (!is_forward && !(pair.b == ask.from && pair.a == ask.to)) continue;
    for (Route& route : routes) route.path.add(pair_.at(static_cast<int>(i), is_forward ? 0 : 1));
  }
}

void FabricGraph::find(const Ask& ask, std::vector<Route>& routes) const {
  const int from_node = ask.from / per_node_, to_node = ask.to / per_node_;
  if (from_node == to_node) {
    Route route{.alpha = inside_.alpha};
    route.path.add(gpu_out_.at(ask.from));
    route.path.add(gpu_in_.at(ask.to));
    routes.push_back(route);
  } else if (ask.at_once && takes_all_) {
    for (int nic = 0; nic < nics_; ++nic) {
      routes.emplace_back();
      cross(from_node * nics_ + nic, to_node * nics_ + nic, ask.flow, routes.back());
    }
  } else {
    Route route;
    int from_nic = nic_of(ask.from);
    const int to_nic = nic_of(ask.to);
    const bool changes =
        shape_.kind == Kind::kRailOptimised && shape_.pxn && from_nic % nics_ != to_nic % nics_;
    if (changes) {  // over NVLink to the GPU beside the NIC of the receiver's rail
      from_nic = from_node * nics_ + to_nic % nics_;
      route.path.add(gpu_out_.at(ask.from));
      route.path.add(gpu_in_.at(from_node * per_node_ + ask.to % per_node_));
      route.alpha += inside_.alpha;
    }
    cross(from_nic, to_nic, ask.flow, route);
    routes.push_back(route);
  }
  if (!pairs_.empty()) add_pair(ask, routes);
}

Bandwidth FabricGraph::rank_out(int rank) const {
  const Bandwidth inside = capacities_[gpu_out_.at(rank)];
  if (nodes_ == 1) return inside;
  const Bandwidth out = node_out(rank / per_node_);
  return per_node_ == 1 ? out : inside + out;
}

Bandwidth FabricGraph::node_out(int node) const {
  Bandwidth sum = {};
  for (int nic = 0; nic < nics_; ++nic) sum = sum + capacities_[nic_out_.at(node, nic)];
  return sum;
}

core::Duration FabricGraph::smallest_alpha() const {
  if (nodes_ == 1) return inside_.alpha;
  const core::Duration out = nic_.alpha + shape_.hop;
  return per_node_ == 1 ? out : std::min(inside_.alpha, out);
}

LinkKind FabricGraph::kind(LinkId link) const {
  for (const Group* group : all_)
    if (link < group->first + group->count * group->per) return group->kind;
  COMM_PROBE_CHECK(false, "a link of no kind");
}

std::uint32_t FabricGraph::choices(LinkId link) const {
  const LinkKind kind = this->kind(link);
  if (kind == LinkKind::kLeafUp) return leaf_up_.per;
  if (kind == LinkKind::kLeafDown) return leaf_down_.per;
  if (kind == LinkKind::kPodUp) return pod_up_.per;
  if (kind == LinkKind::kPodDown) return pod_down_.per;
  return kind == LinkKind::kGlobal ? far_.per : 1;
}

bool FabricGraph::is_idle(LinkId link) const {
  if (kind(link) == LinkKind::kLocal) {
    const LinkId from = (link - local_.first) / local_.per;
    return from % local_.per == (link - local_.first) % local_.per;
  }
  if (kind(link) != LinkKind::kGlobal) return false;
  const LinkId pair = (link - far_.first) / far_.per;
  return pair / static_cast<LinkId>(groups_) == pair % static_cast<LinkId>(groups_);
}

std::string FabricGraph::name(LinkId link) const {
  for (const Group* group : all_) {
    if (link >= group->first + group->count * group->per) continue;
    const LinkId thing = (link - group->first) / group->per,
                 which = (link - group->first) % group->per;
    const char* direction = group->is_in ? "in" : "out";
    switch (group->kind) {
      case LinkKind::kNvlink:
        return fmt::format("NVLink port of rank {}, {}", thing, direction);
      case LinkKind::kNic:
        return fmt::format("port of NIC {} of node {}, {}", which, thing, direction);
      case LinkKind::kLeafUp:
      case LinkKind::kLeafDown:
        if (group->per == 1)
          return fmt::format("{}s of leaf {}", link_kind_name(group->kind) + 5, thing);
        return fmt::format("{} {} of leaf {}", link_kind_name(group->kind) + 5, which, thing);
      case LinkKind::kPodUp:
      case LinkKind::kPodDown:
        if (group->per == 1)
          return fmt::format("{}s of pod {}", link_kind_name(group->kind) + 4, thing);
        return fmt::format("{} {} of pod {}", link_kind_name(group->kind) + 4, which, thing);
      case LinkKind::kLocal:
        return fmt::format("local link of switch {} to switch {}", thing,
                           thing - thing % group->per + which);
      case LinkKind::kGlobal:
        return fmt::format("global link {} of group {} to group {}", which,
                           thing / static_cast<LinkId>(groups_),
                           thing % static_cast<LinkId>(groups_));
      case LinkKind::kPair:
        return fmt::format("slow link of ranks {} and {}", pairs_[thing].a, pairs_[thing].b);
    }
  }
  COMM_PROBE_CHECK(false, "a link of no kind");
}

}  // namespace comm_probe::sim
