#include <algorithm>
#include <map>
#include <set>

#include "topology/readers/sysfs.h"

namespace comm_probe::topology {
namespace {

using Kind = PciFunction::Kind;

// Class and vendor -> kind; first match wins. 0x0300 of other vendors is the display of a board
// management controller. Codes: PCI Code and ID Assignment 1.11.
struct KindRow {
  std::string_view code;
  std::string_view vendor;
  Kind kind;
};
constexpr KindRow kKinds[] = {
    {"0x0302", "", Kind::kGpu},
    {"0x0300", "0x10de", Kind::kGpu},
    {"0x0380", "0x1002", Kind::kGpu},
    {"0x1200", "0x1002", Kind::kGpu},
    {"0x0200", "", Kind::kNic},
    {"0x0207", "", Kind::kNic},
    {"0x0604", "", Kind::kBridge},
    {"0x0801", "0x15b3", Kind::kBridge},
    {"0x0680", "0x10de", Kind::kNvSwitch},
};

Kind kind_of(std::string_view code, std::string_view vendor) {
  for (const KindRow& row : kKinds)
    if (code.starts_with(row.code) && (row.vendor.empty() || row.vendor == vendor)) return row.kind;
  return Kind::kOther;
}

std::optional<int> small(std::optional<std::int64_t> value) {
  if (!value || *value < 0 || *value > 65536) return std::nullopt;  // -1: no NUMA node is known
  return static_cast<int>(*value);
}

// "Unknown" and a width of 0 or 63: the function is no PCI Express device, or hides its link.
PciLink read_link(const core::Host& host, const std::string& folder, const std::string& which) {
  PciLink link{host.read(folder + which + "_link_speed").value_or(""),
               small(host.read_integer(folder + which + "_link_width"))};
  if (link.speed.find("GT/s") == std::string::npos) link.speed.clear();
  if (link.width && (*link.width == 0 || *link.width > 32)) link.width.reset();
  return link;
}

// The bus ids in a path of /sys, outermost first.
std::vector<std::string> bus_ids_in(const std::string& path) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string bus_id = normal_bus_id(std::string_view(path).substr(at, end - at));
    if (!bus_id.empty()) found.push_back(bus_id);
    at = end + 1;
  }
  return found;
}

unsigned word_at(const std::string& bytes, std::size_t at, int size) {
  unsigned value = 0;
  for (int i = size - 1; i >= 0; --i) {
    const std::size_t place = at + static_cast<std::size_t>(i);
    value = value << 8 | (place < bytes.size() ? static_cast<unsigned char>(bytes[place]) : 0U);
  }
  return value;
}

// Walks the extended capabilities from 0x100 (id in bits 15:0, the next in bits 31:20) to ACS,
// 0x000d, whose control register stands at +6 (PCIe 6.0, 7.6.3 and 7.7.8).
std::optional<AccessControl> access_control_in(const std::string& configuration) {
  constexpr unsigned kAccessControl = 0x000d;
  std::set<unsigned> seen;
  unsigned at = 0x100;
  while (at >= 0x100 && at + 8 <= 4096 && at < configuration.size() && seen.insert(at).second) {
    const unsigned header = word_at(configuration, at, 4);
    if ((header & 0xffff) == kAccessControl)
      return AccessControl::of_register(word_at(configuration, at + 6, 2));
    at = header >> 20;
  }
  return std::nullopt;
}

void read_details(const core::Host& host, const std::string& folder, PciFunction& function) {
  const auto text = [&](const char* name) { return host.read(folder + name).value_or(""); };
  function.device = text("device");
  function.subsystem_vendor = text("subsystem_vendor");
  function.subsystem_device = text("subsystem_device");
  function.numa = small(host.read_integer(folder + "numa_node"));
  function.current = read_link(host, folder, "current");
  function.maximum = read_link(host, folder, "max");
}

// Of the bridges above GPUs and NICs only: the configuration space of a bridge is 1024 reads over
// the bus, and a server has a hundred bridges.
void read_access_controls(const core::Host& host, std::vector<PciFunction>& functions) {
  std::map<std::string, PciFunction*> by_bus_id;
  for (PciFunction& function : functions) by_bus_id[function.bus_id] = &function;
  std::set<std::string> seen;
  for (const PciFunction& device : functions) {
    if (device.kind != Kind::kGpu && device.kind != Kind::kNic) continue;
    auto above = by_bus_id.find(device.above.value_or(""));
    while (above != by_bus_id.end() && seen.insert(above->first).second) {
      PciFunction& bridge = *above->second;
      const auto configuration = host.read("/sys/bus/pci/devices/" + bridge.bus_id + "/config");
      bridge.access_control = access_control_in(configuration.value_or(""));
      above = by_bus_id.find(bridge.above.value_or(""));
    }
  }
}

}  // namespace

std::vector<PciFunction> read_pci_functions(const core::Host& host) {
  std::vector<PciFunction> functions;
  const std::string all = "/sys/bus/pci/devices/";
  for (const std::string& name : host.list(all)) {
    PciFunction function;
    function.bus_id = normal_bus_id(name);
    if (function.bus_id.empty()) continue;
    const std::string folder = all + name + "/";
    function.code = host.read(folder + "class").value_or("");
    function.vendor = host.read(folder + "vendor").value_or("");
    function.kind = kind_of(function.code, function.vendor);
    function.from.source = all + name;
    if (function.kind != Kind::kOther) {
      const auto target = host.link_target(all + name);
      const auto chain = bus_ids_in(target.value_or(""));
      if (target) function.above = chain.size() < 2 ? "" : chain[chain.size() - 2];
      read_details(host, folder, function);
    }
    functions.push_back(std::move(function));
  }
  std::sort(functions.begin(), functions.end(),
            [](const auto& a, const auto& b) { return a.bus_id < b.bus_id; });
  read_access_controls(host, functions);
  return functions;
}

std::string pci_function_of(const core::Host& host, const std::string& class_device) {
  for (const std::string& link : {class_device, class_device + "/device"}) {
    const auto found = bus_ids_in(host.link_target(link).value_or(""));
    if (!found.empty()) return found.back();
  }
  return {};
}

}  // namespace comm_probe::topology
