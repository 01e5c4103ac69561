#include "topology/link_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/units.h"
#include "topology/standard_links.h"

namespace comm_probe::topology {
namespace {

using core::Bandwidth;

constexpr const char* kNoFigure = "no public figure is known";
constexpr const char* kNotApplicable = "packet overhead depends on MTU and transport: calc path";

class LinkCount {
 public:
  explicit LinkCount(const Machine& machine)
      : machine_(machine), is_placed_(machine.nodes.size()) {}
  std::vector<LinkKind> kinds();

 private:
  struct Sorted {
    int sort = 0;
    LinkKind kind = {};
  };
  void add(int sort, LinkKind kind, const Link& link);
  void add_pci_below(int node);
  void add_pci(int function, const Link& link);
  void add_nvlink(int node, const Link& link);
  void add_other(int node, const Link& link);

  const Machine& machine_;
  std::vector<bool> is_placed_;
  std::vector<Sorted> kinds_ = {};
};

void LinkCount::add(int sort, LinkKind kind, const Link& link) {
  kind.nccl = link.nccl.bandwidth();
  kind.nominal = link.nominal;
  for (Sorted& known : kinds_)
    if (known.sort == sort && known.kind.name == kind.name && known.kind.nccl == kind.nccl) {
      ++known.kind.count;
      return;
    }
  kind.count = 1;
  kinds_.push_back({sort, std::move(kind)});
}

void LinkCount::add_pci(int function, const Link& link) {
  const Node& node = machine_.node(function);
  if (node.bus_id.empty() || node.slot.width == 0) return;
  const auto standard = standard_pcie(node.slot);
  LinkKind kind{.name = standard ? "PCIe " + standard->name()
                                 : fmt::format("PCIe {} x{}", node.slot.speed, node.slot.width),
                .effective = link.effective,
                .effective_source = "no such PCIe link in the standard"};
  if (standard) {
    kind.line = standard->raw().value;
    kind.effective_source = standard->effective().source;
  }
  add(2, std::move(kind), link);
}

// From a CPU downwards: what is reached over a PCIe link stands below it, and the link is its own.
void LinkCount::add_pci_below(int node) {
  std::vector<int> next = {node};
  while (!next.empty()) {
    const int at = next.back();
    next.pop_back();
    for (const Link& link : machine_.node(at).links) {
      const auto below = static_cast<std::size_t>(link.remote);
      const NodeType type = machine_.node(link.remote).type();
      if (link.type != LinkType::kPci || is_placed_[below] || type == NodeType::kCpu) continue;
      is_placed_[below] = true;
      add_pci(link.remote, link);
      next.push_back(link.remote);
    }
  }
}

void LinkCount::add_nvlink(int node, const Link& link) {
  if (machine_.node(node).type() != NodeType::kGpu) return;
  if (machine_.node(link.remote).type() == NodeType::kGpu && link.remote < node) return;
  const int sm = machine_.node(node).as<Gpu>().sm.value_or(0);
  const auto standard = standard_nvlinks(sm, link.count);
  const auto each =
      standard ? catalog::nvlink_effective_per_link(standard->generation) : std::nullopt;
  add(0,
      {.name = fmt::format("{} x{}", standard ? standard->name : "NVLink", link.count),
       .effective = link.effective,
       .effective_source = each ? each->source : kNoFigure},
      link);
}

void LinkCount::add_other(int node, const Link& link) {
  const NodeType type = machine_.node(node).type();
  if (link.type == LinkType::kC2c && type == NodeType::kGpu)
    add(1, {.name = "chip to chip", .effective_source = kNoFigure}, link);
  if (link.type == LinkType::kSys && node < link.remote)
    add(3, {.name = "CPU to CPU", .effective_source = kNoFigure}, link);
  if (link.type == LinkType::kNet && type == NodeType::kNet)
    add(4,
        {.name = link.nominal
                     ? fmt::format("port {} Gb/s", core::format_number(link.nominal->in_Gbps()))
                     : "port of unknown speed",
         .effective_source = kNotApplicable},
        link);
}

std::vector<LinkKind> LinkCount::kinds() {
  for (const int cpu : machine_.of(NodeType::kCpu)) add_pci_below(cpu);
  for (std::size_t i = 0; i < machine_.nodes.size(); ++i)
    for (const Link& link : machine_.nodes[i].links) {
      if (link.type == LinkType::kNvl) add_nvlink(static_cast<int>(i), link);
      add_other(static_cast<int>(i), link);
    }
  std::stable_sort(kinds_.begin(), kinds_.end(), [](const Sorted& a, const Sorted& b) {
    return std::tuple(a.sort, b.kind.nccl) < std::tuple(b.sort, a.kind.nccl);
  });
  std::vector<LinkKind> all;
  for (Sorted& one : kinds_) all.push_back(std::move(one.kind));
  return all;
}

}  // namespace

std::vector<LinkKind> link_kinds(const Machine& machine) { return LinkCount(machine).kinds(); }

std::optional<NvlinkOverNics> nvlink_over_nics(const Machine& machine) {
  NvlinkOverNics over;
  for (const int gpu : machine.of(NodeType::kGpu))
    for (const Link& link : machine.node(gpu).links)
      if (link.type == LinkType::kNvl && link.nominal) over.nvlink = over.nvlink + *link.nominal;
  for (const int net : machine.of(NodeType::kNet))
    for (const Link& link : machine.node(net).links)
      if (link.type == LinkType::kNet && link.nominal) over.nics = over.nics + *link.nominal;
  if (over.nvlink == Bandwidth{} || over.nics == Bandwidth{}) return std::nullopt;
  return over;
}

}  // namespace comm_probe::topology
