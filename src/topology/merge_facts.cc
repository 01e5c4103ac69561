#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/finding_table.h"
#include "core/units.h"
#include "topology/merge.h"

namespace comm_probe::topology {
namespace {

std::string shown(const std::string& value) { return value; }
std::string shown(int value) { return fmt::to_string(value); }
std::string shown(bool value) { return value ? "yes" : "no"; }
std::string shown(core::Bandwidth value) { return core::format_number(value.in_GBps()) + " GB/s"; }
std::string shown(core::Bytes value) { return core::format_bytes(value); }
std::string shown(const AccessControl& value) { return value.printed(); }
std::string shown(IommuMode value) { return iommu_mode_name(value); }
std::string shown(const LockedMemory& value) {
  return value ? core::format_bytes(*value) : "unlimited";
}

bool is_same(core::Bandwidth a, core::Bandwidth b) {
  return std::abs(a.in_GBps() - b.in_GBps()) <= 0.001 * std::max(a.in_GBps(), b.in_GBps());
}
template <class T>
bool is_same(const T& a, const T& b) {
  return a == b;
}

class Merger {
 public:
  explicit Merger(HostFacts& known) : known_(known) {}
  void add(const HostFacts& more);

 private:
  // What is being merged, for messages: its name and where both were read.
  struct Subject {
    std::string name;
    const core::Evidence& known;
    const core::Evidence& more;
  };
  void disagree(const Subject& subject, const char* what, const std::string& known,
                const std::string& more);
  void take(const Subject& subject, const char* what, std::string& known, const std::string& more);
  template <class T>
  void take(const Subject& subject, const char* what, std::optional<T>& known,
            const std::optional<T>& more);
  template <class T>
  void take(const char* what, MaybeFact<T>& known, const MaybeFact<T>& more);
  // Records are the same where their keys are.
  template <class T, class Key, class Take>
  void take_all(std::vector<T>& known, const std::vector<T>& more, Key key, Take take);

  void take_function(PciFunction& known, const PciFunction& more);
  void take_gpu(GpuFacts& known, const GpuFacts& more);
  void take_port(RdmaPortFacts& known, const RdmaPortFacts& more);
  void take_link(NvlinkState& known, const NvlinkState& more);

