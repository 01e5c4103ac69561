#include <fmt/format.h>

#include <charconv>

#include "topology/host_readers.h"

namespace comm_probe::topology {
namespace {

// Class code as sysfs prints it ("0x030200"): base class and subclass decide.
std::optional<PciDevice::Kind> kind_of(const std::string& code) {
  const std::string_view head = std::string_view(code).substr(0, 6);
  if (head == "0x0300" || head == "0x0302") return PciDevice::Kind::kGpu;
  if (head == "0x0200" || head == "0x0207") return PciDevice::Kind::kNic;
  return std::nullopt;
}

std::optional<int> small(std::optional<std::int64_t> value) {
  if (!value || *value < 0 || *value > 65536) return std::nullopt;  // -1: no NUMA node is known
  return static_cast<int>(*value);
}

PciLink read_link(const core::Host& host, const std::string& folder, const std::string& which) {
  return {host.read(folder + which + "_link_speed").value_or(""),
          small(host.read_integer(folder + which + "_link_width"))};
}

// "400 Gb/sec (4X NDR)" in /sys/class/infiniband/*/ports/*/rate
std::optional<core::Bandwidth> rate_of(const std::string& text) {
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (error != std::errc() || !(rate > 0) || rate > 1e6) return std::nullopt;
  if (!std::string_view(end).starts_with(" Gb/sec")) return std::nullopt;
  return core::Bandwidth::from_Gbps(rate);
}

// "4: ACTIVE" -> "ACTIVE"
std::string after_colon(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

}  // namespace

std::vector<PciDevice> read_pci_devices(const core::Host& host) {
  std::vector<PciDevice> devices;
  for (const std::string& address : host.list("/sys/bus/pci/devices")) {
    const std::string folder = "/sys/bus/pci/devices/" + address + "/";
    const auto kind = kind_of(host.read(folder + "class").value_or(""));
    if (!kind) continue;
    devices.push_back({*kind, address, host.read(folder + "vendor").value_or(""),
                       host.read(folder + "device").value_or(""),
                       small(host.read_integer(folder + "numa_node")),
                       read_link(host, folder, "current"), read_link(host, folder, "max")});
  }
  return devices;
}

std::vector<NetInterface> read_interfaces(const core::Host& host) {
  std::vector<NetInterface> interfaces;
  for (const std::string& name : host.list("/sys/class/net")) {
    const std::string folder = "/sys/class/net/" + name + "/";
    if (!host.exists(folder + "operstate")) continue;  // bonding_masters is a file
    NetInterface interface;
    interface.name = name;
    interface.is_up = host.read(folder + "operstate").value_or("") == "up" || name == "lo";
    interface.is_virtual = !host.exists(folder + "device");
    const auto megabits = host.read_integer(folder + "speed");  // -1: the driver does not know
    if (megabits && *megabits > 0 && *megabits < 100'000'000)
      interface.speed = core::Bandwidth::from_Gbps(static_cast<double>(*megabits) / 1000);
    interfaces.push_back(std::move(interface));
  }
  return interfaces;
}

std::vector<RdmaPort> read_rdma_ports(const core::Host& host) {
  std::vector<RdmaPort> ports;
  for (const std::string& device : host.list("/sys/class/infiniband")) {
    const std::string folder = "/sys/class/infiniband/" + device + "/ports/";
    for (const std::string& port : host.list(folder)) {
      const std::string at = folder + port + "/";
      int number = 0;
      std::from_chars(port.data(), port.data() + port.size(), number);
      ports.push_back({device, number, after_colon(host.read(at + "state").value_or("")),
                       host.read(at + "link_layer").value_or(""),
                       rate_of(host.read(at + "rate").value_or(""))});
    }
  }
  return ports;
}

}  // namespace comm_probe::topology
