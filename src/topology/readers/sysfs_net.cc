#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "topology/host_readers.h"
#include "topology/readers/sysfs.h"

namespace comm_probe::topology {
namespace {

constexpr int kMostGids = 64;      // tables have up to 256 entries, nearly all of them empty
constexpr int kMostEmptyGids = 8;  // in a row

// "4: ACTIVE" -> "ACTIVE"
std::string after_colon(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

bool is_empty_gid(const std::string& gid) {
  return gid.find_first_not_of("0:") == std::string::npos;
}

std::vector<GidEntry> read_gids(const core::Host& host, const std::string& port) {
  std::vector<GidEntry> entries;
  int empty = 0;
  for (int i = 0; i < kMostGids && empty < kMostEmptyGids; ++i) {
    const std::string number = fmt::to_string(i);
    const auto gid = host.read(port + "gids/" + number);
    if (!gid || is_empty_gid(*gid)) {
      ++empty;
      continue;
    }
    empty = 0;
    entries.push_back({i, *gid, host.read(port + "gid_attrs/types/" + number).value_or(""),
                       host.read(port + "gid_attrs/ndevs/" + number).value_or("")});
  }
  return entries;
}

// A counter above zero shows that congestion marks reach this port; zero shows nothing. The switch
// below /sys/class/net/IF/ecn is of Mellanox's own driver package.
std::optional<bool> congestion_notification(const core::Host& host, const std::string& port,
                                            const std::string& interface) {
  for (const char* counter : {"np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled",
                              "cc_rx_ce_pkts", "cc_rx_cnp_pkts", "cc_tx_cnp_pkts"})
    if (host.read_integer(port + "hw_counters/" + counter).value_or(0) > 0) return true;
  std::optional<bool> is_on;
  if (interface.empty()) return is_on;
  for (const char* side : {"roce_np", "roce_rp"}) {
    const std::string folder = fmt::format("/sys/class/net/{}/ecn/{}/enable/", interface, side);
    for (const std::string& priority : host.list(folder))
      if (const auto value = host.read_integer(folder + priority))
        is_on = is_on.value_or(false) || *value != 0;
  }
  return is_on;
}

std::string hex_digits(std::string text) {
  std::erase_if(text, [](char c) { return c == ':' || c == ' '; });
  return text;
}

// mlx5_2 before mlx5_10.
bool natural_less(const RdmaPortFacts& a, const RdmaPortFacts& b) {
  const auto key = [](const RdmaPortFacts& port) {
    const std::size_t digits = port.device.find_last_not_of("0123456789") + 1;
    long number = 0;
    std::from_chars(port.device.data() + digits, port.device.data() + port.device.size(), number);
    return std::tuple(port.device.substr(0, digits), number, port.port);
  };
  return key(a) < key(b);
}

std::string first_interface(const core::Host& host, const std::string& device) {
  const auto interfaces = host.list("/sys/class/infiniband/" + device + "/device/net");
  return interfaces.empty() ? std::string() : interfaces.front();
}

}  // namespace

std::vector<RdmaPortFacts> read_rdma_port_facts(const core::Host& host) {
  std::vector<RdmaPortFacts> ports;
  for (const RdmaPort& known : read_rdma_ports(host)) {
    const std::string device = "/sys/class/infiniband/" + known.device;
    const std::string at = fmt::format("{}/ports/{}/", device, known.port);
    RdmaPortFacts port{.device = known.device,
                       .port = known.port,
                       .bus_id = pci_function_of(host, device),
                       .state = known.state,
                       .physical_state = after_colon(host.read(at + "phys_state").value_or("")),
                       .link_layer = known.link_layer,
                       .guid = hex_digits(host.read(device + "/sys_image_guid").value_or("")),
                       .model = host.read(device + "/hca_type").value_or(""),
                       .interface = first_interface(host, known.device),
                       .rate = known.rate};
    if (port.is_roce()) {
      port.gids = read_gids(host, at);
      port.signs.congestion_notification = congestion_notification(host, at, port.interface);
    }
    port.from = {at, {}, fmt::format("state {}, {}", known.state, known.link_layer)};
    ports.push_back(std::move(port));
  }
  std::stable_sort(ports.begin(), ports.end(), natural_less);
  return ports;
}

std::vector<InterfaceFacts> read_interface_facts(const core::Host& host) {
  std::vector<InterfaceFacts> found;
  for (const NetInterface& interface : read_interfaces(host)) {
    if (interface.is_virtual) continue;
    const std::string folder = "/sys/class/net/" + interface.name;
    found.push_back({interface.name,
                     pci_function_of(host, folder),
                     interface.is_up,
                     interface.speed,
                     {folder, {}, interface.is_up ? "up" : "down"}});
  }
  return found;
}

}  // namespace comm_probe::topology