  HostFacts& known_;
};

void Merger::disagree(const Subject& subject, const char* what, const std::string& known,
                      const std::string& more) {
  const auto place = [](const core::Evidence& from) {
    return from.line ? fmt::format("{}:{}", from.source, *from.line) : from.source;
  };
  known_.caveats.push_back(core::make_caveat(
      "topo.sources-disagree",
      fmt::format("one truth about {}: its {} is {} in {}, {} in {}", subject.name, what, known,
                  place(subject.known), more, place(subject.more)),
      "the first is believed"));
}

void Merger::take(const Subject& subject, const char* what, std::string& known,
                  const std::string& more) {
  if (known.empty())
    known = more;
  else if (!more.empty() && known != more)
    disagree(subject, what, known, more);
}

template <class T>
void Merger::take(const Subject& subject, const char* what, std::optional<T>& known,
                  const std::optional<T>& more) {
  if (!known)
    known = more;
  else if (more && !is_same(*known, *more))
    disagree(subject, what, shown(*known), shown(*more));
}

template <class T>
void Merger::take(const char* what, MaybeFact<T>& known, const MaybeFact<T>& more) {
  if (!known)
    known = more;
  else if (more && !(known->value == more->value))
    disagree({"this machine", known->from, more->from}, what, shown(known->value),
             shown(more->value));
}

template <class T, class Key, class Take>
void Merger::take_all(std::vector<T>& known, const std::vector<T>& more, Key key, Take take) {
  std::map<decltype(key(more.front())), std::size_t> places;
  for (std::size_t i = 0; i < known.size(); ++i) places.emplace(key(known[i]), i);
  for (const T& record : more) {
    const auto [place, is_new] = places.emplace(key(record), known.size());
    if (is_new)
      known.push_back(record);
    else
      take(known[place->second], record);
  }
}

void Merger::take_function(PciFunction& known, const PciFunction& more) {
  const Subject subject{known.bus_id, known.from, more.from};
  if (known.kind == PciFunction::Kind::kOther) known.kind = more.kind;
  for (const auto member :
       {&PciFunction::code, &PciFunction::vendor, &PciFunction::device,
        &PciFunction::subsystem_vendor, &PciFunction::subsystem_device, &PciFunction::name})
    if ((known.*member).empty()) known.*member = more.*member;
  take(subject, "bridge above", known.above, more.above);
  take(subject, "NUMA node", known.numa, more.numa);
  take(subject, "greatest width", known.maximum.width, more.maximum.width);
  take(subject, "greatest speed", known.maximum.speed, more.maximum.speed);
  take(subject, "trained width", known.current.width, more.current.width);
  take(subject, "ACS", known.access_control, more.access_control);
  // An idle GPU lowers its speed: two readings at two times may differ.
  if (known.current.speed.empty()) known.current.speed = more.current.speed;
}

void Merger::take_gpu(GpuFacts& known, const GpuFacts& more) {
  const Subject subject{fmt::format("GPU{}", known.index), known.from, more.from};
  take(subject, "bus id", known.bus_id, more.bus_id);
  take(subject, "name", known.name, more.name);
  take(subject, "compute capability", known.sm, more.sm);
  if (known.fabric_state.empty()) known.fabric_state = more.fabric_state;
}

void Merger::take_port(RdmaPortFacts& known, const RdmaPortFacts& more) {
  const Subject subject{fmt::format("{} port {}", known.device, known.port), known.from, more.from};
  take(subject, "state", known.state, more.state);
  take(subject, "physical state", known.physical_state, more.physical_state);
  take(subject, "link layer", known.link_layer, more.link_layer);
  take(subject, "rate", known.rate, more.rate);
  take(subject, "MTU", known.active_mtu, more.active_mtu);
  take(subject, "bus id", known.bus_id, more.bus_id);
  take(subject, "interface", known.interface, more.interface);
  if (known.guid.empty()) known.guid = more.guid;
  if (known.model.empty()) known.model = more.model;
  if (known.gids.size() < more.gids.size()) {
    known.gids = more.gids;
    known.gids_from = more.gids_from.source.empty() ? more.from : more.gids_from;
  }
  auto& signs = known.signs;
  if (!signs.priority_flow_control) signs.priority_flow_control = more.signs.priority_flow_control;
  if (!signs.congestion_notification)
    signs.congestion_notification = more.signs.congestion_notification;
}

void Merger::take_link(NvlinkState& known, const NvlinkState& more) {
  const Subject subject{fmt::format("GPU{} NVLink {}", known.gpu, known.link), known.from,
                        more.from};
  if (known.is_active != more.is_active)
    disagree(subject, "state", known.is_active ? "active" : "inactive",
             more.is_active ? "active" : "inactive");
  if (!known.speed) known.speed = more.speed;
  if (!known.version) known.version = more.version;
  if (known.remote == NvlinkState::Remote::kUnknown) {
    known.remote = more.remote;
    known.remote_bus_id = more.remote_bus_id;
  }
}

// Both are sorted by bus id and can be long.
void sort_by_bus_id(std::vector<PciFunction>& functions) {
  std::stable_sort(functions.begin(), functions.end(),
                   [](const auto& a, const auto& b) { return a.bus_id < b.bus_id; });
}

void Merger::add(const HostFacts& more) {
  std::vector<PciFunction> functions = more.functions;
  sort_by_bus_id(known_.functions);
  sort_by_bus_id(functions);
  std::vector<PciFunction> fresh;
  for (const PciFunction& function : functions) {
    auto* known = const_cast<PciFunction*>(known_.function(function.bus_id));
    const bool is_double = !fresh.empty() && fresh.back().bus_id == function.bus_id;
    if (known != nullptr)
      take_function(*known, function);
    else if (is_double)
      take_function(fresh.back(), function);
    else
      fresh.push_back(function);
  }
  known_.functions.insert(known_.functions.end(), fresh.begin(), fresh.end());
  sort_by_bus_id(known_.functions);
  take_all(
      known_.gpus, more.gpus, [](auto& gpu) { return gpu.index; },
      [this](auto& a, auto& b) { take_gpu(a, b); });
  take_all(
      known_.rdma_ports, more.rdma_ports,
      [](auto& port) { return std::pair(port.device, port.port); },
      [this](auto& a, auto& b) { take_port(a, b); });
  take_all(
      known_.nvlinks, more.nvlinks, [](auto& link) { return std::pair(link.gpu, link.link); },
      [this](auto& a, auto& b) { take_link(a, b); });
  take_all(
      known_.peers, more.peers,
      [](auto& peer) { return std::tuple(peer.from, peer.to, peer.capability); },
      [this](auto& a, auto& b) {
        take({fmt::format("P2P of GPU{} and GPU{}", a.from, a.to), a.evidence, b.evidence},
             "status", a.status, b.status);
      });
  take_all(
      known_.interfaces, more.interfaces, [](auto& interface) { return interface.name; },
      [](auto&, auto&) {});
  take_all(
      known_.links, more.links, [](auto& link) { return std::pair(link.host, link.name); },
      [](auto& a, auto& b) {
        if (a.bus_id.empty()) a.bus_id = b.bus_id;
        a.has_address = a.has_address || b.has_address;
      });
  take_all(
      known_.numa_nodes, more.numa_nodes, [](auto& node) { return node.id; },
      [](auto& a, auto& b) {
        if (a.distances.empty()) a.distances = b.distances;
        if (a.cpus.empty()) a.cpus = b.cpus;
      });
  take_all(
      known_.lossless, more.lossless,
      [](auto& one) { return std::pair(one.interface, one.from.source); }, [](auto&, auto&) {});
  known_.unnamed_access_controls.insert(known_.unnamed_access_controls.end(),
                                        more.unnamed_access_controls.begin(),
                                        more.unnamed_access_controls.end());
  if (!known_.processor) known_.processor = more.processor;
  take("IOMMU mode", known_.iommu, more.iommu);
  take("peermem module", known_.peermem, more.peermem);
  take("open driver", known_.open_driver, more.open_driver);
  take("locked memory", known_.locked_memory, more.locked_memory);
  take("container", known_.container, more.container);
  take("virtual machine", known_.virtual_machine, more.virtual_machine);
  take("GID index", known_.gid_index, more.gid_index);
  known_.caveats.insert(known_.caveats.end(), more.caveats.begin(), more.caveats.end());
}

}  // namespace

void merge_facts(HostFacts& known, const HostFacts& more) { Merger(known).add(more); }

}  // namespace comm_probe::topology
