#include "cli/host_view.h"

#include <fmt/format.h>

#include "core/units.h"
#include "diagnose/links.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using topology::HostTopology;
using topology::PciDevice;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json cache_json(const topology::Cache& cache) {
  return {{"level", cache.level},
          {"data", cache.holds_data},
          {"bytes", core::json_bytes(cache.size)},
          {"cpus", cache.cpus}};
}

Json node_json(const topology::NumaNode& node) {
  return {{"id", node.id},
          {"cpus", node.cpus},
          {"memory_bytes", node.memory ? core::json_bytes(*node.memory) : Json()},
          {"distances", node.distances}};
}

Json pci_link_json(const topology::PciLink& link) {
  return {{"speed", link.speed}, {"width", or_null(link.width)}};
}

Json device_json(const PciDevice& device) {
  return {{"kind", device.kind == PciDevice::Kind::kGpu ? "gpu" : "nic"},
          {"address", device.address},
          {"vendor", device.vendor},
          {"device", device.device},
          {"numa_node", or_null(device.numa_node)},
          {"link", pci_link_json(device.current)},
          {"link_max", pci_link_json(device.maximum)}};
}

Json interface_json(const topology::NetInterface& interface) {
  return {{"name", interface.name},
          {"up", interface.is_up},
          {"virtual", interface.is_virtual},
          {"speed_Gbps", interface.speed ? core::json_number(interface.speed->in_Gbps()) : Json()}};
}

Json port_json(const topology::RdmaPort& port) {
  return {{"device", port.device},
          {"port", port.port},
          {"state", port.state},
          {"link_layer", port.link_layer},
          {"rate_Gbps", port.rate ? core::json_number(port.rate->in_Gbps()) : Json()}};
}

template <class T, class Make>
Json array_of(const std::vector<T>& items, Make make) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(make(item));
  return array;
}

std::string cpus_line(const HostTopology& host) {
  std::string line = fmt::format("{} online, {} allowed", host.cpus.size(), host.allowed.size());
  if (host.quota) line += fmt::format(", quota of {} CPUs", core::format_number(*host.quota));
  const auto& p = host.processor;
  if (p.sockets && p.cores)
    line += fmt::format("; {} socket{}, {} core{}", *p.sockets, *p.sockets == 1 ? "" : "s",
                        *p.cores, *p.cores == 1 ? "" : "s");
  return line;
}

std::string caches_line(const HostTopology& host) {
  std::string line;
  for (int level = 1; level <= 4; ++level)
    if (const topology::Cache* cache = host.cache(level))
      line += fmt::format(
          "{}L{} {}{}", line.empty() ? "" : ", ", level, core::format_bytes(cache->size),
          cache->cpus.size() > 1 ? fmt::format(" shared by {} CPUs", cache->cpus.size()) : "");
  return line.empty() ? "not readable" : line;
}

std::string memory_line(const HostTopology& host) {
  return fmt::format("{}, {} NUMA node{}",
                     host.memory ? core::format_bytes(*host.memory) : "size not readable",
                     host.nodes.size(), host.nodes.size() == 1 ? "" : "s");
}

std::string devices_line(const HostTopology& host) {
  std::string line =
      fmt::format("{} GPU{}, {} NIC{} on PCI", host.gpus(), host.gpus() == 1 ? "" : "s",
                  host.nics(), host.nics() == 1 ? "" : "s");
  for (const auto& port : host.rdma_ports)
    line += fmt::format(
        ", {}:{} {}{}", port.device, port.port, port.state,
        port.rate ? fmt::format(" {} Gb/s", core::format_number(port.rate->in_Gbps())) : "");
  for (const auto& interface : host.interfaces)
    if (!interface.is_virtual)
      line += fmt::format(
          ", {}{}", interface.name,
          interface.speed ? fmt::format(" {} Gb/s", core::format_number(interface.speed->in_Gbps()))
                          : " (speed unknown)");
  return line;
}

bool moves_messages(measure::LinkKind kind) {
  return kind == measure::LinkKind::kCopy || kind == measure::LinkKind::kExchange ||
         kind == measure::LinkKind::kRelay;
}

