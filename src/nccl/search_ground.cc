#include "nccl/search_ground.h"

#include <algorithm>

namespace comm_probe::nccl {
namespace {

using topology::Cpu;
using topology::Hop;
using topology::Link;
using topology::LinkType;
using topology::Node;
using topology::NodeType;
using topology::PathType;

// Rounded to 0.001, halves away from zero, as roundf((left - rate) * 1000) / 1000 in 32-bit floats.
// `left - rate` is never negative here, its thousandfold fits a double exactly, and k * 0.001 in
// double rounds to the float nearest to k / 1000 for every k below 2^24.
float less(float left, float rate) {
  const float thousandths = (left - rate) * 1000;
  const auto whole = static_cast<std::int64_t>(static_cast<double>(thousandths) + 0.5);
  return static_cast<float>(static_cast<double>(whole) * 0.001);
}

bool is_intel(const Node& node) {
  if (node.type() != NodeType::kCpu) return false;
  const Cpu& cpu = node.as<Cpu>();
  return cpu.arch == Cpu::Arch::kX86 && cpu.vendor == Cpu::Vendor::kIntel;
}

bool is_power(const Node& node) {
  return node.type() == NodeType::kCpu && node.as<Cpu>().arch == Cpu::Arch::kPower;
}

int link_back(const Node& remote, int node, LinkType type) {
  for (std::size_t i = 0; i < remote.links.size(); ++i)
    if (remote.links[i].remote == node && remote.links[i].type == type) return static_cast<int>(i);
  return -1;
}

}  // namespace

SearchGround::SearchGround(const Reach& reach)
    : reach_(reach),
      gpus_(reach.gpus()),
      nets_(reach.nets()),
      has_nvswitch_(reach.machine.count(NodeType::kNvs) > 0),
      ends_(static_cast<std::size_t>(gpus_ + nets_ + (has_nvswitch_ ? 1 : 0))) {
  for (const Node& node : reach.machine.nodes) {
    first_link_.push_back(static_cast<std::int32_t>(left_.size()));
    for (const Link& link : node.links) left_.push_back(link.nccl.GBps);
  }
  for (int net = 0; net < nets_; ++net) {
    net_left_.push_back(topology::nccl_net_rate(reach.net(net).speed).GBps);
    all_offload_ = all_offload_ && !reach.net(net).coll;
  }
  for (int gpu = 0; gpu < gpus_; ++gpu) pci_links_.push_back(pci_links(gpu));
  ways_.resize(ends_ * ends_);
}

int SearchGround::node_of_end(int end) const {
  if (end < gpus_) return reach_.gpu_node(end);
  if (end < gpus_ + nets_) return reach_.net_node(end - gpus_);
  return reach_.machine.of(NodeType::kNvs).front();
}

SearchGround::Step SearchGround::step_over(const Hop& hop, bool starts_at_gpu) const {
  const Link& link = reach_.machine.node(hop.node).links[static_cast<std::size_t>(hop.link)];
  const Node& remote = reach_.machine.node(link.remote);
  Step step{.link = first_link_[static_cast<std::size_t>(hop.node)] + hop.link,
            .is_pci = link.type == LinkType::kPci};
  const int back = link_back(remote, hop.node, link.type);
  step.back = back < 0 ? step.link : first_link_[static_cast<std::size_t>(link.remote)] + back;
  const bool is_old_gpu =
      remote.type() == NodeType::kGpu && remote.as<topology::Gpu>().sm.value_or(0) < 80;
  step.acks_eighth = is_old_gpu && !starts_at_gpu && back >= 0;
  step.acks_all = is_power(remote) && link.type == LinkType::kNvl && back >= 0;
  return step;
}

const Way& SearchGround::lay_out(int from, int to) {
  const int from_node = node_of_end(from);
  const int to_node = node_of_end(to);
  const auto is_inside = [&](int end) { return end < gpus_ || end == gpus_ + nets_; };
  Way& way = ways_[static_cast<std::size_t>(from) * ends_ + static_cast<std::size_t>(to)];
  way.type = reach_.paths.path(from_node, to_node).type;
  way.is_inside = is_inside(from) && is_inside(to);
  way.first = static_cast<std::int32_t>(steps_.size());
  bool meets_intel = false;
  for (const Hop& hop : reach_.paths.hops(reach_.machine, from_node, to_node)) {
    const Link& link = reach_.machine.node(hop.node).links[static_cast<std::size_t>(hop.link)];
    meets_intel = meets_intel || is_intel(reach_.machine.node(link.remote));
    steps_.push_back(step_over(hop, from < gpus_));
  }
  way.hops = static_cast<std::int16_t>(steps_.size() - static_cast<std::size_t>(way.first));
  way.burdens_pci = meets_intel && way.type == PathType::kPhb && from < gpus_;
  return way;
}

float SearchGround::back_rate(const Step& step, float rate) const {
  float back = 0;
  if (step.acks_eighth) back += rate / 8;
  if (step.acks_all) back += rate;
  return back;
}

bool SearchGround::walk(const Way& way, float rate) {
  const float pci_rate = way.burdens_pci ? rate * 6 / 5 : rate;
  const Step* const steps = steps_.data() + way.first;
  for (int hop = 0; hop < way.hops; ++hop) {
    const Step& step = steps[hop];
    const float forward = step.is_pci ? pci_rate : rate;
    float& left = left_[static_cast<std::size_t>(step.link)];
    if (left < forward) {
      rewind(way, hop, rate);
      return false;
    }
    if (step.acks_eighth || step.acks_all) {
      const float back = back_rate(step, forward);
      float& left_back = left_[static_cast<std::size_t>(step.back)];
      if (left_back < back) {
        rewind(way, hop, rate);
        return false;
      }
      left_back = less(left_back, back);
    }
    left = less(left, forward);
  }
  return true;
}

void SearchGround::rewind(const Way& way, int hops, float rate) {
  Way part = way;
  part.hops = static_cast<std::int16_t>(hops);
  walk(part, -rate);
}

SearchGround::PciLinks SearchGround::pci_links(int gpu) const {
  const int node = reach_.gpu_node(gpu);
  const std::vector<Link>& links = reach_.machine.node(node).links;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].type != LinkType::kPci) continue;
    PciLinks found{.up = first_link_[static_cast<std::size_t>(node)] + static_cast<int>(i)};
    const std::vector<Link>& above = reach_.machine.node(links[i].remote).links;
    const auto down = std::find_if(above.begin(), above.end(),
                                   [node](const Link& link) { return link.remote == node; });
    if (down != above.end())
      found.down = first_link_[static_cast<std::size_t>(links[i].remote)] +
                   static_cast<int>(down - above.begin());
    return found;
  }
  return {};
}

int SearchGround::pci_left(int gpu) const {
  const PciLinks links = pci_links_[static_cast<std::size_t>(gpu)];
  if (links.up < 0 || links.down < 0) return -1;
  return static_cast<int>(std::min(left_[static_cast<std::size_t>(links.up)],
                                   left_[static_cast<std::size_t>(links.down)]));
}

void SearchGround::take_net(int net, int rate) {
  const topology::Net& port = reach_.net(net);
  for (int other = 0; other < nets_; ++other)
    if (reach_.net(other).asic == port.asic && reach_.net(other).port == port.port)
      net_left_[static_cast<std::size_t>(other)] -= static_cast<float>(rate);
}

}  // namespace comm_probe::nccl
