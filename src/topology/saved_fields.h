// The fields of a saved topology (`topo show --json`), listed once for writing and for reading. A
// visitor offers
//   text   std::string                        left out where empty
//   number int, optional<int>; least .. most  an absent one is left out
//   flag   bool (left out where false), optional<bool>
//   rate   optional<Bandwidth> in GB/s        size   optional<Bytes> in bytes
//   hex    uint64 as hexadecimal text         word   an enum by its names, in their order
//   list   vector of records                  record one record, or optional
#pragma once

#include <array>
#include <string>

#include "topology/survey.h"

namespace comm_probe::topology::saved {

constexpr int kMost = 1 << 24;

template <class V>
void fields(V& v, core::Evidence& evidence) {
  v.text("source", evidence.source);
  v.number("line", evidence.line, 0, kMost);
  v.text("text", evidence.text);
}

template <class V>
void fields(V& v, core::Caveat& caveat) {
  v.text("id", caveat.id);
  v.text("missing", caveat.missing);
  v.text("effect", caveat.effect);
  v.flag_of("limits", caveat.limits);
}

template <class V>
void fields(V& v, SurveyDevice& device) {
  v.text("name", device.name);
  v.text("bus_id", device.bus_id);
  v.number("rank", device.rank, 0, kMost);
  v.number("sm", device.sm, 0, kMost);
  v.flag("gdr", device.gdr);
  v.number("numa", device.numa, -1, kMost);
  v.text("cpu_affinity", device.cpu_affinity);
  v.rate("port_GBps", device.port);
  v.text("slot_speed", device.slot.speed);
  v.whole("slot_width", device.slot.width, 0, 64);
  v.rate("slot_effective_GBps", device.slot_effective);
  v.text("trained_speed", device.trained.speed);
  v.number("trained_width", device.trained.width, 0, 64);
  v.text("model", device.model);
  v.text("state", device.port_state);
  v.text("link_layer", device.link_layer);
  v.text("interface", device.interface);
  v.flag("on_root", device.is_on_root);
  v.whole("host", device.host, 0, 65536);
  v.number("line", device.line, 0, kMost);
  v.whole("nvlinks", device.nvlinks, 0, kMost);
  v.number("nvlink_generation", device.nvlink_generation, 1, 100);
  v.text("root_port", device.root_port);
}

template <class V>
void fields(V& v, Link& link) {
  static constexpr std::array kTypes = {"LOC", "NVL", "", "C2C", "PCI", "",
                                        "",    "",    "", "SYS", "NET"};
  v.whole("to", link.remote, 0, kMost);
  v.word("type", link.type, kTypes);
  v.whole("count", link.count, 0, kMost);
  v.nccl_rate("nccl_GBps", link.nccl);
  v.rate("nominal_GBps", link.nominal);
  v.rate("effective_GBps", link.effective);
}

template <class V>
void fields(V& v, Gpu& gpu) {
  v.number("rank", gpu.rank, 0, kMost);
  v.number("dev", gpu.dev, 0, kMost);
  v.number("sm", gpu.sm, 0, kMost);
  v.flag("gdr", gpu.gdr);
}
template <class V>
void fields(V& v, PciSwitch& bridge) {
  v.hex("device", bridge.device);
}
template <class V>
void fields(V&, NvSwitch&) {}
template <class V>
void fields(V& v, Cpu& cpu) {
  static constexpr std::array kArchs = {"", "x86_64", "ppc64", "arm64"};
  v.number_of("numa", cpu.numa, -1, kMost);
  v.word("arch", cpu.arch, kArchs);
  int vendor = static_cast<int>(cpu.vendor);
  v.number_of("vendor", vendor, -1, 3);
  cpu.vendor = static_cast<Cpu::Vendor>(vendor);
  v.whole("family", cpu.family_id, 0, kMost);
  v.whole("model", cpu.model_id, 0, kMost);
  v.text("affinity", cpu.affinity);
}
template <class V>
void fields(V&, Nic&) {}
template <class V>
void fields(V& v, Net& net) {
  v.text("name", net.name);
  v.number("dev", net.dev, 0, kMost);
  std::optional<core::Bandwidth> speed = net.speed;
  v.rate("speed_GBps", speed);
  net.speed = speed.value_or(core::Bandwidth{});
  v.number_of("port", net.port, -kMost, kMost);
  v.hex("asic", net.asic);
  v.time("latency_us", net.latency);
  v.flag("gdr", net.gdr);
  v.flag("coll", net.coll);
}

template <class V>
void fields(V& v, Node& node) {
  static constexpr std::array kTypes = {"GPU", "PCI", "NVS", "CPU", "NIC", "NET"};
  NodeType type = node.type();
  v.word("type", type, kTypes);
  if (type != node.type()) {
    const std::array<Node::Kind, kNodeTypes> kKinds = {Gpu{}, PciSwitch{}, NvSwitch{},
                                                       Cpu{}, Nic{},       Net{}};
    node.kind = kKinds[static_cast<std::size_t>(type)];
  }
  v.whole("host", node.host, 0, 65536);
  v.hex("id", node.local);
  v.text("bus_id", node.bus_id);
  v.text("slot_speed", node.slot.speed);
  v.whole("slot_width", node.slot.width, 0, 64);
  v.number("line", node.line, 0, kMost);
  std::visit([&v](auto& kind) { fields(v, kind); }, node.kind);
  v.list("links", node.links);
}

template <class V>
void fields(V& v, AccessControl& control) {
  v.flag("source_validation", control.source_validation);
  v.flag("translation_blocking", control.translation_blocking);
  v.flag("request_redirect", control.request_redirect);
  v.flag("completion_redirect", control.completion_redirect);
  v.flag("upstream_forwarding", control.upstream_forwarding);
  v.flag("egress_control", control.egress_control);
  v.flag("direct_translated", control.direct_translated);
}

template <class V, class T>
void fields(V& v, Fact<T>& fact) {
  if constexpr (std::is_same_v<T, bool>)
    v.flag_of("value", fact.value);
  else if constexpr (std::is_same_v<T, int>)
    v.number_of("value", fact.value, -kMost, kMost);
  else if constexpr (std::is_same_v<T, LockedMemory>)
    v.size("bytes", fact.value);
  else if constexpr (std::is_same_v<T, IommuMode>) {
    static constexpr std::array kModes = {"off", "pass-through", "translated"};
    v.word("value", fact.value, kModes);
  } else {
    fields(v, fact.value);
  }
  v.record("from", fact.from);
}

template <class V>
void fields(V& v, PciFunction& function) {
  static constexpr std::array kKinds = {"gpu", "nic", "bridge", "nvswitch", "other"};
  v.word("kind", function.kind, kKinds);
  v.text("bus_id", function.bus_id);
  v.known_text("above", function.above);
  v.text("class", function.code);
  v.text("vendor", function.vendor);
  v.text("device", function.device);
  v.text("subsystem_vendor", function.subsystem_vendor);
  v.text("subsystem_device", function.subsystem_device);
  v.text("name", function.name);
  v.number("numa", function.numa, 0, kMost);
  v.text("current_speed", function.current.speed);
  v.number("current_width", function.current.width, 0, 64);
  v.text("max_speed", function.maximum.speed);
  v.number("max_width", function.maximum.width, 0, 64);
  v.record("acs", function.access_control);
  v.record("from", function.from);
}

template <class V>
void fields(V& v, GpuFacts& gpu) {
  v.whole("index", gpu.index, 0, 65536);
  v.text("bus_id", gpu.bus_id);
  v.text("name", gpu.name);
  v.number("sm", gpu.sm, 0, kMost);
  v.text("fabric_state", gpu.fabric_state);
  v.record("from", gpu.from);
}

template <class V>
void fields(V& v, NvlinkState& link) {
  static constexpr std::array kRemotes = {"unknown", "gpu", "switch", "cpu"};
  v.whole("gpu", link.gpu, 0, 65536);
  v.whole("link", link.link, 0, 65536);
  v.flag("active", link.is_active);
  v.number("version", link.version, 0, kMost);
  v.rate("GBps", link.speed);
  v.word("remote", link.remote, kRemotes);
  v.text("remote_bus_id", link.remote_bus_id);
  v.record("from", link.from);
}

template <class V>
void fields(V& v, PeerStatus& peer) {
  v.whole("gpu", peer.from, 0, 65536);
  v.whole("peer", peer.to, 0, 65536);
  v.letter("capability", peer.capability);
  v.text("status", peer.status);
  v.record("from", peer.evidence);
}

template <class V>
void fields(V& v, GidEntry& gid) {
  v.whole("index", gid.index, 0, 65536);
  v.text("gid", gid.gid);
  v.text("type", gid.type);
  v.text("interface", gid.netdev);
}

template <class V>
void fields(V& v, RdmaPortFacts& port) {
  v.text("device", port.device);
  v.whole("port", port.port, 0, 65536);
  v.text("bus_id", port.bus_id);
  v.text("state", port.state);
  v.text("physical_state", port.physical_state);
  v.text("link_layer", port.link_layer);
  v.text("guid", port.guid);
  v.text("model", port.model);
  v.text("interface", port.interface);
  v.rate("GBps", port.rate);
  v.size("active_mtu", port.active_mtu);
  v.list("gids", port.gids);
  v.record("gids_from", port.gids_from);
  v.flag("priority_flow_control", port.signs.priority_flow_control);
  v.flag("congestion_notification", port.signs.congestion_notification);
  v.record("from", port.from);
}

template <class V>
void fields(V& v, LosslessFacts& lossless) {
  v.text("interface", lossless.interface);
  v.flag("priority_flow_control", lossless.signs.priority_flow_control);
  v.flag("congestion_notification", lossless.signs.congestion_notification);
  v.record("from", lossless.from);
}

template <class V>
void fields(V& v, InterfaceFacts& interface) {
  v.text("name", interface.name);
  v.text("bus_id", interface.bus_id);
  v.flag("up", interface.is_up);
  v.rate("GBps", interface.speed);
  v.record("from", interface.from);
}

template <class V>
void fields(V& v, LinkFacts& link) {
  v.text("host", link.host);
  v.text("name", link.name);
  v.text("bus_id", link.bus_id);
  v.text("master", link.master);
  v.flag("bond_port", link.is_bond_port);
  v.flag("switched_on", link.is_switched_on);
  v.flag("carrier", link.has_carrier);
  v.flag("of_card", link.is_of_card);
  v.flag("address", link.has_address);
  v.flag("infiniband", link.is_infiniband);
  v.size("mtu", link.mtu);
  v.record("from", link.from);
}

template <class V>
void fields(V& v, NumaNode& node) {
  v.whole("id", node.id, 0, 65536);
  v.numbers("cpus", node.cpus);
  v.size("memory", node.memory);
  v.numbers("distances", node.distances);
}

template <class V>
void fields(V& v, Processor& processor) {
  v.text("vendor", processor.vendor);
  v.text("name", processor.model_name);
  v.number("family", processor.family, 0, kMost);
  v.number("model", processor.model, 0, kMost);
  v.number("sockets", processor.sockets, 0, kMost);
  v.number("cores", processor.cores, 0, kMost);
  v.flag("virtual", processor.is_virtual);
  v.text("governor", processor.governor);
}

template <class V>
void fields(V& v, HostFacts& facts) {
  v.list("pci", facts.functions);
  v.list("gpus", facts.gpus);
  v.list("nvlinks", facts.nvlinks);
  v.list("peers", facts.peers);
  v.list("rdma_ports", facts.rdma_ports);
  v.list("interfaces", facts.interfaces);
  v.list("links", facts.links);
  v.list("lossless", facts.lossless);
  v.list("numa_nodes", facts.numa_nodes);
  v.list("unnamed_acs", facts.unnamed_access_controls);
  v.record("processor", facts.processor);
  v.record("iommu", facts.iommu);
  v.record("peermem", facts.peermem);
  v.record("open_driver", facts.open_driver);
  v.record("locked_memory", facts.locked_memory);
  v.record("container", facts.container);
  v.record("virtual_machine", facts.virtual_machine);
  v.record("gid_index", facts.gid_index);
}

}  // namespace comm_probe::topology::saved