Json link_json(const measure::HostLink& link) {
  const measure::Summary& s = link.seconds;
  return {{"name", link.name},
          {"kind", measure::link_kind_name(link.kind)},
          {"alpha_us", link.alpha ? core::json_number(link.alpha->value.in_us()) : Json()},
          {"beta_GBps", link.beta ? core::json_number(link.beta->value.in_GBps()) : Json()},
          {"level", link.level.empty() ? Json() : Json(link.level)},
          {"working_set_bytes", link.working_set ? core::json_bytes(*link.working_set) : Json()},
          {"samples", s.blocks},
          {"spread", core::json_number(s.spread())},
          {"p10_us", core::json_number(s.p10 * 1e6)},
          {"median_us", core::json_number(s.median * 1e6)},
          {"p90_us", core::json_number(s.p90 * 1e6)},
          {"stores",
           moves_messages(link.kind) ? Json(link.streaming ? "streaming" : "cached") : Json()},
          {"basis", "measured"},
          {"source", link.alpha ? link.alpha->source : link.beta->source}};
}

}  // namespace

std::string spread_text(const measure::Summary& seconds) {
  return (diagnose::is_noisy(seconds) ? "~ " : "") + core::format_percent(seconds.spread(), 2);
}

Json host_json(const HostTopology& host) {
  const auto& p = host.processor;
  return {{"name", host.name},
          {"vendor", p.vendor},
          {"model", p.model_name},
          {"family", or_null(p.family)},
          {"sockets", or_null(p.sockets)},
          {"cores", or_null(p.cores)},
          {"virtual", p.is_virtual},
          {"governor", p.governor},
          {"cpus", host.cpus},
          {"allowed_cpus", host.allowed},
          {"cpu_quota", or_null(host.quota)},
          {"memory_bytes", host.memory ? core::json_bytes(*host.memory) : Json()},
          {"caches", array_of(host.caches, cache_json)},
          {"numa_nodes", array_of(host.nodes, node_json)},
          {"devices", array_of(host.devices, device_json)},
          {"interfaces", array_of(host.interfaces, interface_json)},
          {"rdma_ports", array_of(host.rdma_ports, port_json)}};
}

core::KeyValues host_summary(const HostTopology& host) {
  const std::string& model = host.processor.model_name;
  return {{{"processor", (model.empty() ? "name not readable" : model) +
                             (host.processor.is_virtual ? ", virtual machine" : "")},
           {"CPUs", cpus_line(host)},
           {"caches", caches_line(host)},
           {"memory", memory_line(host)},
           {"devices", devices_line(host)}}};
}

Json links_json(const measure::HostLinks& links) { return array_of(links.links, link_json); }

Json context_json(const measure::LinkContext& context) {
  return {{"processor", context.processor},
          {"governor", context.governor},
          {"cpus", context.cpus},
          {"load", core::json_number(context.load)},
          {"preemptions", context.preemptions},
          {"stolen_s", core::json_number(context.stolen_seconds)},
          {"took_s", core::json_number(context.took.in_seconds())},
          {"alpha_before_us", core::json_number(context.alpha_before.in_us())},
          {"alpha_after_us", core::json_number(context.alpha_after.in_us())}};
}

core::Table links_table(const measure::HostLinks& links) {
  using Align = core::Column::Align;
  core::Table table{{{"link", Align::kLeft},
                     {"kind", Align::kLeft},
                     {"level", Align::kLeft},
                     {"w", Align::kRight, 4},
                     {"alpha"},
                     {"beta"},
                     {"spread"},
                     {"basis", Align::kLeft, 3}},
                    {}};
  for (const measure::HostLink& link : links.links)
    table.rows.push_back({link.name, measure::link_kind_name(link.kind), link.level,
                          link.working_set ? core::format_bytes(*link.working_set) : "",
                          link.alpha ? core::format_duration(link.alpha->value) : "",
                          link.beta ? core::format_bandwidth(link.beta->value) : "",
                          spread_text(link.seconds), "measured"});
  return table;
}

std::string context_line(const measure::LinkContext& context) {
  return fmt::format(
      "Measured in {} on CPUs {} and {}; load {} before, other tasks took the CPU {} times, the "
      "hypervisor took {}{}.",
      core::format_duration(context.took), context.cpus[0], context.cpus[1],
      core::format_number(context.load, 2), context.preemptions,
      core::format_duration(core::Duration::from_seconds(context.stolen_seconds)),
      context.governor.empty() ? "" : ", governor " + context.governor);
}

}  // namespace comm_probe::cli
